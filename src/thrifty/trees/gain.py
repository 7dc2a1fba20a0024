"""What a split is worth, from integer counts and a price.

A gain is a function ``(counts, totals, prices) -> gains``: ``counts`` (C, k) says how many rows of
each class have each of k features true, ``totals`` (C,) the rows of each class at the node,
``prices`` (k,) what a cell of each feature costs. The theory holds for any such function; it gives
minus infinity where a feature is constant on the rows, and equal counts give equal floats.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty import kernels
from thrifty.errors import BadParameter

__all__ = ["GAINS", "Gain", "entropy", "gain_named", "gini"]

Floats = NDArray[np.float64]
Gain = Callable[[NDArray[Any], NDArray[np.int64], Floats], Floats]


def entropy(counts: NDArray[Any], totals: NDArray[np.int64], prices: Floats) -> Floats:
    """Information gain, in bits per row.

    >>> one = np.ones(1)
    >>> entropy(np.array([[0], [4]]), np.array([4, 4]), one).tolist()
    [1.0]
    """
    return kernels.entropy_gains(counts, totals, kernels.xlogx_table(int(totals.sum())))


def gini(counts: NDArray[Any], totals: NDArray[np.int64], prices: Floats) -> Floats:
    """Fall of the Gini impurity.

    >>> gini(np.array([[0], [4]]), np.array([4, 4]), np.ones(1)).tolist()
    [0.5]
    """
    return kernels.gini_gains(counts, totals)


GAINS: dict[str, Gain] = {"entropy": entropy, "gini": gini}


def gain_named(gain: str | Gain) -> Gain:
    """The gain of that name, or the user's own function."""
    if callable(gain):
        return gain
    try:
        return GAINS[gain]
    except (KeyError, TypeError):
        raise BadParameter(
            f"gain must be one of {sorted(GAINS)} or a function (counts, totals, prices) -> gains; "
            f"got {gain!r}."
        ) from None
