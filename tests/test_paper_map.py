"""Every name in docs/paper_map.md exists: file, function, test."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "docs" / "paper_map.md").read_text()
NAMES = sorted(set(re.findall(r"`((?:src|tests|benchmarks)/[\w/]+\.py):(\w+(?:\.\w+)?)`", TEXT)))


def defined(path: Path) -> set[str]:
    """Functions, classes and methods of a file."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            methods = (m for m in node.body if isinstance(m, ast.FunctionDef))
            found |= {f"{node.name}.{m.name}" for m in methods}
    return found


def test_the_map_is_not_empty():
    rows = [line for line in TEXT.splitlines() if line.startswith("| ")]
    assert len(rows) > 9 and len(NAMES) >= 9


def test_every_row_names_code_and_a_test():
    rows = [line for line in TEXT.splitlines() if line.startswith("| ")][1:]
    for row in rows:
        assert re.search(r"`src/[\w/]+\.py:\w+", row), row
        assert re.search(r"`tests/[\w/]+\.py:test_\w+", row), row


@pytest.mark.parametrize("file, name", NAMES)
def test_every_name_exists(file, name):
    path = ROOT / file
    assert path.exists(), f"{file} is named in docs/paper_map.md and does not exist"
    assert name in defined(path), f"{file} has no {name}"
