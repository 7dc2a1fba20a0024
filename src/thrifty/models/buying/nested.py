"""One table for several tasks: whole rows first, then the better half of the features on more rows.

What is owned or free is taken first and costs nothing. Half of the money buys whole rows, in the
order that the tasks share (:func:`.shared_order`); all of it where half would not show two rows of
every class. A forest for all tasks on what is then known says
which features tell most for their price; those that make up half of a row's price are bought on as
many further rows as the other half pays for. What was not bought stands at the middle of what was.
Where all labels are numbers a third of the money is for whole rows, the features are halved up to
three times, as long as rows left out say that half tells as much, and correlations have a say
beside the forest.
(docs/models.md, Labels at once, has what this was compared with.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from thrifty.array_types import Bools, Floats, Ints
from thrifty.cells import Cells
from thrifty.errors import BadInput
from thrifty.models.buying.purses import owns_rows, share_of_rows, shared_order
from thrifty.models.fits.folds import folds_in_turn
from thrifty.models.fits.forest_for_all import ForestForAll
from thrifty.models.fits.number_mixture import NumberLine
from thrifty.models.fits.target import Target
from thrifty.models.table import Table

__all__ = [
    "Nested",
    "OneTable",
    "Purse",
    "is_told",
    "read_cells",
    "read_known",
    "rows_in_order",
    "what_is_known",
]

#: of the common order of rows
_SALT = 26
#: trees of the forest that ranks features; set by hand
_TREES = 60
#: rows of each class that a task needs before a cell is bought for it
_LEAST = 2
#: features that a model may have
_MOST = 300
#: of the features that are known at all, what must be known of a row for it to be in the table
_KNOWN = 0.25
#: rows on which a feature must be known to count as known at all
_SEEN = 8
#: rows of each class that are put in order at least; after them any order will do
_ROWS_EACH = 64
#: of the money, what is for whole rows; and where all labels are numbers
_WHOLE, _WHOLE_FOR_NUMBERS = 0.5, 1 / 3
#: the features that are bought on further rows make up this share of a row's price
_KEPT = 0.5
# Numbers (docs/models.md, Numbers as labels): the features are halved a second and a third time
# where a line of half of them has at most so many times the square error on rows left out. Chosen
# on made tables, yeast and support2.
_AS_GOOD = (1.03, 1.0)
#: folds, rows that are judged at least and at most, features that can be halved
_FOLDS, _JUDGES, _JUDGED, _NARROWEST = 3, 24, 300, 8
#: values further from the mean than so many spreads count as that far
_FAR = 4.0
#: features of the last step are known on so many of the rows of the one that is known on most
_OFTEN = 0.75
#: what may be missing for a purchase: prices are sums of floats
_CENT = 1e-9


@dataclass(frozen=True, eq=False)
class OneTable:
    """What is known of the rows, for all tasks: rows x features with holes.

    ``middles``: what stands in for a cell that was not bought; ``importances``: how much each
    feature told, summed over the tasks.
    """

    features: Ints
    rows: Ints
    values: Floats
    bought: Bools
    middles: Floats
    importances: Floats

    def filled(self) -> Floats:
        """The values, with the middle where a cell was not bought; NaN for gaps."""
        return np.where(self.bought, self.values, self.middles)

    def first(self, n: int) -> OneTable:
        """With the features alone that told most."""
        return self._of(np.arange(min(n, len(self.features))))

    def often_known(self, paid: Bools) -> OneTable:
        """With the features alone of the last step of buying, and what is free.

        Those of the steps before are known on fewer rows. ``paid``: which features cost something.
        """
        often = self.bought.sum(axis=0)
        most = often[paid] if paid.any() else often
        return self._of(np.flatnonzero(often >= _OFTEN * most.max(initial=0)))

    def _of(self, which: Ints) -> OneTable:
        return OneTable(
            self.features[which],
            self.rows,
            self.values[:, which],
            self.bought[:, which],
            self.middles[which],
            self.importances[which],
        )

    def table(self, target: Target) -> Table:
        """One task's part: the rows that have its label."""
        known = np.flatnonzero(target.known[self.rows])
        at = self.rows[known]
        labels = target.codes[at] if target.numbers is None else target.numbers[at]
        return Table(
            self.features,
            at,
            np.where(self.bought, self.values, np.nan)[known],
            self.bought[known],
            share_of_rows(target, at),
            labels,
            self.middles,
        )


