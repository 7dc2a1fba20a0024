"""What a split is worth, from integer counts and a price.

A gain is a value around a function ``(counts, totals, prices) -> gains``: ``counts`` (C, k) says
how many rows of each class have each of k features true, ``totals`` (C,) the rows of each class at
the node, ``prices`` (k,) what a cell of each feature costs. The theory holds for any such function;
it gives minus infinity where a feature is constant on the rows, and equal counts give equal floats.

A gain of your own needs no entry anywhere: give the function, or a :class:`Gain` that also says how
it is raced, to a learner's ``gain=``.

Upper bounds on a gain over a box of counts, when there are too many classes for its corners.
Entropy: with class shares w_c, rates p_c and any number q, the information gain is
I(p) <= sum_c w_c kl(p_c, q), equal at q = sum_c w_c p_c. Each term is convex in p_c, so over a box
it is largest at an end of p_c's interval; the smallest such sum over a few q is a bound.

Gini: with v_c = w_c p_c and W = sum_c v_c the gain is sum_c v_c^2 / W + (w_c - v_c)^2 / (1 - W) -
sum_c w_c^2. Cut the range of W into pieces [s, t]: in a piece the gain is at most
sum_c max over the ends of v_c^2 / s + (w_c - v_c)^2 / (1 - t), less the constant.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np

from thrifty import kernels
from thrifty.errors import BadParameter
from thrifty.typing import AnyArray, Floats, Ints

Measure = Callable[[AnyArray, AnyArray, Floats], Floats]


@dataclass(frozen=True)
class Gain:
    """A gain: its name, its function of counts, how it is raced, and its kernel.

    Parameters
    ----------
    name : str
        How stores and messages call it.
    of : callable
        (counts, totals, prices) -> gains.
    raced : "kernel", "corners" or None
        How races rule candidates out. "corners": its largest value over a box of counts is at a
        corner, as for every function that grows as the classes' rates part. "kernel": the same,
        by a compiled kernel. None: it cannot be raced.
    kernel : int or None
        ``kernels.ENTROPY`` or ``kernels.GINI``, where that kernel finds its best cuts.
    cut_by : Gain or None
        The gain that chooses the threshold of a real-valued feature; None: this one.
    at_most : callable or None
        (low, high, totals) -> bounds over boxes of counts, where classes are too many for corners.
    pure_child : bool
        Whether only splits that leave one child pure count.
    by_price : bool
        Whether it looks at prices.

    See Also
    --------
    thrifty.trees.Paper, thrifty.trees.Race : who takes it

    Examples
    --------
    >>> right = Gain("right", lambda counts, totals, prices: abs(counts[1] - counts[0]) / 1.0)
    >>> right(np.array([[0], [4]]), np.array([4, 4]), np.ones(1)).tolist()
    [4.0]
    """

    name: str
    of: Measure
    raced: Literal["kernel", "corners"] | None = "corners"
    kernel: int | None = None
    cut_by: Gain | None = None
    at_most: Callable[[Ints, Ints, Ints], Floats] | None = None
    pure_child: bool = False
    by_price: bool = True

    def __call__(self, counts: AnyArray, totals: AnyArray, prices: Floats) -> Floats:
        return self.of(counts, totals, prices)


def _entropy(counts: AnyArray, totals: AnyArray, prices: Floats) -> Floats:
    """Information gain, in bits per row.

    >>> one = np.ones(1)
    >>> _entropy(np.array([[0], [4]]), np.array([4, 4]), one).tolist()
    [1.0]
    """
    return kernels.entropy_gains(counts, totals, kernels.xlogx_table(int(totals.sum())))


def _gini(counts: AnyArray, totals: AnyArray, prices: Floats) -> Floats:
    """Fall of the Gini impurity.

    >>> _gini(np.array([[0], [4]]), np.array([4, 4]), np.ones(1)).tolist()
    [0.5]
    """
    return kernels.gini_gains(counts, totals)


def _gain_ratio(counts: AnyArray, totals: AnyArray, prices: Floats) -> Floats:
    """Information gain by the entropy of the two sides' sizes (C4.5).

    >>> _gain_ratio(np.array([[0, 0], [4, 1]]), np.array([4, 4]), np.ones(2)).round(3).tolist()
    [1.0, 0.254]
    """
    gains = _entropy(counts, totals, prices)
    sizes = counts.sum(axis=0, dtype=np.float64)
    sides = kernels.split_information(sizes, float(totals.sum()))
    # A side without rows has no entropy; the gain is minus infinity there and stays so.
    ratios = np.full(len(gains), -np.inf)
    np.divide(gains, sides, out=ratios, where=sides > 0)
    return ratios


def _cs_id3(counts: AnyArray, totals: AnyArray, prices: Floats) -> Floats:
    """gain^2 / price (CS-ID3, Tan and Schlimmer 1990); a free feature counts as almost free.

    >>> _cs_id3(np.array([[0, 0], [4, 4]]), np.array([4, 4]), np.array([2.0, 4.0])).tolist()
    [0.5, 0.25]
    """
    gains = _entropy(counts, totals, prices)
    return np.where(gains == -np.inf, -np.inf, gains * gains / np.maximum(prices, _ALMOST_FREE))


def _idx(counts: AnyArray, totals: AnyArray, prices: Floats) -> Floats:
    """gain / price (IDX, Norton 1989); a free feature counts as almost free.

    >>> _idx(np.array([[0, 0], [4, 4]]), np.array([4, 4]), np.array([2.0, 4.0])).tolist()
    [0.5, 0.25]
    """
    return _entropy(counts, totals, prices) / np.maximum(prices, _ALMOST_FREE)


_STEPS = 24


def entropy_at_most(low: Ints, high: Ints, totals: Ints) -> Floats:
    """The information gain of any table between ``low`` and ``high`` (C, k), in bits."""
    n = totals[:, None]
    share = n / totals.sum()
    ends = low / n, high / n
    first, last = ((share * end).sum(axis=0) for end in ends)
    best = np.full(low.shape[1], np.inf)
    for step in range(_STEPS + 1):
        q = first + (last - first) * (step / _STEPS)
        q = np.clip(q, 1e-9, 1 - 1e-9)
        away = np.maximum(_divergence(ends[0], q), _divergence(ends[1], q))
        best = np.minimum(best, (share * away).sum(axis=0))
    return best


def _divergence(p: Floats, q: Floats) -> Floats:
    """kl(p, q) of two coins, in bits."""
    with np.errstate(divide="ignore", invalid="ignore"):
        heads = np.where(p > 0, p * np.log2(p / q), 0.0)
        tails = np.where(p < 1, (1 - p) * np.log2((1 - p) / (1 - q)), 0.0)
    return np.asarray(heads + tails)


def gini_at_most(low: Ints, high: Ints, totals: Ints) -> Floats:
    """The fall of the Gini impurity of any table between ``low`` and ``high`` (C, k)."""
    n = float(totals.sum())
    share = (totals / n)[:, None]
    ends = low / n, high / n
    first, last = (end.sum(axis=0) for end in ends)
    best = np.full(low.shape[1], -np.inf)
    for step in range(_STEPS):
        s = first + (last - first) * (step / _STEPS)
        t = first + (last - first) * ((step + 1) / _STEPS)
        with np.errstate(divide="ignore", invalid="ignore"):
            sums = [_or_zero(v * v, s) + _or_zero((share - v) ** 2, 1 - t) for v in ends]
        best = np.maximum(best, np.maximum(*sums).sum(axis=0))
    return np.asarray(best - (share * share).sum())


def _or_zero(top: Floats, bottom: Floats) -> Floats:
    """top / bottom; an empty side has no part in the gain."""
    return np.where(top > 0, top / np.maximum(bottom, 0.0), 0.0)


_ALMOST_FREE = 1e-9

entropy = Gain(
    "entropy", _entropy, "kernel", kernels.ENTROPY, at_most=entropy_at_most, by_price=False
)
gini = Gain("gini", _gini, "kernel", kernels.GINI, at_most=gini_at_most, by_price=False)


@cache
def _eg2(weight: float, name: str) -> Gain:
    """(2^gain - 1) / (price + 1)^weight, gain in bits (EG2, Nunez 1991).

    >>> counts, totals = np.array([[0, 0], [4, 4]]), np.array([4, 4])
    >>> _eg2(1.0, "eg2")(counts, totals, np.array([0.0, 9.0])).tolist()
    [1.0, 0.1]
    """

    def measure(counts: AnyArray, totals: AnyArray, prices: Floats) -> Floats:
        return kernels.eg2_gains(_entropy(counts, totals, prices), prices, weight)

    return Gain(name, measure, cut_by=entropy)


gain_ratio = Gain("gain-ratio", _gain_ratio, None, cut_by=entropy, by_price=False)
eg2 = _eg2(1.0, "eg2")
cs_id3 = Gain("cs-id3", _cs_id3, cut_by=entropy)
idx = Gain("idx", _idx, cut_by=entropy)
#: the gains that come with Thrifty
GAINS = {gain.name: gain for gain in (entropy, gini, gain_ratio, eg2, cs_id3, idx)}


def gain_named(gain: str | Gain | Measure) -> Gain:
    """The gain of that name, or the user's own.

    ``"eg2:0.5"`` is (2^gain - 1) / (price + 1)^0.5; the weight lies between 0 and 1.

    >>> gain_named("eg2:1.0")(np.array([[0], [4]]), np.array([4, 4]), np.array([3.0])).tolist()
    [0.25]
    """
    if isinstance(gain, Gain):
        return gain
    if callable(gain):
        return Gain(getattr(gain, "__name__", "own"), gain)
    if isinstance(gain, str) and gain.startswith("eg2:"):
        try:
            weight = float(gain.removeprefix("eg2:"))
        except ValueError:
            weight = -1.0
        if 0.0 <= weight <= 1.0:
            return _eg2(weight, f"eg2:{weight:g}")
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


def highest(gains: Floats) -> int | None:
    """Where the highest gain is, the first of equals; None if no feature varies."""
    at = int(np.argmax(gains)) if len(gains) else 0
    return at if len(gains) and gains[at] > -np.inf else None


@cache
def pure_child(gain: Gain) -> Gain:
    """The same gain where a split leaves a child pure, minus infinity elsewhere.

    Still a pure function of counts, so all that holds for trees with any gain holds for lists.

    >>> counts, totals = np.array([[0, 1], [2, 2]]), np.array([3, 3])
    >>> pure_child(entropy)(counts, totals, np.ones(2)).round(3).tolist()
    [0.459, -inf]
    """

    def only_pure_child(counts: AnyArray, totals: AnyArray, prices: Floats) -> Floats:
        gains = gain(counts, totals, prices)
        pure_true = (counts > 0).sum(axis=0) <= 1
        pure_false = (totals[:, None] - counts > 0).sum(axis=0) <= 1
        return np.where(pure_true | pure_false, gains, -np.inf)

    return Gain(gain.name, only_pure_child, None, gain.kernel, pure_child=True)
