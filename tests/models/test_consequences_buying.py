"""What buying, the memory and the columns of a fit are for: a bill, a rate, a loss on new rows."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import thrifty
from thrifty.estimators import ScorecardClassifier

pd = pytest.importorskip("pandas")

N, TOLD, SHARE = 200, 60, 0.25
RATE, IN_RARE = 0.08, 0.25


def ward(rng, n=2000):
    """Sixty of 200 Booleans are three times as common in a quarter of the rows."""
    y = rng.random(n) < SHARE
    X = rng.random((n, N)) < RATE
    X[:, :TOLD] = rng.random((n, TOLD)) < np.where(y, IN_RARE, RATE)[:, None]
    return X, y.astype(int)


def test_probabilities_of_a_wide_task_add_up_to_the_share_of_its_rare_class():
    """Each rare row stands for those that were not bought; were it one row, .2 of the share."""
    X, y = ward(np.random.default_rng(0))
    life = thrifty.Lifetime(random_state=0)
    learned = life.learn("ill", X, y, spend="4 %")
    table = learned.model.table_
    rare = table.labels == 1
    assert table.weights[rare].sum() == pytest.approx(y.sum())
    new, _ = ward(np.random.default_rng(1), 4000)
    assert 0.7 < learned.model.predict_proba(new)[:, 1].mean() / SHARE < 1.4


def held_out(fit, draw, n, seeds):
    """The mean AUROC of what is fitted on n rows, on 2,000 others."""
    found = []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        X, y = draw(rng, n)
        new, labels = draw(rng, 2000)
        found.append(roc_auc_score(labels, fit(X, y)(new)))
    return float(np.mean(found))


def mostly_nothing(rng, n):
    """Zero on a fifth of the rows, where the label is common; little more or less tells nothing."""
    zero = rng.random(n) < 0.2
    X = np.where(zero, 0.0, rng.normal(size=n))[:, None]
    return X, (rng.random(n) < np.where(zero, 0.8, 0.2)).astype(np.int64)


def test_a_value_that_many_rows_share_has_a_bin_of_its_own():
    """Beside what is next to it: .712 on new rows; with bins of their own .732."""

    def fit(X, y):
        return ScorecardClassifier(max_bins=8, calibrated=False).fit(X, y).decision_function

    assert held_out(fit, mostly_nothing, 600, 6) > 0.722
