"""What can be bought for a row, in money: the one view of prices that buying has.

An **offer** is what comes with one feature: itself, and whatever costs nothing once it is there (an
order fills several). Offers are read off what sets of cells *cost*, not off how a price list is
written: a panel, nested fees and orders of price 0 that cost the same are the same offers.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from thrifty.array_types import Bools, Floats, Ints
from thrifty.cells import Cells

__all__ = ["Offers"]

#: rows whose cost stands for that of the rows to come
_ROWS = 32
#: what may be missing for a purchase: prices are sums of floats
CENT = 1e-9


class Offers:
    """The offers behind a reader, what they cost on rows to come, and what is free on all.

    >>> import thrifty
    >>> prices = thrifty.PriceList({"x2": 1}, orders={"both": (5, ["x0", "x1"])})
    >>> offers = Offers(Cells(np.eye(3), prices))
    >>> [some.tolist() for some in offers.units], offers.cost([0, 1])
    ([[0, 1], [2]], 6.0)
    """

    def __init__(self, cells: Cells) -> None:
        self.cells = cells
        prices = np.asarray(cells.prices, dtype=np.float64)
        here = ~np.asarray(cells.absent)
        self.free: Ints = np.flatnonzero(here & (prices <= 0))
        paid = np.flatnonzero(here & (prices > 0))
        self.units: list[Ints] = _units(cells, paid)
        #: whether every offer has a price of its own, whatever else is bought
        self.apart = not bool(np.asarray(cells.depends)[paid].any()) and not cells.fees
        self.prices = np.array([float(prices[unit].sum()) for unit in self.units])
        self._rows: Ints = np.arange(min(_ROWS, cells.n_examples))
        self._known: dict[tuple[int, ...], float] = {}

    def look_ahead(self, rows: Ints) -> None:
        """Rows that are to come: costs are those on them, given what is owned."""
        self._rows, self._known = rows[:_ROWS], {}
        if self.apart and len(self.units):
            every = np.concatenate(self.units)
            costs = self.cells.margins(self._rows, every).mean(axis=0)
            ends = np.cumsum([0, *map(len, self.units)])
            self.prices = np.array([costs[a:b].sum() for a, b in itertools.pairwise(ends)])

    def features(self, some: Sequence[int]) -> Ints:
        """What some offers fill together, ascending."""
        if not len(some):
            return np.zeros(0, dtype=np.int64)
        return np.unique(np.concatenate([self.units[i] for i in some]))

    def cost(self, some: Sequence[int]) -> float:
        """What some offers cost together on a row to come, on average."""
        if self.apart:
            return float(self.prices[list(some)].sum())
        key = tuple(sorted(some))
        if key not in self._known:
            costs = self.cells.row_costs(self._rows, self.features(key)) if key else np.zeros(1)
            self._known[key] = float(costs.mean())
        return self._known[key]

    def cheapest_first(self) -> list[int]:
        """All offers, each the one with the least to pay for a new feature beside those before."""
        sizes = np.array([len(unit) for unit in self.units])
        if self.apart:
            ranked: list[int] = np.argsort(self.prices / sizes, kind="stable").tolist()
            return ranked
        left, at = list(range(len(self.units))), 0.0
        taken: list[int] = []
        while left:
            more = [(self.cost([*taken, i]) - at) / sizes[i] for i in left]
            taken.append(left.pop(int(np.argmin(more))))
            at = self.cost(taken)
        return taken

    def narrowing(self, some: Sequence[int], score: Floats) -> list[list[int]]:
        """Ever fewer of some offers: each time the one with least score for the money it saves.

        ``score``: of every feature. Of very many offers about thirty of these sets, evenly apart.
        """
        worth = np.array([float(score[self.units[i]].sum()) for i in range(len(self.units))])
        if self.apart:
            each = worth[list(some)] / np.maximum(self.prices[list(some)], CENT)
            best = [some[i] for i in np.argsort(-each, kind="stable")]
            apart = np.geomspace(1, len(best), 30).astype(int)
            sizes = np.unique([*apart, (len(best) + 1) // 2])[::-1]
            sizes = np.arange(len(best), 0, -1) if len(best) <= 30 else sizes
            return [best[:k] for k in sizes.tolist()]
        kept = list(some)
        found = [list(kept)]
        while len(kept) > 1:
            whole = self.cost(kept)
            rest = [[j for j in kept if j != i] for i in kept]
            each = [worth[i] / max(whole - self.cost(r), CENT) for i, r in zip(kept, rest)]
            kept = rest[int(np.argmin(each))]
            found.append(list(kept))
        return found


def _units(cells: Cells, paid: Ints) -> list[Ints]:
    """Features that come together, each set once."""
    depends: Bools = np.asarray(cells.depends)
    units: list[Ints] = []
    seen: set[tuple[int, ...]] = set()
    for f in paid.tolist():
        with_it = (f,)
        if depends[f]:
            after = np.asarray(cells.prices_after([f]))
            with_it = tuple(g for g in paid.tolist() if g == f or after[g] <= 0)
        if with_it not in seen:
            seen.add(with_it)
            units.append(np.array(with_it, dtype=np.int64))
    return units
