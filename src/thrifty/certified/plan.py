"""How many rows to put to the oracle because they are doubtful, and how many to check at random.

kl(e, f) = e log(e/f) + (1-e) log((1-e)/(1-f)) is what one look at a coin of rate e gains, on
average, for whoever bets against the rate f. With rates e of being wrong, a draw gains most,
against the worst way in which the deficit could be above 0, if all rows are made equally suspect:
with e'_i the largest rate of divergence c from e_i, and c such that the deficit at e' is 0, rows
are drawn with

    p_i proportional to  extra_i e'_i (1 - e'_i) / (e'_i - e_i)

and the wealth grows by c a draw. (It is the saddle point of: we draw, the adversary moves rates.)
So ln(1/alpha) / c draws are to be expected. The more doubtful rows are bought outright, the larger
is c for the rest: the plan is the number with the smallest sum. Rows that are alike are taken
together, so that planning costs the same for any number of rows.

Where labels have prices of their own (long texts, for instance) gain and cost are those of a coin
spent: rows of price t are suspected up to divergence c t, which draws cheap rows more often by the
same formula, and rows are bought outright by what they bring for their price.

What a certificate is about, as one number that must not be above 0: the deficit.

Every row counts something. For ``agree`` a wrong answer counts 1, and a share of all rows may be
wrong:

    agree a:      errors                          <= (1 - a) rows
    precision p:  wrong rows in the answer        <= (1 - p) rows in the answer
    recall r:     r (rows of the class left out)  <= (1 - r) (rows of the class in the answer)

Left side less right side is the deficit. A row whose label was bought is answered by the oracle,
and counts what is then known; so buying a label never raises the deficit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np

from thrifty.checks import a_probability
from thrifty.typing import Bools, Floats, Ints


@dataclass(frozen=True, eq=False)
class Target:
    """What each row counts: answered by the model, rightly or not, and answered by the oracle."""

    #: as it is printed
    title: str
    #: what is required, for instance .95
    level: float
    #: what a row counts that the model answers rightly, and what a wrong answer adds
    right: Floats
    extra: Floats
    #: what it counts once its label is bought, where the model was right and where it was wrong
    bought_right: Floats
    bought_wrong: Floats
    #: what all rows together may count
    allowed: float
    #: the code of the class that is meant; None: every class
    of: int | None = None

    @cached_property
    def if_wrong(self) -> Floats:
        """What a row counts that the model answers wrongly."""
        return self.right + self.extra

    @cached_property
    def kind(self) -> Ints:
        """The same number for rows whose wrong answers add the same."""
        return np.unique(self.extra, return_inverse=True)[1]

    def wrong(self, said: Ints, codes: Ints) -> Bools:
        """Where answers are wrong: of one class alone, where only that is promised.

        >>> a = precision_of(np.array([True, False]), 0.9, of=0)
        >>> a.wrong(np.array([0, 2]), np.array([0, 1])).tolist()    # neither is of the class
        [False, False]
        """
        if self.of is None:
            return np.asarray(said != codes)
        return np.asarray((said == self.of) != (codes == self.of))

    def once_bought(self, rows: Ints, wrong: Bools) -> Floats:
        """What these rows count once their labels are bought."""
        return np.where(wrong, self.bought_wrong[rows], self.bought_right[rows])

    def falls(self, rows: Ints, wrong: Bools) -> Floats:
        """By how much the deficit falls when the labels of these rows are bought."""
        model = self.right[rows] + self.extra[rows] * wrong
        return np.asarray(model - self.once_bought(rows, wrong))

    def expected_falls(self, rate: Floats) -> Floats:
        """The same before the labels are seen, where a row is wrong with this probability."""
        if_wrong = self.if_wrong - self.bought_wrong
        return np.asarray(rate * if_wrong + (1 - rate) * (self.right - self.bought_right))

    def deficit(self, wrong: Bools, bought: Bools) -> float:
        """The deficit where everything is known; for tests and simulations."""
        by_model = self.right + self.extra * wrong
        by_oracle = np.where(wrong, self.bought_wrong, self.bought_right)
        return float(np.where(bought, by_oracle, by_model).sum() - self.allowed)


def agreement(rows: int, level: float) -> Target:
    """At least this share of all answers are the oracle's.

    >>> target = agreement(100, 0.95)
    >>> wrong = np.arange(100) < 8
    >>> round(target.deficit(wrong, np.arange(100) < 2), 6)   # eight wrong, two of them bought
    1.0
    """
    level = a_probability("agree", level)
    none, one = np.zeros(rows), np.ones(rows)
    return Target(f"agree {level:g}", level, none, one, none, none, (1 - level) * rows)


def precision_of(
    answered: Bools, level: float, class_name: object = "the class", of: int | None = None
) -> Target:
    """Of the rows answered with a class at least this share are the oracle's."""
    level = a_probability("precision", level)
    in_answer = np.asarray(answered, dtype=np.float64)
    share = 1 - level
    return Target(
        f"precision {level:g} of {class_name}",
        level,
        right=-share * in_answer,
        extra=in_answer,
        bought_right=-share * in_answer,
        bought_wrong=-share * (1 - in_answer),
        allowed=0.0,
        of=of,
    )


