"""Gain as a pure function of integer counts.

The same counts give the same float wherever they were counted: scratch, UseRep and every engine
call these functions and no others, so "UseRep outputs the scratch tree" holds exactly. Entropy goes
through a table of n log2 n filled by ``math.log2``, one value per n for the whole process.

A feature that is constant on the rows gets minus infinity: it is never split on.

Vectorised logarithms and powers may round differently at different places of an array; the less
common gains go through the scalar functions of the C library everywhere, one feature at a time.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from threading import Lock

import numpy as np

from thrifty.kernels.jit import jit
from thrifty.typing import AnyArray, Floats, Ints


class GrownTable:
    """A function of 0, 1, ... in a table that is grown by doubling and shared."""

    def __init__(self, function: Callable[[int], float]) -> None:
        self._function, self._lock = function, Lock()
        self._table = np.zeros(0, dtype=np.float64)

    def up_to(self, n: int) -> Floats:
        """The values of 0..n, at least."""
        if len(self._table) <= n:
            with self._lock:
                had = self._table
                more = range(len(had), max(n + 1, 2 * len(had), 1024))
                grown = np.concatenate([had, [self._function(i) for i in more]])
                grown.flags.writeable = False
                self._table = grown
        return self._table


_XLOGX = GrownTable(lambda n: n * math.log2(n) if n else 0.0)


def xlogx_table(n: int) -> Floats:
    """n log2 n for 0..n (at least).

    >>> xlogx_table(4)[:5].tolist()
    [0.0, 0.0, 2.0, 4.754887502163468, 8.0]
    """
    return _XLOGX.up_to(n)


@jit
def _both_sides(total: int, table: Floats) -> Floats:
    """L(n) + L(total - n) for n = 0..total."""
    out = np.empty(total + 1, dtype=np.float64)
    for n in range(total + 1):
        out[n] = table[n] + table[total - n]
    return out


@jit
def _two_classes(counts: AnyArray, t0: int, t1: int, table: Floats, out: Floats) -> None:
    """The most common case. With more features than rows the sums are looked up."""
    n = t0 + t1
    before = table[n] - (table[t0] + table[t1])
    if counts.shape[1] > n:
        first, second = _both_sides(t0, table), _both_sides(t1, table)
        whole = _both_sides(n, table)
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
def entropy_gains(counts: AnyArray, totals: Ints, table: Floats) -> Floats:
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
def gini_gains(counts: AnyArray, totals: Ints) -> Floats:
    """Fall of the Gini impurity: counts (C, k) of the true side, totals (C,)."""
    C, k = counts.shape
    n = squares = np.int64(0)
    for c in range(C):
        n += totals[c]
        squares += totals[c] * totals[c]
    before = squares / n
    out = np.empty(k, dtype=np.float64)
    for f in range(k):
        n_true = true = false = np.int64(0)
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


@jit
def _xlogx(x: float) -> float:
    return x * math.log2(x) if x > 0.0 else 0.0


@jit
def eg2_gains(gains: Floats, prices: Floats, weight: float) -> Floats:
    """(2^gain - 1) / (price + 1)^weight; minus infinity stays what it is."""
    out = np.empty(len(gains), dtype=np.float64)
    for f in range(len(gains)):
        if gains[f] == -np.inf:
            out[f] = -np.inf
        else:
            out[f] = math.expm1(gains[f] * math.log(2.0)) / (prices[f] + 1.0) ** weight
    return out


@jit
def split_information(n_true: Floats, n: float) -> Floats:
    """Entropy in bits of the sizes of the two sides."""
    out = np.empty(len(n_true), dtype=np.float64)
    for f in range(len(n_true)):
        side = _xlogx(n_true[f]) + _xlogx(n - n_true[f])
        out[f] = (_xlogx(n) - side) / n
    return out
