"""The proxy model by which questions are chosen: small boosted trees over bins, in milliseconds.

Good enough to compare questions with, and too weak for the answers themselves (three points of
average precision on intensive care): the prefixes are fitted with the real estimator. Second-order
boosting as in Chen and Guestrin, *XGBoost* (KDD 2016), level by level, all rows scored on the way.
"""

from __future__ import annotations

import math

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
def _add_up(
    sums: Floats, above: Floats, bins: Ints, train: Ints, node: Ints, g: Floats, h: Floats,
    size: Ints, n_nodes: int,
) -> None:  # fmt: skip
    """Residuals and curvatures of every bin of each node of a level, in place.

    Of two children the smaller is added up; the other is what is left of their parent.
    """
    added = np.ones(n_nodes, np.bool_)
    for at in range(0, n_nodes - 1, 2):
        added[at] = size[at] <= size[at + 1]
        added[at + 1] = not added[at]
    for at in range(n_nodes):
        if added[at]:
            sums[at] = 0.0
    for i in train:
        at = node[i]
        if added[at]:
            g_of, h_of = g[i], h[i]
            for j in range(bins.shape[1]):
                b = bins[i, j]
                sums[at, b, 0] += g_of
                sums[at, b, 1] += h_of
    for at in range(n_nodes):
        if not added[at]:
            for b in range(sums.shape[1]):
                sums[at, b, 0] = above[at >> 1, b, 0] - sums[at ^ 1, b, 0]
                sums[at, b, 1] = above[at >> 1, b, 1] - sums[at ^ 1, b, 1]


@jit
def _best_split(sums: Floats, k: int, n_bins: int, ridge: float, least: float) -> tuple[int, int]:
    """The feature of a node and the last bin of its lower side; -1: none."""
    whole_g = whole_h = 0.0
    for b in range(n_bins):
        whole_g += sums[b, 0]
        whole_h += sums[b, 1]
    base = whole_g * whole_g / (whole_h + ridge)
    best, feature, cut = 1e-9, -1, 0
    for j in range(k):
        left_g = left_h = 0.0
        for b in range(n_bins - 1):
            left_g += sums[j * n_bins + b, 0]
            left_h += sums[j * n_bins + b, 1]
            right_g, right_h = whole_g - left_g, whole_h - left_h
            if right_h < least:
                break
            if left_h < least:
                continue
            gain = left_g**2 / (left_h + ridge) + right_g**2 / (right_h + ridge) - base
            if gain > best:
                best, feature, cut = gain, j, b
    return feature, cut


@jit
def _boost(
    codes: Ints, ones: Floats, weights: Floats, score: Floats, n_bins: int, rounds: int,
    depth: int, rate: float, ridge: float, least: float,
) -> None:  # fmt: skip
    """Add trees to the log-odds of every row, in place; rows without weight only follow them.

    ``ones``: how much of a row's weight is of the class.
    """
    n, k = codes.shape
    train: Ints = np.flatnonzero(weights)
    bins = codes + n_bins * np.arange(k)
    g, h = np.zeros(n), np.zeros(n)
    sums = np.zeros((2, 1 << (depth - 1), k * n_bins, 2))
    for _ in range(rounds):
        for i in train:
            p = 1.0 / (1.0 + np.exp(-score[i]))
            g[i] = ones[i] - weights[i] * p
            h[i] = weights[i] * max(p * (1.0 - p), 1e-6)
        node, n_nodes = np.zeros(n, np.int64), 1
        size = np.zeros(1 << depth, np.int64)
        for level in range(depth):
            here, above = sums[level % 2], sums[1 - level % 2]
            _add_up(here, above, bins, train, node, g, h, size, n_nodes)
            feature, cut = np.zeros(n_nodes, np.int64), np.zeros(n_nodes, np.int64)
            for at in range(n_nodes):
                feature[at], cut[at] = _best_split(here[at], k, n_bins, ridge, least)
            for i in range(n):
                at = node[i]
                right = feature[at] >= 0 and codes[i, feature[at]] > cut[at]
                node[i] = 2 * at + (1 if right else 0)
            size[:] = 0
            for i in train:
                size[node[i]] += 1
            n_nodes *= 2
        G, H = np.zeros(n_nodes), np.zeros(n_nodes)
        for i in train:
            G[node[i]] += g[i]
            H[node[i]] += h[i]
        step = rate * G / (H + ridge)
        for i in range(n):
            score[i] += step[node[i]]


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
    shifted = np.asarray(codes + 1, dtype=np.int64)  # what was not bought is bin 0
    first, kind = _kinds(shifted)
    for i in np.unique(fold):
        train, test = fold != i, fold == i
        shares = np.bincount(y[train], weights[train], n_classes) + 1e-3
        shares = shares / shares.sum()
        least = max(1.0, 0.002 * train.sum())
        weigh = np.bincount(kind, weights * train, len(first)).astype(np.float64)
        for k in range(1 if n_classes == 2 else 0, n_classes):
            told = np.bincount(kind, weights * (train & (y == k)), len(first)).astype(np.float64)
            out[test, k] = _one_class(shifted[first], told, weigh, shares[k], least)[kind[test]]
    if n_classes == 2:
        out[:, 0] = 1 - out[:, 1]
    out = np.clip(out, 1e-4, 1 - 1e-4)
    return np.asarray(out / out.sum(axis=1, keepdims=True))


def _kinds(codes: Ints) -> tuple[Ints, Ints]:
    """A row of each kind, and the kind of each row: rows in the same bins are one to the trees.

    With a few Boolean columns a thousand rows are some dozen kinds. Too many bins for a number of
    their own: every row is a kind.

    >>> [part.tolist() for part in _kinds(np.array([[1, 0], [0, 1], [1, 0]]))]
    [[1, 0], [1, 0, 1]]
    """
    sizes = [int(m) + 1 for m in codes.max(axis=0, initial=0)]
    if math.prod(sizes) >= 2**62:
        return np.arange(len(codes)), np.arange(len(codes))
    number = np.zeros(len(codes), dtype=np.int64)
    for size, column in zip(sizes, codes.T):
        number = number * size + column
    _, first, kind = np.unique(number, return_index=True, return_inverse=True)
    return np.asarray(first), np.asarray(kind)


def _one_class(codes: Ints, ones: Floats, weights: Floats, share: float, least: float) -> Floats:
    score = np.full(len(codes), np.log(share / (1 - share)))
    if codes.shape[1]:
        _boost(codes, ones, weights, score, int(codes.max()) + 1, ROUNDS, DEPTH, RATE, RIDGE, least)
    return np.asarray(1 / (1 + np.exp(-score)))
