"""Rows that are bought one by one are moved into columns together, and known before."""

import sqlite3

import numpy as np

import thrifty
from tests.market import seller


def test_rows_one_by_one_are_owned_at_once_and_rewrite_columns_rarely(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    sold, names = [], ["a", "b", "c"]

    def ask(ids, asked):
        sold.extend((i, name) for i in ids for name in asked)
        return X[np.ix_([int(i) for i in ids], [names.index(name) for name in asked])]

    def of(rows):
        return seller(ask, rows, names, prices=1, kinds=dict.fromkeys(names, "number"))

    life = thrifty.Lifetime(store=tmp_path / "life.db", prices=1, random_state=0)
    life.learn("ill", of(range(100)), X[:100].sum(axis=1) > 0, spend=300)
    written, waiting = set(), []
    for row in range(100, 300):
        life.predict("ill", of([row]))
        with sqlite3.connect(tmp_path / "life.db") as store:
            blocks = store.execute("SELECT block FROM cell_blocks WHERE kind = 'feature'")
            written.update(bytes(block) for (block,) in blocks)
            waiting += store.execute(
                "SELECT COUNT(*) FROM purchases WHERE status = 'settled' AND compacted = 0"
            ).fetchone()
    assert len(set(sold)) == len(sold) > 400
    assert max(waiting) < 70 and len(written) <= 3 * (1 + 200 // 60)
    again = thrifty.Lifetime.open(tmp_path / "life.db")
    before = len(sold)
    for row in (100, 180, 299):
        again.predict("ill", of([row]))
    assert len(sold) == before and again.balance().spent == before
