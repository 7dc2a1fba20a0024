"""Rows in order, what was bought along it, and what is left to spend.

- :class:`Purse` (whole rows of tasks that share them): an order that is given, what is left to
  spend, and no values: the door gives what was paid for again.
- :class:`Basket` (the search for one task's table): a purse whose order is round robin over the
  classes, so that any beginning is as balanced as they allow, and which keeps the values.

A later, longer look at a feature contains the earlier one, which is not paid for again.

Tasks that share rows take them for the class that has least of its due. A class's due goes with the
root of its rows, over all tasks: rare classes are there early whichever task they belong to,
without crowding out the rest. Within a class rows stand in an order that all tasks of a lifetime
have in common, so that what one task buys lies where the next one looks. (First rows in this order
against as many at random, one forest for all labels, six orders, 5 and 20 %: digits +.037 +.003,
yeast +.001 +.009, support2 -.003 +.002, tmc2007_500 +.098 +.075; every other row at random and the
rest for who has fewest: +.011 +.002, -.005 -.001, +.006 +.001, +.059 +.081. docs/models.md, Labels
at once.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from thrifty.array_types import Bools, Floats, Ints
from thrifty.cells import Cells
from thrifty.models.fits.target import Target

__all__ = [
    "CENT",
    "Basket",
    "Purse",
    "free_features",
    "gap_leads",
    "most",
    "owned_first",
    "owns_rows",
    "round_robin",
    "rows_in_order",
    "rows_known",
    "shared_order",
    "to_pay",
]

#: of the common order of rows
_SALT = 26
#: rows of each class that are put in order at least; after them any order will do
_ROWS_EACH = 64
# Panels are looked for where most cells are gaps (no set of benchmarks/models.py), on 16 rows and
# more, again whenever twice as many are known: a feature is led by another that is missing on 30 %
# of the rows, where it was seen three times and at most once in twenty without it. Set by hand;
# python benchmarks/gaps.py
_MOSTLY, _LEAST_SEEN, _LEAST_THERE, _ASTRAY, _SPARED = 0.5, 16, 3, 0.05, 0.3
#: features among which panels are looked for at most
_MOST_IN_PANELS = 400
#: what may be missing for a purchase: prices are sums of floats
CENT = 1e-9


def free_features(cells: Cells) -> Ints:
    """Features that cost nothing on any row, and are there."""
    free = (np.asarray(cells.prices) <= 0) & ~np.asarray(cells.absent)
    return np.flatnonzero(free)


def owns_rows(cells: Cells) -> bool:
    """Whether anything behind the door is owned already."""
    return bool(cells.meter.owned.count())


def owned_first(cells: Cells, order: Ints) -> Ints:
    """Rows that are owned whole come first; a cohort's were drawn without regard to the label."""
    if not owns_rows(cells):
        return order
    return order[np.argsort(_row_costs(cells, order) > 0, kind="stable")]


def rows_known(cells: Cells, share: float) -> int:
    """How many rows are owned by this share of what a row costs, or more."""
    if not owns_rows(cells):
        return 0
    whole = float(np.asarray(cells.shared_prices).sum())
    return int((_row_costs(cells, np.arange(cells.n_examples)) <= (1 - share) * whole).sum())


def _row_costs(cells: Cells, rows: Ints) -> Floats:
    return cells.row_costs(rows, np.arange(cells.n_features))


def to_pay(cells: Cells) -> float:
    """The price of all cells that are not owned.

    >>> cells = Cells(np.zeros((2, 3), dtype=bool))
    >>> _ = cells.get([0], [0, 1])
    >>> to_pay(cells)
    4.0
    """
    return cells.price_of(np.arange(cells.n_examples), np.arange(cells.n_features))


