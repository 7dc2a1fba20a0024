"""The best threshold of every real-valued feature, exactly, without sorting.

Values are coded into at most 64 bins per feature, once. At a node a histogram of the bins gives the
gain at every border between bins; inside a bin lie cuts that the histogram does not see. The gains
here are convex in the counts of a side, so no cut inside a bin beats the best corner of the box
between its two borders: bins whose corners stay below the best gain found are never looked into,
and those that do not are sorted and scanned. The answer is the one of :func:`best_counts_sorted`,
to the last bit.

Letters: S examples, N features, C classes, B bins, n rows of a node. A *cut* divides the sorted
values between two different neighbours; the true side is the upper one. Answers are class counts of
the true side; ties go to the lowest cut. A constant feature has all counts zero. A *node* is what
is the same for every cut of it: its rows of each class, their sum n, the gain's term before the
split, the table of n log2 n, the criterion.

Thresholds of decision lists are cuts that leave one side pure, found without sorting. Such a cut
lies below the lowest value of a second class, or above the highest. Of the cuts below, the one that
settles the most rows has the highest gain: the gain is convex in the number of rows settled, and
zero for none. So two cuts per feature need be compared.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from thrifty.kernels.counting import popcount
from thrifty.kernels.jit import jit
from thrifty.typing import AnyArray, Bools, Floats, Ints

Whole = int | np.int64
#: totals, n, before, n log2 n, criterion
Node: TypeAlias = tuple[Ints, int, float, Floats, int]

BINS = 64
ENTROPY, GINI = 0, 1


@jit
def bin_values(table: AnyArray, edges: AnyArray, bins: NDArray[np.uint8]) -> None:
    """bins[f, r]: how many of the 63 ascending edges of feature f are <= table[r, f].

    ``edges`` (N, 63) is padded with infinity. Six steps of a binary search without branches.
    """
    features_at_once = 64  # whose edges stay close to the processor
    S, N = table.shape
    for first in range(0, N, features_at_once):
        last = min(first + features_at_once, N)
        for r in range(S):
            for f in range(first, last):
                v = table[r, f]
                at = 0
                at += 32 if v >= edges[f, 31] else 0
                at += 16 if v >= edges[f, at + 15] else 0
                at += 8 if v >= edges[f, at + 7] else 0
                at += 4 if v >= edges[f, at + 3] else 0
                at += 2 if v >= edges[f, at + 1] else 0
                at += 1 if v >= edges[f, at] else 0
                bins[f, r] = at


@jit
def _copy(values: Ints, into: Ints) -> None:
    for c in range(len(values)):  # a slice would take a second to compile
        into[c] = values[c]


@jit
def _order(values: AnyArray) -> Ints:
    """Indices that sort the values: runs of eight by insertion, then merged."""
    n = len(values)
    order = np.arange(n)
    for first in range(0, n, 8):
        for i in range(first + 1, min(first + 8, n)):
            at, v = order[i], values[order[i]]
            j = i
            while j > first and values[order[j - 1]] > v:
                order[j] = order[j - 1]
                j -= 1
            order[j] = at
    other = np.empty(n, dtype=np.int64)
    width = 8
    while width < n:
        for first in range(0, n, 2 * width):
            i, mid = first, min(first + width, n)
            j, last = mid, min(first + 2 * width, n)
            for k in range(first, last):
                if j >= last or (i < mid and values[order[i]] <= values[order[j]]):
                    other[k] = order[i]
                    i += 1
                else:
                    other[k] = order[j]
                    j += 1
        order, other = other, order
        width *= 2
    return order


@jit
def gain_of_cut(false: Ints, node: Node) -> float:
    """The gain of a cut from the counts of its false side: the same float as the gain kernels."""
    totals, n, before, lx, criterion = node
    n_false = np.int64(0)
    if criterion == 0:
        pure = 0.0
        for c in range(len(totals)):
            b = false[c]
            n_false += b
            pure += lx[totals[c] - b] + lx[b]
        return float((before - ((lx[n - n_false] + lx[n_false]) - pure)) / n)
    square_true = square_false = np.int64(0)
    for c in range(len(totals)):
        b = false[c]
        a = totals[c] - b
        n_false += b
        square_true += a * a
        square_false += b * b
    if n_false == 0 or n_false == n:
        return 0.0
    return float((square_true / (n - n_false) + square_false / n_false - before) / n)


@jit
def _gain_two(false: Whole, other: Whole, t0: Whole, t1: Whole, node: Node) -> float:
    """:func:`gain_of_cut` for two classes, without arrays."""
    _, n, before, lx, criterion = node
    n_false = false + other
    a, b = t0 - false, t1 - other
    if criterion == 0:
        pure = (lx[a] + lx[false]) + (lx[b] + lx[other])
        return float((before - ((lx[n - n_false] + lx[n_false]) - pure)) / n)
    if n_false == 0 or n_false == n:
        return 0.0
    true = (a * a + b * b) / (n - n_false)
    return float((true + (false * false + other * other) / n_false - before) / n)


@jit
def _node(totals: Ints, n: int, lx: Floats, criterion: int) -> Node:
    squares, whole = np.int64(0), 0.0
    for c in range(len(totals)):
        squares += totals[c] * totals[c]
        whole += lx[totals[c]]
    return totals, n, float(lx[n] - whole) if criterion == 0 else float(squares / n), lx, criterion


@jit
def _histogram(bins: NDArray[np.uint8], rows: Ints, codes: Ints, C: int, hist: Ints) -> np.uint64:
    """Rows per bin and class; returns which of the 64 bins are occupied, as bits."""
    hist[:] = 0
    occupied = np.uint64(0)
    for i in range(len(rows)):
        b = np.int64(bins[rows[i]])
        hist[b * C + codes[i]] += 1
        occupied |= np.uint64(1) << np.uint64(b)
    return occupied


@jit
def _bound(low: Ints, high: Ints, node: Node, corner: Ints) -> float:
    """No cut inside a bin, its false side between low and high, has a gain above this.

    Two classes: the mixed corners of the box. More: what would remain if every row of the bin were
    told apart, which is looser.
    """
    totals, n, before, lx, criterion = node
    if len(totals) == 2:
        corner[0], corner[1] = low[0], high[1]
        one = gain_of_cut(corner, node)
        corner[0], corner[1] = high[0], low[1]
        return max(one, gain_of_cut(corner, node))
    n_low = n_high = np.int64(0)
    left = right = 0.0
    for c in range(len(totals)):
        n_low += low[c]
        n_high += totals[c] - high[c]
        if criterion == 0:
            left += lx[low[c]]
            right += lx[totals[c] - high[c]]
        else:
            left += np.float64(low[c]) * low[c]
            right += np.float64(totals[c] - high[c]) * (totals[c] - high[c])
    if criterion == 0:
        return float((before - ((lx[n_low] - left) + (lx[n_high] - right))) / n)
    inside = n - n_low - n_high
    left = left / n_low if n_low else 0.0
    right = right / n_high if n_high else 0.0
    return float((left + right + inside - before) / n)


@jit
def _scan(
    hist: Ints, node: Node, exact: bool, best: Ints, work: Ints, uppers: Floats
) -> tuple[float, float]:
    """The best border of a feature, its false side into ``best``, and the best hope inside bins.

    ``uppers`` takes the hope of each bin.
    """
    n, C = node[1], len(best)
    low, false, corner = work[0], work[1], work[2]
    top, hope, last = -np.inf, -np.inf, -np.inf
    false[:] = 0
    n_false = np.int64(0)
    for b in range(BINS):
        uppers[b] = -np.inf
        in_bin = np.int64(0)
        kinds = 0
        for c in range(C):
            k = hist[b * C + c]
            in_bin += k
            kinds += k > 0
        if in_bin == 0:
            continue
        for c in range(C):
            low[c] = false[c]
            false[c] += hist[b * C + c]
        n_false += in_bin
        gain = -np.inf
        if n_false < n:
            gain = gain_of_cut(false, node)
            if gain > top:
                top = gain
                _copy(false, best)
        if kinds > 1 and not exact:
            inner = _bound(low, false, node, corner)
            inner = max(inner, max(gain, last))
            uppers[b] = inner
            hope = max(hope, inner)
        last = gain
        if n_false == n:
            break
    return top, hope


@jit
def _scan_two(
    hist: Ints, occupied: np.uint64, node: Node, exact: bool, best: Ints, uppers: Floats
) -> tuple[float, float]:
    """:func:`_scan` for two classes, over the occupied bins alone."""
    t0, t1 = node[0][0], node[0][1]
    top, hope, last = -np.inf, -np.inf, -np.inf
    f0, f1 = np.int64(0), np.int64(0)
    best0, best1 = best[0], best[1]
    uppers[:] = -np.inf
    while occupied != np.uint64(0):
        lowest = occupied & (~occupied + np.uint64(1))
        occupied ^= lowest
        b = popcount(lowest - np.uint64(1))
        k0, k1 = hist[2 * b], hist[2 * b + 1]
        gain = -np.inf
        if occupied != np.uint64(0):
            gain = _gain_two(f0 + k0, f1 + k1, t0, t1, node)
            if gain > top:
                top = gain
                best0, best1 = f0 + k0, f1 + k1
        if k0 > 0 and k1 > 0 and not exact:
            one = _gain_two(f0 + k0, f1, t0, t1, node)
            two = _gain_two(f0, f1 + k1, t0, t1, node)
            inner = max(max(one, two), max(gain, last))
            uppers[b] = inner
            hope = max(hope, inner)
        f0 += k0
        f1 += k1
        last = gain
    best[0], best[1] = best0, best1
    return top, hope


@jit
def _look_inside(
    table: AnyArray,
    f: int,
    bins: NDArray[np.uint8],
    rows: Ints,
    codes: Ints,
    hist: Ints,
    uppers: Floats,
    bar: float,
    node: Node,
    top: float,
    best: Ints,
    false: Ints,
) -> float:
    """Sort and scan the bins whose hope reaches the bar; a better or lower cut goes into ``best``.

    Returns the best gain of the feature so far.
    """
    C = len(best)
    m = np.int64(0)
    for b in range(BINS):
        if uppers[b] >= bar:
            for c in range(C):
                m += hist[b * C + c]
    values = np.empty(m, dtype=table.dtype)
    classes = np.empty(m, dtype=np.int64)
    m = np.int64(0)
    for i in range(len(rows)):
        if uppers[bins[rows[i]]] >= bar:
            values[m] = table[rows[i], f]
            classes[m] = codes[i]
            m += 1
    order = _order(values)
    n_best = np.int64(0)
    for c in range(C):
        n_best += best[c]
    false[:] = 0
    n_false = np.int64(0)
    at = np.int64(0)
    for b in range(BINS):
        in_bin = np.int64(0)
        for c in range(C):
            in_bin += hist[b * C + c]
        if in_bin == 0:
            continue
        if uppers[b] < bar:
            for c in range(C):
                false[c] += hist[b * C + c]
            n_false += in_bin
            continue
        for i in range(at, at + in_bin - 1):
            false[classes[order[i]]] += 1
            n_false += 1
            if values[order[i]] == values[order[i + 1]]:
                continue
            gain = gain_of_cut(false, node)
            if gain > top or (gain == top and n_false < n_best):
                top = gain
                n_best = n_false
                _copy(false, best)
        at += in_bin
        false[classes[order[at - 1]]] += 1
        n_false += 1
    return top


@jit
def best_counts(
    table: AnyArray,
    bins: NDArray[np.uint8],
    exact: Bools,
    rows: Ints,
    codes: Ints,
    totals: Ints,
    lx: Floats,
    criterion: int,
    across: bool,
) -> Ints:
    """counts[c, f]: rows of class c on the true side of the best cut of feature f.

    ``table`` (S, N) and its ``bins`` (N, S); ``exact`` says that each bin of a feature holds one
    value; ``rows`` of the node and their class ``codes``; ``lx`` the table of n log2 n.
    ``across``: only the best feature need be right, the others are told by a cut that is no better.
    """
    slack = 1e-9  # rounding may put a corner this far below a gain it should bound
    N, C, n = bins.shape[0], len(totals), len(rows)
    node = _node(totals, n, lx, criterion)
    counts = np.zeros((C, N), dtype=np.int64)
    tops = np.empty(N, dtype=np.float64)
    hopes = np.empty(N, dtype=np.float64)
    hist = np.empty(BINS * C, dtype=np.int64)
    best, work = np.zeros(C, dtype=np.int64), np.zeros((3, C), dtype=np.int64)
    uppers = np.empty(BINS, dtype=np.float64)
    record = -np.inf
    for f in range(N):
        occupied = _histogram(bins[f], rows, codes, C, hist)
        _copy(totals, best)
        if C == 2:
            tops[f], hopes[f] = _scan_two(hist, occupied, node, exact[f], best, uppers)
        else:
            tops[f], hopes[f] = _scan(hist, node, exact[f], best, work, uppers)
        record = max(record, tops[f])
        for c in range(C):
            counts[c, f] = totals[c] - best[c]
    for f in range(N):
        bar = (record if across else tops[f]) - slack
        if hopes[f] < bar or hopes[f] == -np.inf:
            continue
        _histogram(bins[f], rows, codes, C, hist)
        _copy(totals, best)
        _scan(hist, node, False, best, work, uppers)
        top = _look_inside(
            table, f, bins[f], rows, codes, hist, uppers, bar, node, tops[f], best, work[1]
        )
        record = max(record, top)
        for c in range(C):
            counts[c, f] = totals[c] - best[c]
    return counts


@jit
def best_counts_sorted(
    values: AnyArray, codes: Ints, totals: Ints, lx: Floats, criterion: int
) -> Ints:
    """The same for few features, by sorting: ``values`` (k, n) of the node's rows alone."""
    k, n = values.shape
    C = len(totals)
    node = _node(totals, n, lx, criterion)
    counts = np.zeros((C, k), dtype=np.int64)
    false = np.zeros(C, dtype=np.int64)
    for f in range(k):
        order = _order(values[f])
        top = -np.inf
        false[:] = 0
        for i in range(n - 1):
            false[codes[order[i]]] += 1
            if values[f, order[i]] == values[f, order[i + 1]]:
                continue
            gain = gain_of_cut(false, node)
            if gain > top:
                top = gain
                for c in range(C):
                    counts[c, f] = totals[c] - false[c]
    return counts


