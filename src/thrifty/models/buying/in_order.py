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

from thrifty.array_types import Floats, Ints
from thrifty.cells import Cells
from thrifty.labels.classes import Labels
from thrifty.models.buying.policy import Bought
from thrifty.models.buying.purses import Sheet
from thrifty.models.buying.score_test import bin_codes, gains
from thrifty.models.fits.folds import stratified_k_folds
from thrifty.models.fits.proxy import proxy_out_of_fold
from thrifty.models.memory.memory import Lesson, Memory
from thrifty.models.table import Table

__all__ = ["InOrder", "pays_for_looks"]

# The sizes and shares of the first look and of the probe were chosen among four on splits 11 to 14
# of spam, `python benchmarks/predictions.py` (docs/predicting.md). The others were set by hand with
# the first version of this way, before 0.2, and not measured since.
#: rows bought whole in the first look
WHOLE = 60
#: rows of each class in the probe
PROBE = 150
#: rows of each other class for each of the rarest
OTHERS = 3
#: there are to be as many rows as leave the money for so many features
FEATURES = 8
#: bins of the quick model
FINE = 32
#: bins of the gains on the small probe
COARSE = 5
#: at most this share of the money goes into the first look
FIRST_LOOK = 0.25
#: and this share into the probe
FOR_PROBE = 0.3
#: where rows or their number are too dear, they are taken times this, again and again
_FEWER = 0.9
#: folds of the quick model
_FOLDS = 4
#: of an order's features beyond the best, this part of what they gain counts
_BESIDE_BEST = 0.5
#: a gain counts per price to this power; with orders, which fill several features, per its root
_PRICE_POWER = 1.0
_PRICE_POWER_WITH_ORDERS = 0.5


def pays_for_looks(cells: Cells, allowance: float) -> bool:
    """Whether the money is enough for a first look of its whole size; orders need it in any case.

    With less the search for a table (:mod:`.halving`) is better for few predictions, too: at 5 %
    of the cells, ten labels, three splits, with as many features +-1, the average precision of
    yeast (chosen on) is .012 (standard error .005) higher, of nhanes .017 (.008), of emotions .027
    (.013), of cal500 -.007 (.010). With more it is not: yeast at 30 % -.013 (.006), spam by half a
    point of AUROC.

    >>> pays_for_looks(Cells(np.zeros((600, 9))), 2160.0), pays_for_looks(Cells(np.eye(9)), 2000.0)
    (True, False)
    """
    row = float(np.asarray(cells.shared_prices).sum())
    return bool(cells.orders) or allowance >= WHOLE / FIRST_LOOK * row


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
        self,
        cells: Cells,
        labels: Labels,
        memory: Memory,
        allowance: float,
        rng: np.random.Generator,
    ) -> Bought:
        search = _OrderedSearch(cells, np.asarray(labels.codes, dtype=np.int64), allowance, rng)
        search.groups = labels.groups
        search.run()
        table = search.table()
        return Bought(table, Lesson(useful=table.features), {"way": "in order"})


