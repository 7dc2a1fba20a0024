"""The real-data benchmark on the digits, which are always there."""

from __future__ import annotations

import numpy as np
import pytest

from studies import real_data, real_learners, real_pictures, real_sets


@pytest.fixture(scope="module")
def digits():
    return real_sets.load("digits")


def test_tasks_are_fresh_disjoint_and_repeatable(digits):
    one, again = (list(real_sets.label_tasks(digits, 3, most=2, n_rows=300)) for _ in "ab")
    assert [t.name for t in one] == ["digits-0", "digits-9"]
    assert (one[0].X == again[0].X).all() and len(one[0].y) == 300
    assert len(one[0].y) + len(one[0].y_test) == len(digits.X)
    assert not (one[0].X[:50] == one[1].X[:50]).all()


def test_sites_split_the_rows(digits):
    tasks = list(real_sets.site_tasks(digits, 0, sites=3, most=2, n_rows=200))
    assert [site for site, _ in tasks] == [0, 0, 1, 1, 2, 2]
    assert len({task.name for _, task in tasks}) == 6


def test_scratch_is_the_highest_gain_tree():
    X = np.array([[1, 0], [1, 1], [0, 0], [0, 1]] * 5, dtype=np.uint8)
    task = real_sets.RealTask("t", X, X[:, 0].astype(np.int64), X, X[:, 0].astype(np.int64))
    grown = real_learners.Scratch().learn(task)
    assert grown.tree == (0, (10, 0), (10, 10)) and grown.share == 1.0
    p = real_learners.leaf_probabilities(grown.tree, X, 0.5)
    assert set(p.round(4)) == {round(2.5 / 15, 4), round(12.5 / 15, 4)}


def test_every_learner_gives_a_row_and_verified_is_cheap(digits):
    rows, curve = real_data.compare_learners(
        digits, seeds=1, most=2, only=["Verified", "Verified, no memory", "race"]
    )
    by = {row["learner"]: row for row in rows}
    assert by["scratch"]["cells %"] == 100 and by["scratch"]["AP ratio"] == 1
    assert by["Verified"]["cells %"] < by["race"]["cells %"]
    assert by["Verified"]["AP ratio"] > 0.85
    saved = real_data.measure_memory(rows)[0]
    assert saved["cells % with"] == by["Verified"]["cells %"]
    assert len(real_pictures.bill_curve(curve, "digits", "Verified")) == 2


def test_pictures_are_drawn(tmp_path):
    rows = [{"set": "a", "learner": name, "cells %": 5.0, "AP ratio": 1.0} for name in ("x", "y")]
    names = ("Verified", "Verified, no memory")
    curve = [{"set": "a", "learner": n, "task": t, "share": 0.1} for n in names for t in (0, 1)]
    real_pictures.draw_frontier(rows, tmp_path / "f.png")
    real_pictures.draw_bills(curve, tmp_path / "b.png")
    assert (tmp_path / "f.png").stat().st_size > 5000 < (tmp_path / "b.png").stat().st_size
