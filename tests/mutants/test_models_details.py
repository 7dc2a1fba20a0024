"""Details of models that a small change would break unnoticed."""

from __future__ import annotations

import numpy as np

import thrifty


def test_another_seed_buys_other_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 12))
    y = X[:, 0] + rng.normal(size=400) > 0
    bought = [
        set(thrifty.ModelClassifier(spend=800, random_state=s).fit(X, y).table_.rows.tolist())
        for s in (1, 2, 1)
    ]
    assert bought[0] == bought[2] != bought[1]