class _OrderedSearch:
    """One task: a purse, what is still a candidate, what was taken."""

    def __init__(
        self, cells: Cells, codes: Ints, allowance: float, rng: np.random.Generator
    ) -> None:
        self.cells, self.y = cells, codes
        self.counts = np.bincount(codes)
        self.prices = np.asarray(cells.prices, dtype=np.float64)
        self.sheet = Sheet(cells, codes, allowance, rng)
        self.alive = np.arange(cells.n_features)
        self.taken: list[int] = []
        self.rows = self._rows(OTHERS)
        #: of all rows of the task, where some belong together
        self.groups: Ints | None = None

    def _rows(self, others: float) -> Ints:
        """The rarest class whole, and at most so many rows of each other class for each of it."""
        most = int(np.ceil(others * self.counts[self.counts > 0].min()))
        return np.sort(self.sheet.balanced(most))

    def run(self) -> None:
        start = self.sheet.left
        free = np.flatnonzero(self.prices <= 0)
        if len(free):
            self.sheet.buy(self.rows, free)
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
        while each > 2 and self.sheet.price(self.sheet.balanced(each), self.alive) > most:
            each -= 1
        rows = self.sheet.balanced(each)
        if len(self.alive) < 4 or not self.sheet.buy(rows, self.alive):
            return
        found = self._gains(rows, self.alive, None)
        best = np.argsort(-found, kind="stable")[: (len(self.alive) + 1) // 2]
        self.alive = self.alive[np.sort(best)]

    def _probe(self, most: float) -> Ints:
        each = PROBE
        while each > 5 and self.sheet.price(self.sheet.balanced(each), self.alive) > most:
            each = int(each * _FEWER)
        rows = self.sheet.balanced(each)
        if not self.sheet.buy(rows, self.alive):
            rows = self.sheet.balanced(max(WHOLE // len(self.counts), 2))
        return rows

    def _fewer_rows(self, least: int) -> None:
        """So few rows that several features can be bought on them; the probe's rows stay."""
        others, rarest = float(OTHERS), self.counts[self.counts > 0].min()
        wanted = min(FEATURES, len(self.alive))
        price = wanted * float(np.mean(self.prices[self.alive])) if wanted else 0.0
        left = self.sheet.left
        while len(self.rows) * price > left and _FEWER * others * rarest >= max(least, 2):
            others *= _FEWER
            self.rows = self._rows(others)

    def _gains(self, rows: Ints, features: Ints, present: Floats | None) -> Floats:
        """The gain of each feature on some rows, weighted to the shares of the classes."""
        y = self.y[rows]
        ours = np.bincount(y, minlength=len(self.counts))
        weights = (self.counts / np.maximum(ours, 1))[y]
        weights = weights / weights.mean()
        hot = np.eye(len(self.counts))[y]
        p = np.average(hot, axis=0, weights=weights)[None, :] if present is None else present
        which = features.tolist()
        codes = bin_codes(self.sheet.values(rows, which), self.sheet.known(rows, which), COARSE)
        found = gains(codes, hot - p, np.broadcast_to(p * (1 - p), hot.shape), weights)
        return np.asarray(found[:, 0])

    def _present(self, probe: Ints) -> Floats | None:
        """What the features bought so far say of the probe's rows, out of fold."""
        if not self.taken:
            return None
        table = self.table()
        codes = bin_codes(table.values, table.bought, FINE)
        together = None if self.groups is None else self.groups[table.rows]
        fold = stratified_k_folds(table.labels, _FOLDS, 0, together)
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
            left
            for order in self.cells.orders
            if len(left := tuple(f for f in order if f in found)) > 1
        ]
        power = _PRICE_POWER_WITH_ORDERS if self.cells.orders else _PRICE_POWER
        worth = []
        for features in wanted:
            price = self.sheet.price(self.rows, np.array(features)) / len(self.rows)
            gain = sorted((float(found[f]) for f in features), reverse=True)
            both = gain[0] + _BESIDE_BEST * sum(gain[1:])
            worth.append(both / max(price, 1e-9) ** power)
        for i in np.argsort(-np.array(worth), kind="stable").tolist():
            chosen = np.array(wanted[i], dtype=np.int64)
            if self.sheet.buy(self.rows, chosen):
                self.alive = self.alive[~np.isin(self.alive, chosen)]
                self.taken.extend(wanted[i])
                return True
        return False

    def table(self) -> Table:
        """What was bought on all rows; what only the probe saw is left out."""
        rows = self.rows
        features = np.array(self.taken, dtype=np.int64)
        values = self.sheet.values(rows, self.taken)
        ours = np.bincount(self.y[rows], minlength=len(self.counts))
        weights = (self.counts / np.maximum(ours, 1))[self.y[rows]]
        return Table(
            features, rows, values, np.ones(values.shape, dtype=bool), weights, self.y[rows]
        )