@dataclass(frozen=True)
class Nested:
    """A way to buy one table for one or more tasks.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 8))
    >>> two = [Target((X[:, f] > 0).astype(int), 2) for f in (0, 1)]
    >>> cells = Cells(X)
    >>> one = Nested().buy_for_all(cells, two, 240.0)
    >>> sorted(one.features[:2].tolist()), one.values.shape, cells.receipt().cells
    ([0, 1], (45, 8), 240)
    """

    def buy_for_all(
        self,
        cells: Cells,
        targets: Sequence[Target],
        allowance: float,
        beside: Sequence[Target] = (),
    ) -> OneTable:
        """Buy for at most ``allowance``, in the unit of the prices.

        ``beside``: earlier tasks on these rows, which have a say in rows and features and need
        nothing of their own.
        """
        every = np.arange(cells.n_features)
        order = rows_in_order(cells, [*targets, *beside], allowance)
        purse = Purse(cells, allowance)
        most = purse.most_rows(order, every)
        owned = np.flatnonzero(what_is_known(cells).any(axis=1))
        if not all(is_told(target, np.union1d(owned, order[:most])) for target in targets):
            first = order[: _least_rows(order, targets)]
            purse.buy(first, _affordable(cells, purse, first))
        numbers = all(target.numbers is not None for target in targets)
        whole = _WHOLE_FOR_NUMBERS if numbers else _WHOLE
        # all of the money, where its part would not show two rows of every class
        n = purse.most_rows(order, every, (1 - whole) * allowance)
        n = max(n, min(_least_rows(order, targets), purse.most_rows(order, every)))
        purse.buy(order[:n], every)
        if purse.left > 0 and n < len(order):
            one = read_known(cells, targets, beside)
            better = _better(cells, one, every, _KEPT)
            if numbers:
                better = _narrower(cells, targets, purse, order, better)
            purse.buy(order[: purse.most_rows(order, better)], better)
            purse.buy(order[: purse.most_rows(order, every)], every)
        return read_known(cells, targets, beside)


def _narrower(
    cells: Cells, targets: Sequence[Target], purse: Purse, order: Ints, better: Ints
) -> Ints:
    """Numbers: half of the money for these features, and again, while half of them tell as much."""
    for least in _AS_GOOD:
        purse.buy(order[: purse.most_rows(order, better, purse.left / 2)], better)
        one = read_known(cells, targets)
        prices = np.asarray(cells.shared_prices, dtype=np.float64)[one.features]
        at = np.flatnonzero(np.isin(one.features, better))
        ours = [target.of_rows(one.rows) for target in targets]
        if not _tells_as_much(one.values[:, at], one.bought[:, at], ours, prices[at], least):
            break
        better = _better(cells, one, better, _KEPT)
    return better


def _tells_as_much(
    values: Floats, bought: Bools, targets: Sequence[Target], prices: Floats, least: float
) -> bool:
    """Whether lines of the better half lose little on rows left out, ranked without those rows."""
    rows = np.flatnonzero(bought.all(axis=1))[:_JUDGED]
    if len(rows) < _JUDGES or values.shape[1] < _NARROWEST:
        return False
    folds, lost = folds_in_turn(len(rows), _FOLDS), np.zeros(2)
    for fold in range(_FOLDS):
        rest, out = rows[folds != fold], rows[folds == fold]
        told = _correlations(values[rest], [target.of_rows(rest) for target in targets])
        half = _for_their_price(told, prices, _KEPT * float(prices.sum()))
        for i, some in enumerate((np.arange(values.shape[1]), half)):
            part = values[:, some]
            lost[i] += _lost(part[rest], part[out], targets, rest, out)
    return bool(lost[1] <= least * lost[0])


