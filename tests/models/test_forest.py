"""A forest as arrays: it says what scikit-learn's trees say, on numbers, gaps and many classes."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier

from thrifty.models.fits.boosting import _IN_LEAF, _PRIOR, _TREES, grow_extra_trees
from thrifty.models.fits.tree_sums import tree_sum_from_dict

NONE = np.zeros(5, dtype=bool)


def made(classes, n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 30, size=(n, 5)).astype(float)  # few values: a bin for each
    y = np.minimum((X[:, 0] + X[:, 1]) // 15, classes - 1).astype(np.int64)
    return X, y, rng.random(n) + 0.5


def by_hand(X, y, weights, asked, seed):
    """The mean of the leaves' log-odds, straight from scikit-learn's trees."""
    order = [np.unique(column) for column in X.T]
    bins = [np.searchsorted(o, x) for o, x in zip(order, X.T)]
    forest = ExtraTreesClassifier(_TREES, min_samples_leaf=_IN_LEAF, random_state=seed)
    forest.fit(np.column_stack(bins), y, sample_weight=weights)
    share = np.bincount(y, weights=weights) / weights.sum()
    there = np.column_stack([np.searchsorted(o, x) for o, x in zip(order, asked.T)])
    total = 0.0
    for tree in forest.estimators_:
        leaf = tree.apply(there.astype(np.float32))
        shares = tree.tree_.value[leaf, 0, :]
        rows = tree.tree_.weighted_n_node_samples[leaf][:, None]
        total = total + np.log(shares / shares.sum(axis=1, keepdims=True) * rows + _PRIOR * share)
    return total / _TREES


@pytest.mark.parametrize("classes", [2, 4])
def test_it_says_what_scikit_learns_trees_say(classes):
    X, y, weights = made(classes)
    log = by_hand(X, y, weights, X, 3)
    wanted = log[:, 1:] - log[:, :1] if classes == 2 else log - log.mean(axis=1, keepdims=True)
    grown = grow_extra_trees(X, y, weights, NONE, 3)
    assert np.allclose(grown.scores(X), wanted)
    assert np.allclose(tree_sum_from_dict(grown.to_dict()).scores(X), wanted)


def test_a_gap_goes_where_the_middle_value_goes():
    X, y, weights = made(2)
    X[::7, 0] = np.nan
    grown = grow_extra_trees(X, y, weights, NONE, 0)
    asked = X[:50].copy()
    asked[:, 0] = np.nan
    filled = asked.copy()
    filled[:, 0] = np.quantile(X[~np.isnan(X[:, 0]), 0], 0.5, method="nearest")
    assert np.array_equal(grown.scores(asked), grown.scores(filled))
    other = filled.copy()
    other[:, 0] = 0.0
    assert not np.array_equal(grown.scores(asked), grown.scores(other))


def test_a_feature_without_a_value_is_no_harm():
    X, y, weights = made(2)
    X[:, 4] = np.nan
    assert np.isfinite(grow_extra_trees(X, y, weights, NONE, 0).scores(X)).all()


def test_a_category_never_seen_goes_with_the_gaps():
    X, y, weights = made(2)
    first = np.arange(5) == 0
    grown = grow_extra_trees(X, y, weights, first, 0)
    assert np.array_equal(grown.scores(X), grow_extra_trees(X, y, weights, NONE, 0).scores(X))
    new, gap = X[:50].copy(), X[:50].copy()
    new[:, 0], gap[:, 0] = 99.0, np.nan
    assert np.array_equal(grown.scores(new), grown.scores(gap))
    again = tree_sum_from_dict(grown.to_dict())
    assert np.array_equal(again.scores(new), grown.scores(new))
