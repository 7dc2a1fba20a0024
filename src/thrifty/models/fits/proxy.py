"""The proxy model by which questions are chosen: small boosted trees over bins, in milliseconds.

Good enough to compare questions with, and too weak for the answers themselves (three points of
average precision on intensive care): the prefixes are fitted with the real estimator. Second-order
boosting as in Chen and Guestrin, *XGBoost* (KDD 2016), level by level, all rows scored on the way.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thrifty.kernels.jit import jit

__all__ = ["proxy_out_of_fold"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Set by hand for speed: a second where scikit-learn's boosting took 60 on 57 features
# (docs/predicting.md, How it works: 1).
ROUNDS = 30
DEPTH = 3
RATE = 0.2
RIDGE = 1.0


@jit
def _best_splits(
    codes: Ints, rows: Ints, node: Ints, g: Floats, h: Floats, n_nodes: int, n_bins: int,
    ridge: float, least: float,
) -> tuple[Ints, Ints]:  # fmt: skip
    """For every node of a level the feature and the last bin of its lower side; -1: none."""
    k = codes.shape[1]
    G, H = np.zeros((n_nodes, k, n_bins)), np.zeros((n_nodes, k, n_bins))
    for i in rows:
        at = node[i]
        for j in range(k):
            G[at, j, codes[i, j]] += g[i]
            H[at, j, codes[i, j]] += h[i]
    feature, cut = np.full(n_nodes, -1, np.int64), np.zeros(n_nodes, np.int64)
    for at in range(n_nodes):
        best = 1e-9
        for j in range(k):
            whole_g, whole_h = G[at, j].sum(), H[at, j].sum()
            base = whole_g * whole_g / (whole_h + ridge)
            left_g = left_h = 0.0
            for b in range(n_bins - 1):
                left_g += G[at, j, b]
                left_h += H[at, j, b]
                right_g, right_h = whole_g - left_g, whole_h - left_h
                if left_h < least or right_h < least:
                    continue
                gain = left_g**2 / (left_h + ridge) + right_g**2 / (right_h + ridge) - base
                if gain > best:
                    best, feature[at], cut[at] = gain, j, b
    return feature, cut


@jit
def _boost(
    codes: Ints, target: Floats, weights: Floats, train: Ints, score: Floats, n_bins: int,
    rounds: int, depth: int, rate: float, ridge: float, least: float,
) -> None:  # fmt: skip
    """Add trees, grown on the rows of ``train``, to the log-odds of every row, in place."""
    n = len(target)
    g, h = np.zeros(n), np.zeros(n)
    for _ in range(rounds):
        for i in train:
            p = 1.0 / (1.0 + np.exp(-score[i]))
            g[i] = weights[i] * (target[i] - p)
            h[i] = weights[i] * max(p * (1.0 - p), 1e-6)
        node = np.zeros(n, np.int64)
        n_nodes = 1
        for _ in range(depth):
            feature, cut = _best_splits(codes, train, node, g, h, n_nodes, n_bins, ridge, least)
            for i in range(n):
                at = node[i]
                right = feature[at] >= 0 and codes[i, feature[at]] > cut[at]
                node[i] = 2 * at + (1 if right else 0)
            n_nodes *= 2
        G, H = np.zeros(n_nodes), np.zeros(n_nodes)
        for i in train:
            G[node[i]] += g[i]
            H[node[i]] += h[i]
        for i in range(n):
            score[i] += rate * G[node[i]] / (H[node[i]] + ridge)


def proxy_out_of_fold(codes: Ints, y: Ints, weights: Floats, fold: Ints) -> Floats:
    """(rows, classes): each row's probabilities from trees that did not see it.

    >>> codes = np.repeat([[0], [1]], 50, axis=0)
    >>> y = codes[:, 0]
    >>> p = proxy_out_of_fold(codes, y, np.ones(100), np.arange(100) % 4)
    >>> bool((p.argmax(axis=1) == y).all())
    True
    """
    n_classes = int(y.max()) + 1
    weights = weights / weights.mean()
    out = np.zeros((len(y), n_classes))
    shifted = np.ascontiguousarray(codes + 1, dtype=np.int64)  # what was not bought is bin 0
    for i in np.unique(fold):
        train, test = np.flatnonzero(fold != i), np.flatnonzero(fold == i)
        shares = np.bincount(y[train], weights[train], n_classes) + 1e-3
        shares = shares / shares.sum()
        for k in range(1 if n_classes == 2 else 0, n_classes):
            out[test, k] = _one_class(shifted, y == k, weights, train, shares[k])[test]
    if n_classes == 2:
        out[:, 0] = 1 - out[:, 1]
    out = np.clip(out, 1e-4, 1 - 1e-4)
    return np.asarray(out / out.sum(axis=1, keepdims=True))


def _one_class(
    codes: Ints, target: NDArray[np.bool_], weights: Floats, train: Ints, share: float
) -> Floats:
    score = np.full(len(target), np.log(share / (1 - share)))
    if codes.shape[1]:
        least = max(1.0, 0.002 * len(train))
        _boost(
            codes, target.astype(np.float64), weights, train, score, int(codes.max()) + 1,
            ROUNDS, DEPTH, RATE, RIDGE, least,
        )  # fmt: skip
    return np.asarray(1 / (1 + np.exp(-score)))