def _lost(values: Floats, asked: Floats, targets: Sequence[Target], rest: Ints, out: Ints) -> float:
    """The square errors of lines on rows left out, as parts of what there is, summed.

    Targets that are known on the same rows share the work on their columns.
    """
    alike: dict[bytes, list[tuple[Target, Floats]]] = {}
    for target in targets:
        assert target.numbers is not None
        learn, y = target.known[rest], target.numbers[rest][target.known[rest]]
        if len(y) > 1 and target.known[out].any() and y.min() < y.max():
            alike.setdefault(learn.tobytes(), []).append((target, y))
    found = 0.0
    for some in alike.values():
        learn, labels = some[0][0].known[rest], [y for _, y in some]
        ones, no_sizes = np.ones(int(learn.sum())), (0,) * values.shape[1]
        lines = NumberLine.fit_all(values[learn], labels, ones, no_sizes)
        for (target, y), line in zip(some, lines):
            judge, numbers = target.known[out], cast(Floats, target.numbers)[out]
            wrong = line.predict(asked[judge]) - numbers[judge]
            found += float((wrong**2).sum() / y.var())
    return found


def _for_their_price(told: Floats, prices: Floats, most: float) -> Ints:
    """The features that tell most for their price, free ones first, for at most so much."""
    free = prices <= 0
    worth = np.where(free, np.inf, told / np.where(free, 1.0, prices))
    ranked = np.argsort(-worth, kind="stable")
    n = int(np.searchsorted(np.cumsum(prices[ranked]), most + _CENT, side="right"))
    return ranked[: max(n, 1)]


def _better(cells: Cells, one: OneTable, among: Ints, share: float) -> Ints:
    """Of some features those that tell most for their price, up to a share of their price."""
    some = np.flatnonzero(np.isin(one.features, among))
    prices = np.asarray(cells.shared_prices, dtype=np.float64)[one.features[some]]
    best = _for_their_price(one.importances[some], prices, share * float(prices.sum()))
    return one.features[some[best]]


class Purse:
    """What is left to spend, and buying along an order."""

    def __init__(self, cells: Cells, allowance: float) -> None:
        self.cells, self.left = cells, float(allowance)

    def most_rows(self, order: Ints, features: Ints, saved: float = 0.0) -> int:
        """The most rows, the first, on which these features can be paid for; so much is saved."""
        bill = np.cumsum(self.cells.row_costs(order, features))
        return int(np.searchsorted(bill, self.left - saved + _CENT, side="right"))

    def buy(self, rows: Ints, features: Ints) -> None:
        """Have these cells; they can be paid for."""
        if not len(rows) or not len(features):
            return
        price, could = self.cells.price_of(rows, features), self.cells.allowance
        if price > self.left + _CENT:
            return
        self.cells.get(rows, features)
        can = self.cells.allowance
        # what a call really cost may be less than what was set aside for it
        self.left -= price if could is None or can is None else min(price, could - can)
        self.left = max(self.left, 0.0)


def rows_in_order(cells: Cells, targets: Sequence[Target], allowance: float) -> Ints:
    """The rows as tasks on them take them: of each class those of which more is owned come first.

    So a later task's rare rows are bought though others are owned: where owned rows came first
    whatever their class, a label of 1 in 50 that came last had no more of it than chance had
    bought (tmc2007_500 at 40 %, one after another: docs/models.md, Labels at once).
    """
    row = float(np.asarray(cells.shared_prices).sum())
    most = cells.n_examples if row <= 0 else int(4 * allowance / row)
    first = max(most, _ROWS_EACH * sum(target.n_codes for target in targets))
    base = cells.row_order(_SALT)
    if owns_rows(cells):
        costs = cells.row_costs(base, np.arange(cells.n_features))
        base = base[np.argsort(costs, kind="stable")]
        first += int((costs < costs.max(initial=0.0)).sum())
    return shared_order(base, targets, min(first, cells.n_examples))


