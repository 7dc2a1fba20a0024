"""How many rows to put to the oracle because they are doubtful, and how many to check at random.

With rates e of being wrong, a draw gains most, against the worst way in which the deficit could be
above 0, if all rows are made equally suspect: with e'_i the largest rate of divergence c from e_i,
and c such that the deficit at e' is 0, rows are drawn with

    p_i proportional to  extra_i e'_i (1 - e'_i) / (e'_i - e_i)

and the wealth grows by c a draw. (It is the saddle point of: we draw, the adversary moves rates.)
So ln(1/alpha) / c draws are to be expected. The more doubtful rows are bought outright, the larger
is c for the rest: the plan is the number with the smallest sum.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from thrifty.array_types import Floats
from thrifty.certified.divergence import GAINS, suspects
from thrifty.certified.strata import Strata

__all__ = ["Design", "Plan", "design", "make_plan"]

#: where the deficit is already expected above 0, bet as if rates were so much below what is allowed
_HOPE = 0.8
#: no row is drawn with less than this share of the mean probability
_EVEN = 0.2


@dataclass(frozen=True)
class Plan:
    """What the rest is expected to take."""

    #: doubtful rows to buy outright, and draws at random
    outright: int
    draws: float


def make_plan(strata: Strata, known: float, to_gain: float) -> Plan:
    """The cheapest number of rows to buy outright, and the draws that are then needed."""
    suspect = suspects(strata.rate)
    size = strata.size[:, None]
    kept = size * (strata.right[:, None] + strata.extra[:, None] * suspect)
    bought = strata.size * strata.bought
    # deficit[j, c]: groups 0..j are kept, the others bought
    rest = bought.sum() - np.cumsum(bought)
    deficit = np.cumsum(kept, axis=0) + rest[:, None] + known
    now = np.cumsum(strata.size * (strata.right + strata.extra * strata.rate)) + rest + known
    above = deficit > 0
    first = np.where(above.any(axis=1), above.argmax(axis=1), len(GAINS) - 1)
    gain = np.where(now < 0, GAINS[np.maximum(first - 1, 0)], 0.0)
    rows = np.cumsum(strata.size)
    draws = np.minimum(to_gain / np.maximum(gain, 1e-9), rows)
    cost = (strata.size.sum() - rows) + draws
    best = int(np.argmin(cost))
    # nothing may be left to the model
    if strata.size.sum() < cost[best]:
        return Plan(int(strata.size.sum()), 0.0)
    return Plan(int(strata.size.sum() - rows[best]), float(draws[best]))


@dataclass(frozen=True, eq=False)
class Design:
    """How rows are drawn and what is bet on them, group by group."""

    #: a row's share of the probability, before it is scaled to sum 1
    share: Floats
    #: for each bettor the suspected rates, and what is staked if shares sum to 1
    suspect: Floats
    stake: Floats


def design(strata: Strata, known: float, bettors: tuple[float, ...]) -> Design:
    """Probabilities from the rates; bettors believe in rates moved by so much (in log-odds)."""
    rate, suspect = _suspected(strata, _moved(strata.rate, np.array(bettors)[:, None]), known)
    apart = np.maximum(suspect - rate, 1e-12) / np.maximum(suspect * (1 - suspect), 1e-12)
    drawn = strata.extra > 0
    share = np.where(drawn, strata.extra / apart[len(bettors) // 2], 0.0)
    weight = strata.size * drawn
    mean = float(share @ strata.size / weight.sum())
    share = np.where(drawn, np.maximum(share, _EVEN * mean), 0.0)
    stake = apart @ (weight * share / np.where(drawn, strata.extra, 1.0)) / weight.sum()
    return Design(share, suspect, stake)


def _moved(rate: Floats, by: Floats) -> Floats:
    odds = rate / (1 - rate) * np.exp(by)
    return np.asarray(odds / (1 + odds))


def _suspected(strata: Strata, rate: Floats, known: float) -> tuple[Floats, Floats]:
    """Rates below the boundary, and the least suspicious rates on it: the deficit there is 0.

    For each bettor: (bettors, groups).
    """
    free = -strata.deficit(np.zeros_like(strata.rate), known)  # what wrong answers may count in all
    each = strata.size * strata.extra
    counted = rate @ each
    scale = np.where(counted >= _HOPE * free, _HOPE * max(free, 0.0) / counted, 1.0)
    rate = rate * scale[:, None]
    table = suspects(rate)
    over = each @ table - free  # (bettors, gains): the deficit, which grows with the gain
    after = np.clip((over < 0).sum(axis=1), 1, len(GAINS) - 1)  # the first above 0
    one = np.arange(len(rate))
    low, high = over[one, after - 1], over[one, after]
    part = np.clip(-low / (high - low), 0.0, 1.0)[:, None]
    below, above = table[one, :, after - 1], table[one, :, after]
    return rate, np.asarray(below + part * (above - below))
