"""Without ``spend=``: a tenth of everything or 30,000 cells, and no more under a larger budget."""

from __future__ import annotations

import numpy as np

import thrifty


def test_the_limit_holds_below_a_larger_budget():
    rng = np.random.default_rng(0)
    X = rng.random((1500, 500)) < 0.1
    y = X[:, 0] | X[:, 1]
    life = thrifty.Lifetime(thrifty.Models(random_state=0), budget=thrifty.Budget(total=1_000_000))
    assert life.learn("t", X, y).receipt.cells <= 75_000
