"""Stopping plans: what going on is expected to bring, and which rule spends a given mean.

Both are learned from the table's rows, out of fold.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thrifty.models.asking.prefixes import Prefixes
from thrifty.stopping import Settled, StoppingRule, Sure, entropy, equal_posterior
from thrifty.typing import Bools, Floats

#: rows of the table are grouped by their present loss into so many groups; set by hand
GROUPS = 10
#: a group's own mean counts like so many rows of the overall ratio; set by hand
PULL = 20.0
#: of what may be spent, what a plan must use for no other to be asked for; after a look at medical
#: and tox21_maccs (docs/research/asking.md, What did not work)
_SPENT = 0.9
#: held-out rows that say what becomes of a row like them, at least; chances below which rows are
#: given up, the least in any case, the others tried; and the part of the sure rows that has to stay
#: sure. Chosen on nhanes, `python benchmarks/sure.py`, the least after a look at yeast
_LIKE = 20
#: steps that every row is asked
_ASKED = 2
_CHANCES = (0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2)
_KEPT = 0.96


@dataclass(frozen=True, eq=False)
class ExpectedFalls:
    """From each prefix to each later one: the expected fall of the loss, by the present loss.

    For rows that stand at prefix k the fall to prefix j is estimated in groups of similar present
    loss, each drawn towards the overall ratio of fall to loss.
    """

    rule: StoppingRule
    edges: tuple[Floats, ...]
    falls: tuple[Floats, ...]  # per prefix: (groups, later prefixes)

    def fall(self, k: int, p: Floats) -> Floats:
        """(rows, later prefixes): the expected fall from prefix k, given its probabilities."""
        group = np.searchsorted(self.edges[k], self.rule.loss(p), side="right")
        return self.falls[k][group]


def expected_falls(prefixes: Prefixes, rule: StoppingRule) -> ExpectedFalls:
    """Learn the falls from what every prefix says of the table's rows, out of fold."""
    costs = rule.costs
    y, w = prefixes.codes, prefixes.weights
    n = np.arange(len(y))
    present = [rule.loss(p) for p in prefixes.seen]
    if costs is None:
        hot = np.eye(len(prefixes.shares))[y]
        real = [((p - hot) ** 2).sum(axis=1) for p in prefixes.seen]
    else:
        real = [costs[y, rule.decide(p)] for p in prefixes.seen]
    real = [np.asarray(r)[n] for r in real]
    edges, falls = [], []
    for k in range(len(prefixes)):
        cut = np.unique(np.quantile(present[k], np.linspace(0, 1, GROUPS + 1)[1:-1]))
        cut += 1e-9  # rows alike but for the last bit are in one group
        group = np.searchsorted(cut, present[k], side="right")
        size = np.bincount(group, w, len(cut) + 1)
        loss = np.bincount(group, w * present[k], len(cut) + 1)
        rows = np.bincount(group, minlength=len(cut) + 1)
        table = np.zeros((len(cut) + 1, len(prefixes) - 1 - k))
        for j in range(k + 1, len(prefixes)):
            fell = np.bincount(group, w * (real[k] - real[j]), len(cut) + 1)
            ratio = fell.sum() / max(loss.sum(), 1e-12)
            mean = np.divide(fell, size, out=np.zeros_like(fell), where=size > 0)
            usual = np.full_like(loss, loss.sum() / size.sum())  # of a group without rows
            usual = ratio * np.divide(loss, size, out=usual, where=size > 0)
            table[:, j - k - 1] = (rows * mean + PULL * usual) / (rows + PULL)
        edges.append(cut)
        falls.append(table)
    return ExpectedFalls(rule, tuple(edges), tuple(falls))


@dataclass(frozen=True)
class StoppingPlan:
    """Stop by ``rule``, and after ``last`` prefixes in any case; ``mean`` is what it spends.

    ``go_on`` is the share of the rows at each prefix that goes on. Among many rows it says more
    than the entropy: where hundreds of rows have the same answers so far (a word that does not
    occur), an entropy next to theirs would let all of them go on here and none of them there.
    """

    rule: Settled
    last: int
    mean: float
    loss: float
    go_on: tuple[float, ...] = ()


def plan_for(prefixes: Prefixes, mean: float) -> StoppingPlan:
    """The entropy and the last prefix of least log-loss among those that spend ``mean`` a row.

    Both are found on the table's rows, out of fold: for every last prefix the entropy by
    bisection, then the best pair. Where that would leave money over, the plan that spends the most
    of those that these rows cannot tell from the best: whoever gives so much wants what it buys.
    """
    found = [_within(prefixes.capped(last + 1), mean) for last in range(len(prefixes))]
    plans = [plan for plan in found if plan is not None]
    if not plans:
        return StoppingPlan(Settled(np.inf), 1, 0.0, float(prefixes.losses()[0]))
    best, losses = min(plans, key=lambda pair: pair[0].loss)
    if best.mean >= _SPENT * mean:
        return best
    alike = [plan for plan, other in plans if _alike(other - losses, prefixes.weights)]
    return max(alike, key=lambda plan: (plan.mean, -plan.loss))


