"""Two lifetimes of 0.1 that had bought the same cell: the value bought later counts, whoever's."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import numpy as np
import pytest

import thrifty
from thrifty.cells import Cells
from thrifty.cells.ledger.compacted import Facts, write_column
from thrifty.cells.ledger.purchase import CellBlock, pack_values
from thrifty.testing import FakeProvider

OLD = Path(__file__).with_name("first_schema.sql")
PRICES = thrifty.PriceList(
    {"a": 1, "b": 2, "c": 0.5}, fees={"blood": (5, ["a", "b"])}, currency="EUR"
)
#: when the first lifetime bought p0 and r1
THEN = {"p0": 1794754984.4835541, "r1": 1794754984.9150195}


def beside(path, example, value, at, compacted):
    """A second lifetime that bought ``a`` of an example at some time."""
    block = CellBlock(
        np.array([0], dtype=np.int32),
        np.array([0], dtype=np.int32),
        np.array([True]),
        np.zeros(0, dtype=np.int32),
        np.zeros((0, 1), dtype=bool),
        np.array([1_000_000]),
    )
    answer = None if compacted else pack_values(np.array([[value]]), block.boolean)
    db = sqlite3.connect(path)
    db.executescript(OLD.read_text())
    db.execute(
        "INSERT INTO lifetimes SELECT 2, 'other', family, features, named, representation, "
        "version, currency, 0, 1000000, 1, ? FROM lifetimes WHERE id = 1",
        (int(compacted),),
    )
    db.execute("INSERT INTO names VALUES (2, 'example', ?, 0)", (example,))
    db.execute("INSERT INTO names VALUES (2, 'feature', 'a', 0)")
    db.execute("INSERT INTO accounts VALUES (2, 'later', 0, 1000000)")
    db.execute(
        "INSERT INTO purchases VALUES (9, 2, 'another', 'later', 'provider', 'settled', 'x', ?, ?, "
        "?, 0, 1000000, ?, '', ?, 1, ?)",
        (at, at + 300, block.to_bytes(), answer, at, int(compacted)),
    )
    if compacted:
        facts = Facts(np.array([0], dtype=np.int32), np.array([value]), np.array([at]))
        column = write_column("feature", 0, True, facts)
        db.execute("INSERT INTO cell_columns VALUES (2, 'feature', 0, 1, ?)", (column.block,))
    db.commit()
    db.close()


@pytest.mark.parametrize("later", [True, False])
@pytest.mark.parametrize("example, compacted", [("p0", True), ("r1", False)])
def test_of_two_values_of_a_cell_the_later_counts(tmp_path, example, compacted, later):
    provider = FakeProvider()
    before = provider.value(example, "a")
    at = THEN[example] + (50 if later else -50)
    beside(tmp_path / "two.db", example, float(not before), at, compacted)
    life = thrifty.Lifetime.open(tmp_path / "two.db")
    source = provider.source([example], ["a", "b", "c"], prices=PRICES)
    (found,) = Cells(source, ledger=life.ledger, task="new").get([0], [0]).ravel()
    assert bool(found) == (not before if later else bool(before))
    assert provider.bill().calls == 0, "it was paid for twice before"
