"""Docstrings are numpydoc's: each parameter and attribute has its type in the type's place."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCES = Path(__file__).resolve().parents[2] / "src" / "thrifty"
ENTRY = re.compile(r"^(\*{0,2}\w+(?:, \*{0,2}\w+)*) : (.+)$")

#: what a type is written with, besides the names of classes
WORDS = {
    "and", "array", "as", "bool", "callable", "collection", "default", "dict", "estimator",
    "float", "frame", "frozenset", "int", "iterable", "iterator", "law", "laws", "like", "list",
    "mapping", "matrix", "number", "object", "of", "optional", "or", "path", "scipy", "sequence",
    "set", "sparse", "str", "there", "timedelta", "tuple", "type", "uint",
}  # fmt: skip


def sections(text: str) -> Iterator[tuple[str, str, str]]:
    """(names, what stands in the type's place, the line below) of parameters and attributes."""
    lines, title = text.split("\n"), ""
    for i, line in enumerate(lines):
        if re.fullmatch(r"-{3,}", lines[i + 1].strip() if i + 1 < len(lines) else ""):
            title = line.strip()
        found = ENTRY.match(line)
        if found and title in ("Parameters", "Attributes"):
            yield found[1], found[2], lines[i + 1] if i + 1 < len(lines) else ""


def is_a_type(slot: str) -> bool:
    """Classes by their names, and the few words between them; prose is none."""
    said = re.sub(r'"[^"]*"', "", slot)
    return all(word in WORDS or word[0].isupper() for word in re.findall(r"[A-Za-z_]+", said))


def docstrings() -> Iterator[tuple[str, str]]:
    for path in sorted(SOURCES.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                text = ast.get_docstring(node)
                if text:
                    yield f"{path.relative_to(SOURCES)}:{node.lineno} {node.name}", text


def test_every_parameter_has_its_type_and_a_description() -> None:
    wrong, seen = [], 0
    for where, text in docstrings():
        for names, slot, below in sections(text):
            seen += 1
            if not is_a_type(slot):
                wrong.append(f"{where}: {names} : {slot!r} is no type; describe it on a line below")
            elif not below.startswith("    "):
                wrong.append(f"{where}: {names} has a type and no description below it")
    assert wrong == []
    assert seen > 300


@pytest.mark.parametrize(
    ("slot", "right"),
    [
        ("int or None, default 6", True),
        ('{"reused", "screened", "scratch"}', True),
        ("array of float or None", True),
        ("the most tests that a list may have", False),
        ('"error" refuses NaN', False),
    ],
)
def test_prose_is_told_from_types(slot: str, right: bool) -> None:
    assert is_a_type(slot) is right
