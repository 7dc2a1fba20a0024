"""Gradient boosting over binned numbers: all trees of a model in one call.

Friedman (2001) with second-order leaves (Chen and Guestrin 2016) and histograms by subtraction,
leaf by leaf (Ke et al. 2017): what scikit-learn's HistGradientBoosting computes, in the same order
of additions, so that the trees are the same (tests/models/test_boosted.py). Its tables are made for
a million rows; on some hundred, nine tenths of its time went into starting one split after another.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from thrifty.kernels.jit import jit

__all__ = ["boost_trees"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: a child with less curvature than this is no child
_LEAST_CURVE = 1e-3
_TINY = 1e-15


@jit
def _slopes(
    y: Floats,
    w: Floats,
    raw: Floats,
    numbers: bool,
    slope: NDArray[np.float32],
    curve: NDArray[np.float32],
) -> None:
    """First and second derivative of the loss at every row."""
    for i in range(len(y)):
        if numbers:
            slope[i] = w[i] * (raw[i] - y[i])
            curve[i] = w[i]
        elif raw[i] > -37:
            e = math.exp(-raw[i])
            slope[i] = w[i] * (((1 - y[i]) - y[i] * e) / (1 + e))
            curve[i] = w[i] * (e / ((1 + e) * (1 + e)))
        else:
            e = math.exp(raw[i])
            slope[i] = w[i] * (e - y[i])
            curve[i] = w[i] * e


@jit
def _count(
    bins: NDArray[np.uint8],
    rows: Ints,
    slope: NDArray[np.float32],
    curve: NDArray[np.float32],
    sums: Floats,
    counts: Ints,
) -> None:
    """Sums of both derivatives, and rows, by feature and bin."""
    for f in range(bins.shape[0]):
        for b in range(sums.shape[1]):
            sums[f, b, 0], sums[f, b, 1], counts[f, b] = 0.0, 0.0, 0
        for i in rows:
            b = bins[f, i]
            sums[f, b, 0] += slope[i]
            sums[f, b, 1] += curve[i]
            counts[f, b] += 1


@jit
def _take_away(sums: Floats, counts: Ints, its_sums: Floats, its_counts: Ints) -> None:
    """What is left of a node's rows when those of a child are taken away."""
    for f in range(sums.shape[0]):
        for b in range(sums.shape[1]):
            sums[f, b, 0] -= its_sums[f, b, 0]
            sums[f, b, 1] -= its_sums[f, b, 1]
            counts[f, b] -= its_counts[f, b]


@jit
def _whole(sums: Floats, which: int) -> float:
    """The sum over the bins of a feature, in the order in which numpy adds 256 of them."""
    eight = np.empty(8)
    gap = sums.shape[0] - 1
    for b in range(8):
        eight[b] = 0.0
    for b in range(gap):
        eight[b % 8] += sums[b, which]
    first = ((eight[0] + eight[1]) + (eight[2] + eight[3])) + (
        (eight[4] + eight[5]) + (eight[6] + eight[7])
    )
    return float(first + sums[gap, which])


@jit
def _gain(
    g_left: float, h_left: float, g_right: float, h_right: float, now: float, ridge: float
) -> float:
    """By how much the loss falls when a node becomes two."""
    gain = now - g_left * (-g_left / (h_left + ridge + _TINY))
    return gain - g_right * (-g_right / (h_right + ridge + _TINY))


@jit
def _best_split(
    sums: Floats, counts: Ints, n_bins: Ints, gaps: NDArray[np.bool_], allowed: NDArray[np.bool_],
    g: float, h: float, value: float, n: int, in_leaf: int, ridge: float, found: Floats,
) -> None:  # fmt: skip
    """``found``: gain (-1: none), feature, last bin on the left, gaps left?, g and h there."""
    found[0] = -1.0
    for f in range(sums.shape[0]):
        if not allowed[f]:
            continue
        for way in range(2 if gaps[f] else 1):  # gaps to the right, then to the left
            g_sum, h_sum, n_sum = 0.0, 0.0, 0
            # the last bin with values goes left only where gaps stay on the right
            for step in range(n_bins[f] - (0 if gaps[f] and way == 0 else 1)):
                cut = step if way == 0 else n_bins[f] - 2 - step
                b = cut + way
                n_sum += counts[f, b]
                h_sum += sums[f, b, 1]
                g_sum += sums[f, b, 0]
                if n_sum < in_leaf:
                    continue
                if n - n_sum < in_leaf:
                    break
                if h_sum < _LEAST_CURVE:
                    continue
                if h - h_sum < _LEAST_CURVE:
                    break
                if way == 0:
                    gain = _gain(g_sum, h_sum, g - g_sum, h - h_sum, g * value, ridge)
                else:
                    gain = _gain(g - g_sum, h - h_sum, g_sum, h_sum, g * value, ridge)
                if gain > found[0] and gain > 0.0:
                    found[0], found[1], found[2], found[3] = gain, f, cut, way
                    found[4] = g_sum if way == 0 else g - g_sum
                    found[5] = h_sum if way == 0 else h - h_sum


