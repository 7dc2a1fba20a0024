"""One table for several tasks: whole rows first, then the better half of the features on more rows.

What is owned or free is taken first and costs nothing. Half of the money buys whole rows, in the
order that the tasks share (:func:`.rows_in_order`); all of it where half would not show two rows of
every class. A forest for all tasks on what is then known says
which features tell most for their price; those that make up half of a row's price are bought on as
many further rows as the other half pays for, fewer where those rows would be fewer than they (a
table that is square at least; chosen on bibtex, slashdot and tmc2007_500). What was not bought
stands at the middle of what was.
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
from thrifty.models.buying.purses import CENT, Purse, most, rows_in_order, to_pay
from thrifty.models.fits.folds import folds_in_turn
from thrifty.models.fits.number_mixture import NumberLine
from thrifty.models.fits.target import LEAST, Target
from thrifty.models.known import OneTable, correlations, read_known, what_is_known

__all__ = ["Nested"]

#: features whose own price is asked where there is little money
_MOST = 300
#: of the money, what is for whole rows; and where all labels are numbers
_WHOLE, _WHOLE_FOR_NUMBERS = 0.5, 1 / 3
#: the features that are bought on further rows make up this share of a row's price at most
_KEPT = 0.5
# Numbers (docs/models.md, Numbers as labels): the features are halved a second and a third time
# where a line of half of them has at most so many times the square error on rows left out. Chosen
# on made tables, yeast and support2.
_AS_GOOD = (1.03, 1.0)
#: folds, rows that are judged at least and at most, features that can be halved
_FOLDS, _JUDGES, _JUDGED, _NARROWEST = 3, 24, 300, 8


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
        purse = Purse(cells, rows_in_order(cells, [*targets, *beside], allowance), allowance)
        owned = np.flatnonzero(what_is_known(cells).any(axis=1))
        could = np.union1d(owned, purse.order[: purse.most_rows(every)])
        least = _least_rows(purse.order, targets)
        if not all(target.is_told_by(could) for target in targets):
            purse.buy(_affordable(purse, least), least)
        numbers = all(target.numbers is not None for target in targets)
        whole = _WHOLE_FOR_NUMBERS if numbers else _WHOLE
        n = purse.further(every, 0, saved=(1 - whole) * allowance)
        if n < least:  # all of the money, where its part would not show two rows of every class
            n = purse.further(every, n, stop=least)
        if purse.left > 0 and n < cells.n_examples:
            one = read_known(cells, targets, beside, cells.n_features)
            # earlier tasks' cells are of the same table: beside theirs one task's share is little
            row = float(np.asarray(cells.shared_prices).sum())
            known = row * cells.n_examples - to_pay(cells)
            better = _better(cells, one, every, max(purse.left, known / 2))
            if numbers:
                better = _narrower(cells, targets, purse, better)
            purse.further(better, 0)
            purse.further(every, n)
        return read_known(cells, targets, beside)


def _narrower(cells: Cells, targets: Sequence[Target], purse: Purse, better: Ints) -> Ints:
    """Numbers: half of the money for these features, and again, while half of them tell as much."""
    for least in _AS_GOOD:
        purse.further(better, 0, saved=purse.left / 2)
        one = read_known(cells, targets, most=cells.n_features)
        prices = np.asarray(cells.shared_prices, dtype=np.float64)[one.features]
        at = np.flatnonzero(np.isin(one.features, better))
        ours = [target.of_rows(one.rows) for target in targets]
        if not _tells_as_much(one.values[:, at], one.bought[:, at], ours, prices[at], least):
            break
        better = _better(cells, one, better)
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
        told = correlations(values[rest], [target.of_rows(rest) for target in targets])
        half = _for_their_price(told, prices)
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


def _for_their_price(told: Floats, prices: Floats, square: float = np.inf) -> Ints:
    """The features that tell most for their price, free ones first, for half of what all cost.

    ``square``: their number times their price is at most that.
    """
    free = prices <= 0
    worth = np.where(free, np.inf, told / np.where(free, 1.0, prices))
    ranked = np.argsort(-worth, kind="stable")
    bill, paid = np.cumsum(prices[ranked]), np.cumsum(~free[ranked])
    fits = (bill <= _KEPT * float(prices.sum()) + CENT) & (paid * bill <= square + CENT)
    return ranked[: max(int(fits.sum()), 1)]


def _better(cells: Cells, one: OneTable, among: Ints, square: float = np.inf) -> Ints:
    """Of some features those that tell most for their price; see :func:`_for_their_price`."""
    some = np.flatnonzero(np.isin(one.features, among))
    prices = np.asarray(cells.shared_prices, dtype=np.float64)[one.features[some]]
    return one.features[some[_for_their_price(one.importances[some], prices, square)]]


def _least_rows(order: Ints, targets: Sequence[Target]) -> int:
    """The first rows that hold enough of every class of every task."""
    least = 0
    for target in targets:
        for code in range(target.n_codes):
            at = np.flatnonzero(target.codes[order] == code)[:LEAST]
            least = max(least, int(at[-1]) + 1 if len(at) else 0)
    return least


def _affordable(purse: Purse, upto: int) -> Ints:
    """As many features as can be paid for on the first rows, half of the money at most: at random.

    All of them where that is little. A clear word, before anything is bought, where none can be.
    """
    half, n = 0.5 * purse.left + CENT, purse.cells.n_features
    every = np.arange(n)
    if purse.price(every, upto) <= half:
        return every
    drawn = np.random.default_rng(n).permutation(every)
    costs = np.array([purse.price(np.array([f]), upto) for f in drawn[:_MOST].tolist()])
    if costs.min() > purse.left + CENT:
        raise BadInput(
            f"a first look needs {upto} rows, two of each class of every task, on one feature at "
            f"least, which costs {costs.min():g}; what may be spent is {purse.left:g} and what is "
            "free or owned tells too little. Raise spend= or the budget."
        )
    # prices of several may be less than the sum of their own
    k = most(1, n, lambda k: purse.price(drawn[:k], upto) <= half)
    enough = purse.price(drawn[:k], upto) <= purse.left + CENT
    return drawn[:k] if enough else drawn[costs.argmin()][None]
