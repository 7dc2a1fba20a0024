"""Writes the page of the Python names from ``thrifty.__all__``, while the site is built."""

from __future__ import annotations

import inspect
from typing import Any

__all__ = ["on_files", "python_page"]

#: names by what they are for; a public name that is in none of them goes under "More"
_GROUPS = {
    "What you hold": ["Lifetime"],
    "Families": ["Models", "Trees", "Lists", "Monomials", "Polynomials"],
    "Cells, prices, budgets": ["Source", "PriceList", "Budget"],
    "Asking language models and people": ["Question", "ChatServer", "Rates", "Oracle", "Answered"],
    "When to stop": ["Sure", "Worth"],
    "Estimators": ["ModelClassifier", "ModelRegressor", "TreeClassifier", "metered"],
}
_MODULES = {
    "How a tree is learned": "thrifty.trees",
    "Unrelated tasks": "thrifty.agnostic",
    "What a lifetime gives": "thrifty.results",
    "More estimators": "thrifty.estimators",
    "Stopping rules of your own": "thrifty.stopping",
    "Families of your own": "thrifty.protocol",
    "Stores": "thrifty.stores",
    "Streams for experiments": "thrifty.streams",
    "Bounds as numbers": "thrifty.bounds",
    "Looking": "thrifty.report",
    "Testing without paying": "thrifty.testing",
    "Errors": "thrifty.errors",
}


def on_files(files: Any, config: Any) -> Any:
    """mkdocs calls this: the page exists only in the site."""
    from mkdocs.structure.files import File

    files.append(File.generated(config, "reference/python.md", content=python_page()))
    return files


def python_page() -> str:
    """The whole page, as Markdown with a line for mkdocstrings per name."""
    import thrifty

    known = {name for names in _GROUPS.values() for name in names}
    public = [n for n in thrifty.__all__ if not inspect.ismodule(getattr(thrifty, n))]
    groups = {**_GROUPS, "More": [name for name in public if name not in known]}
    parts = ["# Python", "From `thrifty`, unless a heading names another module."]
    for heading, names in groups.items():
        shown = [name for name in names if name in public]
        parts += [f"## {heading}"] * bool(shown) + [f"::: thrifty.{name}" for name in shown]
    for heading, module in _MODULES.items():
        parts += [f"## {heading}: `{module}`", _module(module)]
    return "\n\n".join(parts) + "\n"


def _module(name: str) -> str:
    import importlib

    module = importlib.import_module(name)
    public = [n for n in module.__all__ if not inspect.ismodule(getattr(module, n))]
    import thrifty

    shown = [member for member in public if member not in thrifty.__all__]
    return "\n\n".join(f"::: {name}.{member}" for member in shown)
