"""Pieces of the less common gains, compiled one by one so that equal counts give equal floats.

Vectorised logarithms and powers may round differently at different places of an array; these go
through the scalar functions of the C library everywhere.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from thrifty.kernels.jit import jit

__all__ = ["eg2_gains", "split_information", "weighted_entropy_gains", "weighted_gini_gains"]

Floats = NDArray[np.float64]


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


@jit
def weighted_entropy_gains(counts: Floats, totals: Floats) -> Floats:
    """Information gain of weighted counts (C, k): the formula of ``entropy_gains``."""
    C, k = counts.shape
    n = 0.0
    whole = 0.0
    for c in range(C):
        n += totals[c]
        whole += _xlogx(totals[c])
    before = _xlogx(n) - whole
    out = np.empty(k, dtype=np.float64)
    for f in range(k):
        n_true = n_false = pure_true = pure_false = 0.0
        for c in range(C):
            a = counts[c, f]
            b = totals[c] - a
            n_true += a
            n_false += b
            pure_true += _xlogx(a)
            pure_false += _xlogx(b)
        side = (_xlogx(n_true) - pure_true) + (_xlogx(n_false) - pure_false)
        out[f] = (before - side) / n
    return out


@jit
def weighted_gini_gains(counts: Floats, totals: Floats) -> Floats:
    """Fall of the Gini impurity of weighted counts (C, k)."""
    C, k = counts.shape
    n = 0.0
    squares = 0.0
    for c in range(C):
        n += totals[c]
        squares += totals[c] * totals[c]
    out = np.empty(k, dtype=np.float64)
    for f in range(k):
        n_true = n_false = true = false = 0.0
        for c in range(C):
            a = counts[c, f]
            b = totals[c] - a
            n_true += a
            n_false += b
            true += a * a
            false += b * b
        kept = 0.0
        if n_true > 0.0:
            kept += true / n_true
        if n_false > 0.0:
            kept += false / n_false
        out[f] = (kept - squares / n) / n
    return out
