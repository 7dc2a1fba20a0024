"""Asking in order: all rows together, prefix by prefix, until each has been asked enough.

In a round every row that is still undecided buys the next prefix, the model of that prefix says
what it thinks, and the rule says who stops. Rows stop because they are ``"sure"``, because going
on is not ``"worth"`` it, because it is ``"hopeless"`` that they become sure, because of
``"per_row"`` or ``"spend"``, or ``"finished"``: with all that the model has.

Where orders fill several features at once, steps bought one by one can cost more together than
everything at once. No row pays more than that: a step that would make the rest
more expensive than it has to be is taken only where most rows like it stop on the way; else all
that is left is bought in one. A step beyond the price of everything is never taken.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thrifty.array_types import Floats, Ints
from thrifty.models.asking.plan import Hope, StoppingPlan, expected_falls, plan_for
from thrifty.models.asking.prefixes import Prefixes
from thrifty.stopping import StoppingRule, Sure, entropy, expected_loss
from thrifty.typing import AnyArray

__all__ = ["AskedRows", "Asking", "Get", "ask_in_order"]

#: from so many rows on a plan is followed by its shares instead of its entropy; spam showed that it
#: should be (docs/research/asking.md, Money), the number itself was set by hand
MANY = 50

Get = Callable[[Ints, Ints], AnyArray]


@dataclass(frozen=True, eq=False)
class AskedRows:
    """What was found out, row by row.

    Attributes
    ----------
    values : array
        the decision of each row: the likeliest class, or the cheapest where errors cost
    probabilities : array of float
        (rows, classes), calibrated
    stopped : array of str
        why each row stopped: "sure", "worth", "per_row", "spend" or "finished"
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
    prefixes: Prefixes,
    get: Get,
    n_rows: int,
    *,
    stop: StoppingRule | None = None,
    spend: float | None = None,
    per_row: float | None = None,
    owned_price: Callable[[Ints, int, int], Floats] | None = None,
    sold_together: bool = False,
) -> AskedRows:
    """Ask every row in order.

    Parameters
    ----------
    get : Get
        ``get(rows, features)`` buys and returns values, rows x features
    stop : StoppingRule or None
        a rule; None: all the model has, or with ``spend`` the rule that spends it best
    spend : float or None
        at most so much for all rows together
    per_row : float or None
        at most so much for each row
    owned_price : callable or None
        ``(rows, from prefix, to prefix)`` -> what that costs each row, where some cells are owned
        already; None: what the prefixes cost where nothing is
    sold_together : bool
        whether steps may cost more one by one than all of them at once; with ``owned_price``
    """
    plan = None
    if stop is None and spend is not None and n_rows:
        plan = plan_for(prefixes, min(spend / n_rows, np.inf if per_row is None else per_row))
        stop = plan.rule
    asking = Asking(prefixes, get, n_rows, stop, spend, per_row, plan, owned_price)
    if sold_together and owned_price is not None:
        asking.bound()
    return asking.run()


