"""``learn_many`` with Models: the result of learning one by one, whatever the workers."""

from __future__ import annotations

import numpy as np
import pytest

import thrifty


def tasks(n=4):
    rng = np.random.default_rng(0)
    X = rng.random((2000, 80)) < rng.uniform(0.05, 0.3, 80)
    for t in range(n):
        rows = rng.permutation(len(X))[:500]
        y = X[:, 5 * t] | X[:, 5 * t + 1]
        yield f"t{t}", X[rows], y[rows] ^ (rng.random(500) < 0.05)


def learned_by(n_jobs, engine, prices=None):
    life = thrifty.Lifetime(prices=prices, random_state=3)
    life.learn_many(tasks(), n_jobs=n_jobs, engine=engine)
    return life


@pytest.mark.parametrize("engine", ["threads", "loky"])
@pytest.mark.parametrize("prices", [None, np.linspace(0.5, 3.0, 80)])
def test_the_result_does_not_depend_on_the_workers(engine, prices):
    one, two = learned_by(1, "threads", prices), learned_by(2, engine, prices)
    by_hand = thrifty.Lifetime(prices=prices, random_state=3)
    for name, X, y in tasks():
        by_hand.learn(name, X, y)
    for other in (one, two):
        assert list(other) == list(by_hand)
        assert other.representation.to_dict() == by_hand.representation.to_dict()
        for name, X, _ in tasks():
            assert other._tasks[name].receipt == by_hand._tasks[name].receipt
            assert np.array_equal(other[name].predict_proba(X), by_hand[name].predict_proba(X))


def test_nothing_is_tried_that_would_be_thrown_away(monkeypatch):
    tried = []
    real = thrifty.Models.use_rep
    monkeypatch.setattr(
        thrifty.Models, "use_rep", lambda *given: tried.append(1) or real(*given)
    )
    learned_by(2, "threads")
    assert len(tried) == 4
