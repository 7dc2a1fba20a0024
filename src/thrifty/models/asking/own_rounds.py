"""Rows in rounds where each has an order of its own: as in order, but a step differs by row."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from thrifty.array_types import Floats, Ints
from thrifty.models.asking.cross_fitted import all_classes
from thrifty.models.asking.own_order import OwnOrder, answer, longest
from thrifty.models.asking.plan import plan_for
from thrifty.models.asking.rounds import AskedRows, Asking, Get
from thrifty.stopping import StoppingRule

__all__ = ["RowCost", "ask_in_own_order"]

#: what cells cost each row, where some are owned
RowCost = Callable[[Ints, Sequence[int]], Floats]


def ask_in_own_order(
    own: OwnOrder,
    get: Get,
    n_rows: int,
    cost: RowCost,
    *,
    stop: StoppingRule | None = None,
    spend: float | None = None,
    per_row: float | None = None,
    sold_together: bool = False,
) -> AskedRows:
    """As :func:`thrifty.models.asking.rounds.ask_in_order`, each row in its own order.

    Parameters
    ----------
    get : Get
        ``get(rows, features)`` buys and returns values, rows x features
    cost : RowCost
        ``cost(rows, features)``: what these cost each row, where some are owned
    """
    plan = None
    if stop is None and spend is not None and n_rows:
        plan = plan_for(own, min(spend / n_rows, np.inf if per_row is None else per_row))
        stop = plan.rule
    asking = _OwnAsking(own, get, n_rows, stop, spend, per_row, plan, None)
    asking.begin(own, cost)
    if sold_together:
        asking.bound()
    return asking.run()


class _OwnAsking(Asking):
    own: OwnOrder

    def begin(self, own: OwnOrder, cost: RowCost) -> None:
        self.own, self.cost_of = own, cost
        self._owned_price = self._price  # also: free cells are read before anything is decided
        self.names = list(own.fixed.parts[-1].features)
        self.known = np.zeros(self.values.shape, dtype=bool)
        self.width = len(own.chooser.model.bins)
        self.codes = np.zeros((len(self.p), self.width), dtype=np.uint8)
        #: the unit that each row wants next; -1: not yet chosen
        self.wants = np.full(len(self.p), -1)

    def asked(self) -> Ints:
        return np.asarray(self.known.sum(axis=1))

    def _is_own(self, k: int) -> bool:
        return 1 <= k <= self.own.steps

    def _price(self, rows: Ints, start: int, end: int) -> Floats:
        if not self._is_own(end):
            return self.cost_of(rows, list(self.prefixes.parts[end].features))
        self._choose(rows)
        out = np.zeros(len(rows))
        for u in np.unique(self.wants[rows]).tolist():
            here = self.wants[rows] == u
            out[here] = self.cost_of(rows[here], self._features(u))
        return out

    def _features(self, unit: int) -> list[int]:
        return [self.names[i] for i in self.own.chooser.units[unit]]

    def _choose(self, rows: Ints) -> None:
        new = rows[self.wants[rows] < 0]
        if len(new):
            known = self.known[new, : self.width]
            self.wants[new] = self.own.chooser.choose(self.codes[new], known)

    def _buy(self, rows: Ints, k: int) -> None:
        if not self._is_own(k):
            self._complete(rows, k)
            return
        self._choose(rows)
        for u in np.unique(self.wants[rows]).tolist():
            self._learn(rows[self.wants[rows] == u], list(self.own.chooser.units[u]))
        self.wants[rows] = -1
        self._answer(rows, k)
        self.at[rows] = k

    def _learn(self, rows: Ints, places: list[int]) -> None:
        """Buy cells, by their places in the fixed order."""
        features = np.array([self.names[i] for i in places], dtype=np.int64)
        here = np.ix_(rows, np.array(places, dtype=np.int64))
        self.values[here] = self.get(rows, features)
        self.known[here] = True
        for i in places:
            if i < self.width:
                bins = self.own.chooser.model.bins[i]
                self.codes[rows, i] = bins.codes(self.values[rows, i]) + 1

    def _complete(self, rows: Ints, k: int) -> None:
        """All of a prefix of the fixed order, whatever is known of it."""
        part = self.prefixes.parts[k]
        n = len(part.features)
        lacking, which = np.unique(~self.known[rows, :n], axis=0, return_inverse=True)
        for i, pattern in enumerate(lacking):
            if pattern.any():
                self._learn(rows[which.reshape(-1) == i], np.flatnonzero(pattern).tolist())
        self.p[rows] = part.probabilities(self.values[rows, :n], self.prefixes.shares)
        self.wants[rows] = -1
        self.at[rows] = k

    def _answer(self, rows: Ints, k: int) -> None:
        base, shares = self.own.base, self.prefixes.shares
        known, codes = self.known[rows, : self.width], self.codes[rows]
        sizes = [len(part.features) for part in base]
        at = longest(sizes, known)
        logs = np.zeros((len(rows), len(shares)))
        for b in np.unique(at).tolist():
            here, part = at == b, base[b]
            p = np.repeat(shares[None, :], int(here.sum()), axis=0)
            if part.model is not None:
                some = self.values[rows[here], : sizes[b]]
                p = all_classes(part.model, some, len(shares))
            logs[here] = np.log(np.clip(p, 1e-6, 1.0))
        said = answer(self.own.chooser, logs, np.array(sizes)[at], codes, known)
        self.p[rows] = self.prefixes.parts[k].scaling(said)
