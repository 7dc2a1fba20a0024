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
    suspect: tuple[Floats, ...]
    stake: tuple[float, ...]


def design(strata: Strata, known: float, bettors: tuple[float, ...]) -> Design:
    """Probabilities from the rates; bettors believe in rates moved by so much (in log-odds)."""
    shares, suspects, stakes = [], [], []
    for moved in bettors:
        rate = _moved(strata.rate, moved)
        rate, suspect = _suspected(strata, rate, known)
        apart = np.maximum(suspect - rate, 1e-12) / np.maximum(suspect * (1 - suspect), 1e-12)
        shares.append(np.where(strata.extra > 0, strata.extra / apart, 0.0))
        suspects.append(suspect)
        stakes.append(apart / np.where(strata.extra > 0, strata.extra, 1.0))
    share = shares[len(shares) // 2]
    drawn = strata.extra > 0
    mean = float((share * strata.size).sum() / strata.size[drawn].sum())
    share = np.where(drawn, np.maximum(share, _EVEN * mean), 0.0)
    weight = strata.size * drawn
    stake = tuple(float(np.average(share * s, weights=weight)) for s in stakes)
    return Design(share, tuple(suspects), stake)


def _moved(rate: Floats, by: float) -> Floats:
    odds = rate / (1 - rate) * np.exp(by)
    return np.asarray(odds / (1 + odds))


def _suspected(strata: Strata, rate: Floats, known: float) -> tuple[Floats, Floats]:
    """Rates below the boundary, and the least suspicious rates on it: the deficit there is 0."""
    none = np.zeros_like(rate)
    free = -strata.deficit(none, known)  # what wrong answers may count in all
    counted = float((strata.size * strata.extra * rate).sum())
    if counted >= _HOPE * free:
        rate = rate * (_HOPE * max(free, 0.0) / counted)
    table = suspects(rate)
    counts = known + strata.size @ (strata.right[:, None] + strata.extra[:, None] * table)
    last = int(np.searchsorted(counts, 0.0))  # the first gain at which the deficit is above 0
    if last == 0:
        return rate, table[:, 0]
    if last == len(GAINS):
        return rate, table[:, -1]
    part = -counts[last - 1] / (counts[last] - counts[last - 1])
    return rate, np.asarray((1 - part) * table[:, last - 1] + part * table[:, last])
