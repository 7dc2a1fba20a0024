"""``learn_many`` with Models: the result of learning one by one, whatever the workers."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import thrifty

#: our own models, and with prices one that is quick to fit: what is bought is decided alike
FAMILIES = {"cells": thrifty.Models(), "priced": thrifty.Models(LogisticRegression())}
PRICES = {"cells": None, "priced": np.linspace(0.5, 3.0, 30)}


def tasks(n=3):
    rng = np.random.default_rng(0)
    X = rng.random((1200, 30)) < rng.uniform(0.05, 0.3, 30)
    for t in range(n):
        rows = rng.permutation(len(X))[:200]
        y = X[:, 5 * t] | X[:, 5 * t + 1]
        yield f"t{t}", X[rows], y[rows] ^ (rng.random(200) < 0.05)


def learned_by(n_jobs, engine, prices):
    life = thrifty.Lifetime(FAMILIES[prices], prices=PRICES[prices], random_state=3)
    life.learn_many(tasks(), n_jobs=n_jobs, engine=engine)
    return life


@cache
def learned_by_hand(prices):
    life = thrifty.Lifetime(FAMILIES[prices], prices=PRICES[prices], random_state=3)
    for name, X, y in tasks():
        life.learn(name, X, y)
    return life


@pytest.mark.parametrize(
    ("prices", "n_jobs", "engine"),
    [
        ("cells", 1, "threads"),
        ("cells", 2, "loky"),
        ("priced", 2, "threads"),
        ("priced", 2, "loky"),
    ],
)
def test_the_result_does_not_depend_on_the_workers(prices, n_jobs, engine):
    by_hand = learned_by_hand(prices)
    other = learned_by(n_jobs, engine, prices)
    assert list(other) == list(by_hand)
    assert other.representation.to_dict() == by_hand.representation.to_dict()
    for name, X, _ in tasks():
        assert other._shelf.tasks[name].receipt == by_hand._shelf.tasks[name].receipt
        assert np.array_equal(other[name].predict_proba(X), by_hand[name].predict_proba(X))


def test_nothing_is_tried_that_would_be_thrown_away(monkeypatch):
    tried = []
    real = thrifty.Models.use_rep
    monkeypatch.setattr(thrifty.Models, "use_rep", lambda *given: tried.append(1) or real(*given))
    learned_by(2, "threads", "priced")
    assert len(tried) == 3
