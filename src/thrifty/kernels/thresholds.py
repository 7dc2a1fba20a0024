"""The best threshold of every real-valued feature, exactly, without sorting.

Values are coded into at most 64 bins per feature, once. At a node a histogram of the bins gives the
gain at every border between bins; inside a bin lie cuts that the histogram does not see. The gains
here are convex in the counts of a side, so no cut inside a bin beats the best corner of the box
between its two borders: bins whose corners stay below the best gain found are never looked into,
and those that do not are sorted and scanned. The answer is the one of :func:`best_counts_sorted`,
to the last bit.

Letters: S examples, N features, C classes, B bins, n rows of a node. A *cut* divides the sorted
values between two different neighbours; the true side is the upper one. Answers are class counts of
the true side; ties go to the lowest cut. A constant feature has all counts zero.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thrifty.kernels.counting import popcount
from thrifty.kernels.jit import jit
from thrifty.typing import AnyArray

__all__ = [
    "BINS",
    "ENTROPY",
    "GINI",
    "before_split",
    "best_counts",
    "best_counts_sorted",
    "bin_values",
    "gain_of_cut",
]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Whole = int | np.int64

BINS = 64
ENTROPY, GINI = 0, 1
#: rounding may put a corner this far below a gain it should bound
_SLACK = 1e-9
_FEATURES_AT_ONCE = 64


@jit
def bin_values(table: AnyArray, edges: AnyArray, bins: NDArray[np.uint8]) -> None:
    """bins[f, r]: how many of the 63 ascending edges of feature f are <= table[r, f].

    ``edges`` (N, 63) is padded with infinity. Six steps of a binary search without branches.
    """
    S, N = table.shape
    for first in range(0, N, _FEATURES_AT_ONCE):
        last = min(first + _FEATURES_AT_ONCE, N)
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
def gain_of_cut(
    false: Ints, totals: Ints, n: int, before: float, lx: Floats, criterion: int
) -> float:
    """The gain of a cut from the counts of its false side: the same float as the gain kernels."""
    n_false = np.int64(0)
    if criterion == 0:
        pure = 0.0
        for c in range(len(totals)):
            b = false[c]
            n_false += b
            pure += lx[totals[c] - b] + lx[b]
        return float((before - ((lx[n - n_false] + lx[n_false]) - pure)) / n)
    square_true = np.int64(0)
    square_false = np.int64(0)
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
def _gain_two(
    false: Whole,
    other: Whole,
    t0: Whole,
    t1: Whole,
    n: Whole,
    before: float,
    lx: Floats,
    criterion: int,
) -> float:
    """:func:`gain_of_cut` for two classes, without arrays."""
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
def before_split(totals: Ints, n: int, lx: Floats, criterion: int) -> float:
    if criterion == 0:
        whole = 0.0
        for c in range(len(totals)):
            whole += lx[totals[c]]
        return float(lx[n] - whole)
    squares = np.int64(0)
    for c in range(len(totals)):
        squares += totals[c] * totals[c]
    return float(squares / n)


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
def _bound(
    low: Ints,
    high: Ints,
    totals: Ints,
    n: int,
    before: float,
    lx: Floats,
    criterion: int,
    corner: Ints,
) -> float:
    """No cut inside a bin, its false side between low and high, has a gain above this.

    Two classes: the mixed corners of the box. More: what would remain if every row of the bin were
    told apart, which is looser.
    """
    if len(totals) == 2:
        corner[0], corner[1] = low[0], high[1]
        one = gain_of_cut(corner, totals, n, before, lx, criterion)
        corner[0], corner[1] = high[0], low[1]
        return max(one, gain_of_cut(corner, totals, n, before, lx, criterion))
    n_low = np.int64(0)
    n_high = np.int64(0)
    left = 0.0
    right = 0.0
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
    hist: Ints,
    totals: Ints,
    n: int,
    before: float,
    lx: Floats,
    criterion: int,
    exact: bool,
    best: Ints,
    low: Ints,
    false: Ints,
    corner: Ints,
    uppers: Floats,
) -> tuple[float, float]:
    """The best border of a feature, its false side into ``best``, and the best hope inside bins.

    ``uppers`` takes the hope of each bin.
    """
    C = len(totals)
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
            gain = gain_of_cut(false, totals, n, before, lx, criterion)
            if gain > top:
                top = gain
                best[:] = false
        if kinds > 1 and not exact:
            inner = _bound(low, false, totals, n, before, lx, criterion, corner)
            inner = max(inner, max(gain, last))
            uppers[b] = inner
            hope = max(hope, inner)
        last = gain
        if n_false == n:
            break
    return top, hope


@jit
def _scan_two(
    hist: Ints,
    occupied: np.uint64,
    totals: Ints,
    n: int,
    before: float,
    lx: Floats,
    criterion: int,
    exact: bool,
    best: Ints,
    uppers: Floats,
) -> tuple[float, float]:
    """:func:`_scan` for two classes, over the occupied bins alone."""
    t0, t1 = totals[0], totals[1]
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
            gain = _gain_two(f0 + k0, f1 + k1, t0, t1, n, before, lx, criterion)
            if gain > top:
                top = gain
                best0, best1 = f0 + k0, f1 + k1
        if k0 > 0 and k1 > 0 and not exact:
            one = _gain_two(f0 + k0, f1, t0, t1, n, before, lx, criterion)
            two = _gain_two(f0, f1 + k1, t0, t1, n, before, lx, criterion)
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
    totals: Ints,
    n: int,
    before: float,
    lx: Floats,
    criterion: int,
    top: float,
    best: Ints,
    false: Ints,
) -> float:
    """Sort and scan the bins whose hope reaches the bar; a better or lower cut goes into ``best``.

    Returns the best gain of the feature so far.
    """
    C = len(totals)
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
            gain = gain_of_cut(false, totals, n, before, lx, criterion)
            if gain > top or (gain == top and n_false < n_best):
                top = gain
                n_best = n_false
                best[:] = false
        at += in_bin
        false[classes[order[at - 1]]] += 1
        n_false += 1
    return top


@jit
def best_counts(
    table: AnyArray,
    bins: NDArray[np.uint8],
    exact: NDArray[np.bool_],
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
    N, C, n = bins.shape[0], len(totals), len(rows)
    before = before_split(totals, n, lx, criterion)
    counts = np.zeros((C, N), dtype=np.int64)
    tops = np.empty(N, dtype=np.float64)
    hopes = np.empty(N, dtype=np.float64)
    hist = np.empty(BINS * C, dtype=np.int64)
    best, low = np.zeros(C, dtype=np.int64), np.zeros(C, dtype=np.int64)
    false, corner = np.zeros(C, dtype=np.int64), np.zeros(C, dtype=np.int64)
    uppers = np.empty(BINS, dtype=np.float64)
    record = -np.inf
    for f in range(N):
        occupied = _histogram(bins[f], rows, codes, C, hist)
        best[:] = totals
        if C == 2:
            tops[f], hopes[f] = _scan_two(
                hist, occupied, totals, n, before, lx, criterion, exact[f], best, uppers
            )
        else:
            tops[f], hopes[f] = _scan(
                hist, totals, n, before, lx, criterion, exact[f], best, low, false, corner, uppers
            )
        record = max(record, tops[f])
        for c in range(C):
            counts[c, f] = totals[c] - best[c]
    for f in range(N):
        bar = (record if across else tops[f]) - _SLACK
        if hopes[f] < bar or hopes[f] == -np.inf:
            continue
        _histogram(bins[f], rows, codes, C, hist)
        best[:] = totals
        _scan(hist, totals, n, before, lx, criterion, False, best, low, false, corner, uppers)
        top = _look_inside(
            table, f, bins[f], rows, codes, hist, uppers, bar, totals, n, before, lx, criterion,
            tops[f], best, false,
        )  # fmt: skip
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
    before = before_split(totals, n, lx, criterion)
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
            gain = gain_of_cut(false, totals, n, before, lx, criterion)
            if gain > top:
                top = gain
                for c in range(C):
                    counts[c, f] = totals[c] - false[c]
    return counts
