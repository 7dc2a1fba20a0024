"""What going on is expected to bring, and which rule spends a given mean.

All of it is learned from what prefixes say of held-out rows: what became of rows that stood where a
row stands now says what may become of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thrifty.models.asking.ladder import Prefixes, mean_and_error
from thrifty.stopping import Settled, StoppingRule, Worth, entropy, equal_posterior
from thrifty.typing import Bools, Floats

#: held-out rows that say what becomes of a row like them, at least, and the part of all
_LIKE, _PART = 20, 10
#: of what may be spent, what a plan must use for no other to be asked for; after a look at medical
#: and tox21_maccs (docs/research/asking.md, What did not work)
_SPENT = 0.9
#: of the fall of the loss, what may be given up where predictions are all of the bill (chosen on
#: spam, physionet_icu and slashdot; docs/research/asking.md)
_GIVEN_UP = 0.05
#: steps that every row is asked; chances below which rows are given up, the least in any case, the
#: others tried; and the part of the sure rows that has to stay sure. Chosen on nhanes, `python
#: benchmarks/sure.py`, the least after a look at yeast
_ASKED = 2
_CHANCES = (0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2)
_KEPT = 0.96


class WhatCame:
    """At each prefix: the mean of what came of held-out rows, among those whose level was nearest.

    >>> levels = np.array([[0.1] * 20 + [0.9] * 20])
    >>> came = WhatCame(levels, [np.array([[0.0]] * 20 + [[1.0]] * 20)], np.ones((1, 40)))
    >>> came.near(0, np.array([0.1, 0.9]))[:, 0].tolist()
    [0.0, 1.0]
    """

    def __init__(self, levels: Floats, came: Sequence[Floats], weights: Floats) -> None:
        """(prefixes, rows) levels; of each prefix (rows, outcomes); weights 0: it was not there."""
        self._sorted: list[tuple[Floats, Floats]] = []
        for level, what, weight in zip(levels, came, weights):
            rows = np.flatnonzero(weight)
            rows = rows[np.argsort(level[rows], kind="stable")]
            each = np.column_stack([np.ones(len(rows)), what[rows]]) * weight[rows, None]
            self._sorted.append((level[rows], np.vstack([0 * each[:1], each.cumsum(axis=0)])))

    def near(self, k: int, level: Floats) -> Floats:
        """(rows, outcomes) at prefix k; nothing where no held-out row stood there."""
        known, summed = self._sorted[k]
        if not len(known):
            return np.zeros((len(level), summed.shape[1] - 1))
        width = min(len(known), max(_LIKE, len(known) // _PART))
        middle = (np.searchsorted(known, level) + np.searchsorted(known, level, "right")) // 2
        start = np.clip(middle - width // 2, 0, len(known) - width)
        # all that are alike but for the last bit count together
        end = np.searchsorted(known, known[start + width - 1] + 1e-9, side="right")
        start = np.searchsorted(known, known[start] - 1e-9, side="left")
        total = summed[end] - summed[start]
        return np.asarray(total[:, 1:] / total[:, :1])


def expected_falls(prefixes: Prefixes, rule: StoppingRule) -> WhatCame:
    """From each prefix to each later one the fall of the rule's loss, by the present loss."""
    costs, y = rule.costs, prefixes.codes
    present = np.array([rule.loss(p) for p in prefixes.seen])
    if costs is None:
        hot = np.eye(len(prefixes.shares))[y]
        real = np.array([((p - hot) ** 2).sum(axis=1) for p in prefixes.seen])
    else:
        real = np.array([costs[y, rule.decide(p)] for p in prefixes.seen])
    fell = [(real[k] - real[k + 1 :]).T for k in range(len(prefixes))]
    return WhatCame(present, fell, np.tile(prefixes.weights, (len(prefixes), 1)))


class Hope:
    """The chance that a row which is not sure yet becomes sure later, from held-out rows like it.

    Of the held-out rows that were not sure at the same prefix, those whose likeliest class was
    about as probable are looked at: how many of them became sure at a later one. A row is given up
    below a chance that is chosen on the same rows: the largest with which all but a twenty-fifth of
    those that become sure still do (_KEPT), and one in fifty in any case: where hardly any row
    becomes sure all of them would be asked everything. Of an answer that is not sure nothing is
    promised.

    >>> seen = np.array([[[0.6, 0.4]] * 40, [[0.95, 0.05]] * 20 + [[0.6, 0.4]] * 20])
    >>> from thrifty import Sure
    >>> hope = Hope(seen, np.array([0.5, 0.5]), Sure(0.9))
    >>> hope.chance(0, np.array([[0.6, 0.4]])).tolist()
    [0.5]
    """

    def __init__(self, seen: Floats, shares: Floats, rule: StoppingRule) -> None:
        self._shares = shares
        sure = np.array([rule.stops(p, shares) for p in seen])
        level = np.array([_confidence(p, shares) for p in seen])
        later = np.logical_or.accumulate(sure[::-1], axis=0)[::-1]
        later = np.vstack([later[1:], np.zeros_like(sure[:1])]).astype(float)
        before = np.logical_or.accumulate(sure, axis=0)
        self._came = WhatCame(level, [one[:, None] for one in later], (~before).astype(float))
        chances = np.array([self._came.near(k, one)[:, 0] for k, one in enumerate(level)])
        self.least, everyone = _CHANCES[0] if before[-1].any() else 1.0, int(before[-1].sum())
        for least in _CHANCES[1:] if everyone else ():
            lost = (chances < least) & (np.arange(len(seen)) >= _ASKED)[:, None]
            gone = np.vstack([0 * lost[:1], np.logical_or.accumulate(lost & ~before)[:-1]])
            if (sure & ~gone).any(axis=0).sum() >= _KEPT * everyone:
                self.least = least

    def chance(self, k: int, p: Floats) -> Floats:
        """For rows at prefix k whose probabilities are p."""
        return self._came.near(k, _confidence(p, self._shares))[:, 0]

    def is_lost(self, k: int, p: Floats) -> Bools:
        """Whether rows at prefix k are given up: not before they were asked something."""
        return np.asarray((self.chance(k, p) < self.least) & (k >= _ASKED))