def _alike(more: Floats, weights: Floats) -> bool:
    """Whether the mean of what rows lose more is within two standard errors.

    >>> _alike(np.array([0.5, -0.4, 0.2]), np.ones(3)), _alike(np.array([0.5, 0.4]), np.ones(2))
    (True, False)
    """
    share = weights / weights.sum()
    mean = float(share @ more)
    return mean <= 2 * float(np.sqrt(share**2 @ (more - mean) ** 2))


def _within(prefixes: Prefixes, mean: float) -> tuple[StoppingPlan, Floats] | None:
    """The smallest entropy that keeps within the mean, and what each row loses then."""
    doubt = np.array([entropy(p) for p in prefixes.seen])
    prices, last = prefixes.prices, len(prefixes) - 1

    def stops_at(limit: float) -> NDArray[np.intp]:
        stop = doubt <= limit
        stop[last] = True
        return np.asarray(stop.argmax(axis=0))

    def spent(limit: float) -> float:
        return float(np.average(prices[stops_at(limit)], weights=prefixes.weights))

    low, high = -1e-9, float(doubt.max())
    if spent(high) > mean:
        return None
    if spent(low) <= mean:
        high = low
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if spent(middle) <= mean else (middle, high)
    first = stops_at(high)
    right = prefixes.seen[first, np.arange(len(first)), prefixes.codes]
    losses = -np.log(np.maximum(right, 1e-9))
    loss = float(np.average(losses, weights=prefixes.weights))
    stay = np.bincount(first, prefixes.weights, last + 1)
    there = np.cumsum(stay[::-1])[::-1]
    go_on = 1 - np.divide(stay, there, out=np.ones_like(stay), where=there > 0)
    return StoppingPlan(Settled(high), last + 1, spent(high), loss, tuple(go_on.tolist())), losses


class Hope:
    """The chance that a row which is not sure yet becomes sure later, from held-out rows like it.

    Of the held-out rows that were not sure at the same prefix, those whose likeliest class was
    about as probable are looked at: how many of them became sure at a later one. A row is given up
    below a chance that is chosen on the same rows: the largest with which all but a twenty-fifth of
    those that become sure still do (_KEPT), and one in fifty in any case: where hardly any row
    becomes sure all of them would be asked everything. Of an answer that is not sure nothing is
    promised.

    >>> seen = np.array([[[0.6, 0.4]] * 40, [[0.95, 0.05]] * 20 + [[0.6, 0.4]] * 20])
    >>> hope = Hope(seen, np.array([0.5, 0.5]), Sure(0.9))
    >>> hope.chance(0, np.array([[0.6, 0.4]])).tolist()
    [0.5]
    """

    def __init__(self, seen: Floats, shares: Floats, rule: Sure) -> None:
        self._shares, self._sure = shares, np.array([rule.stops(p, shares) for p in seen])
        self._level = np.array([_confidence(p, shares) for p in seen])
        later = np.zeros_like(self._sure)
        for k in range(len(seen) - 2, -1, -1):
            later[k] = later[k + 1] | self._sure[k + 1]
        before = np.logical_or.accumulate(self._sure, axis=0)
        self._sorted: list[tuple[Floats, Floats]] = []
        for k in range(len(seen)):
            rows = np.flatnonzero(~before[k])
            rows = rows[np.argsort(self._level[k, rows], kind="stable")]
            self._sorted.append((self._level[k, rows], np.cumsum(later[k, rows].astype(float))))
        self.least = self._chosen(before)

    def chance(self, k: int, p: Floats) -> Floats:
        """For rows at prefix k whose probabilities are p."""
        return self._near(k, _confidence(p, self._shares))

    def is_lost(self, k: int, p: Floats) -> Bools:
        """Whether rows at prefix k are given up: not before they were asked something."""
        return np.asarray((self.chance(k, p) < self.least) & (k >= _ASKED))

    def _near(self, k: int, level: Floats) -> Floats:
        """The share that became sure later among the rows of nearest level."""
        known, became = self._sorted[k]
        if not len(known):
            return np.ones(len(level))
        width = min(len(known), max(_LIKE, len(known) // 10))
        start = np.clip(np.searchsorted(known, level) - width // 2, 0, len(known) - width)
        end = np.searchsorted(known, known[start + width - 1], side="right")  # all that are alike
        start = np.searchsorted(known, known[start], side="left")
        before = np.where(start > 0, became[np.maximum(start - 1, 0)], 0.0)
        return np.asarray((became[end - 1] - before) / (end - start))

    def _chosen(self, before: Bools) -> float:
        chances = np.array([self._near(k, level) for k, level in enumerate(self._level)])
        best, everyone = _CHANCES[0], int(before[-1].sum())
        for least in _CHANCES[1:]:
            going = np.ones(before.shape[1], dtype=bool)
            sure = np.zeros_like(going)
            for k in range(len(before)):
                sure |= going & self._sure[k]
                going &= ~self._sure[k] & ((chances[k] >= least) | (k < _ASKED))
            if everyone and sure.sum() >= _KEPT * everyone:
                best = least
        return best if everyone else 1.0


def _confidence(p: Floats, shares: Floats) -> Floats:
    """What :class:`thrifty.Sure` compares with its probability."""
    each, likely = np.arange(len(p)), p.argmax(axis=1)
    return np.asarray(np.minimum(p[each, likely], equal_posterior(p, shares)[each, likely]))
