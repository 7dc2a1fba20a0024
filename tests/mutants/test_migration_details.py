"""What stores of 0.1 knew stays known: draws under their own names, and what each example cost."""

from __future__ import annotations

import sqlite3
from collections import defaultdict

import numpy as np

from thrifty.cells.ledger.arrays import pack_arrays, unpack_arrays
from thrifty.cells.ledger.compacted import Facts, write_column
from thrifty.stores.move_cells import _move_column, _move_spending, _Names, _Old

TABLES = """
CREATE TABLE names (lifetime, kind, name, number);
CREATE TABLE cell_names (kind, source, name, number);
CREATE TABLE example_costs (lifetime, chunk, amounts);
CREATE TABLE example_spending (lifetime, chunk, amounts);
INSERT INTO names VALUES (1, 'example', 'ann', 0), (1, 'example', 'bob', 1),
    (1, 'feature', 'age', 0), (1, 'draw', 'second look', 0);
"""


def old_store():
    db = sqlite3.connect(":memory:")
    db.executescript(TABLES)

    def run(statement, values=()):
        return db.execute(statement, values).fetchall()

    return run


def test_what_each_example_cost_is_kept():
    run = old_store()
    amounts = np.zeros(1024, dtype=np.int64)
    amounts[:2] = 7, 5
    run("INSERT INTO example_costs VALUES (1, 0, ?)", (pack_arrays({"amounts": amounts}),))
    names = _Names(run)
    names.number("example", "", "bob")  # another lifetime had met bob first
    _move_spending(run, 1, _Old(run, 1, names))
    ((chunk, raw),) = run("SELECT chunk, amounts FROM example_spending WHERE lifetime = 1")
    assert chunk == 0 and unpack_arrays(raw)["amounts"][:3].tolist() == [5, 7, 0]


def test_a_draw_keeps_its_own_name():
    run = old_store()
    names = _Names(run)
    names.number("draw", "lab", "another look")
    kind = "".join(["dr", "aw"])  # as a store gives it
    facts = Facts(np.array([0], dtype=np.int32), np.array([1.0]), np.array([3.0]))
    column = write_column(kind, 0, True, facts)
    sold = defaultdict(list, {("draw", 0): [("lab", facts.examples)]})
    merged = {}
    _move_column(column, _Old(run, 1, names), sold, "", merged)
    ((moved, (_, found)),) = merged.items()
    assert moved == ("draw", 1) and found.values.tolist() == [1.0]
    assert run("SELECT source, name FROM cell_names WHERE kind = 'draw' AND number = 1") == [
        ("lab", "second look")
    ]


def test_examples_belong_to_no_source():
    names = _Names(old_store())
    kind = "".join(["exam", "ple"])  # as a store gives it
    assert _Old(old_store(), 1, names).now(kind, "lab", [1, 0]).tolist() == [1, 0]
