"""Gain as a pure function of integer counts.

The same counts give the same float wherever they were counted: scratch, UseRep and every engine
call these functions and no others, so "UseRep outputs the scratch tree" holds exactly. Entropy goes
through a table of n log2 n filled by ``math.log2``, one value per n for the whole process.

A feature that is constant on the rows gets minus infinity: it is never split on.
"""

from __future__ import annotations

import math
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.kernels.jit import jit

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
def entropy_gains(
    counts: NDArray[Any], totals: NDArray[np.int64], table: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Information gain in bits per row: counts (C, k) of the true side, totals (C,).

    With L(n) = n log2 n, a side with class counts n_c and n rows has n times its entropy equal to
    L(n) - sum_c L(n_c).
    """
    C, k = counts.shape
    n = np.int64(0)
    whole = 0.0
    for c in range(C):
        n += totals[c]
        whole += table[totals[c]]
    before = table[n] - whole
    out = np.empty(k, dtype=np.float64)
    if C == 2:
        t0, t1 = totals[0], totals[1]
        for f in range(k):
            a, b = np.int64(counts[0, f]), np.int64(counts[1, f])
            n_true = a + b
            if n_true == 0 or n_true == n:
                out[f] = -np.inf
                continue
            true = table[n_true] - (table[a] + table[b])
            false = table[n - n_true] - (table[t0 - a] + table[t1 - b])
            out[f] = (before - (true + false)) / n
        return out
    for f in range(k):
        n_true = np.int64(0)
        pure_true = 0.0
        pure_false = 0.0
        for c in range(C):
            a = np.int64(counts[c, f])
            n_true += a
            pure_true += table[a]
            pure_false += table[totals[c] - a]
        if n_true == 0 or n_true == n:
            out[f] = -np.inf
            continue
        true = table[n_true] - pure_true
        false = table[n - n_true] - pure_false
        out[f] = (before - (true + false)) / n
    return out


@jit
def gini_gains(counts: NDArray[Any], totals: NDArray[np.int64]) -> NDArray[np.float64]:
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
