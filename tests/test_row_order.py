"""The order in which learners take rows: a secret of the lifetime, kept, or ``random_state``."""

from __future__ import annotations

import numpy as np
import pytest

import thrifty
from thrifty.powers import Monomials
from thrifty.stores.settings import row_seed


@pytest.fixture
def nothing_said(monkeypatch):
    monkeypatch.delenv("THRIFTY_ROW_SEED", raising=False)


def table(seed=0, n=3000, k=30):
    X = np.random.default_rng(seed).random((n, k)) < 0.5
    return X, X[:, 3] & X[:, 5] | X[:, 7]


def test_a_lifetime_draws_its_own_order_and_a_store_keeps_it(tmp_path, nothing_said):
    path = str(tmp_path / "s.db")
    one, other = (thrifty.Lifetime(thrifty.Trees(max_depth=3)) for _ in range(2))
    kept = thrifty.Lifetime(thrifty.Trees(max_depth=3), store=path)
    assert len({one.row_seed, other.row_seed, kept.row_seed}) == 3
    assert thrifty.Lifetime.open(path).row_seed == kept.row_seed
    assert thrifty.Lifetime(store=path).row_seed == kept.row_seed


def test_random_state_gives_the_order_again(nothing_said):
    family = thrifty.Trees(max_depth=3)
    assert thrifty.Lifetime(family, random_state=5).row_seed == 5
    assert row_seed(None) != row_seed(None)


@pytest.mark.parametrize("learner", [thrifty.Race(), thrifty.Verified()])
def test_trees_take_rows_in_the_lifetimes_order(learner):
    X, y = table()
    bills = [
        [
            thrifty.Lifetime(thrifty.Trees(3, learner), random_state=state)
            .learn("t", X, y)
            .receipt.per_feature
            for _ in range(2)
        ]
        for state in (1, 2, 3)
    ]
    assert all(first == second for first, second in bills)
    assert len({str(first) for first, _ in bills}) > 1


@pytest.mark.parametrize("engine", ["threads"])
def test_tasks_that_are_learned_ahead_take_the_same_order(engine):
    tasks = [(t.name, t.X, t.y) for t in thrifty.streams.trees(8, 40, 2, 900, 3, random_state=1)]
    bills = []
    for many in (False, True):
        life = thrifty.Lifetime(thrifty.Trees(max_depth=3), random_state=9)
        if many:
            life.learn_many(tasks, n_jobs=2, engine=engine)
        else:
            for task in tasks:
                life.learn(*task)
        bills.append([row["cells"] for row in life.bill_rows()])
    assert bills[0] == bills[1]


def test_monomials_are_verified_on_rows_that_nobody_could_foresee():
    """The rows that a constant order verifies on fit; the others do not. A secret order tells."""
    from thrifty.powers.row_order import shuffled

    random = np.random.default_rng(0)
    X, Z = random.uniform(1, 2, (2, 200, 12))
    y = Z[:, 3] * 2.0
    laid_out = shuffled(200)[:12]
    y[laid_out] = Z[laid_out, 3]
    wrong = []
    for state in (0, 1):
        life = thrifty.Lifetime(Monomials(2), random_state=state)
        life.learn("first", X, X[:, 3])
        try:
            life.learn("second", Z, y)
            wrong.append(state)
        except thrifty.errors.ThriftyError:
            pass
    assert wrong == [0]
