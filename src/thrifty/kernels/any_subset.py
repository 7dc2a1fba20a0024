"""Boosted trees that answer from any subset of the features: growing, scoring, what a cell moves.

Codes are small integers: 0 for what was not asked, then the bins of a feature. A tree is complete,
of a fixed depth, its nodes as in a heap: node i has the children 2 i + 1 and 2 i + 2. A node sends
codes up to its cut to the left and what was not asked where that fits better; a node without a
feature sends all to the left. Leaves hold a score for each column.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thrifty.kernels.jit import jit

__all__ = ["add_scores", "expected_falls", "grow_tree"]

Bools = NDArray[np.bool_]
Codes = NDArray[np.uint8]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@jit
def _goes_right(code: int, cut: int, unasked_right: bool) -> bool:
    return unasked_right if code == 0 else code > cut


@jit
def grow_tree(
    codes: Codes, g: Floats, h: Floats, allowed: Ints, n_bins: int, depth: int, rate: float,
    ridge: float, least: float, feature: Ints, cut: Ints, unasked_right: Bools, leaf: Floats,
) -> None:  # fmt: skip
    """Grow one tree in place: ``feature`` (-1: none), ``cut`` and ``unasked_right`` of its inner
    nodes, ``leaf`` (leaves, columns).

    ``codes`` are (features, rows), ``g`` (rows, columns) the residuals, ``h`` the curvatures, both
    with the rows' weights. A split's gain is Friedman's with the mean curvature of the columns; a
    leaf is Newton's step.
    """
    n, columns = g.shape
    node = np.zeros(n, np.int64)
    first = 0
    for level in range(depth):
        n_nodes = 1 << level
        best = np.full(n_nodes, 1e-6)
        for a in range(len(allowed)):
            j = allowed[a]
            G = np.zeros((n_nodes, n_bins, columns))
            H = np.zeros((n_nodes, n_bins))
            for i in range(n):
                at, b = node[i], codes[j, i]
                for c in range(columns):
                    G[at, b, c] += g[i, c]
                    H[at, b] += h[i, c]
            for at in range(n_nodes):
                whole = H[at].sum() / columns
                known = whole - H[at, 0] / columns
                if known < 2 * least:
                    continue
                total = np.zeros(columns)
                for b in range(n_bins):
                    for c in range(columns):
                        total[c] += G[at, b, c]
                base = 0.0
                for c in range(columns):
                    base += total[c] * total[c] / (whole + ridge)
                left, left_h = np.zeros(columns), 0.0
                for b in range(1, n_bins - 1):
                    for c in range(columns):
                        left[c] += G[at, b, c]
                    left_h += H[at, b] / columns
                    if left_h < least or known - left_h < least:
                        continue
                    for to_right in range(2):
                        low_h = left_h if to_right else left_h + H[at, 0] / columns
                        high_h = whole - low_h
                        gain = -base
                        for c in range(columns):
                            low = left[c] if to_right else left[c] + G[at, 0, c]
                            high = total[c] - low
                            gain += low * low / (low_h + ridge) + high * high / (high_h + ridge)
                        if gain > best[at]:
                            best[at] = gain
                            feature[first + at], cut[first + at] = j, b
                            unasked_right[first + at] = to_right == 1
        for i in range(n):
            at = first + node[i]
            right = feature[at] >= 0 and _goes_right(
                codes[feature[at], i], cut[at], unasked_right[at]
            )
            node[i] = 2 * node[i] + (1 if right else 0)
        first += n_nodes
    n_leaves = 1 << depth
    G, H = np.zeros((n_leaves, columns)), np.zeros((n_leaves, columns))
    for i in range(n):
        for c in range(columns):
            G[node[i], c] += g[i, c]
            H[node[i], c] += h[i, c]
    for at in range(n_leaves):
        for c in range(columns):
            leaf[at, c] = rate * G[at, c] / (H[at, c] + ridge)


@jit
def add_scores(
    codes: Codes, feature: Ints, cut: Ints, unasked_right: Bools, leaf: Floats, scores: Floats
) -> None:
    """Add to ``scores`` (rows, columns) what every tree says; arrays of trees come first."""
    inner, columns = feature.shape[1], scores.shape[1]
    for i in range(len(codes)):
        for t in range(len(feature)):
            at = 0
            while at < inner:
                f = feature[t, at]
                right = f >= 0 and _goes_right(codes[i, f], cut[t, at], unasked_right[t, at])
                at = 2 * at + (2 if right else 1)
            for c in range(columns):
                scores[i, c] += leaf[t, at - inner, c]


@jit
def _moved(
    codes: Codes, feature: Ints, cut: Ints, unasked_right: Bools, leaf: Floats, groups: Codes,
    moved: Floats,
) -> None:  # fmt: skip
    """How the scores of one row would move, were one further cell known.

    ``groups`` (features, g): codes that the cell may have; ``moved`` (features, g, columns) is
    added to. Only trees on whose path the feature stands unasked are walked again, from there.
    """
    inner, columns = feature.shape[1], moved.shape[2]
    path = np.zeros(inner + 1, np.int64)
    for t in range(len(feature)):
        at, steps = 0, 0
        while at < inner:
            path[steps] = at
            steps += 1
            f = feature[t, at]
            right = f >= 0 and _goes_right(codes[f], cut[t, at], unasked_right[t, at])
            at = 2 * at + (2 if right else 1)
        ends = at - inner
        for s in range(steps):
            j = feature[t, path[s]]
            if j < 0 or codes[j] != 0:
                continue
            seen = False
            for before in range(s):
                seen = seen or feature[t, path[before]] == j
            if seen:
                continue
            for b in range(groups.shape[1]):
                code = groups[j, b]
                if code == 0:
                    continue
                at = path[s]
                while at < inner:
                    f = feature[t, at]
                    right = False
                    if f >= 0:
                        x = code if f == j else codes[f]
                        right = _goes_right(x, cut[t, at], unasked_right[t, at])
                    at = 2 * at + (2 if right else 1)
                for c in range(columns):
                    moved[j, b, c] += leaf[t, at - inner, c] - leaf[t, ends, c]


@jit
def _into_shares(scores: Floats, p: Floats) -> float:
    """Probabilities of one row from its scores, in place; their entropy is returned."""
    if len(scores) == 1:
        p[1] = 1.0 / (1.0 + np.exp(-scores[0]))
        p[0] = 1.0 - p[1]
    else:
        top, total = scores.max(), 0.0
        for c in range(len(scores)):
            p[c] = np.exp(scores[c] - top)
            total += p[c]
        for c in range(len(scores)):
            p[c] /= total
    doubt = 0.0
    for c in range(len(p)):
        if p[c] > 1e-12:
            doubt -= p[c] * np.log(p[c])
    return doubt


@jit
def expected_falls(
    codes: Codes, scores: Floats, feature: Ints, cut: Ints, unasked_right: Bools, leaf: Floats,
    groups: Codes, given: Floats, falls: Floats,
) -> None:  # fmt: skip
    """(rows, features): by how much the entropy of a row is expected to fall with a further cell.

    ``scores`` (rows, columns) of the rows as they stand; ``given`` (classes, features, g): how
    often the cell falls into a group where the class is known. The groups of a row are weighted by
    its own probabilities; the fall is the entropy of the mixture less the mean entropy.
    """
    n_classes, d, n_groups = given.shape
    columns = scores.shape[1]
    now, then = np.zeros(n_classes), np.zeros(n_classes)
    one = np.zeros(columns)
    for i in range(len(codes)):
        moved = np.zeros((d, n_groups, columns))
        _moved(codes[i], feature, cut, unasked_right, leaf, groups, moved)
        _into_shares(scores[i], now)
        for j in range(d):
            falls[i, j] = 0.0
            if codes[i, j] != 0:
                continue
            mixed = np.zeros(n_classes)
            total, mean = 0.0, 0.0
            for b in range(n_groups):
                if groups[j, b] == 0:
                    continue
                share = 0.0
                for c in range(n_classes):
                    share += now[c] * given[c, j, b]
                for c in range(columns):
                    one[c] = scores[i, c] + moved[j, b, c]
                mean += share * _into_shares(one, then)
                total += share
                for c in range(n_classes):
                    mixed[c] += share * then[c]
            if total <= 0.0:
                continue
            doubt = 0.0
            for c in range(n_classes):
                q = mixed[c] / total
                if q > 1e-12:
                    doubt -= q * np.log(q)
            falls[i, j] = doubt - mean / total
