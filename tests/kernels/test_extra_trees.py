"""Random trees and score tests by kernels, against plain Python and scikit-learn."""

from __future__ import annotations

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.metrics import roc_auc_score

from thrifty.kernels.binned_scores import binned_scores
from thrifty.kernels.extra_trees import grow_forest
from thrifty.models.fits.boosting import forest_bins, grow_forest_in_bins


def grown(bins, codes, weights, trees=5, in_leaf=4, seed=0):
    room = trees * (2 * len(codes) + 1)
    roots, nodes = np.zeros(trees, np.int64), np.zeros((room, 4), np.int64)
    counts = np.zeros((room, int(codes.max()) + 1))
    made = grow_forest(
        bins, codes, weights, counts.shape[1], trees, in_leaf, 2, seed, roots, nodes, counts
    )
    return roots, nodes[:made], counts[:made]


def test_every_node_counts_the_rows_that_come_to_it_and_leaves_are_large_enough():
    rng = np.random.default_rng(0)
    bins = rng.integers(0, 6, (4, 200)).astype(np.uint8)
    codes, weights = rng.integers(0, 3, 200), rng.uniform(0.5, 2.0, 200)
    roots, nodes, counts = grown(bins, codes, weights)
    for root in roots.tolist():
        waiting = [(root, np.arange(200))]
        while waiting:
            at, rows = waiting.pop()
            held = np.bincount(codes[rows], weights[rows], 3)
            np.testing.assert_allclose(counts[at], held)
            feature, cut, left, right = nodes[at].tolist()
            if feature < 0:
                continue
            below = bins[feature, rows] <= cut
            assert min(below.sum(), (~below).sum()) >= 4
            waiting += [(left, rows[below]), (right, rows[~below])]


def test_a_seed_gives_the_same_forest_and_another_gives_another():
    rng = np.random.default_rng(1)
    bins, codes = rng.integers(0, 9, (5, 150)).astype(np.uint8), rng.integers(0, 2, 150)
    first, same, other = (grown(bins, codes, np.ones(150), seed=s)[1] for s in (3, 3, 4))
    assert np.array_equal(first, same) and not np.array_equal(first, other)


def test_forests_tell_as_much_as_those_of_scikit_learn():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(3000, 8))
    y = (X[:, 0] * X[:, 1] + X[:, 2] + 0.5 * rng.normal(size=3000) > 0.5).astype(np.int64)
    ours, theirs = [], []
    for seed in range(2):
        none = np.zeros(8, dtype=bool)
        forest = grow_forest_in_bins(
            forest_bins(X[:600], none), X[:600], y[:600], np.ones(600), seed
        )
        ours.append(roc_auc_score(y[600:], forest.scores(X[600:])[:, 0]))
        other = ExtraTreesClassifier(40, min_samples_leaf=5, random_state=seed)
        other.fit(X[:600], y[:600])
        theirs.append(roc_auc_score(y[600:], other.predict_proba(X[600:])[:, 1]))
    assert abs(np.mean(ours) - np.mean(theirs)) < 0.02


def test_score_sums_are_those_of_counting_bin_by_bin():
    rng = np.random.default_rng(3)
    codes = rng.integers(-1, 5, (6, 80))
    r, h = rng.normal(size=(80, 3)), rng.uniform(0.1, 0.3, (80, 3))
    w, found = rng.uniform(0.5, 2.0, 80), np.zeros((6, 4))
    binned_scores(codes, r, h, w, 5, found)
    for line, code in zip(found, codes):
        rise = chance = 0.0
        for b in range(5):
            here = code == b
            for k in range(3):
                up = (w[here] * r[here, k]).sum()
                rise += up**2 / ((w * h[:, k])[here].sum() + 1e-9) / 2
                chance += up**2 / ((w * w * h[:, k])[here].sum() + 1e-9) / 2
        seen = code >= 0
        np.testing.assert_allclose(line, [rise, chance, len(set(code[seen])), w[seen].sum()])
