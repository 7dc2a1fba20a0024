"""Trees of ours and trees read out of scikit-learn predict what it predicts, and survive JSON."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier

from thrifty.models.fits import boosting
from thrifty.models.fits.boosting import grow_boosted, read_trees
from thrifty.models.fits.tree_sums import bin_edges, in_bins, tree_sum_from_dict


def mixed(n, seed, strangers=False):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    X[:, 1] = rng.integers(0, 6 + 2 * strangers, n) * 3
    X[:, 3] = rng.integers(0, 3, n)
    X[rng.random(X.shape) < 0.15] = np.nan
    X[:3, 0] = [np.inf, -np.inf, 1e300]
    bend = np.nan_to_num(X[:, 0], posinf=3, neginf=-3).clip(-3, 3)
    logit = bend + (X[:, 1] == 9) * 2 - np.isnan(X[:, 2]) + X[:, 4].clip(0, 2) * 0
    return X, np.nan_to_num(logit) + rng.normal(size=n)


@pytest.mark.parametrize("categories", [[], [1, 3]])
@pytest.mark.parametrize("cuts", [[0.3], [-0.5, 0.5]])
def test_the_same_scores_as_scikit_learn(categories, cuts):
    X, logit = mixed(400, 0)
    y = np.digitize(logit, cuts)
    weights = np.random.default_rng(5).uniform(0.5, 4, 400)
    grown = HistGradientBoostingClassifier(
        max_iter=30, max_leaf_nodes=8, categorical_features=categories or None, random_state=0
    ).fit(X, y, sample_weight=weights)
    read = read_trees(grown, np.array(categories, dtype=np.int64))
    asked, _ = mixed(300, 1, strangers=True)
    expected = grown.decision_function(asked).reshape(300, -1)
    assert np.abs(read.scores(asked) - expected).max() < 1e-12
    again = tree_sum_from_dict(json.loads(json.dumps(read.to_dict())))
    assert (again.scores(asked) == read.scores(asked)).all()


def test_a_category_of_very_many_values_is_cut_as_a_number():
    X = np.arange(600.0)[:, None]
    trees = grow_boosted(X, (X[:, 0] > 300).astype(int), np.ones(600), np.array([True]), 0)
    assert not trees.sets
    assert ((trees.scores(X)[:, 0] > 0) == (X[:, 0] > 300)).mean() > 0.99


def test_coarse_bins_change_nothing_where_there_are_few_values():
    X, logit = mixed(400, 2)
    X = np.where(np.isfinite(X), X.round(1).clip(-2.5, 2.5), X)
    y = (logit > 0.3).astype(int)
    grown = HistGradientBoostingClassifier(
        max_iter=100, max_leaf_nodes=8, min_samples_leaf=8, learning_rate=0.06, random_state=0
    ).fit(X, y, sample_weight=np.ones(400))
    ours = grow_boosted(X, y, np.ones(400), np.zeros(5, dtype=bool), 0)
    asked = X[::-1] + 0.01
    assert np.abs(ours.scores(asked)[:, 0] - grown.decision_function(asked)).max() < 1e-9


def test_many_values_are_cut_at_quantiles_and_gaps_apart():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 2))
    X[rng.random(2000) < 0.4, 1] = np.nan
    y = ((X[:, 0] > 0.7) | np.isnan(X[:, 1])).astype(int)
    trees = grow_boosted(X, y, np.ones(2000), np.zeros(2, dtype=bool), 0)
    assert ((trees.scores(X)[:, 0] > 0) == y).mean() > 0.98


@pytest.mark.parametrize(
    ("rows", "features", "gaps", "kind"),
    [
        (400, 10, 0.1, "classes"),
        (300, 30, 0.0, "words"),
        (300, 80, 0.1, "classes"),  # half of the features at each look
        (400, 8, 0.2, "numbers"),
        (60, 70, 0.3, "words"),
        (20, 3, 0.5, "classes"),
        (12, 3, 0.0, "numbers"),  # too few for a split
    ],
)
def test_our_kernel_grows_the_trees_of_scikit_learn(rows, features, gaps, kind):
    rng = np.random.default_rng(rows)
    X = rng.normal(size=(rows, features))
    X = (X > 0.5).astype(float) if kind == "words" else X
    score = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=rows)
    y = score if kind == "numbers" else (score > 0.3).astype(np.int64)
    X[rng.random(X.shape) < gaps] = np.nan
    none, weights = np.zeros(features, dtype=bool), rng.uniform(0.5, 4, rows)
    coarse = in_bins(X, [bin_edges(x) for x in X.T], none)
    how = boosting.HowToGrow(trees=60, leaves=4 if kind == "numbers" else 8, ridge=3.0 * (gaps > 0))
    ours = boosting._by_kernel(coarse, y, weights, 3, how)
    theirs = boosting._by_scikit_learn(coarse, y, weights, none, 3, how)
    read = read_trees(theirs, np.zeros(0, dtype=np.int64))
    for part in ("roots", "feature", "threshold", "left", "right", "gap_left"):
        assert np.array_equal(getattr(ours, part), getattr(read, part)), part
    assert np.allclose(ours.value, read.value, rtol=1e-9, atol=0) and ours.base == read.base


def test_what_the_kernel_does_not_do_scikit_learn_does(monkeypatch):
    asked = []
    real = boosting._by_scikit_learn
    monkeypatch.setattr(
        boosting, "_by_scikit_learn", lambda *given: asked.append(1) or real(*given)
    )
    X, logit = mixed(200, 4)
    five = boosting.HowToGrow(trees=5)
    y, ones, none = (logit > 0.3).astype(int), np.ones(200), np.zeros(5, dtype=bool)
    assert len(grow_boosted(X, y, ones, none, 0, five).roots) == 5 and not asked
    grow_boosted(X, y, ones, none | (np.arange(5) == 3), 0, five)
    grow_boosted(X, np.digitize(logit, [-0.5, 0.5]), ones, none, 0, five)
    monkeypatch.setattr(boosting, "_MANY", 1000)
    grow_boosted(X, y, ones, none, 0, five)
    assert len(asked) == 3
