"""Puts pages that the navigation does not list under "Research", so that none is lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

__all__ = ["listed", "on_config"]


def on_config(config: Any) -> Any:
    """mkdocs calls this before it builds."""
    docs = Path(config["docs_dir"])
    known = listed(config["nav"])
    pages = sorted(docs.glob("**/*.md"))
    lost = [page for page in pages if str(page.relative_to(docs)) not in known]
    research = next(item["Research"] for item in config["nav"] if "Research" in item)
    research += [{_title(page): str(page.relative_to(docs))} for page in lost]
    return config


def listed(nav: Any) -> set[str]:
    """Every page that a navigation names."""
    if isinstance(nav, str):
        return {nav}
    items = nav.values() if isinstance(nav, dict) else nav
    return set().union(*map(listed, items))


def _title(page: Path) -> str:
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            return line[2:].strip()
    return page.stem.replace("_", " ").capitalize()
