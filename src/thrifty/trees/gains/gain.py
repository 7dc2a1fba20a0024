"""What a split is worth, from integer counts and a price.

A gain is a function ``(counts, totals, prices) -> gains``: ``counts`` (C, k) says how many rows of
each class have each of k features true, ``totals`` (C,) the rows of each class at the node,
``prices`` (k,) what a cell of each feature costs. The theory holds for any such function; it gives
minus infinity where a feature is constant on the rows, and equal counts give equal floats.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty import kernels
from thrifty.errors import BadParameter

__all__ = [
    "CUT_BY_ENTROPY", "GAINS", "Floats", "Gain", "cs_id3", "eg2", "entropy", "gain_named",
    "gain_ratio", "gini", "idx",
]  # fmt: skip

Floats = NDArray[np.float64]
Gain = Callable[[NDArray[Any], NDArray[Any], Floats], Floats]


def entropy(counts: NDArray[Any], totals: NDArray[Any], prices: Floats) -> Floats:
    """Information gain, in bits per row.

    >>> one = np.ones(1)
    >>> entropy(np.array([[0], [4]]), np.array([4, 4]), one).tolist()
    [1.0]
    """
    if counts.dtype.kind == "f":
        return kernels.weighted_entropy_gains(counts, totals)
    return kernels.entropy_gains(counts, totals, kernels.xlogx_table(int(totals.sum())))


def gini(counts: NDArray[Any], totals: NDArray[Any], prices: Floats) -> Floats:
    """Fall of the Gini impurity.

    >>> gini(np.array([[0], [4]]), np.array([4, 4]), np.ones(1)).tolist()
    [0.5]
    """
    if counts.dtype.kind == "f":
        return kernels.weighted_gini_gains(counts, totals)
    return kernels.gini_gains(counts, totals)


def gain_ratio(counts: NDArray[Any], totals: NDArray[Any], prices: Floats) -> Floats:
    """Information gain by the entropy of the two sides' sizes (C4.5).

    >>> gain_ratio(np.array([[0, 0], [4, 1]]), np.array([4, 4]), np.ones(2)).round(3).tolist()
    [1.0, 0.254]
    """
    gains = entropy(counts, totals, prices)
    sizes = counts.sum(axis=0, dtype=np.float64)
    sides = kernels.split_information(sizes, float(totals.sum()))
    # A side without rows has no entropy; the gain is minus infinity there and stays so.
    ratios = np.full(len(gains), -np.inf)
    np.divide(gains, sides, out=ratios, where=sides > 0)
    return ratios


def eg2(counts: NDArray[Any], totals: NDArray[Any], prices: Floats) -> Floats:
    """(2^gain - 1) / (price + 1), gain in bits (EG2, Nunez 1991, with w = 1).

    >>> eg2(np.array([[0, 0], [4, 4]]), np.array([4, 4]), np.array([0.0, 9.0])).tolist()
    [1.0, 0.1]
    """
    return kernels.eg2_gains(entropy(counts, totals, prices), prices, 1.0)


def cs_id3(counts: NDArray[Any], totals: NDArray[Any], prices: Floats) -> Floats:
    """gain^2 / price (CS-ID3, Tan and Schlimmer 1990); a free feature counts as almost free.

    >>> cs_id3(np.array([[0, 0], [4, 4]]), np.array([4, 4]), np.array([2.0, 4.0])).tolist()
    [0.5, 0.25]
    """
    gains = entropy(counts, totals, prices)
    return np.where(gains == -np.inf, -np.inf, gains * gains / np.maximum(prices, _ALMOST_FREE))


def idx(counts: NDArray[Any], totals: NDArray[Any], prices: Floats) -> Floats:
    """gain / price (IDX, Norton 1989); a free feature counts as almost free.

    >>> idx(np.array([[0, 0], [4, 4]]), np.array([4, 4]), np.array([2.0, 4.0])).tolist()
    [0.5, 0.25]
    """
    return entropy(counts, totals, prices) / np.maximum(prices, _ALMOST_FREE)


_ALMOST_FREE = 1e-9
GAINS: dict[str, Gain] = {
    "entropy": entropy,
    "gini": gini,
    "gain-ratio": gain_ratio,
    "eg2": eg2,
    "cs-id3": cs_id3,
    "idx": idx,
}
#: gains whose threshold of a real-valued feature is the one of the highest entropy gain
CUT_BY_ENTROPY: set[Gain] = {gain_ratio, eg2, cs_id3, idx}


@cache
def _eg2_with(weight: float) -> Gain:
    """EG2 with another weight on the price; one function per weight for the whole process."""

    def weighted_eg2(counts: NDArray[Any], totals: NDArray[Any], prices: Floats) -> Floats:
        return kernels.eg2_gains(entropy(counts, totals, prices), prices, weight)

    CUT_BY_ENTROPY.add(weighted_eg2)
    return weighted_eg2


def gain_named(gain: str | Gain) -> Gain:
    """The gain of that name, or the user's own function.

    ``"eg2:0.5"`` is (2^gain - 1) / (price + 1)^0.5; the weight lies between 0 and 1.

    >>> gain_named("eg2:1.0")(np.array([[0], [4]]), np.array([4, 4]), np.array([3.0])).tolist()
    [0.25]
    """
    if callable(gain):
        return gain
    if isinstance(gain, str) and gain.startswith("eg2:"):
        try:
            weight = float(gain.removeprefix("eg2:"))
        except ValueError:
            weight = -1.0
        if 0.0 <= weight <= 1.0:
            return _eg2_with(weight)
        raise BadParameter(
            f"the weight of EG2 must lie between 0 and 1, as in 'eg2:0.5'; got {gain!r}."
        )
    try:
        return GAINS[gain]
    except (KeyError, TypeError):
        raise BadParameter(
            f"gain must be one of {sorted(GAINS)} or a function (counts, totals, prices) -> gains; "
            f"got {gain!r}."
        ) from None
