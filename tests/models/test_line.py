"""Straight lines: what the default model has for few rows."""

from __future__ import annotations

import numpy as np
from sklearn.metrics import roc_auc_score

from thrifty.models.fits.line import Line, LineDesign
from thrifty.models.fits.mixture import fit_mixture


def fitted(X, y, categories=None) -> Line:
    kinds = np.zeros(X.shape[1], bool) if categories is None else np.array(categories)
    return LineDesign.of(X, kinds).fit(np.arange(len(y)), y, int(y.max()) + 1, np.ones(len(y)))


def test_gaps_categories_and_what_is_infinite_or_constant():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5))
    X[:, 1] = rng.integers(0, 3, size=200)  # a category
    X[:, 2] = 7.0  # constant
    X[::3, 3] = np.nan
    X[::50, 4] = np.inf
    y = ((X[:, 1] == 1) | np.isnan(X[:, 3])).astype(int)
    line = fitted(X, y, [False, True, False, False, False])
    assert 2 not in line.columns.feature.tolist()
    assert roc_auc_score(y, line.scores(X)[:, 0]) > 0.95
    asked = np.array([[np.nan, 9.0, -np.inf, np.nan, np.nan]])  # 9: a category never seen
    assert np.isfinite(line.scores(asked)).all()
    steps = line.as_points(X, np.array([False, True, False, False, False]))
    assert np.abs(steps.scores(X) - line.scores(X)).max() < 0.2  # in 32 steps, close to it
    assert np.isfinite(steps.scores(asked)).all()


def test_several_classes():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 2))
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    assert (fitted(X, y).scores(X).argmax(axis=1) == y).mean() > 0.8


def test_on_few_rows_a_trend_is_found_where_a_card_finds_little_of_it():
    better = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(1040, 12))
        y = (X.sum(axis=1) + rng.logistic(size=1040) > 0).astype(int)
        model = fit_mixture(X[:40], y[:40], np.ones(40))
        card = roc_auc_score(y[40:], model.card.scores(X[40:])[:, 0])
        better.append(roc_auc_score(y[40:], model.predict_proba(X[40:])[:, 1]) - card)
    assert np.mean(better) > 0.03