def shared_order(base: Ints, targets: Sequence[Target], first: int | None = None) -> Ints:
    """The rows, each the next of the class that has least of its due.

    ``first``: after so many rows ``base`` alone goes on.

    >>> rare = Target(np.array([0] * 8 + [1, 1]), 2)
    >>> shared_order(np.arange(10), [rare]).tolist()
    [8, 0, 1, 9, 2, 3, 4, 5, 6, 7]
    """
    members = _members(targets)
    members = members[:, members.any(axis=0)]
    due = np.sqrt(members.sum(axis=0, dtype=np.float64))
    had = 1e-6 * due**3  # of classes that had nothing yet the rarest goes first
    waiting = [iter(base[column[base]].tolist()) for column in members.T]
    taken = np.zeros(len(base), dtype=bool)
    order: list[int] = []
    limit = len(base) if first is None else min(first, len(base))
    while len(order) < limit:
        group = int((had / due).argmin())
        if not np.isfinite(had[group]):
            break
        row = next((i for i in waiting[group] if not taken[i]), None)
        if row is None:
            had[group] = np.inf
            continue
        taken[row] = True
        had += members[row]
        order.append(row)
    rest = [i for i in base.tolist() if not taken[i]]
    return np.array(order + rest, dtype=np.int64)


def rows_in_order(cells: Cells, targets: Sequence[Target], allowance: float) -> Ints:
    """The rows as tasks on them take them: of each class those of which more is owned come first.

    So a later task's rare rows are bought though others are owned: where owned rows came first
    whatever their class, a label of 1 in 50 that came last had no more of it than chance had
    bought (tmc2007_500 at 40 %, one after another: docs/models.md, Labels at once).
    """
    row = float(np.asarray(cells.shared_prices).sum())
    whole = cells.n_examples if row <= 0 else int(4 * allowance / row)
    first = max(whole, _ROWS_EACH * sum(target.n_codes for target in targets))
    base = cells.row_order(_SALT)
    if owns_rows(cells):
        costs = cells.row_costs(base, np.arange(cells.n_features))
        base = base[np.argsort(costs, kind="stable")]
        first += int((costs < costs.max(initial=0.0)).sum())
    return shared_order(base, targets, min(first, cells.n_examples))


def _members(targets: Sequence[Target]) -> Bools:
    """(rows, classes of all tasks) which rows are of which class."""
    return np.column_stack(
        [target.codes[:, None] == np.arange(target.n_codes) for target in targets]
    )


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


def gap_leads(features: Ints, values: Floats) -> dict[int, int]:
    """Of features that are missing wherever another is, which that is; of tables of mostly gaps.

    Who knows one column of a panel knows them all. The lead is the feature that is there least
    often of those that cover it.

    >>> there = np.array([1, 0, 0, 1, 0, 0, 1, 0, 0, 0], dtype=bool)
    >>> x = np.where(there, 1.0, np.nan)
    >>> less = np.where(there & (np.arange(10) > 0), 1.0, np.nan)
    >>> gap_leads(np.array([3, 5, 7]), np.column_stack([x, x, less]))
    {5: 3}
    """
    there = ~np.isnan(values)
    if not len(there) or there.mean() > _MOSTLY:
        return {}
    counts = there.sum(axis=0)
    beside = there.T.astype(np.int64) @ ~there  # [g, f]: g is there and f is not
    leads: dict[int, int] = {}
    for g in np.argsort(counts, kind="stable").tolist():
        covers = (beside[g] <= _ASTRAY * counts[g]) & (counts < (1 - _SPARED) * len(there))
        if counts[g] < _LEAST_THERE:  # seen twice: with the very same rows
            covers &= (beside[:, g] == 0) & (counts[g] == _LEAST_THERE - 1)
        covers &= (counts > counts[g]) | ((counts == counts[g]) & (np.arange(len(counts)) < g))
        if covers.any():
            at = np.flatnonzero(covers)
            leads[int(features[g])] = int(features[at[counts[at].argmin()]])
    for g, lead in leads.items():  # rarest first: what leads a lead leads all
        while lead in leads:
            lead = leads[lead]
        leads[g] = lead
    return leads


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
        self._panels = panels and not cells.orders and cells.n_features <= _MOST_IN_PANELS
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
        if n < max(_LEAST_SEEN, 2 * self._learned_on):
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
