"""Every statement of the paper has a line in docs/paper_map.md, and every name there exists."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "docs" / "paper_map.md").read_text()
STATEMENTS = (ROOT / "docs" / "paper_statements.txt").read_text().split()
CODE = r"`((?:src|tests|paper_tables)/[\w/]+\.py):(\w+(?:\.\w+)?)`"
NAMES = sorted(set(re.findall(CODE, TEXT)))
#: lines of the table without its head and its headings
ROWS = [line for line in TEXT.splitlines() if line.startswith("| ") and line[:4] != "| **"][1:]


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


def stated(row: str) -> list[str]:
    """The statements that a line of the table is about."""
    return re.findall(r"`([\w-]+:[\w-]+)`", row.split("|")[1])


def test_the_list_has_every_kind_of_statement():
    kinds = {name.partition(":")[0] for name in STATEMENTS}
    assert kinds == {"alg", "ass", "def", "lem", "table", "thm"}
    assert len(STATEMENTS) == len(set(STATEMENTS)) == 51


@pytest.mark.parametrize("statement", STATEMENTS)
def test_every_statement_has_a_line(statement):
    assert any(statement in stated(row) for row in ROWS), f"{statement} is not in paper_map.md"


def test_every_line_is_about_a_statement_or_says_where_it_comes_from():
    for row in ROWS:
        first = row.split("|")[1].strip()
        assert set(stated(row)) <= set(STATEMENTS), row
        assert stated(row) or first.startswith("("), row


def test_every_row_names_the_quantity_the_code_and_a_test():
    for row in ROWS:
        _, _, quantity, *_ = re.split(r"(?<!\\)\|", row)
        assert len(quantity.split()) >= 3, row
        assert re.search(r"`(?:src|paper_tables)/[\w/]+\.py:\w+", row), row
        assert re.search(r"`tests/[\w/]+\.py:test_\w+", row), row


@pytest.mark.parametrize("file, name", NAMES)
def test_every_name_exists(file, name):
    path = ROOT / file
    assert path.exists(), f"{file} is named in docs/paper_map.md and does not exist"
    assert name in defined(path), f"{file} has no {name}"