class Asking:
    """Rows that are being asked, and what is known and owed of each."""

    def __init__(
        self,
        prefixes: Prefixes,
        get: Get,
        n_rows: int,
        stop: StoppingRule | None,
        spend: float | None,
        per_row: float | None,
        plan: StoppingPlan | None,
        owned_price: Callable[[Ints, int, int], Floats] | None,
    ) -> None:
        self.prefixes, self.get, self.stop, self.plan = prefixes, get, stop, plan
        self.last = len(prefixes) if plan is None else plan.last
        self.left = np.inf if spend is None else float(spend)
        self.per_row = np.inf if per_row is None else float(per_row)
        self._owned_price = owned_price
        n_features = len(prefixes.parts[-1].features)
        self.values = np.full((n_rows, n_features), np.nan)
        self.p = np.repeat(prefixes.shares[None, :], n_rows, axis=0)
        self.at = np.full(n_rows, -1)
        self.cost = np.zeros(n_rows)
        self.why = np.full(n_rows, "", dtype="<U12")
        weighs = stop is not None and stop.weighs_falls
        self.falls = expected_falls(prefixes, stop) if stop is not None and weighs else None
        self.hope: Hope | None = None
        if isinstance(stop, Sure) and stop.give_up:
            self.hope = Hope(prefixes.seen, prefixes.shares, stop)
        #: what everything costs each row, where steps may cost more; and who goes on to the end
        self.whole: Floats | None = None
        self.finish = np.zeros(len(prefixes))

    def bound(self) -> None:
        """From now on no row costs more than everything at once."""
        every, last = np.arange(len(self.p)), len(self.prefixes) - 1
        self.whole = self.price(every, -1, last)
        if self.stop is not None and self.plan is None and self.falls is None:
            seen, shares = self.prefixes.seen, self.prefixes.shares
            stops = np.zeros((max(len(seen) - 1, 1), seen.shape[1]), dtype=bool)
            for k in range(len(seen) - 1):
                stops[k] = self.stop.stops(seen[k], shares)
            later = ~np.flip(np.logical_or.accumulate(np.flip(stops, 0), axis=0), 0)
            before = np.logical_or.accumulate(stops, axis=0)
            for k in range(1, len(seen)):  # of those that reach k, who never stops
                here = ~before[k - 1]
                ends = later[k] if k < len(stops) else np.ones(len(here), dtype=bool)
                self.finish[k] = float(ends[here].mean()) if here.any() else 1.0

    def price(self, rows: Ints, start: int, end: int) -> Floats:
        """What going from one prefix to another costs each row; -1: from nothing."""
        if self._owned_price is not None:
            return self._owned_price(rows, start, end)
        prices = self.prefixes.prices
        before = prices[start] if start >= 0 else 0.0
        return np.full(len(rows), prices[end] - before)

    def run(self) -> AskedRows:
        going = np.arange(len(self.p))
        for k in range(len(self.prefixes)):
            going = self._to_the_end(going, k)
            going = self._afford(going, k)
            if not len(going):
                break
            self._buy(going, k)
            going = self._decide(going, k)
        p = self.p
        chosen = p.argmax(axis=1) if self.stop is None else self.stop.decide(p)
        return AskedRows(self.prefixes.classes[chosen], p, self.why, self.asked(), self.cost)

    def asked(self) -> Ints:
        """How many features each row was asked."""
        sizes = np.array([0] + [len(part.features) for part in self.prefixes.parts])
        return np.asarray(sizes[self.at + 1])

    def _to_the_end(self, rows: Ints, k: int) -> Ints:
        """Who goes on step by step; the others have bought all that is left, or can no more."""
        last = len(self.prefixes) - 1
        if self.whole is None or not len(rows):
            return rows
        step, rest = self.price(rows, k - 1, k), self.price(rows, k - 1, last)
        so_far, most = self.cost[rows] + step, self.whole[rows] + 1e-9
        loses = (step > 0) & (so_far + self.prefixes.parts[k].price_after > most)
        at_once = (self.cost[rows] + rest <= most) & (
            (rest <= step + 1e-9) | (loses & (self.finish[k] > 0.5))
        )
        at_once &= self.cost[rows] + rest <= self.per_row + 1e-9
        stuck = ~at_once & (so_far > most)
        self.why[rows[stuck]] = "finished"
        ends = rows[at_once]
        if len(ends) and np.isfinite(self.left):
            ends = ends[np.cumsum(rest[at_once]) <= self.left + 1e-9]
        if len(ends):
            price = self.price(ends, k - 1, last)
            self.left -= float(price.sum())
            self.cost[ends] += price
            self._buy(ends, last)
            self.why[ends] = "finished"
        return np.setdiff1d(rows, np.append(ends, rows[stuck]))

    def _afford(self, rows: Ints, k: int) -> Ints:
        """Who can pay for prefix k: each within its own limit, the least certain first."""
        price = self.price(rows, k - 1, k)
        within = self.cost[rows] + price <= self.per_row + 1e-9
        self.why[rows[~within]] = "per_row"
        rows, price = rows[within], price[within]
        if np.isfinite(self.left):
            doubt = np.argsort(-expected_loss(self.p[rows]), kind="stable")
            fits = np.zeros(len(rows), dtype=bool)
            fits[doubt] = np.cumsum(price[doubt]) <= self.left + 1e-9
            self.why[rows[~fits]] = "spend"
            rows, price = rows[fits], price[fits]
            self.left -= float(price.sum())
        self.cost[rows] += price
        return rows

    def _buy(self, rows: Ints, k: int) -> None:
        part = self.prefixes.parts[k]
        before = int(self.at[rows[0]])  # all of them stand at the same prefix
        have = len(self.prefixes.parts[before].features) if before >= 0 else 0
        new = np.array(part.features[have:], dtype=np.int64)
        if len(new):
            self.values[rows, have : len(part.features)] = self.get(rows, new)
        at = self.values[np.ix_(rows, np.arange(len(part.features)))]
        self.p[rows] = part.probabilities(at, self.prefixes.shares)
        self.at[rows] = k

    def _decide(self, rows: Ints, k: int) -> Ints:
        """Who goes on."""
        if k + 1 >= self.last:
            self.why[rows] = "finished" if k + 1 >= len(self.prefixes) else "spend"
            return rows[:0]
        if self.stop is None:
            return rows
        owned = rows[:0]
        if self._owned_price is not None:  # what is owned is read before anything is decided
            free = self.price(rows, k, k + 1) <= 0
            owned, rows = rows[free], rows[~free]
            if not len(rows):
                return owned
        p = self.p[rows]
        if self.plan is not None and len(self.p) >= MANY:
            n = int(np.ceil(self.plan.go_on[k] * len(rows) - 1e-9))
            done = np.ones(len(rows), dtype=bool)
            done[np.argsort(-entropy(p), kind="stable")[:n]] = False
        elif self.falls is None:
            done = self.stop.stops(p, self.prefixes.shares)
        else:
            later = range(k + 1, len(self.prefixes))
            price = np.stack([self.price(rows, k, j) for j in later], axis=1)
            done = self.stop.stops(p, self.prefixes.shares, price, self.falls.fall(k, p))
        self.why[rows[done]] = self.stop.reason
        if self.hope is not None:
            lost = ~done & self.hope.is_lost(k, p)
            self.why[rows[lost]] = "hopeless"
            done = done | lost
        return np.sort(np.append(owned, rows[~done]))
