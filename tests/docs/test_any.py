"""``Any`` stands only where a stranger's object comes in: in the modules listed here, and why.

A module that is not listed may not use it. One that is listed and no longer uses it is taken off
the list, so that the list stays true.
"""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2] / "src" / "thrifty"

#: where something comes in that no type of ours describes
BORDERS = {
    "what users bring": """
        typing labels cells/sources/base
        cells/sources/gaps cells/sources/kinds cells/sources/oracle
        cells/sources/questions cells/sources/array cells/prices/price_list
        cells/prices/reading lifetime/many packed powers/laws
        streams/tree_tasks trees/tree
    """,
    "what users hold, with attributes of each family's own": """
        errors lifetime/learned lifetime/lifetime lifetime/task serving
    """,
    "families and learners of users, which know their own representation": """
        lifetime/learning lifetime/transaction
        lifetime/outcomes lifetime/joint_prediction lifetime/prediction_parts
        lifetime/prediction_runs models/fits/quality models/estimators powers/model protocol
        testing/family_checks trees/learned_trees
    """,
    "plain data that was written by somebody: JSON, rows of a database, files, answers": """
        cells/bit_cells cells/ledger/book cells/ledger/ledger cells/ledger/purchase
        cells/sources/answered cells/sources/prompts
        commands/learn commands/task_file commands/task_source
        report/dashboard stores/settings stores/lifetime_pages
        stores/base stores/pages stores/postgres
    """,
    "packages of others, with no types or with types that say Any": """
        cells/sources/sql cli engines kernels/lines
        kernels/jit kernels/thresholds models/fits/tree_ensembles report/ink wrapped/readers
    """,
    "experiments and tools for tests, which take any model or answer": """
        streams/anchor_tasks testing/provider
    """,
}
LISTED = sorted(name for names in BORDERS.values() for name in names.split())
#: in all modules together; it may fall
MOST = 178


def uses_of_any(text: str) -> list[int]:
    """The lines on which a module says ``Any``, in annotations and elsewhere, imports aside."""
    return sorted(
        node.lineno
        for node in ast.walk(ast.parse(text))
        if (isinstance(node, ast.Name) and node.id == "Any")
        or (isinstance(node, ast.Attribute) and node.attr == "Any")
        or (isinstance(node, ast.Constant) and node.value == "Any")
    )


@pytest.fixture(scope="module")
def uses() -> dict[str, list[int]]:
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        lines = uses_of_any(path.read_text(encoding="utf-8"))
        if lines:
            found[str(path.relative_to(ROOT).with_suffix(""))] = lines
    return found


def test_a_use_is_found():
    text = "from typing import Any\nimport typing\nx: dict[str, Any] = {}\ny: typing.Any = 1\n"
    assert uses_of_any(text) == [3, 4]
    assert uses_of_any('"""Any model."""\nfrom typing import Any\nx: object = 1\n') == []


def test_any_stands_only_at_the_borders(uses):
    inside = {name: lines for name, lines in uses.items() if name not in LISTED}
    assert inside == {}, "give these a type, or say in BORDERS what comes in there"


def test_every_border_is_still_one(uses):
    assert len(LISTED) == len(set(LISTED))
    assert [name for name in LISTED if name not in uses] == []


def test_there_are_not_more_of_them(uses):
    assert sum(map(len, uses.values())) <= MOST
