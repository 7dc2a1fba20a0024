"""Gain as a pure function of integer counts.

The same counts give the same float wherever they were counted: scratch, UseRep and every engine
call these functions and no others, so "UseRep outputs the scratch tree" holds exactly. Entropy goes
through a table of n log2 n filled by ``math.log2``, one value per n for the whole process.

A feature that is constant on the rows gets minus infinity: it is never split on.
"""

from __future__ import annotations

import math
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from thrifty.kernels.jit import jit
from thrifty.typing import AnyArray

__all__ = ["entropy_gains", "gini_gains", "xlogx_table"]

_table = np.zeros(1, dtype=np.float64)
_lock = Lock()


def xlogx_table(n: int) -> NDArray[np.float64]:
    """n log2 n for 0..n (at least), grown by doubling and shared.

    >>> xlogx_table(4)[:5].tolist()
    [0.0, 0.0, 2.0, 4.754887502163468, 8.0]
    """
    global _table
    if len(_table) <= n:
        with _lock:
            size = max(n + 1, 2 * len(_table), 1024)
            grown = np.zeros(size, dtype=np.float64)
            grown[: len(_table)] = _table
            for i in range(max(len(_table), 1), size):
                grown[i] = i * math.log2(i)
            grown.flags.writeable = False
            _table = grown
    return _table


@jit
def _both_sides(total: int, table: NDArray[np.float64]) -> NDArray[np.float64]:
    """L(n) + L(total - n) for n = 0..total."""
    out = np.empty(total + 1, dtype=np.float64)
    for n in range(total + 1):
        out[n] = table[n] + table[total - n]
    return out


@jit
def _two_classes(
    counts: AnyArray, t0: int, t1: int, table: NDArray[np.float64], out: NDArray[np.float64]
) -> None:
    """The most common case. With more features than rows the sums are looked up."""
    n = t0 + t1
    before = table[n] - (table[t0] + table[t1])
    if counts.shape[1] > n:
        first, second, whole = (
            _both_sides(t0, table),
            _both_sides(t1, table),
            _both_sides(n, table),
        )
        whole[0] = whole[n] = np.inf  # a constant feature: before - inf is minus infinity
        for f in range(counts.shape[1]):
            a, b = np.uint64(counts[0, f]), np.uint64(counts[1, f])
            out[f] = (before - (whole[a + b] - (first[a] + second[b]))) / n
        return
    for f in range(counts.shape[1]):
        i, j = np.int64(counts[0, f]), np.int64(counts[1, f])
        m = i + j
        if m == 0 or m == n:
            out[f] = -np.inf
        else:
            pure = (table[i] + table[t0 - i]) + (table[j] + table[t1 - j])
            out[f] = (before - ((table[m] + table[n - m]) - pure)) / n


@jit
def entropy_gains(
    counts: AnyArray, totals: NDArray[np.int64], table: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Information gain in bits per row: counts (C, k) of the true side, totals (C,).

    With L(n) = n log2 n, a side with class counts n_c and n rows has n times its entropy equal to
    L(n) - sum_c L(n_c). Sums are taken over both sides of one class first: true and false may be
    exchanged without changing a bit of the gain.
    """
    C, k = counts.shape
    out = np.empty(k, dtype=np.float64)
    if C == 2:
        _two_classes(counts, totals[0], totals[1], table, out)
        return out
    n = np.int64(0)
    whole = 0.0
    for c in range(C):
        n += totals[c]
        whole += table[totals[c]]
    before = table[n] - whole
    for f in range(k):
        m = np.int64(0)
        pure = 0.0
        for c in range(C):
            a = np.int64(counts[c, f])
            m += a
            pure += table[a] + table[totals[c] - a]
        if m == 0 or m == n:
            out[f] = -np.inf
        else:
            out[f] = (before - ((table[m] + table[n - m]) - pure)) / n
    return out


@jit
def gini_gains(counts: AnyArray, totals: NDArray[np.int64]) -> NDArray[np.float64]:
    """Fall of the Gini impurity: counts (C, k) of the true side, totals (C,)."""
    C, k = counts.shape
    n = np.int64(0)
    squares = np.int64(0)
    for c in range(C):
        n += totals[c]
        squares += totals[c] * totals[c]
    before = squares / n
    out = np.empty(k, dtype=np.float64)
    for f in range(k):
        n_true = np.int64(0)
        true = np.int64(0)
        false = np.int64(0)
        for c in range(C):
            a = np.int64(counts[c, f])
            b = totals[c] - a
            n_true += a
            true += a * a
            false += b * b
        if n_true == 0 or n_true == n:
            out[f] = -np.inf
        else:
            out[f] = (true / n_true + false / (n - n_true) - before) / n
    return out
