"""Files and names that pages, docstrings and comments send a reader to are there."""

import ast
import importlib
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
SOURCE = sorted(
    path
    for folder in ("src", "tests", "benchmarks", "tools", "examples", "paper_tables")
    for path in (ROOT / folder).rglob("*.py")
)
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
#: a file in a folder, and one of ours without; what users write has other endings (visits.csv)
FILE = re.compile(
    r"(?<![\w./:{}-])((?:[\w.-]+/)+[\w-]+\.(?:py|md|sh|jsonl?|ya?ml|toml|ipynb)|\w+\.py)\b"
)
ROLE = re.compile(r":(?:mod|class|func|meth|data|attr|exc|doc):`~?([\w.]+)`")
#: what these name is their reader's own, or is written when it runs
OWN = {
    "learn.py", "distilled.py", "scratch.py", "X.py", "x.py",  # in examples
    "reference/python.md", "benchmarks/results/intervals.jsonl",  # built, or written by a run
}  # fmt: skip
#: what changed between versions names what is gone
HISTORY = {"CHANGELOG.md", "changes_0_2.md", "migrating.md"}


def documented(file: Path) -> Iterator[tuple[int, str]]:
    """Docstrings and comments, with their lines."""
    text = file.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, DOCUMENTED):
            yield getattr(node, "lineno", 1), ast.get_docstring(node, clean=False) or ""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


NAMES = {path.name for path in SOURCE}


def is_there(name: str, named_in: Path) -> bool:
    if name in OWN or ("/" not in name and name in NAMES):
        return True
    bases = ("", "src", "src/thrifty", "docs", "docs/howto", "benchmarks", "tests")
    return any((base / name).exists() for base in [named_in.parent, *(ROOT / b for b in bases)])


#: docs/research/asking.md, Money
PART = re.compile(r"\b(docs/[\w/]+\.md),[\s#:*]+([A-Z][\w' ]+)")


def gone(file: Path, text: str) -> list[str]:
    """Files of the text that are not there, and headings that no page has."""
    found = [m[1] for m in FILE.finditer(text) if not is_there(m[1], file)]
    for page, part in PART.findall(text):
        titles = (ROOT / page).read_text(encoding="utf-8") if (ROOT / page).exists() else part
        if part not in titles:
            found.append(f"{page}, {part}")
    return found


@pytest.mark.parametrize(
    "page", [p for p in PAGES if p.name not in HISTORY], ids=lambda p: str(p.relative_to(ROOT))
)
def test_every_file_that_a_page_names_exists(page: Path) -> None:
    assert gone(page, page.read_text(encoding="utf-8")) == []


def test_every_file_that_a_docstring_or_a_comment_names_exists() -> None:
    wrong = [
        f"{file.relative_to(ROOT)}:{line}: {name}"
        for file in SOURCE
        for line, text in documented(file)
        for name in gone(file, text)
    ]
    assert not wrong, "\n".join(wrong)


def resolves(name: str, module: str, owner: str) -> bool:
    """``thrifty.a.b.c``, or a name of the module or of the class that the docstring stands in."""
    home = importlib.import_module(module)
    if name.startswith("."):
        name = f"{module.rpartition('.')[0]}{name}"
    parts = name.split(".")
    if parts[0] != "thrifty":
        starts = [home, getattr(home, owner, None), importlib.import_module("builtins")]
        return any(start is not None and _follow(start, parts) for start in starts)
    for k in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:k]))
        except ModuleNotFoundError:
            continue
        return _follow(found, parts[k:])
    return False


def _follow(thing: object, parts: list[str]) -> bool:
    for part in parts:
        if not hasattr(thing, part):  # a field without a default is no attribute of its class
            return part in getattr(thing, "__annotations__", {})
        thing = getattr(thing, part)
    return True


def roles(file: Path) -> Iterator[tuple[str, str, str]]:
    """(the class or nothing, the line, the name) of every role in a file's docstrings."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    inside = {id(child): node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)
              for child in ast.walk(node)}  # fmt: skip
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED):
            for name in ROLE.findall(ast.get_docstring(node) or ""):
                yield inside.get(id(node), ""), str(getattr(node, "lineno", 1)), name


def test_every_name_that_a_docstring_refers_to_exists() -> None:
    wrong, seen = [], 0
    for file in SOURCE:
        if ROOT / "src" not in file.parents:
            continue
        dotted = ".".join(file.relative_to(ROOT / "src").with_suffix("").parts)
        for owner, line, name in roles(file):
            seen += 1
            if not resolves(name, dotted.removesuffix(".__init__"), owner):
                wrong.append(f"{file.relative_to(ROOT)}:{line}: {name}")
    assert seen > 100
    assert not wrong, "\n".join(wrong)


def test_what_is_gone_is_found() -> None:
    page = ROOT / "docs" / "models.md"
    assert gone(page, "see `models/held/base.py`, fits/shelf.py and `verified.py`") == [
        "models/held/base.py", "fits/shelf.py", "verified.py",
    ]  # fmt: skip
    assert gone(page, "(docs/research/asking.md, Nonsense)") == [
        "docs/research/asking.md, Nonsense"
    ]
    assert gone(page, "(docs/research/asking.md, Money; docs/models.md)") == []
    assert gone(page, "see `models/family.py`, howto/prices.md, https://a.org/x/y.py") == []
    assert resolves("thrifty.Models", "thrifty", "")
    assert not resolves("thrifty.models.buying", "thrifty", "")
    assert not resolves("thrifty.errors.GivesAway", "thrifty", "")
    assert not resolves("Door", "thrifty.cells.cells", "Cells")
