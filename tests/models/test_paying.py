"""Without ``spend=`` a task stops where more would not pay; with it, it spends what was said."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import r2_score, roc_auc_score

import thrifty


def easy_classes(kind: str) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    if kind == "numbers":
        X = rng.normal(size=(3400, 10))
        return X, (X[:, 0] + 0.3 * rng.normal(size=3400) > 0).astype(int)
    X = rng.random((3400, 8)) < 0.3
    return X, X[:, 0] | X[:, 1]


@pytest.mark.parametrize("kind", ["numbers", "booleans"])
def test_an_easy_label_is_learned_for_a_part_of_the_limit(kind):
    X, y = easy_classes(kind)
    rows, limit = 1800, 1800 * X.shape[1]  # below 30,000 cells: the limit is everything
    learned = thrifty.Lifetime(thrifty.Models(random_state=0)).learn("t", X[:rows], y[:rows])
    assert learned.receipt.cells < 0.6 * limit
    told = thrifty.Lifetime(thrifty.Models(random_state=0)).learn(
        "t", X[:rows], y[:rows], spend=limit
    )
    assert told.receipt.cells > 0.9 * limit
    ours, whole = (
        roc_auc_score(y[rows:], one.model.predict_proba(X[rows:])[:, 1]) for one in (learned, told)
    )
    assert ours > whole - 0.005 > 0.9


def test_where_rows_still_teach_most_of_the_limit_is_spent():
    """Sixty weak features: all of them, and rows beyond the half that are had while they wait."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 60))
    y = (X @ rng.normal(size=60) * 0.2 + rng.logistic(size=700) > 0).astype(int)
    learned = thrifty.Lifetime(thrifty.Models(random_state=0)).learn("t", X, y)
    assert 28_000 < learned.receipt.cells <= 30_000
    table = learned.model.table_
    assert table.n_rows > 450 and len(table.features) > 50


def test_labels_that_are_numbers_stop_too():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(2200, 20))
    y = 2 * X[:, 3] - X[:, 7] + 0.2 * rng.normal(size=2200)
    rows = 1400
    learned = thrifty.Lifetime(thrifty.Models(random_state=0)).learn("t", X[:rows], y[:rows])
    assert learned.receipt.cells < 0.6 * rows * 20
    assert r2_score(y[rows:], learned.model.predict(X[rows:])) > 0.98


def test_the_limit_holds_below_a_larger_budget():
    rng = np.random.default_rng(0)
    X = rng.random((1500, 500)) < 0.1
    y = X[:, 0] | X[:, 1]
    life = thrifty.Lifetime(thrifty.Models(random_state=0), budget=thrifty.Budget(total=1_000_000))
    assert life.learn("t", X, y).receipt.cells <= 37_500