@jit
def _two_lowest(at: int, ends: AnyArray, sign: int) -> tuple[int, Any, Any]:
    """The class whose end is lowest for feature ``at``, its end and the next one, times sign."""
    best, first, second = 0, np.inf, np.inf
    for c in range(ends.shape[0]):
        end = sign * ends[c, at]
        if end < first:
            best, first, second = c, end, first
        elif end < second:
            second = end
    return best, first, second


@jit
def best_pure_child_counts(
    table: AnyArray, rows: Ints, codes: Ints, totals: Ints, lx: Floats, criterion: int
) -> Ints:
    """counts[c, f]: rows of class c on the true side of the best settling cut of feature f.

    ``table`` (S, N) without gaps; ``rows`` of the node and their class ``codes``. All counts are
    zero where no cut settles a side.
    """
    N, C, n = table.shape[1], len(totals), len(rows)
    low = np.full((C, N), np.inf, dtype=np.float64)
    high = np.full((C, N), -np.inf, dtype=np.float64)
    for i in range(n):
        r, c = rows[i], codes[i]
        for f in range(N):
            v = table[r, f]
            low[c, f] = min(low[c, f], v)
            high[c, f] = max(high[c, f], v)
    below, above = np.empty(N, dtype=np.float64), np.empty(N, dtype=np.float64)
    for f in range(N):
        below[f] = _two_lowest(f, low, 1)[2]
        above[f] = -_two_lowest(f, high, -1)[2]
    n_low, n_high = np.zeros(N, dtype=np.int64), np.zeros(N, dtype=np.int64)
    for i in range(n):
        r = rows[i]
        for f in range(N):
            n_low[f] += table[r, f] < below[f]
            n_high[f] += table[r, f] > above[f]
    counts = np.zeros((C, N), dtype=np.int64)
    false = np.zeros(C, dtype=np.int64)
    node = _node(totals, n, lx, criterion)
    for f in range(N):
        top = -np.inf
        if 0 < n_low[f] < n:
            c = _two_lowest(f, low, 1)[0]
            false[:] = 0
            false[c] = n_low[f]
            top = gain_of_cut(false, node)
            for k in range(C):
                counts[k, f] = totals[k] - false[k]
        if 0 < n_high[f] < n:
            c = _two_lowest(f, high, -1)[0]
            _copy(totals, false)
            false[c] -= n_high[f]
            gain = gain_of_cut(false, node)
            if gain > top or (gain == top and n - n_high[f] < n_low[f]):
                for k in range(C):
                    counts[k, f] = totals[k] - false[k]
    return counts
