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

import numpy as np

from thrifty.array_types import Ints
from thrifty.cells import Cells
from thrifty.errors import BadInput
from thrifty.models.evidence.several_tasks import better_half, tells_as_much
from thrifty.models.fits.target import LEAST, Target
from thrifty.models.known import OneTable, read_known, what_is_known
from thrifty.models.purses.purse import CENT, Purse, most, rows_in_order, to_pay

__all__ = ["Nested"]

#: features whose own price is asked where there is little money
_MOST = 300
#: of the money, what is for whole rows; and where all labels are numbers
_WHOLE, _WHOLE_FOR_NUMBERS = 0.5, 1 / 3
# Numbers (docs/models.md, Numbers as labels): the features are halved a second and a third time
# where a line of half of them has at most so many times the square error on rows left out. Chosen
# on made tables, yeast and support2.
_AS_GOOD = (1.03, 1.0)


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
        n = purse.whole_rows(every, least, whole)
        if purse.left > 0 and n < cells.n_examples:
            one = read_known(cells, targets, beside, cells.n_features)
            # earlier tasks' cells are of the same table: beside theirs one task's share is little
            row = float(np.asarray(cells.shared_prices).sum())
            known = row * cells.n_examples - to_pay(cells)
            better = better_half(cells, one, every, max(purse.left, known / 2))
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
        if not tells_as_much(one.values[:, at], one.bought[:, at], ours, prices[at], least):
            break
        better = better_half(cells, one, better)
    return better


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