def _confidence(p: Floats, shares: Floats) -> Floats:
    """What :class:`thrifty.Sure` compares with its probability."""
    each, likely = np.arange(len(p)), p.argmax(axis=1)
    return np.asarray(np.minimum(p[each, likely], equal_posterior(p, shares)[each, likely]))


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
    of those that these rows cannot tell from the best, within two standard errors: whoever gives so
    much wants what it buys.
    """
    found = [_within(prefixes.capped(last + 1), mean) for last in range(len(prefixes))]
    plans = [plan for plan in found if plan is not None]
    if not plans:
        return StoppingPlan(Settled(np.inf), 1, 0.0, float(prefixes.losses()[0]))
    best, losses = min(plans, key=lambda pair: pair[0].loss)
    if best.mean >= _SPENT * mean:
        return best
    alike = []
    for plan, others in plans:
        more, error = mean_and_error(others - losses, prefixes.weights)
        alike += [plan] if more <= 2 * error else []
    return max(alike, key=lambda plan: (plan.mean, -plan.loss))


def _within(prefixes: Prefixes, mean: float) -> tuple[StoppingPlan, Floats] | None:
    """The smallest entropy that keeps within the mean, and what each row loses then."""
    doubt = np.array([entropy(p) for p in prefixes.seen])
    prices, last, weights = prefixes.prices, len(prefixes) - 1, prefixes.weights

    def stops_at(limit: float) -> NDArray[np.intp]:
        stop = doubt <= limit
        stop[last] = True
        return np.asarray(stop.argmax(axis=0))

    def spent(limit: float) -> float:
        return float(np.average(prices[stops_at(limit)], weights=weights))

    low, high = -1e-9, float(doubt.max())
    if spent(high) > mean:
        return None
    if spent(low) <= mean:
        high = low
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if spent(middle) <= mean else (middle, high)
    first = stops_at(high)
    losses = prefixes.row_losses()[first, np.arange(len(first))]
    stay = np.bincount(first, weights, last + 1)
    there = np.cumsum(stay[::-1])[::-1]
    go_on = 1 - np.divide(stay, there, out=np.ones_like(stay), where=there > 0)
    loss = float(np.average(losses, weights=weights))
    return StoppingPlan(Settled(high), last + 1, spent(high), loss, tuple(go_on.tolist())), losses


def best_prefix(
    prices: Floats, losses: Floats, *, predictions: int, spent: float, in_money: bool = False
) -> int:
    """How many questions a model should keep, as the place of a prefix.

    What learning costs is paid once, what a prediction costs every time. The more of the bill the
    predictions are, the more a shorter prefix is worth a little of the quality. Where errors have a
    price, nothing has to be assumed: the prefix of least tests plus errors stays.

    Parameters
    ----------
    prices, losses : array of float
        what a row costs at each prefix, and its mean loss there, out of fold
    predictions : int
        how many are to come
    spent : float
        what learning has cost, once
    in_money : bool
        the losses are costs of errors, in the unit of the prices

    Examples
    --------
    >>> prices, losses = np.array([0.0, 1.0, 4.0, 20.0]), np.array([0.7, 0.4, 0.31, 0.30])
    >>> best_prefix(prices, losses, predictions=10, spent=10_000.0)
    3
    >>> best_prefix(prices, losses, predictions=100_000, spent=10_000.0)
    2
    >>> best_prefix(prices, losses, predictions=0, spent=10_000.0)
    3
    """
    if in_money:
        return int(np.argmin(prices + losses))
    best = float(losses.min())
    bill = predictions * float(prices[-1])
    share = bill / max(bill + spent, 1e-12)
    enough = losses <= best + _GIVEN_UP * share * max(float(losses[0]) - best, 0.0) + 1e-12
    return int(np.argmin(np.where(enough, prices, np.inf))) if share > 0 else len(prices) - 1


def prefix_worth_keeping(
    prefixes: Prefixes, *, predictions: int, spent: float, errors: ArrayLike | None = None
) -> int:
    """The same for fitted prefixes; ``errors`` of classes as in :class:`thrifty.Worth`."""
    lost, rule = prefixes.row_losses(), None
    if errors is not None and len(prefixes.classes):
        rule = Worth(errors=errors)
        costs = np.asarray(rule.costs)
        lost = np.array([costs[prefixes.codes, rule.decide(p)] for p in prefixes.seen])
    return best_prefix(
        prefixes.prices,
        np.average(lost, axis=1, weights=prefixes.weights),
        predictions=predictions,
        spent=spent,
        in_money=rule is not None,
    )