@jit
def _part(
    column: NDArray[np.uint8], rows: Ints, cut: int, gap_left: bool, gap: int, spare: Ints
) -> int:
    """Rows that go left first, both in their order; says how many those are."""
    n_left = n_right = 0
    for i in rows:
        b = column[i]
        if b <= cut or (gap_left and b == gap):
            rows[n_left] = i
            n_left += 1
        else:
            spare[n_right] = i
            n_right += 1
    for k in range(n_right):
        rows[n_left + k] = spare[k]
    return n_left


# columns of what is known of a node: where its rows are, its histogram, its children
_BEGIN, _END, _SLOT, _LEFT, _RIGHT = 0, 1, 2, 3, 4


@jit
def _look(
    node: int, place: Ints, total: Floats, found: Floats, sums: Floats, counts: Ints, n_bins: Ints,
    gaps: NDArray[np.bool_], allowed: NDArray[np.bool_], look: int, in_leaf: int,
    ridge: float,
) -> int:  # fmt: skip
    """The best split of a node, if it is large enough for one; how many looks there were by now."""
    n = place[node, _END] - place[node, _BEGIN]
    found[node, 0] = -1.0
    if n < 2 * in_leaf or total[node, 1] < _LEAST_CURVE:
        return look
    slot, (g, h, value) = place[node, _SLOT], (total[node, 0], total[node, 1], total[node, 2])
    _best_split(sums[slot], counts[slot], n_bins, gaps, allowed[look % len(allowed)],
                g, h, value, n, in_leaf, ridge, found[node])  # fmt: skip
    return look + 1


@jit
def _grow(
    bins: NDArray[np.uint8], n_bins: Ints, gaps: NDArray[np.bool_], allowed: NDArray[np.bool_],
    look: int, leaves: int, in_leaf: int, ridge: float,
    slope: NDArray[np.float32], curve: NDArray[np.float32], rows: Ints, spare: Ints, sums: Floats,
    counts: Ints, place: Ints, total: Floats, found: Floats,
) -> tuple[int, int]:  # fmt: skip
    """One tree: the node that gains most is split next. How many nodes, and looks by now."""
    for i in range(len(rows)):
        rows[i] = i
    for node in range(len(place)):
        place[node, _LEFT] = -1
    place[0, _BEGIN], place[0, _END], place[0, _SLOT], made = 0, len(rows), 0, 1
    _count(bins, rows, slope, curve, sums[0], counts[0])
    total[0, 0], total[0, 1], total[0, 2] = _whole(sums[0, 0], 0), _whole(sums[0, 0], 1), 0.0
    look = _look(0, place, total, found, sums, counts, n_bins, gaps, allowed, look, in_leaf, ridge)
    while made < 2 * leaves - 1:
        node = 0
        for k in range(1, made):
            if found[k, 0] > found[node, 0]:
                node = k
        if found[node, 0] <= 0:
            break
        found[node, 0] = -1.0
        f, one, two = int(found[node, 1]), made, made + 1
        here = rows[place[node, _BEGIN] : place[node, _END]]
        gap_left = found[node, 3] == 1
        n_left = _part(bins[f], here, int(found[node, 2]), gap_left, sums.shape[2] - 1, spare)
        if not gaps[f]:  # a gap that comes later goes where most rows went
            found[node, 3] = 1.0 if n_left > len(here) - n_left else 0.0
        place[node, _LEFT], place[node, _RIGHT], made = one, two, made + 2
        place[one, _BEGIN], place[two, _END] = place[node, _BEGIN], place[node, _END]
        place[one, _END] = place[two, _BEGIN] = place[node, _BEGIN] + n_left
        total[one, 0], total[one, 1] = found[node, 4], found[node, 5]
        for which in range(2):
            total[two, which] = total[node, which] - total[one, which]
        found[one, 0] = found[two, 0] = -1.0
        for child in (one, two):
            total[child, 2] = -total[child, 0] / (total[child, 1] + ridge + _TINY)
        if made < 2 * leaves - 1 and max(n_left, len(here) - n_left) >= 2 * in_leaf:
            small, large = (one, two) if n_left < len(here) - n_left else (two, one)
            mine, other = made // 2, place[node, _SLOT]
            place[small, _SLOT], place[large, _SLOT] = mine, other
            its = rows[place[small, _BEGIN] : place[small, _END]]
            _count(bins, its, slope, curve, sums[mine], counts[mine])
            _take_away(sums[other], counts[other], sums[mine], counts[mine])
            for child in (one, two):
                look = _look(child, place, total, found, sums, counts, n_bins, gaps, allowed, look,
                             in_leaf, ridge)  # fmt: skip
    return made, look


