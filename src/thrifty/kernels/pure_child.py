"""Thresholds of decision lists: cuts that leave one side pure, without sorting.

Such a cut lies below the lowest value of a second class, or above the highest. Of the cuts below,
the one that settles the most rows has the highest gain: the gain is convex in the number of rows
settled, and zero for none. So two cuts per feature need be compared.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.kernels.jit import jit
from thrifty.kernels.thresholds import before_split, gain_of_cut
from thrifty.typing import AnyArray

__all__ = ["best_pure_child_counts"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


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
    before = before_split(totals, n, lx, criterion)
    for f in range(N):
        top = -np.inf
        if 0 < n_low[f] < n:
            c = _two_lowest(f, low, 1)[0]
            false[:] = 0
            false[c] = n_low[f]
            top = gain_of_cut(false, totals, n, before, lx, criterion)
            counts[:, f] = totals - false
        if 0 < n_high[f] < n:
            c = _two_lowest(f, high, -1)[0]
            false[:] = totals
            false[c] -= n_high[f]
            gain = gain_of_cut(false, totals, n, before, lx, criterion)
            if gain > top or (gain == top and n - n_high[f] < n_low[f]):
                counts[:, f] = totals - false
    return counts