def recall_of(
    answered: Bools, level: float, class_name: object = "the class", of: int | None = None
) -> Target:
    """Of the rows that are of a class for the oracle, at least this share are answered so.

    >>> target = recall_of(np.array([True, False, False]), 0.5)
    >>> target.deficit(np.array([False, True, False]), np.zeros(3, bool))   # one of two found
    0.0
    """
    level = a_probability("recall", level)
    in_answer = np.asarray(answered, dtype=np.float64)
    share = 1 - level
    return Target(
        f"recall {level:g} of {class_name}",
        level,
        right=-share * in_answer,
        extra=level * (1 - in_answer) + share * in_answer,
        bought_right=-share * in_answer,
        bought_wrong=-share * (1 - in_answer),
        allowed=0.0,
        of=of,
    )


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
    tiny = 1e-12
    steps = 44
    low = np.broadcast_to(rate, np.broadcast(rate, gain).shape).astype(np.float64)
    high = np.full_like(low, 1 - tiny)
    for _ in range(steps):
        middle = (low + high) / 2
        near = divergence(np.broadcast_to(rate, low.shape), middle) <= gain
        low, high = np.where(near, middle, low), np.where(near, high, middle)
    return low


def suspects(rate: Floats, price: Floats | None = None) -> Floats:
    """``upper`` at every gain of ``GAINS``, from a table: (..., gains). For guesses, not bounds.

    ``price``: at so many times these gains.

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
    found = np.asarray(low + part * (table[below + 1] - low))
    if price is None:
        return found
    step = math.log(GAINS[1] / GAINS[0])
    last = len(GAINS) - 1
    at = np.clip(np.arange(len(GAINS)) + np.log(price)[:, None] / step, 0, last - 1e-6)
    before = np.broadcast_to(at.astype(np.int64), found.shape)
    low = np.take_along_axis(found, before, axis=-1)
    return np.asarray(low + (at - before) * (np.take_along_axis(found, before + 1, axis=-1) - low))


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


@dataclass(frozen=True, eq=False)
class Strata:
    """Rows without a label in groups, those first of which a label is expected to change least."""

    #: the rows, group after group, and the group of each
    rows: Ints
    group: Ints
    size: Floats
    #: means over a group: how often it is wrong, what it counts (see Target)
    rate: Floats
    right: Floats
    extra: Floats
    #: what it is expected to count once its labels are bought
    bought: Floats
    #: of a label, in prices of the average row; None: all cost the same
    price: Floats | None = None

    @classmethod
    def of(cls, rows: Ints, rate: Floats, target: Target, price: Floats | None = None) -> Strata:
        """Cut rows into groups by their rates, and by their prices, and sort the groups."""
        groups = 64  # about so many groups of rows with about the same rate
        prices = 1 if price is None else 4  # of them with a rate, by price
        kind = target.kind[rows]
        sizes = []
        for n in np.bincount(kind).tolist():
            pieces = min(n, max(2, round(groups / prices * n / len(rows))))
            sizes.append(np.diff(np.linspace(0, n, pieces + 1).astype(np.int64)))
        cut = np.concatenate(sizes)
        sorted_rows = rows[np.lexsort((rate[rows], kind))]
        if price is not None:
            sorted_rows, cut = _cut_again(sorted_rows, cut, price, prices)
        place = np.repeat(np.arange(len(cut)), cut)
        falls = np.bincount(place, weights=target.expected_falls(rate)[sorted_rows]) / cut
        if price is not None:
            falls /= np.bincount(place, weights=price[sorted_rows]) / cut
        order = np.argsort(falls, kind="stable")
        new_place = np.empty_like(order)
        new_place[order] = np.arange(len(order))
        moved = np.argsort(new_place[place], kind="stable")
        together, size = sorted_rows[moved], cut[order]
        group = np.repeat(np.arange(len(size)), size)
        bought = rate * target.bought_wrong + (1 - rate) * target.bought_right

        def mean(values: Floats) -> Floats:
            return np.asarray(np.bincount(group, weights=values[together]) / size)

        return cls(
            together,
            group,
            size.astype(np.float64),
            mean(rate),
            mean(target.right),
            mean(target.extra),
            mean(bought),
            None if price is None else mean(price),
        )

    def scaled(self, by: float) -> Strata:
        """The same groups with so many times the rows: a sample as a picture of all."""
        return replace(self, size=self.size * by)

    def deficit(self, rate: Floats, known: float) -> float:
        """The deficit at these rates, where rows with labels count so much less what is allowed."""
        return known + float((self.size * (self.right + self.extra * rate)).sum())

    @property
    def costs(self) -> Floats:
        """What the labels of a group cost, in prices of the average row."""
        return self.size if self.price is None else self.size * self.price


def _cut_again(rows: Ints, cut: Ints, by: Floats, pieces: int) -> tuple[Ints, Ints]:
    """Cut each group into smaller ones by another number."""
    group = np.repeat(np.arange(len(cut)), cut)
    rows = rows[np.lexsort((by[rows], group))]
    sizes = [np.diff(np.linspace(0, n, min(n, pieces) + 1).astype(np.int64)) for n in cut.tolist()]
    return rows, np.concatenate(sizes)


@dataclass(frozen=True)
class Plan:
    """What the rest is expected to take."""

    #: doubtful rows to buy outright, and draws at random
    outright: int
    draws: float
    #: what they cost, in prices of the average row
    cost: float


def make_plan(strata: Strata, known: float, to_gain: float) -> Plan:
    """The cheapest number of rows to buy outright, and the draws that are then needed."""
    suspect = suspects(strata.rate, strata.price)
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
    rows, costs = np.cumsum(strata.size), np.cumsum(strata.costs)
    draws = np.minimum(to_gain / np.maximum(gain, 1e-9), costs)
    cost = (costs[-1] - costs) + draws
    best = int(np.argmin(cost))
    # nothing may be left to the model
    if costs[-1] < cost[best]:
        return Plan(int(strata.size.sum()), 0.0, float(costs[-1]))
    return Plan(int(strata.size.sum() - rows[best]), float(draws[best]), float(cost[best]))


@dataclass(frozen=True, eq=False)
class SamplingDesign:
    """How rows are drawn and what is bet on them, group by group."""

    #: a row's share of the probability, before it is scaled to sum 1
    share: Floats
    #: for each bettor the suspected rates, and what is staked if shares sum to 1
    suspect: Floats
    stake: Floats


def design(strata: Strata, known: float, bettors: tuple[float, ...]) -> SamplingDesign:
    """Probabilities from the rates; bettors believe in rates moved by so much (in log-odds)."""
    even = 0.2  # no row is drawn with less than this share of the mean probability
    rate, suspect = _suspected(strata, _moved(strata.rate, np.array(bettors)[:, None]), known)
    apart = np.maximum(suspect - rate, 1e-12) / np.maximum(suspect * (1 - suspect), 1e-12)
    drawn = strata.extra > 0
    share = np.where(drawn, strata.extra / apart[len(bettors) // 2], 0.0)
    weight = strata.size * drawn
    mean = float(share @ strata.size / weight.sum())
    share = np.where(drawn, np.maximum(share, even * mean), 0.0)
    stake = apart @ (weight * share / np.where(drawn, strata.extra, 1.0)) / weight.sum()
    return SamplingDesign(share, suspect, stake)


def _moved(rate: Floats, by: Floats) -> Floats:
    odds = rate / (1 - rate) * np.exp(by)
    return np.asarray(odds / (1 + odds))


def _suspected(strata: Strata, rate: Floats, known: float) -> tuple[Floats, Floats]:
    """Rates below the boundary, and the least suspicious rates on it: the deficit there is 0.

    For each bettor: (bettors, groups).
    """
    # where the deficit is already expected above 0, bet as if rates were so much below what is
    # allowed
    hope = 0.8
    free = -strata.deficit(np.zeros_like(strata.rate), known)  # what wrong answers may count in all
    each = strata.size * strata.extra
    counted = rate @ each
    scale = np.where(counted >= hope * free, hope * max(free, 0.0) / counted, 1.0)
    rate = rate * scale[:, None]
    table = suspects(rate, strata.price)
    over = each @ table - free  # (bettors, gains): the deficit, which grows with the gain
    after = np.clip((over < 0).sum(axis=1), 1, len(GAINS) - 1)  # the first above 0
    one = np.arange(len(rate))
    low, high = over[one, after - 1], over[one, after]
    part = np.clip(-low / (high - low), 0.0, 1.0)[:, None]
    below, above = table[one, :, after - 1], table[one, :, after]
    return rate, np.asarray(below + part * (above - below))
