"""What a task has bought and what is left to spend, along an order of its rows.

- :class:`Purse` (whole rows of tasks that share them): an order that is given, what is left to
  spend, and no values: the door gives what was paid for again.
- :class:`Basket` (the search for one task's table): a purse whose order is round robin over the
  classes, so that any beginning is as balanced as they allow, and which keeps the values.

A later, longer look at a feature contains the earlier one, which is not paid for again.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from thrifty.array_types import Floats, Ints
from thrifty.cells import Cells
from thrifty.models.purses.gap_panels import LEAST_SEEN, MOST_IN_PANELS, gap_leads
from thrifty.models.purses.rows import owns_rows, round_robin

__all__ = ["CENT", "Basket", "Purse", "most"]

#: what may be missing for a purchase: prices are sums of floats
CENT = 1e-9


def most(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """The largest number up to high for which it holds; low where it holds for no larger one."""
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if holds(middle) else (low, middle - 1)
    return low


class Purse:
    """What is left to spend, and buying features on the first rows of an order."""

    def __init__(self, cells: Cells, order: Ints, allowance: float) -> None:
        self.cells, self.order, self.left = cells, order, float(allowance)

    def price(self, features: Ints, upto: int) -> float:
        """What it costs at most to have these features on the first rows."""
        return self.cells.price_of(self.order[:upto], features)

    def most_rows(
        self, features: Ints, start: int = 0, stop: int | None = None, saved: float = 0.0
    ) -> int:
        """The most rows, from start to stop, on which these features can still be paid for.

        ``saved`` of the money is for something else.
        """
        bill = np.cumsum(self.cells.row_costs(self.order[:stop], features))
        n = int(np.searchsorted(bill, self.left - saved + CENT, side="right"))
        return max(n, start)

    def buy(self, features: Ints, upto: int) -> bool:
        """Have these features on the first rows; False, and nothing bought, if too dear."""
        price = self.price(features, upto)
        if price > self.left + CENT:
            return False
        could = self.cells.allowance
        self._get(features, upto)
        can = self.cells.allowance
        # what a call really cost may be less than what was set aside for it
        self.left -= price if could is None or can is None else min(price, could - can)
        return True

    def _get(self, features: Ints, upto: int) -> None:
        if upto and len(features):
            self.cells.get(self.order[:upto], features)

    def further(
        self, features: Ints, rows: int, stop: int | None = None, saved: float = 0.0
    ) -> int:
        """As many further rows as can be paid for; again while calls cost less than they might."""
        while True:
            upto = self.most_rows(features, rows, stop, saved)
            if upto <= rows or not self.buy(features, upto):
                return rows
            rows = upto

    def whole_rows(self, every: Ints, least: int, share: float) -> int:
        """Everything about some rows, for a share of the money; more of it until the least."""
        n = self.further(every, 0, saved=(1 - share) * self.left)
        return n if n >= least else self.further(every, n, stop=least)


class Basket(Purse):
    """A purse of one task that keeps the values, in an order in which its classes take turns.

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
        panels: bool = False,
    ) -> None:
        super().__init__(cells, round_robin(codes, rng, others, cells), allowance)
        self.codes = codes[self.order]
        self.columns: dict[int, Floats] = {}
        #: of a feature the one without which it is missing, too: it is bought only where that is
        self.leads: dict[int, int] = {}
        # orders fill several features for the price of one: nothing is spared by asking in turn
        self._panels = panels and not cells.orders and cells.n_features <= MOST_IN_PANELS
        self._learned_on = 0

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
        """What it costs at most to have these features on the first rows."""
        return sum(
            self.cells.price_of(self.order[at], which)
            for at, which in self._missing(features, upto)
        )

    def _get(self, features: Ints, upto: int) -> None:
        led = np.array([f in self.leads for f in features.tolist()], dtype=bool)
        for some in (features[~led], features[led]):
            for at, which in self._missing(some, upto):
                found = np.zeros((0, len(which)))
                if len(at):
                    found = np.asarray(self.cells.get(self.order[at], which), dtype=np.float64)
                for f, column in zip(which.tolist(), found.T):
                    whole = np.full(upto, np.nan)
                    whole[: self.bought(f)] = self.columns.get(f, np.zeros(0))
                    whole[at] = column
                    self.columns[f] = whole
        if self._panels:
            self._learn_panels()

    def _learn_panels(self) -> None:
        """Which features are missing together, once more was seen of them."""
        n = min((len(column) for column in self.columns.values()), default=0)
        if n < max(LEAST_SEEN, 2 * self._learned_on):
            return
        self._learned_on = n
        features = np.array(sorted(self.columns), dtype=np.int64)
        self.leads = gap_leads(features, self.values(features, n))

    def asked(self, feature: int) -> float:
        """On how many of the rows a feature is to be bought, where its lead is known on them."""
        lead = self.leads.get(feature)
        return 1.0 if lead is None else float((~np.isnan(self.columns[lead])).mean())

    def most_rows(
        self, features: Ints, start: int = 0, stop: int | None = None, saved: float = 0.0
    ) -> int:
        stop = len(self.order) if stop is None else stop
        return most(start, stop, lambda n: self.price(features, n) <= self.left - saved + CENT)

    def values(self, features: Ints, upto: int) -> Floats:
        """(rows, features) of what was bought."""
        found = [self.columns[f][:upto] for f in features.tolist()]
        return np.column_stack(found) if found else np.zeros((upto, 0))

    def _missing(self, features: Ints, upto: int) -> list[tuple[Ints, Ints]]:
        """Rows and features that are to be bought: by how far features were bought, and led."""
        alike: dict[tuple[int, int], list[int]] = {}
        for f in features.tolist():
            have, lead = self.bought(f), self.leads.get(f, -1)
            if have < upto:
                known = lead >= 0 and self.bought(lead) >= upto
                alike.setdefault((have, lead if known else -1), []).append(f)
        found = []
        for (have, lead), some in sorted(alike.items()):
            at = np.arange(have, upto)
            if lead >= 0:
                at = at[~np.isnan(self.columns[lead][have:upto])]
            found.append((at, np.array(some, dtype=np.int64)))
        return found
