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

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

DEPTH = 3


# Kernels of plain loops over arrays that the caller made: numba compiles them in .6 s, and in 2.5 s
# where it has to compile numpy's own functions with them (python benchmarks/start.py).
@jit
def _add_up(
    sums: Floats, bins: Ints, train: Ints, node: Ints, g: Floats, h: Floats, n_nodes: int
) -> None:
    """Residuals and curvatures of every bin of each node of a level, in place."""
    for at in range(n_nodes):
        for b in range(sums.shape[1]):
            sums[at, b, 0] = sums[at, b, 1] = 0.0
    for i in train:
        for j in range(bins.shape[1]):
            sums[node[i], bins[i, j], 0] += g[i]
            sums[node[i], bins[i, j], 1] += h[i]


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
    bins: Ints, ones: Floats, weights: Floats, score: Floats, train: Ints, n_bins: int,
    least: float, node: Ints, g: Floats, h: Floats, sums: Floats, nodes: Ints, leaf: Floats,
) -> None:  # fmt: skip
    """Add trees to the log-odds of every row, in place; rows without weight only follow them.

    ``ones``: how much of a row's weight is of the class. The last six are overwritten: node,
    residual and curvature of each row; sums (nodes, bins, 2) of a level; of each node its feature
    and the last bin of its lower side; sums of the leaves.
    """
    # Set by hand for speed: a second where scikit-learn's boosting took 60 on 57 features
    # (docs/research/asking.md, Time).
    rounds, rate, ridge = 30, 0.2, 1.0
    n, k = bins.shape
    for _ in range(rounds):
        for i in range(n):
            node[i] = 0
        for i in train:
            p = 1.0 / (1.0 + math.exp(-score[i]))
            g[i] = ones[i] - weights[i] * p
            h[i] = weights[i] * max(p * (1.0 - p), 1e-6)
        for level in range(DEPTH):
            n_nodes = 1 << level
            _add_up(sums, bins, train, node, g, h, n_nodes)
            for at in range(n_nodes):
                feature, cut = _best_split(sums[at], k, n_bins, ridge, least)
                nodes[0, at], nodes[1, at] = feature, feature * n_bins + cut
            for i in range(n):
                at = node[i]
                right = nodes[0, at] >= 0 and bins[i, nodes[0, at]] > nodes[1, at]
                node[i] = 2 * at + (1 if right else 0)
        for at in range(1 << DEPTH):
            leaf[0, at], leaf[1, at] = 0.0, ridge
        for i in train:
            leaf[0, node[i]] += g[i]
            leaf[1, node[i]] += h[i]
        for i in range(n):
            score[i] += rate * leaf[0, node[i]] / leaf[1, node[i]]


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
    n, k = codes.shape
    if k:
        n_bins = int(codes.max()) + 1
        _boost(
            codes + n_bins * np.arange(k), ones, weights, score, np.flatnonzero(weights), n_bins,
            least, np.empty(n, np.int64), np.empty(n), np.empty(n),
            np.empty((1 << (DEPTH - 1), k * n_bins, 2)), np.zeros((2, 1 << DEPTH), np.int64),
            np.empty((2, 1 << DEPTH)),
        )  # fmt: skip
    return np.asarray(1 / (1 + np.exp(-score)))
