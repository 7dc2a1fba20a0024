"""The README leads to files that exist."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_readme_links_to_files_that_exist() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert len(links) > 10
    files = [link for link in links if not link.startswith("https://")]
    assert [link for link in files if not (ROOT / link).exists()] == []