@jit
def _write(
    at: int, place: Ints, total: Floats, found: Floats, rate: float, rows: Ints, raw: Floats,
    nodes: Ints, values: Floats,
) -> int:  # fmt: skip
    """A tree as it is read: a node, all on its left, all on its right. Where the next begins."""
    stack, above = np.empty(len(place), np.int64), np.empty(len(place), np.int64)
    stack[0], above[0], depth = 0, -1, 1
    while depth:
        depth -= 1
        node = stack[depth]
        if above[depth] >= 0:  # a right child: the left one follows its parent
            nodes[above[depth], 3] = at
        left = place[node, _LEFT]
        if left < 0:
            nodes[at, 0] = -1
            values[at] = total[node, 2] * rate
            for k in range(place[node, _BEGIN], place[node, _END]):
                raw[rows[k]] += values[at]
        else:
            nodes[at, 0], nodes[at, 1] = int(found[node, 1]), int(found[node, 2])
            nodes[at, 2], nodes[at, 4] = at + 1, int(found[node, 3])
            stack[depth], above[depth] = place[node, _RIGHT], at
            stack[depth + 1], above[depth + 1] = left, -1
            depth += 2
        at += 1
    return at


@jit
def boost_trees(
    bins: NDArray[np.uint8], n_bins: Ints, gap: int, gaps: NDArray[np.bool_], y: Floats, w: Floats,
    base: float, numbers: bool, trees: int, leaves: int, in_leaf: int, rate: float,
    ridge: float, allowed: NDArray[np.bool_],
) -> tuple[Ints, Ints, Floats]:  # fmt: skip
    """Grow all trees.

    Parameters
    ----------
    bins : array of int
        (features, rows); gaps have the bin ``gap``, after all others
    allowed : array of bool
        (looks, features): the first look at a node takes the first, the second the next

    Returns
    -------
    roots : array of int
        (trees,) where each begins
    nodes : array of int
        (nodes, 5): feature (-1: leaf), last bin on the left, left, right, whether gaps go left
    values : array of float
        (nodes,) what a leaf adds
    """
    n_features, n = bins.shape
    most, width = 2 * leaves - 1, gap + 1
    roots = np.zeros(trees, np.int64)
    nodes, values = np.zeros((trees * most, 5), np.int64), np.zeros(trees * most)
    sums = np.empty((leaves, n_features, width, 2))
    counts = np.empty((leaves, n_features, width), np.int64)
    slope, curve = np.empty(n, np.float32), np.empty(n, np.float32)
    raw, rows, spare = np.empty(n), np.empty(n, np.int64), np.empty(n, np.int64)
    for i in range(n):
        raw[i] = base
    place, total, found = np.empty((most, 5), np.int64), np.empty((most, 3)), np.empty((most, 6))
    at = look = 0
    for tree in range(trees):
        _slopes(y, w, raw, numbers, slope, curve)
        _, look = _grow(
            bins, n_bins, gaps, allowed, look, leaves, in_leaf, ridge, slope, curve, rows, spare,
            sums, counts, place, total, found,
        )  # fmt: skip
        roots[tree] = at
        at = _write(at, place, total, found, rate, rows, raw, nodes, values)
    return roots, nodes[:at], values[:at]
