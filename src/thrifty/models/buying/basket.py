"""What was bought so far, along one fixed order of the rows: a look begins every longer one.

Rows are ordered once, round robin over the classes: any beginning of it is as balanced as the
classes allow, and a later, longer look at a feature contains the earlier one, which is not paid for
again. So a feature's cells are known by how far along the order it was bought.
"""

from __future__ import annotations

import numpy as np

from thrifty.array_types import Floats, Ints
from thrifty.cells import Cells
from thrifty.models.buying.owned import owned_first, owns_rows

__all__ = ["Basket", "round_robin"]


def round_robin(
    codes: Ints, rng: np.random.Generator, others: float = 1.0, cells: Cells | None = None
) -> Ints:
    """A random order of the rows in which the classes take turns, until they run out.

    ``others``: rows of the largest class for each row of another. ``cells``: where rows of it are
    owned whole, a cohort's for instance, they are the first of their class.

    >>> codes = np.array([0, 0, 0, 0, 1, 1])
    >>> codes[round_robin(codes, np.random.default_rng(0))].tolist()
    [1, 0, 1, 0, 0, 0]
    >>> codes = np.array([0, 0, 0, 0, 1, 1, 1])
    >>> codes[round_robin(codes, np.random.default_rng(0), others=0.5)].tolist()
    [1, 0, 1, 1, 0, 0, 0]
    """
    shuffled = rng.permutation(len(codes))
    shuffled = shuffled if cells is None else owned_first(cells, shuffled)
    turn = np.zeros(len(codes))
    sizes = np.bincount(codes)
    place = np.argsort(np.argsort(sizes, kind="stable"), kind="stable")  # the rarest goes first
    for label in np.unique(codes):
        rows = shuffled[codes[shuffled] == label]
        turn[rows] = np.arange(len(rows)) + place[label] / (len(sizes) + 1)
        if place[label] == len(sizes) - 1:
            turn[rows] /= others
    return np.argsort(turn, kind="stable")


class Basket:
    """Cells of one task, bought along the order, within an allowance.

    >>> basket = Basket(Cells(np.arange(12.0).reshape(4, 3)), np.array([0, 0, 1, 1]), 8.0,
    ...                 np.random.default_rng(0))
    >>> basket.buy(np.array([0, 2]), 3), basket.buy(np.array([0, 2]), 4), basket.left
    (True, True, 0.0)
    >>> basket.buy(np.array([1]), 1)
    False
    """

    def __init__(
        self,
        cells: Cells,
        codes: Ints,
        allowance: float,
        rng: np.random.Generator,
        others: float = 1.0,
    ) -> None:
        self.cells, self.left = cells, float(allowance)
        self.order = round_robin(codes, rng, others, cells)
        self.codes = codes[self.order]
        self.columns: dict[int, Floats] = {}

    def even_out(self, done: int) -> None:
        """Let the classes take turns from now on: those behind in the first rows come first."""
        place = np.empty(len(self.codes), dtype=np.int64)  # of each row among those of its class
        for code in np.unique(self.codes):
            rows = np.flatnonzero(self.codes == code)
            place[rows] = np.arange(len(rows))
        rest = done + np.argsort(place[done:], kind="stable")
        order = np.concatenate([np.arange(done), rest])
        self.order, self.codes = self.order[order], self.codes[order]

    def take_free(self, features: Ints, done: int) -> int:
        """Have also the rows on which these features cost nothing; how many rows there are then."""
        longest = max((len(column) for column in self.columns.values()), default=0)
        if longest > done or not owns_rows(self.cells):
            return done  # what was bought further along the order would lose its rows
        free = self.cells.row_costs(self.order[done:], features) <= 0
        order = np.append(np.arange(done), done + np.argsort(~free, kind="stable"))
        self.order, self.codes = self.order[order], self.codes[order]
        upto = done + int(free.sum())
        return upto if upto > done and self.buy(features, upto) else done

    def bought(self, feature: int) -> int:
        """How far along the order a feature was bought."""
        return len(self.columns.get(feature, ()))

    def price(self, features: Ints, upto: int) -> float:
        """What it costs to have these features on the first rows."""
        return sum(
            self.cells.price_of(self.order[start:upto], which)
            for start, which in self._missing(features, upto)
        )

    def buy(self, features: Ints, upto: int) -> bool:
        """Have these features on the first rows; False, and nothing bought, if too dear."""
        parts = self._missing(features, upto)
        price = self.price(features, upto)
        if price > self.left + 1e-9:
            return False
        could = self.cells.allowance
        for start, which in parts:
            found = np.asarray(self.cells.get(self.order[start:upto], which), dtype=np.float64)
            for f, column in zip(which.tolist(), found.T):
                before = self.columns.get(f, np.zeros(0))
                self.columns[f] = np.concatenate([before, column])
        can = self.cells.allowance
        # What a call really cost may be less than what was set aside for it.
        self.left -= price if could is None or can is None else min(price, could - can)
        return True

    def most_rows(self, features: Ints, start: int, stop: int) -> int:
        """The most rows, from start to stop, on which these features can still be paid for."""
        low, high = start, stop
        while low < high:
            middle = (low + high + 1) // 2
            if self.price(features, middle) <= self.left + 1e-9:
                low = middle
            else:
                high = middle - 1
        return low

    def values(self, features: Ints, upto: int) -> Floats:
        """(rows, features) of what was bought."""
        found = [self.columns[f][:upto] for f in features.tolist()]
        return np.column_stack(found) if found else np.zeros((upto, 0))

    def _missing(self, features: Ints, upto: int) -> list[tuple[int, Ints]]:
        """Features by how far they were bought, where that is less than wanted."""
        have = np.array([self.bought(f) for f in features.tolist()], dtype=np.int64)
        return [(int(n), features[have == n]) for n in np.unique(have) if n < upto]
