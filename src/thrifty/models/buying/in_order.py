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
from thrifty.errors import BadInput
from thrifty.labels.classes import Labels
from thrifty.models.buying.policy import Bought
from thrifty.models.buying.purses import Basket
from thrifty.models.fits.folds import stratified_k_folds
from thrifty.models.fits.proxy import proxy_out_of_fold
from thrifty.models.fits.score_test import bin_codes, gains
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
        search = _OrderedSearch(cells, labels, allowance, rng)
        search.run()
        table = search.table()
        return Bought(table, Lesson(useful=table.features), {"way": "in order"})


class _OrderedSearch:
    """One task: a basket, what is still a candidate, what was taken.

    ``rows``: the first of the basket's order that the features are bought on.
    """

    def __init__(
        self, cells: Cells, labels: Labels, allowance: float, rng: np.random.Generator
    ) -> None:
        codes = np.asarray(labels.codes, dtype=np.int64)
        self.cells, self.groups = cells, labels.groups
        self.counts = np.bincount(codes)
        self.rarest = int(self.counts[self.counts > 0].min())
        self.basket = Basket(cells, codes, allowance, rng)
        paid = np.asarray(cells.prices) > 0
        self.taken, self.alive = np.flatnonzero(~paid).tolist(), np.flatnonzero(paid)
        self.rows = self._balanced(OTHERS * self.rarest)

    def _balanced(self, each: float) -> int:
        """Rows, the first, that hold so many of each class, or all of it."""
        return int(np.minimum(self.counts, int(np.ceil(each))).sum())

    def run(self) -> None:
        start = self.basket.left
        if self.taken:  # what is free
            self.basket.buy(np.array(self.taken), self.rows)
        self._first_look(FIRST_LOOK * start)
        probe = self._probe(FOR_PROBE * start)
        self._fewer_rows(probe)
        while len(self.alive) and self._one_more(probe):
            pass
        if not self.taken:
            raise BadInput(
                f"not one feature can be paid for on {self.rows} rows with {start:g}: raise spend= "
                "or the budget."
            )

    def _first_look(self, most: float) -> None:
        """Whole rows, half of each class; half of the features stay."""
        each = max(WHOLE // len(self.counts), 2)
        while each > 2 and self.basket.price(self.alive, self._balanced(each)) > most:
            each -= 1
        rows = self._balanced(each)
        if len(self.alive) < 4 or not self.basket.buy(self.alive, rows):
            return
        found = self._gains(rows, None)
        best = np.argsort(-found, kind="stable")[: (len(self.alive) + 1) // 2]
        self.alive = self.alive[np.sort(best)]

    def _probe(self, most: float) -> int:
        """Rows on which features are compared, some of those they are to be bought on."""
        each = min(PROBE, OTHERS * self.rarest)
        while each > 5 and self.basket.price(self.alive, self._balanced(each)) > most:
            each = int(each * _FEWER)
        self.basket.buy(self.alive, self._balanced(each))
        return min((self.basket.bought(f) for f in self.alive.tolist()), default=0)

    def _fewer_rows(self, probe: int) -> None:
        """So few rows that several features can be bought on them; the probe's rows stay."""
        prices, wanted = np.asarray(self.cells.prices)[self.alive], min(FEATURES, len(self.alive))
        others, price = float(OTHERS), wanted * float(prices.mean()) if wanted else 0.0
        while self.rows * price > self.basket.left:
            others *= _FEWER
            fewer = self._balanced(others * self.rarest)
            if fewer < max(probe, 2 * len(self.counts)):
                break
            self.rows = fewer

    def _gains(self, rows: int, present: Floats | None) -> Floats:
        """The gain of each feature on the first rows, weighted to the shares of the classes."""
        if not rows:  # there was no money for a look: the cheapest goes first
            return np.ones(len(self.alive))
        y = self.basket.codes[:rows]
        weights = self._weights(y)
        weights = weights / weights.mean()
        hot = np.eye(len(self.counts))[y]
        p = np.average(hot, axis=0, weights=weights)[None, :] if present is None else present
        values = self.basket.values(self.alive, rows)
        codes = bin_codes(values, np.ones(values.shape, dtype=bool), COARSE)
        found = gains(codes, hot - p, np.broadcast_to(p * (1 - p), hot.shape), weights)
        return np.asarray(found[:, 0])

    def _weights(self, y: Ints) -> Floats:
        """How many rows of its class each of these stands for."""
        ours = np.bincount(y, minlength=len(self.counts))
        return np.asarray((self.counts / np.maximum(ours, 1))[y])

    def _present(self, probe: int) -> Floats | None:
        """What the features bought so far say of the probe's rows, out of fold."""
        if not self.taken:
            return None
        table = self.table()
        codes = bin_codes(table.values, table.bought, FINE)
        together = None if self.groups is None else self.groups[table.rows]
        fold = stratified_k_folds(table.labels, _FOLDS, 0, together)
        p = proxy_out_of_fold(codes, table.labels, table.weights, fold)
        return np.asarray(p[np.searchsorted(table.rows, self.basket.order[:probe])])

    def _one_more(self, probe: int) -> bool:
        """Buy what gains most per root of its price on all rows; False: no money is left.

        One feature, or all that an order fills: its best and half of the others count.
        """
        found = dict(zip(self.alive.tolist(), self._gains(probe, self._present(probe))))
        wanted: list[tuple[int, ...]] = [(f,) for f in found]
        wanted += [
            left
            for order in self.cells.orders
            if len(left := tuple(f for f in order if f in found)) > 1
        ]
        power = _PRICE_POWER_WITH_ORDERS if self.cells.orders else _PRICE_POWER
        worth = []
        for features in wanted:
            price = self.basket.price(np.array(features), self.rows) / self.rows
            gain = sorted((float(found[f]) for f in features), reverse=True)
            both = gain[0] + _BESIDE_BEST * sum(gain[1:])
            worth.append(both / max(price, 1e-9) ** power)
        for i in np.argsort(-np.array(worth), kind="stable").tolist():
            chosen = np.array(wanted[i], dtype=np.int64)
            if self.basket.buy(chosen, self.rows):
                self.alive = self.alive[~np.isin(self.alive, chosen)]
                self.taken.extend(wanted[i])
                return True
        return False

    def table(self) -> Table:
        """What was bought on all rows; what only the probe saw is left out."""
        features, order = np.array(self.taken, dtype=np.int64), self.basket.order[: self.rows]
        at = np.argsort(order)
        values, y = self.basket.values(features, self.rows)[at], self.basket.codes[at]
        bought = np.ones(values.shape, dtype=bool)
        return Table(features, order[at], values, bought, self._weights(y), y)
