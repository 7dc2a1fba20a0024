"""Stores that 0.1 wrote, one per family, open with all that is in them, and go on.

``version_0_1/*.sql`` are dumps of real stores, made by 0.1.0 itself; they are never made anew.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

import numpy as np
import pytest

import thrifty

DUMPS = Path(__file__).with_name("version_0_1")
# (routes, cells) of the tasks in each store, as 0.1 printed them
HELD = {
    "trees": (["scratch", "scratch", "reused", "reused"], [1440, 1440, 308, 311]),
    "trees_race": (["scratch", "reused", "reused", "reused"], [596, 189, 183, 182]),
    "trees_tested": (["scratch", "reused", "scratch"], [4800, 119, 4800]),
    "trees_verified": (["screened", "reused"], [1823, 601]),
    "lists": (["scratch", "reused", "reused"], [1800, 211, 223]),
    "monomials": (["scratch", "reused", "reused"], [96, 3, 3]),
    "polynomials": (["scratch", "reused"], [82, 14]),
    "paid": (["scratch", "scratch"], [160, 0]),
    "table_ids": (["scratch"], [360]),
}


def restore(name: str, folder: Path) -> Path:
    path = folder / f"{name}.db"
    connection = sqlite3.connect(path)
    connection.executescript((DUMPS / f"{name}.sql").read_text())
    connection.close()
    return path


@pytest.mark.parametrize("name", sorted(HELD))
def test_a_store_of_0_1_opens_with_everything_in_it(name, tmp_path):
    path = restore(name, tmp_path)
    for _ in range(2):  # the second time it has been taken forward
        life = thrifty.Lifetime.open(path)
        routes, cells = HELD[name]
        assert [task.route for task in life.tasks] == routes
        assert [task.receipt.cells for task in life.tasks] == cells
        assert len(life.representation) >= 1
        assert all(model is not None for model in map(life.__getitem__, life))


@pytest.mark.parametrize(
    "name, make",
    [
        ("trees", lambda: thrifty.streams.trees(4, 12, 2, 120, 3, random_state=1)),
        ("trees_race", lambda: thrifty.streams.trees(4, 12, 2, 120, 3, random_state=2)),
        ("lists", lambda: thrifty.streams.lists(3, 12, 2, 150, 3, random_state=4)),
        ("monomials", lambda: thrifty.streams.monomials(3, 8, 2, 60, 3, random_state=5)),
    ],
)
def test_its_models_predict_and_it_goes_on_learning(name, make, tmp_path):
    life = thrifty.Lifetime.open(restore(name, tmp_path))
    for task in make():
        assert np.allclose(life[task.name].predict(task.X), task.y)
    again = life.learn("one more", task.X, task.y)
    assert again.route == "reused"


def test_what_was_spent_stays_spent(tmp_path):
    life = thrifty.Lifetime.open(restore("paid", tmp_path))
    balance = life.balance()
    assert (balance.spent, balance.reserved, balance.currency) == (380.0, 0.0, "EUR")
