"""What can be bought for a row, in money, and on which rows first: the view that buying has.

An **offer** is what comes with one feature: itself, and whatever costs nothing once it is there (an
order fills several). Offers are read off what sets of cells *cost*, not off how a price list is
written: a panel, nested fees and orders of price 0 that cost the same are the same offers. Rows
come in one order, in which classes take turns.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from thrifty.cells import Cells
from thrifty.labels import Labels
from thrifty.typing import Bools, Floats, Ints

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
        self._rows: Ints = np.arange(min(_ROWS, cells.n_examples))
        self._set(_units(cells, np.flatnonzero(here & (prices > 0))))

    def _set(self, units: list[Ints]) -> None:
        depends, prices = np.asarray(self.cells.depends), np.asarray(self.cells.prices)
        self.units = units
        #: whether what an offer costs depends on what else is bought
        self.tied: Bools = np.array([bool(depends[unit].any()) for unit in units], dtype=bool)
        self.prices: Floats = np.array([float(prices[unit].sum()) for unit in units])
        self._known: dict[tuple[int, ...], float] = {}

    def look_ahead(self, rows: Ints) -> None:
        """Rows that are to come: costs are those on them, given what is owned."""
        self._rows, self._known = rows[:_ROWS], {}
        if len(self.units):
            every = np.concatenate(self.units)
            costs = self.cells.margins(self._rows, every).mean(axis=0)
            starts = np.cumsum([0, *map(len, self.units[:-1])])
            self.prices = np.add.reduceat(costs, starts)

    def take(self, some: Sequence[int]) -> None:
        """These are on all rows now, and as good as free."""
        rest = [i for i in range(len(self.units)) if i not in set(some)]
        self.free = np.unique(np.r_[self.free, self.features(some)])
        units = [np.setdiff1d(self.units[i], self.free) for i in rest]
        self._set([unit for unit in units if len(unit)])

    def features(self, some: Sequence[int]) -> Ints:
        """What some offers fill together, ascending."""
        if not len(some):
            return np.zeros(0, dtype=np.int64)
        return np.unique(np.concatenate([self.units[i] for i in some]))

    def cost(self, some: Sequence[int]) -> float:
        """What some offers cost together on a row to come, on average."""
        which = np.array(some, dtype=np.int64)
        tied = which[self.tied[which]]
        alone = float(self.prices[which].sum() - self.prices[tied].sum())
        key = tuple(sorted(tied.tolist()))
        if key and key not in self._known:
            costs = self.cells.row_costs(self._rows, self.features(key))
            self._known[key] = float(costs.mean())
        return alone + (self._known[key] if key else 0.0)

    def costs_along(self, order: Sequence[int]) -> Floats:
        """What the first, the first two, ... of some offers cost together."""
        which = np.array(order, dtype=np.int64)
        tied = np.flatnonzero(self.tied[which])
        costs = np.cumsum(np.where(self.tied[which], 0.0, self.prices[which]))
        for k, at in enumerate(tied.tolist()):
            upto = tied[k + 1] if k + 1 < len(tied) else len(which)
            costs[at:upto] += self.cost(which[tied[: k + 1]].tolist())
        return costs

    def cheapest_first(self) -> list[int]:
        """All offers, each the one with the least to pay for a new feature beside those before."""
        sizes = np.array([len(unit) for unit in self.units], dtype=np.float64)
        each = self.prices / sizes
        left: list[int] = np.flatnonzero(self.tied).tolist()
        taken: list[int] = []
        at, when = 0.0, np.zeros(len(each))
        while left:
            more = [(self.cost([*taken, i]) - at) / sizes[i] for i in left]
            k = int(np.argmin(more))
            taken.append(left.pop(k))
            at = self.cost(taken)
            each[taken[-1]] = more[k]
            when[taken[-1]] = len(taken)
        # what comes cheaply once another was taken stays behind it
        for i, j in itertools.pairwise(taken):
            each[j] = max(each[i], each[j])
        ranked: list[int] = np.lexsort((when, each)).tolist()
        return ranked

    def narrowing(self, some: Sequence[int], score: Floats) -> list[list[int]]:
        """Ever fewer of some offers: each time those with least score for the money they save.

        ``score``: of every feature. Of very many offers about thirty of these sets, evenly apart.
        """
        worth = np.array([float(score[self.units[i]].sum()) for i in range(len(self.units))])
        apart = np.geomspace(1, len(some), 30).astype(int)
        sizes = np.unique([*apart, (len(some) + 1) // 2])[::-1]
        kept = np.array(some, dtype=np.int64)
        found = [kept.tolist()]
        for k in sizes[1:].tolist() if len(some) > 30 else range(len(some) - 1, 0, -1):
            each = worth[kept] / np.maximum(self._saved(kept), CENT)
            kept = kept[np.sort(np.argsort(-each, kind="stable")[:k])]
            found.append(kept.tolist())
        return found

    def _saved(self, kept: Ints) -> Floats:
        """What leaving out each of some offers saves on a row to come."""
        saved = self.prices[kept].copy()
        tied = kept[self.tied[kept]].tolist()
        whole = self.cost(tied)
        for at in np.flatnonzero(self.tied[kept]).tolist():
            saved[at] = whole - self.cost([j for j in tied if j != kept[at]])
        return saved


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


class Rows:
    """Rows one after another, each of the class that has least of its due.

    Of one label every class has the same due; of several each the root of its size, so that rare
    classes are there early whichever label they belong to, without crowding out the rest. Within a
    class rows that cost less come first, else all tasks of a lifetime have them in one order:
    what one task buys lies where the next one looks.

    >>> from thrifty.labels import read_classes
    >>> rows = Rows(Cells(np.zeros((6, 1))), [read_classes([0, 0, 0, 0, 1, 1])])
    >>> order = rows.upto(6)
    >>> (order >= 4).tolist()
    [True, False, True, False, False, False]
    """

    def __init__(
        self, cells: Cells, targets: Sequence[Labels], costs: Floats | None = None
    ) -> None:
        salt = 26  # of the order of rows that tasks of one lifetime have in common
        base = cells.row_order(salt)
        base = base[np.any([target.known[base] for target in targets], axis=0)]
        if costs is not None:
            base = base[np.argsort(costs[base], kind="stable")]
        members = np.column_stack(
            [target.codes[:, None] == np.arange(target.n_classes) for target in targets]
        )
        self._members = members[:, members.any(axis=0)]
        self.size = self._members.sum(axis=0).astype(np.float64)
        self._due = np.ones(len(self.size)) if len(targets) == 1 else np.sqrt(self.size)
        self._had = 1e-6 * self.size  # of classes that had nothing yet the rarest goes first
        self._used = np.zeros(len(members), dtype=bool)
        self._order: list[int] = []
        self.n_rows = len(base)
        # rows that wait, class by class, the next one last
        self._waiting = [base[column[base]].tolist()[::-1] for column in self._members.T]

    def upto(self, n: int) -> Ints:
        """The first n rows."""
        while len(self._order) < min(n, self.n_rows):
            self._order.append(self._next())
        return np.array(self._order[:n], dtype=np.int64)

    def bring_forward(self, start: int, which: Bools) -> None:
        """Of the rows from ``start`` on, those come first that are chosen; all are in order now."""
        rest = np.array(self._order[start:], dtype=np.int64)
        self._order[start:] = [*rest[which].tolist(), *rest[~which].tolist()]

    def _next(self) -> int:
        for group in np.argsort(self._had / self._due, kind="stable").tolist():
            waiting = self._waiting[group]
            while waiting and self._used[waiting[-1]]:
                waiting.pop()
            if waiting:
                row = int(waiting.pop())
                self._used[row] = True
                self._had += self._members[row]
                return row
        raise AssertionError("every row was taken")