def is_told(target: Target, rows: Ints) -> bool:
    """Whether these rows hold enough of two classes, so that there is something to tell."""
    codes = target.codes[rows]
    ours = np.bincount(codes[codes >= 0], minlength=target.n_codes)
    return int((ours >= _LEAST).sum()) >= 2


def _least_rows(order: Ints, targets: Sequence[Target]) -> int:
    """The first rows that hold enough of every class of every task."""
    least = 0
    for target in targets:
        for code in range(target.n_codes):
            at = np.flatnonzero(target.codes[order] == code)[:_LEAST]
            least = max(least, int(at[-1]) + 1 if len(at) else 0)
    return least


def _affordable(cells: Cells, purse: Purse, rows: Ints) -> Ints:
    """As many features as can be paid for on the first rows, half of the money at most: at random.

    All of them where that is little. A clear word, before anything is bought, where none can be.
    """
    every = np.arange(cells.n_features)
    if cells.price_of(rows, every) <= 0.5 * purse.left + _CENT:
        return every
    drawn = np.random.default_rng(cells.n_features).permutation(every)
    costs = np.array([cells.price_of(rows, [f]) for f in drawn[:_MOST].tolist()])
    cheap = drawn[:_MOST][np.argsort(costs, kind="stable")]
    if costs.min() > purse.left + _CENT:
        raise BadInput(
            f"a first look needs {len(rows)} rows, two of each class of every task, on one feature "
            f"at least, which costs {costs.min():g}; what may be spent is {purse.left:g} and what "
            "is free or owned tells too little. Raise spend= or the budget."
        )
    low, high = 1, len(drawn)
    while low < high:  # prices of several may be less than the sum of their own
        middle = (low + high + 1) // 2
        if cells.price_of(rows, drawn[:middle]) <= 0.5 * purse.left + _CENT:
            low = middle
        else:
            high = middle - 1
    chosen = drawn[:low]
    return chosen if cells.price_of(rows, chosen) <= purse.left + _CENT else cheap[:1]


def what_is_known(cells: Cells) -> Bools:
    """(rows, features) which cells are owned, free, or bought already."""
    every = np.arange(cells.n_features)
    known = cells.margins(np.arange(cells.n_examples), every) <= 0
    known[:, np.asarray(cells.absent)] = False
    return np.asarray(known)


def read_known(cells: Cells, targets: Sequence[Target], beside: Sequence[Target] = ()) -> OneTable:
    """All that is known of the rows, as one table; reading it costs nothing."""
    known = what_is_known(cells)
    rows, features = _in_the_table(known, targets, np.asarray(cells.shared_prices) > 0)
    bought = known[np.ix_(rows, features)]
    values, middles = read_cells(cells, rows, features, bought)
    named = cells.categories
    filled = np.where(bought, values, middles)
    categories = np.array([f in named for f in features.tolist()], dtype=bool)
    every = [*targets, *(target for target in beside if is_told(target, rows))]
    ours = [target.of_rows(rows) for target in every]
    told = ForestForAll(
        filled, [_present(t) for t in ours], np.ones(len(rows)), categories, 0, _TREES
    ).importances
    numbers = [target for target in ours if target.numbers is not None]
    if numbers:
        alone = np.where(categories, 0.0, _correlations(values, numbers))
        told = told / max(told.sum(), 1e-300) + alone / max(alone.sum(), 1e-300)
    best = np.argsort(-told, kind="stable")[:_MOST]
    return OneTable(
        features[best], rows, values[:, best], bought[:, best], middles[best], told[best]
    )


