"""Intervals of a model's own quality: no surer than the rows, no wider than of use."""

import numpy as np
import pytest

import thrifty
from thrifty.models.fits.quality import quality_of


@pytest.mark.parametrize("k", [6, 10, 40, 200])
def test_a_perfect_score_claims_what_its_rows_support(k):
    """Were one rare row in 1 / .025^(1/k) wrong, k rows without a fault would still be likely."""
    codes = np.repeat([0, 1], [2 * k, k])
    found = quality_of(np.column_stack([1.0 - codes, codes]), codes, np.ones(3 * k))
    for figure in (found.average_precision, found.auc):
        assert figure.value == figure.high == 1.0
        assert figure.low <= 0.025 ** (1 / k) < 1
        assert figure.low >= 0.025 ** (1 / k) - 0.05  # and more than half is still said


def test_a_perfect_model_of_thirty_rows_does_not_promise_to_stay_so():
    """What was stated, true never: 1.00 (1.00 to 1.00)."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(30, 6))
    y = (X[:, 0] > 0.3).astype(int)
    found = thrifty.Lifetime(random_state=0).learn("few", X, y, spend="100 %").model.quality_
    assert found.auc.value > 0.97
    assert found.auc.low < 0.9 and found.average_precision.low < 0.9


@pytest.mark.parametrize("n", [150, 500])
@pytest.mark.parametrize("seed", range(4))
def test_from_150_rows_on_they_are_at_most_1_4_times_what_the_draws_say(n, seed):
    rng = np.random.default_rng(seed)
    codes = (rng.random(n) < 0.3).astype(int)
    p = 1 / (1 + np.exp(-(1.6 * codes - 1.2 + rng.normal(size=n))))
    found = quality_of(np.column_stack([1 - p, p]), codes, np.ones(n))
    draws = []
    parts = [np.flatnonzero(codes == c) for c in (0, 1)]
    for _ in range(200):
        rows = np.concatenate([rng.choice(part, len(part)) for part in parts])
        draws.append(areas(p[rows], codes[rows] == 1))
    width = np.subtract(*np.quantile(draws, (0.975, 0.025)))
    assert 1.12 <= (found.auc.high - found.auc.low) / width <= 1.5


def test_an_interval_of_a_wide_table_is_no_wider_than_what_fresh_rows_would_say():
    """Rows that chose nothing and were left out say nearly as much as others: 2.0 times before."""
    rates = np.random.default_rng(0).uniform(0.03, 0.12, 150)
    ours, theirs = [], []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X, y = wide_rows(rng, 1000, rates)
        model = thrifty.Lifetime(random_state=seed).learn("rare", X, y, spend="20 %").model
        rows = np.flatnonzero(model.table_.chose_nothing)
        new, labels = wide_rows(rng, 4000, rates)
        p = model.predict_proba(new)
        counts = np.bincount(model.table_.labels[rows], minlength=2)
        some = np.concatenate([rng.choice(np.flatnonzero(labels == c), counts[c]) for c in (0, 1)])
        weights = (np.bincount(labels) / counts)[labels[some]]
        fresh = quality_of(p[some], labels[some], weights, wider=1.0)
        for found, said in ((ours, model.quality_), (theirs, fresh)):
            found.append([f.high - f.low for f in (said.average_precision, said.auc)])
    ratio = np.mean(ours, axis=0) / np.mean(theirs, axis=0)
    assert (ratio > 1.0).all() and (ratio < 1.4).all()


def wide_rows(rng, n, rates):
    """Eight of 150 seldom true Booleans tell the label."""
    X = rng.random((n, 150)) < rates
    p = 1 / (1 + np.exp(3.2 - 2.2 * X[:, :8].sum(axis=1)))
    return X, (rng.random(n) < p).astype(int)


def areas(scores, positive):
    """The area under the ROC curve, by ranks."""
    from scipy.stats import rankdata

    ranks = rankdata(scores)[positive]
    k = positive.sum()
    return (ranks.sum() - k * (k + 1) / 2) / (k * (len(scores) - k))
