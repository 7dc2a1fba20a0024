"""How far a coin is from another: Kullback-Leibler divergence, and its inverse upwards.

kl(e, f) = e log(e/f) + (1-e) log((1-e)/(1-f)) is what one look at a coin of rate e gains, on
average, for whoever bets against the rate f. ``upper(e, c)`` is the largest rate against which a
look still gains no more than c.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from thrifty.array_types import Floats

__all__ = ["GAINS", "divergence", "least_checks", "suspects", "upper"]

_STEPS = 44
_TINY = 1e-12
#: the gains at which suspects are tabled, and the rates, evenly in their log-odds
GAINS = np.geomspace(1e-5, 4.0, 80)
_ODDS = np.linspace(-9.3, 9.3, 200)


def divergence(rate: Floats, other: Floats) -> Floats:
    """kl(rate, other), element by element, with 0 log 0 = 0.

    >>> divergence(np.array([0.0, 0.5]), np.array([0.5, 0.5])).round(3).tolist()
    [0.693, 0.0]
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        wrong = np.where(rate > 0, rate * np.log(rate / other), 0.0)
        right = np.where(rate < 1, (1 - rate) * np.log((1 - rate) / (1 - other)), 0.0)
    return np.asarray(wrong + right)


def upper(rate: Floats, gain: Floats | float) -> Floats:
    """The largest rate above ``rate`` whose divergence is at most ``gain``, by bisection.

    >>> upper(np.array([0.0, 0.2]), 0.05).round(4).tolist()
    [0.0488, 0.3435]
    """
    low = np.broadcast_to(rate, np.broadcast(rate, gain).shape).astype(np.float64)
    high = np.full_like(low, 1 - _TINY)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        near = divergence(np.broadcast_to(rate, low.shape), middle) <= gain
        low, high = np.where(near, middle, low), np.where(near, high, middle)
    return low


def suspects(rate: Floats) -> Floats:
    """``upper`` at every gain of ``GAINS``, from a table: (..., gains). For guesses, not bounds.

    >>> table = suspects(np.array([0.0, 0.2]))
    >>> bool(abs(table[1] - upper(np.full(len(GAINS), 0.2), GAINS)).max() < 0.002)
    True
    """
    table = _table()
    with np.errstate(divide="ignore"):
        odds = np.log(rate) - np.log1p(-rate)
    place = np.clip((odds - _ODDS[0]) / (_ODDS[1] - _ODDS[0]), 0, len(_ODDS) - 1.000001)
    below = place.astype(np.int64)
    part = (place - below)[..., None]
    low = table[below]
    return np.asarray(low + part * (table[below + 1] - low))


@lru_cache(maxsize=1)
def _table() -> Floats:
    rate = 1 / (1 + np.exp(-_ODDS))
    return upper(rate[:, None], GAINS[None, :])


def least_checks(share: float, confidence: float) -> int:
    """Rows that must be looked at, all of them right, before a share of wrong ones is refuted.

    >>> least_checks(0.05, 0.95)
    59
    """
    return math.ceil(math.log(1 - confidence) / math.log1p(-share))
