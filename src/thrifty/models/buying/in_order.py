"""Buying with predictions in mind: few features, one at a time, each on what the others left open.

Sixty rows, half of each class, are bought whole and half of the features dropped. A probe, 150 rows
of each class, is bought on the other half. Then features are bought one at a time, on the rare
class and three others for each of it (on fewer rows where eight features could not be paid): the
one with the largest gain on the probe, given what the present model says out of fold. So the money
goes into few features on many rows, which is what a model that asks few questions wants; features
that are free are bought on every row at once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thrifty.array_types import Floats, Ints
from thrifty.cells import Cells
from thrifty.labels.classes import Labels
from thrifty.models.buying.policy import Bought
from thrifty.models.buying.residual_gains import bin_codes, gains
from thrifty.models.fits.folds import stratified_k_folds
from thrifty.models.fits.proxy import proxy_out_of_fold
from thrifty.models.memory.memory import Lesson, Memory
from thrifty.models.table import Table

__all__ = ["InOrder"]

#: rows bought whole, rows of each class in the probe, other rows for each of the rare class
WHOLE, PROBE, OTHERS = 60, 150, 3
#: there are to be as many rows as leave the money for so many features
FEATURES = 8
#: bins of the quick model, and of the gains on the small probe
FINE, COARSE = 32, 5
#: at most this share of the money goes into the first look and into the probe
FIRST_LOOK, FOR_PROBE = 0.25, 0.3


class InOrder:
    """A way to buy a table for a model that will be asked in order.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 12))
    >>> y = (X[:, 3] > 0).astype(int)
    >>> from thrifty.labels.classes import read_classes
    >>> bought = InOrder().buy(Cells(X), read_classes(y), Memory(), 1600.0, rng)
    >>> int(bought.table.features[0]), bool(bought.table.bought.sum() <= 1600)
    (3, True)
    """

    def buy(
        self, cells: Cells, labels: Labels, memory: Memory, allowance: float,
        rng: np.random.Generator,
    ) -> Bought:  # fmt: skip
        search = _Buying(cells, np.asarray(labels.codes, dtype=np.int64), allowance, rng)
        search.run()
        table = search.table()
        return Bought(table, Lesson(useful=table.features), {"way": "in order"})


class _Buying:
    def __init__(
        self, cells: Cells, codes: Ints, allowance: float, rng: np.random.Generator
    ) -> None:
        self.cells, self.y, self.left = cells, codes, allowance
        n = cells.n_features
        self.counts = np.bincount(codes)
        self.prices = np.asarray(cells.prices, dtype=np.float64)
        order = rng.permutation(len(codes))
        self.by_class = [order[codes[order] == k] for k in range(len(self.counts))]
        self.values: dict[int, Floats] = {}
        self.seen: dict[int, NDArray[np.bool_]] = {}
        self.alive = np.arange(n)
        self.taken: list[int] = []
        self.rows = self._rows(OTHERS)

    def _rows(self, others: float) -> Ints:
        """The rarest class whole, and at most so many rows of each other class for each of it."""
        most = int(np.ceil(others * self.counts[self.counts > 0].min()))
        return np.sort(self.balanced(most))

    def balanced(self, each: int) -> Ints:
        return np.concatenate([rows[:each] for rows in self.by_class])

    def price(self, rows: Ints, features: Ints) -> float:
        return self.cells.price_of(rows, features) if len(rows) and len(features) else 0.0

    def get(self, rows: Ints, features: Ints) -> bool:
        """Buy, if the money is there."""
        price = self.price(rows, features)
        if price > self.left + 1e-9:
            return False
        found = np.asarray(self.cells.get(rows, features), dtype=np.float64)
        self.left -= price
        for j, f in enumerate(features.tolist()):
            if f not in self.values:
                self.values[f] = np.full(len(self.y), np.nan)
                self.seen[f] = np.zeros(len(self.y), dtype=bool)
            self.values[f][rows] = found[:, j]
            self.seen[f][rows] = True
        return True

    def run(self) -> None:
        start = self.left
        free = np.flatnonzero(self.prices <= 0)
        if len(free):
            self.get(self.rows, free)
            self.taken.extend(free.tolist())
        self.alive = np.flatnonzero(self.prices > 0)
        self._first_look(FIRST_LOOK * start)
        probe = self._probe(FOR_PROBE * start)
        self._fewer_rows(len(probe) // len(self.counts))
        while len(self.alive) and self._one_more(probe):
            pass

    def _first_look(self, most: float) -> None:
        """Whole rows, half of each class; half of the features stay."""
        k = len(self.counts)
        each = max(WHOLE // k, 2)
        while each > 2 and self.price(self.balanced(each), self.alive) > most:
            each -= 1
        rows = self.balanced(each)
        if len(self.alive) < 4 or not self.get(rows, self.alive):
            return
        found = self._gains(rows, self.alive, None)
        best = np.argsort(-found, kind="stable")[: (len(self.alive) + 1) // 2]
        self.alive = self.alive[np.sort(best)]

    def _probe(self, most: float) -> Ints:
        each = PROBE
        while each > 5 and self.price(self.balanced(each), self.alive) > most:
            each = int(each * 0.9)
        rows = self.balanced(each)
        if not self.get(rows, self.alive):
            rows = self.balanced(max(WHOLE // len(self.counts), 2))
        return rows

    def _fewer_rows(self, least: int) -> None:
        """So few rows that several features can be bought on them; the probe's rows stay."""
        others, rarest = float(OTHERS), self.counts[self.counts > 0].min()
        wanted = min(FEATURES, len(self.alive))
        price = wanted * float(np.mean(self.prices[self.alive])) if wanted else 0.0
        while len(self.rows) * price > self.left and 0.9 * others * rarest >= max(least, 2):
            others *= 0.9
            self.rows = self._rows(others)

    def _gains(self, rows: Ints, features: Ints, present: Floats | None) -> Floats:
        """The gain of each feature on some rows, weighted to the shares of the classes."""
        y = self.y[rows]
        ours = np.bincount(y, minlength=len(self.counts))
        weights = (self.counts / np.maximum(ours, 1))[y]
        weights = weights / weights.mean()
        hot = np.eye(len(self.counts))[y]
        p = np.average(hot, axis=0, weights=weights)[None, :] if present is None else present
        values = np.column_stack([self.values[f][rows] for f in features.tolist()])
        seen = np.column_stack([self.seen[f][rows] for f in features.tolist()])
        codes = bin_codes(values, seen, COARSE)
        found = gains(codes, hot - p, np.broadcast_to(p * (1 - p), hot.shape), weights)
        return np.asarray(found[:, 0])

    def _present(self, probe: Ints) -> Floats | None:
        """What the features bought so far say of the probe's rows, out of fold."""
        if not self.taken:
            return None
        table = self.table()
        codes = bin_codes(table.values, table.bought, FINE)
        fold = stratified_k_folds(table.labels, 4, 0)
        p = proxy_out_of_fold(codes, table.labels, table.weights, fold)
        place = np.searchsorted(table.rows, probe)
        return np.asarray(p[place])

    def _one_more(self, probe: Ints) -> bool:
        """Buy what gains most per root of its price on all rows; False: no money is left.

        One feature, or all that an order fills: its best and half of the others count.
        """
        found = dict(zip(self.alive.tolist(), self._gains(probe, self.alive, self._present(probe))))
        wanted: list[tuple[int, ...]] = [(f,) for f in found]
        wanted += [
            left for order in self.cells.orders
            if len(left := tuple(f for f in order if f in found)) > 1
        ]  # fmt: skip
        worth = []
        for features in wanted:
            price = self.price(self.rows, np.array(features)) / len(self.rows)
            gain = sorted((float(found[f]) for f in features), reverse=True)
            both = gain[0] + 0.5 * sum(gain[1:])
            worth.append(both / max(price, 1e-9) ** (0.5 if self.cells.orders else 1.0))
        for i in np.argsort(-np.array(worth), kind="stable").tolist():
            chosen = np.array(wanted[i], dtype=np.int64)
            if self.get(self.rows, chosen):
                self.alive = self.alive[~np.isin(self.alive, chosen)]
                self.taken.extend(wanted[i])
                return True
        return False

    def table(self) -> Table:
        """What was bought on all rows; what only the probe saw is left out."""
        rows = self.rows
        features = np.array(self.taken, dtype=np.int64)
        values = np.column_stack([self.values[f][rows] for f in self.taken] or [np.zeros(0)])
        ours = np.bincount(self.y[rows], minlength=len(self.counts))
        weights = (self.counts / np.maximum(ours, 1))[self.y[rows]]
        return Table(
            features, rows, values.reshape(len(rows), len(features)),
            np.ones((len(rows), len(features)), dtype=bool), weights, self.y[rows],
        )  # fmt: skip
