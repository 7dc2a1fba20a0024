"""Tested(0.01, 0.95): the promise on seeded streams, and a bill that does not grow with S."""

import numpy as np
import pytest

import thrifty
from tests.guarantees.seeds import seeds, shifted


def bills_and_errors(K, N, d, S, n_reused, seed):
    """The cells of reused tasks, and the share of all rows on which their trees are wrong."""
    stream = thrifty.streams.trees(n_reused + 60, N, K, S, d, random_state=seed)
    family = thrifty.Trees(max_depth=d, learner=thrifty.trees.Tested(0.01, 0.95))
    life = thrifty.Lifetime(family)
    bills, errors = [], []
    for task in stream:
        learned = life.learn(task.name, task.X, task.y)
        if learned.route == "reused":
            bills.append(learned.receipt.cells)
            errors.append((learned.model.predict(task.X) != task.y).mean())
        if len(bills) == n_reused:
            break
    return bills, errors


def test_the_promise_is_kept_at_moderate_size():
    bills, errors = bills_and_errors(4, 60, 4, 20_000, 25, seed=shifted(0))
    assert np.mean(bills) <= 5_000
    assert np.mean(np.array(errors) <= 0.01) >= 0.95


@pytest.mark.slow
@pytest.mark.parametrize("seed", seeds(1, 6))
def test_the_promise_is_kept_at_100_000_rows(seed):
    bills, errors = bills_and_errors(6, 120, 5, 100_000, 100, seed)
    assert np.mean(bills) <= 5_000
    assert np.mean(np.array(errors) <= 0.01) >= 0.95
