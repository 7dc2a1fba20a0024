"""A pass of rows: all of them together, step by step, until every task was asked enough of each.

In a round every row that goes on buys the next step, each task says what it thinks from all that is
there, and its rule says who stops. A task keeps the answer with which it stopped; a row ends when
all tasks have stopped. Rows stop because they are ``"sure"``, because going on is not ``"worth"``
it, because it is ``"hopeless"`` that they become sure, because of ``"per_row"`` or ``"spend"``, or
``"finished"``: with all that the model has.

Where orders fill several features at once, steps bought one by one can cost more together than
everything at once. No row pays more than that: a step that would make the rest more expensive than
it has to be is taken only where most rows like it stop on the way; else all that is left is bought
in one. A step beyond the price of everything is never taken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thrifty.lazy.asking import FINISHED
from thrifty.models.asking.own_order import OwnOrder
from thrifty.models.asking.plan import Hope, expected_falls, plan_for
from thrifty.models.asking.prefixes import Prefixes
from thrifty.stopping import StoppingRule, Sure, entropy, expected_loss
from thrifty.typing import AnyArray, Bools, Floats, Ints

#: from so many rows on a plan is followed by its shares instead of its entropy; spam showed that it
#: should be (docs/research/asking.md, Money), the number itself was set by hand
_MANY = 50

#: buys and returns values, rows x features
Get = Callable[[Ints, Ints], AnyArray]
#: what features cost each row, where some are owned
RowCost = Callable[[Ints, Sequence[int]], Floats]


@dataclass(frozen=True, eq=False)
class Ladder:
    """Steps of all tasks together; ``tasks[t].parts[k]`` is what task t reads at step k.

    ``features[k]``: all that was asked by step k, in order. ``is_joint``: whether every task reads
    every cell; else each its own, in turn.
    """

    features: tuple[tuple[int, ...], ...]
    tasks: tuple[Prefixes, ...]
    is_joint: bool = True


def ladder_of(prefixes: Prefixes) -> Ladder:
    """Of one task its own steps are the common ones."""
    return Ladder(tuple(part.features for part in prefixes.parts), (prefixes,))


class Walk:
    """Rows that are being asked, and what is known and owed of each.

    Parameters
    ----------
    rules : sequence of StoppingRule or None
        each task's rule; None: it reads all that is asked
    weights : sequence of float
        what each task counts where money does not last
    spend, per_row : float or None
        at most so much for all rows together, and for each
    sold_together : bool
        whether steps may cost more one by one than all of them at once

    Attributes
    ----------
    p : list of array
        of each task (rows, classes), calibrated
    why : list of array of str
        of each task why each row stopped
    at : list of array of int
        of each task the step that it read last; -1: none
    cost : array of float
        what each row cost
    known : array of bool
        (rows, features of the last step) what each row was asked
    """

    def __init__(
        self, ladder: Ladder, get: Get, cost: RowCost, n_rows: int, *,
        rules: Sequence[StoppingRule | None], weights: Sequence[float] = (1.0,),
        spend: float | None = None, per_row: float | None = None, sold_together: bool = False,
    ) -> None:  # fmt: skip
        self.ladder, self.get, self.cost_of, self.weights = ladder, get, cost, weights
        self.left = np.inf if spend is None else float(spend)
        self.per_row = np.inf if per_row is None else float(per_row)
        self.every = np.array(ladder.features[-1], dtype=np.int64)
        self.place = {int(f): j for j, f in enumerate(self.every)}
        self.values = np.full((n_rows, len(self.every)), np.nan)
        self.known = np.zeros(self.values.shape, dtype=bool)
        self.cost = np.zeros(n_rows)
        self.p = [np.repeat(task.shares[None, :], n_rows, axis=0) for task in ladder.tasks]
        self.why = [np.full(n_rows, "", dtype="<U12") for _ in ladder.tasks]
        self.at = [np.full(n_rows, -1) for _ in ladder.tasks]
        first, self.plan = ladder.tasks[0], None
        self.own = first if isinstance(first, OwnOrder) else None
        #: the unit that each row wants next in its own order; -1: not yet chosen
        self.wants = np.full(n_rows, -1)
        if spend is not None and n_rows and len(rules) == 1 and rules[0] is None:
            self.plan = plan_for(first, min(spend / n_rows, self.per_row))
            rules = [self.plan.rule]
        self.rules = rules
        weighs = rules[0] is not None and rules[0].weighs_falls
        self.falls = expected_falls(first, rules[0]) if weighs and rules[0] is not None else None
        self.hopes = [
            Hope(task.seen, task.shares, rule) if isinstance(rule, Sure) and rule.give_up else None
            for task, rule in zip(ladder.tasks, rules)
        ]
        #: what everything costs each row, where steps may cost more
        self.whole = cost(np.arange(n_rows), self.every.tolist()) if sold_together else None

    def run(self) -> Walk:
        """Ask all rows as far as some task needs it and money reaches."""
        going = np.arange(len(self.cost))
        for k in range(len(self.ladder.features)):
            going = self._to_the_end(going, k)
            going = self._afford(going, k)
            if not len(going):
                break
            self._buy(going, k)
            going = self._decide(going, k)
        return self

    # What a step is, and costs.

    def _lacks(self, rows: Ints, k: int) -> list[tuple[Ints, Ints]]:
        """What rows lack of a step, by places; rows that lack the same together."""
        if self.own is not None and self.own.is_own(k):
            new = rows[self.wants[rows] < 0]
            self.wants[new] = self.own.choose(self.values[new], self.known[new])
            units, wants = self.own.units, self.wants[rows]
            return [(rows[wants == u], np.array(units[u])) for u in np.unique(wants).tolist()]
        step = np.arange(len(self.ladder.features[k]))
        if self.own is None:  # all of them stand at the step before
            return [(rows, step[len(self.ladder.features[k - 1]) if k else 0 :])]
        lacking, which = np.unique(~self.known[rows][:, step], axis=0, return_inverse=True)
        each = enumerate(lacking)
        return [(rows[which.reshape(-1) == i], np.flatnonzero(some)) for i, some in each]

    def _price(self, rows: Ints, k: int) -> Floats:
        """What a step costs each row."""
        price = np.zeros(len(self.cost))
        for some, places in self._lacks(rows, k) if len(rows) else ():
            if len(places):
                price[some] = self.cost_of(some, self.every[places].tolist())
        return price[rows]

    def _to_the_end(self, rows: Ints, k: int) -> Ints:
        """Who goes on step by step; the others have bought all that is left, or can no more."""
        if self.whole is None or not len(rows):
            return rows
        step, rest = self._price(rows, k), self.cost_of(rows, self.every.tolist())
        so_far, most = self.cost[rows] + step, self.whole[rows] + 1e-9
        loses = (step > 0) & (so_far + self.ladder.tasks[0].parts[k].price_after > most)
        at_once = (self.cost[rows] + rest <= most) & (
            (rest <= step + 1e-9) | (loses & self._ends_late(k))
        )
        at_once &= self.cost[rows] + rest <= self.per_row + 1e-9
        stuck = ~at_once & (so_far > most)
        self._end(rows[stuck], FINISHED)
        ends = rows[at_once]
        if len(ends) and np.isfinite(self.left):
            ends = ends[np.cumsum(rest[at_once]) <= self.left + 1e-9]
        if len(ends):
            self._pay(ends, self.cost_of(ends, self.every.tolist()))
            self._buy(ends, len(self.ladder.features) - 1)
            self._end(ends, FINISHED)
        return np.setdiff1d(rows, np.append(ends, rows[stuck]))

    def _ends_late(self, k: int) -> bool:
        """Whether most rows that reach a step are asked everything: some task stops none of them.

        A plan, and what is worth its price, end where they must; without a rule there are no steps
        to be saved.
        """
        if self.plan is not None or self.falls is not None or k == 0:
            return False
        for task, rule in zip(self.ladder.tasks, self.rules):
            if rule is None:
                continue
            stops = np.array([rule.stops(p, task.shares) for p in task.seen[:-1]])
            here = np.flatnonzero(~stops[:k].any(axis=0))
            if not len(here) or not stops[k:, here].any(axis=0).mean() >= 0.5:
                return True
        return False

    def _afford(self, rows: Ints, k: int) -> Ints:
        """Who can pay for a step: each within its own limit, the least certain first."""
        price = self._price(rows, k)
        within = self.cost[rows] + price <= self.per_row + 1e-9
        self._end(rows[~within], "per_row")
        rows, price = rows[within], price[within]
        if np.isfinite(self.left):
            doubt = np.argsort(-self._doubt(rows), kind="stable")
            fits = np.zeros(len(rows), dtype=bool)
            fits[doubt] = np.cumsum(price[doubt]) <= self.left + 1e-9
            self._end(rows[~fits], "spend")
            rows, price = rows[fits], price[fits]
        self._pay(rows, price)
        return rows

    def _doubt(self, rows: Ints) -> Floats:
        """Summed over the tasks that still ask: whom further money serves first."""
        total = np.zeros(len(rows))
        for p, why, weight in zip(self.p, self.why, self.weights):
            total += weight * expected_loss(p[rows]) * (why[rows] == "")
        return total

    def _pay(self, rows: Ints, price: Floats) -> None:
        self.cost[rows] += price
        self.left -= float(price.sum())

    # What is asked, and who goes on.

    def _buy(self, rows: Ints, k: int) -> None:
        for some, places in self._lacks(rows, k):
            if len(places):
                self.values[np.ix_(some, places)] = self.get(some, self.every[places])
                self.known[np.ix_(some, places)] = True
        self.wants[rows] = -1
        for t, task in enumerate(self.ladder.tasks):
            asks = rows[self.why[t][rows] == ""]
            if not len(asks):
                continue
            self.at[t][asks] = k
            if self.own is not None and self.own.is_own(k):
                self.p[t][asks] = self.own.say(self.values[asks], self.known[asks], k)
                continue
            part = task.parts[k]
            read = np.array([self.place[f] for f in part.features], dtype=np.int64)
            self.p[t][asks] = part.probabilities(self.values[np.ix_(asks, read)], task.shares)

    def _decide(self, rows: Ints, k: int) -> Ints:
        """Rows on which some task goes on; what costs nothing further is read before."""
        n = len(self.ladder.features)
        if k + 1 >= (n if self.plan is None else self.plan.last):
            self._end(rows, FINISHED if k + 1 >= n else "spend")
            return rows[:0]
        if all(rule is None for rule in self.rules):
            return rows
        paid = self._price(rows, k + 1) > 0
        going = np.zeros(len(rows), dtype=bool)
        for t, (rule, hope) in enumerate(zip(self.rules, self.hopes)):
            asks, why = self.why[t][rows] == "", self.why[t]
            judged = rows[asks & paid]
            if rule is not None and len(judged):
                done = self._stops(t, rule, judged, k)
                why[judged[done]] = rule.reason
                if hope is not None and k < len(self.ladder.tasks[t].seen):
                    lost = ~done & hope.is_lost(k, self.p[t][judged])
                    why[judged[lost]] = "hopeless"
            going |= why[rows] == ""
        return rows[going]

    def _stops(self, t: int, rule: StoppingRule, rows: Ints, k: int) -> Bools:
        p, shares = self.p[t][rows], self.ladder.tasks[t].shares
        if self.plan is not None and len(self.cost) >= _MANY:
            n = int(np.ceil(self.plan.go_on[k] * len(rows) - 1e-9))
            done = np.ones(len(rows), dtype=bool)
            done[np.argsort(-entropy(p), kind="stable")[:n]] = False
            return done
        if self.falls is None:
            return np.asarray(rule.stops(p, shares))
        ahead = [self.cost_of(rows, list(f)) for f in self.ladder.features[k + 1 :]]
        return np.asarray(rule.stops(p, shares, np.stack(ahead, axis=1), self.falls.fall(k, p)))

    def _end(self, rows: Ints, reason: str) -> None:
        for why in self.why:
            why[rows[why[rows] == ""]] = reason


@dataclass(frozen=True, eq=False)
class AskedRows:
    """What was found out for one task, row by row.

    Attributes
    ----------
    values : array
        the decision of each row: the likeliest class, or the cheapest where errors cost
    probabilities : array of float
        (rows, classes), calibrated
    stopped : array of str
        why each row stopped
    asked : array of int
        how many features each row was asked
    cost : array of float
        what each row cost
    """

    values: AnyArray
    probabilities: Floats
    stopped: NDArray[np.str_]
    asked: Ints
    cost: Floats


def ask_in_order(
    prefixes: Prefixes, get: Get, n_rows: int, *, cost: RowCost | None = None,
    stop: StoppingRule | None = None, spend: float | None = None, per_row: float | None = None,
    sold_together: bool = False,
) -> AskedRows:  # fmt: skip
    """Ask every row for one task; without a rule, ``spend`` finds the one that spends it best.

    ``cost``: None: what the prefixes cost where nothing is owned.
    """
    if cost is None:
        get, cost = _as_listed(prefixes, get, n_rows)
    walk = Walk(
        ladder_of(prefixes), get, cost, n_rows, rules=[stop], spend=spend, per_row=per_row,
        sold_together=sold_together,
    ).run()  # fmt: skip
    p, rule = walk.p[0], walk.rules[0]
    chosen = p.argmax(axis=1) if rule is None else rule.decide(p)
    asked = walk.known.sum(axis=1)
    return AskedRows(prefixes.classes[chosen], p, walk.why[0], asked, walk.cost)


def _as_listed(prefixes: Prefixes, get: Get, n_rows: int) -> tuple[Get, RowCost]:
    """Prices step by step, where nothing is owned to begin with."""
    price, has = np.diff(prefixes.prices, prepend=0.0), np.zeros((len(prefixes), n_rows), bool)
    step: dict[int, int] = {}
    for k, part in reversed(list(enumerate(prefixes.parts))):
        step |= dict.fromkeys(part.features, k)

    def cost(rows: Ints, features: Sequence[int]) -> Floats:
        new = np.unique([step[f] for f in features])
        return np.asarray(price[new] @ ~has[np.ix_(new, rows)])

    def got(rows: Ints, features: Ints) -> AnyArray:
        has[np.ix_(np.unique([step[f] for f in features.tolist()]), rows)] = True
        return get(rows, features)

    return got, cost
