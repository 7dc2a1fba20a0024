"""Upper bounds on a gain over a box of counts, when there are too many classes for its corners.

Entropy. With class shares w_c, rates p_c and any number q, the information gain is
I(p) <= sum_c w_c kl(p_c, q), equal at q = sum_c w_c p_c. Each term is convex in p_c, so over a box
it is largest at an end of p_c's interval; the smallest such sum over a few q is a bound.

Gini. With v_c = w_c p_c and W = sum_c v_c the gain is sum_c v_c^2 / W + (w_c - v_c)^2 / (1 - W) -
sum_c w_c^2. Cut the range of W into pieces [s, t]: in a piece the gain is at most
sum_c max over the ends of v_c^2 / s + (w_c - v_c)^2 / (1 - t), less the constant.
"""

from __future__ import annotations

import numpy as np

from thrifty.array_types import Floats, Ints

__all__ = ["entropy_at_most", "gini_at_most"]

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
