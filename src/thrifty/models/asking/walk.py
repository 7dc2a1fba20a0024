"""A pass of rows along a ladder: step by step, until every task was asked enough of each.

In a round each task says what it thinks of a row from all that is there, its rule says who stops,
and every row that goes on buys the next step. A task keeps the answer with which it stopped; a row
ends when all tasks have stopped: ``"sure"``, because going on is not ``"worth"`` it, because it is
``"hopeless"`` that they become sure, because of ``"per_row"`` or ``"spend"``, or ``"finished"``,
with all that the model has. What nobody needs is never computed.

Where orders fill several features at once, steps bought one by one can cost more together than
everything at once. No row pays more than that: a step that would make the rest more expensive than
it has to be is taken only where most rows like it stop on the way; else all that is left is bought
in one. A step beyond the price of everything is never taken.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from thrifty.lazy import FINISHED, Asking, Get, RowCost
from thrifty.models.asking.ahead import Hope, expected_falls, plan_for
from thrifty.models.asking.certificate import as_supported
from thrifty.models.asking.ladder import Ladder
from thrifty.stopping import StoppingRule, Sure, entropy, expected_loss
from thrifty.typing import Bools, Floats, Ints

#: from so many rows on a plan is followed by its shares instead of its entropy; spam showed that it
#: should be (docs/research/asking.md, Money), the number itself was set by hand
_MANY = 50


class Walk(Asking):
    """Rows that are being asked along a ladder, and what each task says of them.

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
        of each task (rows, classes), calibrated; or numbers (rows, 1)
    at : array of int
        (tasks, rows) the step that each read last; -1: none
    """

    def __init__(
        self,
        ladder: Ladder,
        get: Get,
        cost: RowCost,
        n_rows: int,
        *,
        rules: Sequence[StoppingRule | None],
        weights: Sequence[float] = (1.0,),
        spend: float | None = None,
        per_row: float | None = None,
        sold_together: bool = False,
    ) -> None:
        super().__init__(
            get,
            cost,
            np.array(ladder.features[-1], dtype=np.int64),
            n_rows,
            tasks=len(ladder.tasks),
            spend=spend,
            per_row=per_row,
            together=sold_together,
        )
        self.ladder, self.weights = ladder, weights
        #: rows stop as sure where held-out rows support it
        self.rules = [
            as_supported(task, rule) if type(rule) is Sure else rule
            for task, rule in zip(ladder.tasks, rules)
        ]
        self.place = {int(f): j for j, f in enumerate(self.features)}
        self.p = [np.repeat(task.shares[None, :], n_rows, axis=0) for task in ladder.tasks]
        self.at = np.full((len(ladder.tasks), n_rows), -1)
        self._said = self.at.copy()  # the step that p is of
        first = ladder.tasks[0]
        self.chooser, self.plan, self.falls = first.chooser, None, None
        if spend is not None and n_rows and len(first.classes) and self.rules == [None]:
            self.plan = plan_for(first, min(spend / n_rows, self.per_row))
            self.rules = [self.plan.rule]
        (rule, *_) = self.rules
        if rule is not None and rule.weighs_falls:
            self.falls = expected_falls(first, rule)
        self.hopes = [
            Hope(task.seen, task.shares, rule)
            if rule is not None and isinstance(said, Sure) and said.give_up
            else None
            for task, rule, said in zip(ladder.tasks, self.rules, rules)
        ]
        #: what everything costs each row, where steps may cost more
        self.whole = cost(np.arange(n_rows), self.features.tolist()) if sold_together else None

    def run(self) -> Walk:
        """Ask all rows as far as some task needs it and money reaches."""
        n = len(self.ladder.features)
        going = np.arange(len(self.cost))
        for k in range(n if self.plan is None else min(n, self.plan.last)):
            wanted = self._wanted(going, k)
            price = self.price(going, wanted)
            on = self._goes_on(going, price, k) if k else np.ones(len(going), dtype=bool)
            on[on] = self._step_by_step(going[on], price[on], k)
            on[on] = self.afford(going[on], price[on], self._doubt)
            going, wanted = going[on], wanted[on]
            if not len(going):
                break
            self.buy(going, wanted)
            for at, why in zip(self.at, self.why):
                at[going[why[going] == ""]] = k
        self.end(going, FINISHED if self.plan is None or self.plan.last >= n else "spend")
        for t in range(len(self.ladder.tasks)):
            self._say(t, np.arange(len(self.cost)))
        return self

    def _wanted(self, rows: Ints, k: int) -> Bools:
        """What belongs to a step: (rows, features)."""
        if self.chooser is not None and self.chooser.is_own(k):
            return self.chooser.wanted(self.values[rows], self.known[rows])
        wanted = np.zeros((len(rows), len(self.features)), dtype=bool)
        wanted[:, : len(self.ladder.features[k])] = True
        return wanted

    def _say(self, t: int, rows: Ints) -> Floats:
        """What a task thinks of rows, from the step that it read last."""
        task, p, at = self.ladder.tasks[t], self.p[t], self.at[t]
        stale = rows[self._said[t][rows] != at[rows]]
        for k in np.unique(at[stale]).tolist():
            here = stale[at[stale] == k]
            if task.chooser is not None and task.chooser.is_own(k):
                p[here] = task.chooser.said(self.values[here], self.known[here], task.parts[k])
                continue
            read = np.array([self.place[f] for f in task.parts[k].features], dtype=np.int64)
            p[here] = task.parts[k].said(self.values[np.ix_(here, read)], task.shares)
        self._said[t][stale] = at[stale]
        return p[rows]

    def _goes_on(self, rows: Ints, price: Floats, k: int) -> Bools:
        """Rows on which some task wants step k; what costs nothing further is read anyway."""
        if all(rule is None for rule in self.rules):
            return np.ones(len(rows), dtype=bool)
        paid = price > 0
        for t, (rule, hope, why) in enumerate(zip(self.rules, self.hopes, self.why)):
            judged = rows[(why[rows] == "") & paid]
            if rule is None or not len(judged):
                continue
            p = self._say(t, judged)
            done = self._stops(t, rule, judged, p, k)
            why[judged[done]] = rule.reason
            if hope is not None:
                why[judged[~done & hope.is_lost(k - 1, p)]] = "hopeless"
        return np.asarray((self.why[:, rows] == "").any(axis=0))

    def _stops(self, t: int, rule: StoppingRule, rows: Ints, p: Floats, k: int) -> Bools:
        shares = self.ladder.tasks[t].shares
        if self.plan is not None and len(self.cost) >= _MANY:
            n = int(np.ceil(self.plan.go_on[k - 1] * len(rows) - 1e-9))
            done = np.ones(len(rows), dtype=bool)
            done[np.argsort(-entropy(p), kind="stable")[:n]] = False
            return done
        if self.falls is None or self.cost_of is None:
            return np.asarray(rule.stops(p, shares))
        ahead = [self.cost_of(rows, list(f)) for f in self.ladder.features[k:]]
        falls = self.falls.near(k - 1, rule.loss(p))
        return np.asarray(rule.stops(p, shares, np.stack(ahead, axis=1), falls))

    def _step_by_step(self, rows: Ints, step: Floats, k: int) -> Bools:
        """Who goes on step by step; the others have bought all that is left, or can no more."""
        if self.whole is None or self.cost_of is None or not len(rows):
            return np.ones(len(rows), dtype=bool)
        every = np.ones((len(rows), len(self.features)), dtype=bool)
        rest = self.price(rows, every)
        so_far, most = self.cost[rows] + step, self.whole[rows] + 1e-9
        loses = (step > 0) & (so_far + self.ladder.tasks[0].parts[k].price_after > most)
        at_once = (rest <= step + 1e-9) | (loses & self._ends_late(k))
        at_once &= self.cost[rows] + rest <= np.minimum(most, self.per_row + 1e-9)
        stuck = ~at_once & (so_far > most)
        self.end(rows[stuck], FINISHED)
        if np.isfinite(self.left):
            at_once[at_once] = np.cumsum(rest[at_once]) <= self.left + 1e-9
        ends = rows[at_once]
        self.cost[ends] += rest[at_once]
        self.left -= float(rest[at_once].sum())
        self.buy(ends, every[at_once])
        for at, why in zip(self.at, self.why):
            at[ends[why[ends] == ""]] = len(self.ladder.features) - 1
        self.end(ends, FINISHED)
        return ~at_once & ~stuck

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
            here = ~stops[:k].any(axis=0)
            if not here.any() or not stops[k:, here].any(axis=0).mean() >= 0.5:
                return True
        return False

    def _doubt(self, rows: Ints) -> Floats:
        """Summed over the tasks that still ask: whom further money serves first."""
        total = np.zeros(len(rows))
        for t, (task, weight) in enumerate(zip(self.ladder.tasks, self.weights)):
            if len(task.classes):
                doubt = expected_loss(self._say(t, rows))
                total += weight * doubt * (self.why[t][rows] == "")
        return total