def _correlations(values: Floats, targets: Sequence[Target]) -> Floats:
    """How much each column explains of each target by itself, less chance, summed over targets."""
    there = ~np.isnan(values)
    n = np.maximum(there.sum(axis=0), 1)
    known = np.where(there, values, 0.0)
    apart = np.where(there, known - known.sum(axis=0) / n, 0.0)
    with np.errstate(over="ignore"):  # huge ones have a huge spread
        spread = np.sqrt((apart**2).sum(axis=0) / n)
    apart = np.clip(apart / np.where(spread > 0, spread, 1.0), -_FAR, _FAR)
    told = np.zeros(values.shape[1])
    for target in targets:
        assert target.numbers is not None
        y = np.where(target.known, target.numbers, np.mean(target.numbers[target.known]))
        y = y - y.mean()
        told += (apart.T @ (y / max(float(y.std()), 1e-300)) / n) ** 2 - 1 / n
    return np.maximum(told, 0.0)


def read_cells(cells: Cells, rows: Ints, features: Ints, bought: Bools) -> tuple[Floats, Floats]:
    """The cells that are known, NaN elsewhere; and the middle of each feature."""
    values = np.full(bought.shape, np.nan)
    for mask, columns in _alike(bought):
        at = np.ix_(np.flatnonzero(mask), columns)
        values[at] = cells.get(rows[mask], features[columns])
    named = cells.categories
    middles = [
        _middle(values[bought[:, j], j], f in named) for j, f in enumerate(features.tolist())
    ]
    return values, np.array(middles, dtype=np.float64)


def _in_the_table(known: Bools, targets: Sequence[Target], paid: Bools) -> tuple[Ints, Ints]:
    """Rows of which enough is known, and the features that are known on some of them.

    Where all labels are numbers, rows of which anything is known that is paid for: their models
    need no more than few features (see :func:`_narrower`).
    """
    labelled = np.any([target.known for target in targets], axis=0)
    known = known & labelled[:, None]
    seen = known.sum(axis=0) >= min(_SEEN, max(int(known.sum(axis=0).max(initial=0)), 1))
    share = known[:, seen].mean(axis=1) if seen.any() else np.zeros(len(known))
    rows = np.flatnonzero(share >= _KNOWN)
    if all(target.numbers is not None for target in targets) and known[:, paid].any():
        rows = np.flatnonzero(known[:, paid].any(axis=1))
    if not all(is_told(target, rows) for target in targets):
        rows = np.flatnonzero(known.any(axis=1))
    features = np.flatnonzero(known[rows].sum(axis=0) >= 1)
    if not len(rows) or not all(is_told(target, rows) for target in targets):
        raise BadInput(
            "nothing is known of enough rows of every class, and nothing may be spent on them: say "
            "a larger spend=, or bring rows whose cells are free or owned."
        )
    return rows, features


def _alike(bought: Bools) -> list[tuple[Bools, Ints]]:
    """Columns that are known on the same rows, together."""
    packed = np.packbits(bought, axis=0)
    _, which = np.unique(packed, axis=1, return_inverse=True)
    which = which.reshape(-1)
    groups = [np.flatnonzero(which == g) for g in range(int(which.max(initial=-1)) + 1)]
    return [(bought[:, columns[0]], columns) for columns in groups if bought[:, columns[0]].any()]


def _middle(column: Floats, category: bool) -> float:
    """The median of a number, the commonest of a category; NaN where all are gaps."""
    there = column[~np.isnan(column)]
    if not len(there):
        return float("nan")
    if category:
        distinct, counts = np.unique(there, return_counts=True)
        return float(distinct[counts.argmax()])
    return float(np.quantile(there, 0.5, method="nearest"))


def _present(target: Target) -> Target:
    """With codes of the classes alone that are there."""
    present, codes = np.unique(target.codes, return_inverse=True)
    start = int((present < 0).sum())
    return Target(codes.reshape(-1) - start, max(len(present) - start, 1), target.numbers)
