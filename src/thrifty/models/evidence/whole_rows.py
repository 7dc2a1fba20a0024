"""Long tables: a pilot of whole rows says which features tell, alone or with others.

Where money pays for many whole rows, looks at single columns waste it: two columns that tell only
together show nothing alone, and a table of all columns has fewer rows than one of the few that
matter. So half of the money buys whole rows, all of the rarer class among them as far as half of
the rows hold them. Boosted trees and a line are fitted on a part of them; a feature's gain is how
far the log-loss of their mean rises on the others when its values are shuffled there (Breiman,
*Random Forests*, 2001). How many features are kept is found on rows left out of that, too: for each
number the loss with two thirds and with a third of the rows says where it would be with the rows
that the other half of the money buys, more of them the fewer features there are; its excess goes
with 1 / a + 1 / b of the two classes' rows, so that more rows promise little where all of a rare
class are there.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from thrifty.array_types import Floats, Ints
from thrifty.cells import Cells
from thrifty.labels.classes import Labels
from thrifty.models.evidence.worth import judges_worth
from thrifty.models.fits.boosting import HowToGrow, grow_boosted
from thrifty.models.fits.folds import stratified_folds
from thrifty.models.fits.line import LineDesign
from thrifty.models.fits.logistic import fit_intercepts, fit_slope, softmax
from thrifty.models.purses.purse import Basket, owns_rows, to_pay

__all__ = ["is_long", "rank_whole_rows"]

#: whole rows that half of the money must pay for, and rows of the rarer class that there must be.
#: On the sets of benchmarks/models.py (1,500 rows, a fifth of the cells at most) it pays for 150:
#: nothing there is bought this way
_ROWS, _RARE = 400, 20
#: and the features there may be
_MOST_FEATURES = 400
#: of all cells, from which share on there is little to choose
_ENOUGH = 0.5
#: features that are kept, each tried
_KEPT = (4, 8, 16, 32, 64, 128)
#: trees that rank and compare: those of the mixture in fewer and larger steps; set by hand
_TREES = HowToGrow(trees=50, leaves=8, in_leaf=8, rate=0.12)
#: more features are kept where their loss is above the least by so many standard errors at most;
#: set by hand
_UNSURE = 0.5
#: and all that gain more than so many times the root mean square of negative gains; fewer times
#: where all of a rare class is there, since further rows bring little then. Set on seed 2 of the
#: rare table: 4 features have .09 there, the 8 best of the truth .18
_SURE, _SURE_IF_RARE = 2.0, 1.0


def is_long(cells: Cells, labels: Labels, allowance: float) -> bool:
    """Whether so many whole rows can be paid for that a pilot of them is worth it.

    Of two classes, where it was said what to spend, nothing is owned, and asking alone is free.

    >>> def told(n):
    ...     y = Labels(np.arange(n) % 2, np.array(["no", "yes"]))
    ...     return is_long(Cells(np.eye(n, 20), spend=n), y, n)
    >>> told(20_000), told(2_000)
    (True, False)
    """
    if labels.n_classes != 2 or judges_worth(cells) or owns_rows(cells) or cells.call_price > 0:
        return False
    if cells.n_features > _MOST_FEATURES or cells.n_features < 2 * _KEPT[0]:
        return False
    row = float(np.asarray(cells.shared_prices).sum())
    rarer = int(np.bincount(labels.codes, minlength=2).min())
    if row <= 0 or allowance < 2 * _ROWS * row or rarer < _RARE:
        return False
    return allowance < _ENOUGH * to_pay(cells)


def rank_whole_rows(
    cells: Cells, basket: Basket, rows: int, rng: np.random.Generator
) -> tuple[Ints, int]:
    """Of the first rows, bought whole: the features, the best first, and how many to have."""
    return _Pilot(cells, basket, rows, rng).ranked_and_kept(basket)


class _Pilot:
    """What whole rows say."""

    def __init__(self, cells: Cells, basket: Basket, n: int, rng: np.random.Generator) -> None:
        self.y, self.n, self.rng = basket.codes[:n], n, rng
        self.values = basket.values(np.arange(cells.n_features), n)
        self.named = np.array([f in cells.categories for f in range(cells.n_features)], dtype=bool)
        self.prices = np.asarray(cells.shared_prices, dtype=np.float64)
        self.prices = np.maximum(self.prices, 1e-3 * float(self.prices.mean()))

    def ranked_and_kept(self, basket: Basket) -> tuple[Ints, int]:
        """The features, those that told most for their price first; how many to have on more rows.

        Each number of features is judged with a ranking of its own rows: one that had seen the
        judges would take too few.
        """
        n, width = self.values.shape
        sizes = [*(k for k in _KEPT if k < width), width]
        folds = stratified_folds(self.y, self.rng)
        assert folds is not None
        gains = np.zeros(width)
        losses = np.zeros((2, len(sizes), n))  # of each row: from two thirds of the rows, from one
        for fold in range(3):
            rest, out = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
            gains += self._gains(rest, out)
            for which, fit, judge in ((0, rest, out), (1, out, rest)):
                ranked = self._ranked(self._gains(*_halves(fit, self.y)))
                for i, k in enumerate(sizes):
                    losses[which, i, judge] += self._losses(fit, judge, ranked[:k]) / (1 + which)
        ranked = self._ranked(gains)
        from_two, from_one = losses.mean(axis=2)
        rows = [basket.most_rows(ranked[:k], n, len(basket.codes)) for k in sizes]
        now, then = _spread(basket.codes, n), np.array([_spread(basket.codes, r) for r in rows])
        excess = np.maximum(from_one - from_two, 0.0) / (1.5 * now)
        expected = from_two - excess * (1.5 * now - then)
        best = int(expected.argmin())
        # of those that are as good, as far as these rows can tell, the one that leaves out least
        unsure = np.std(losses[0] - losses[0, best], axis=1) / np.sqrt(n)
        as_good = np.flatnonzero(expected <= expected[best] + _UNSURE * unsure)
        all_there = np.bincount(self.y).min() == np.bincount(basket.codes).min()
        told = _beyond_chance(gains, _SURE_IF_RARE if all_there else _SURE)
        return ranked, min(max(sizes[int(as_good.max())], told), width)

    def _ranked(self, gains: Floats) -> Ints:
        """By gain for the price; of those without any the cheapest first."""
        worth = np.maximum(gains, 0.0) / self.prices
        return np.lexsort((self.prices, -worth))

    def _gains(self, fit: Ints, judge: Ints) -> Floats:
        """How far the loss of these rows rises where a feature's values are shuffled."""
        scores = self._scores(fit, np.arange(self.values.shape[1]))
        values, y = self.values[judge], self.y[judge]
        ones = np.ones(len(y))
        slope, alone = fit_slope(scores(values), y, ones)
        found = np.zeros(values.shape[1])
        for f in range(values.shape[1]):
            kept = values[:, f].copy()
            values[:, f] = self.rng.permutation(kept)
            found[f] = float(_losses_at(slope * scores(values), y).mean()) - alone
            values[:, f] = kept
        return found

    def _losses(self, fit: Ints, judge: Ints, features: Ints) -> Floats:
        """Of each row that judges, with the slope and intercept that these rows ask for."""
        told = self._scores(fit, features)(self.values[np.ix_(judge, features)])
        y = self.y[judge]
        slope, _ = fit_slope(told, y, np.ones(len(y)))
        return _losses_at(slope * told, y)

    def _scores(self, fit: Ints, features: Ints) -> Callable[[Floats], Floats]:
        """The mean of boosted trees and a line of some rows and features."""
        values, y, named = self.values[np.ix_(fit, features)], self.y[fit], self.named[features]
        ones = np.ones(len(fit))
        trees = grow_boosted(values, y, ones, named, 0, _TREES)
        design = LineDesign.of(values, named)
        line = design.fit(np.arange(len(fit)), y, 2, ones)

        def scores(asked: Floats) -> Floats:
            by_line = design.columns.matrix(asked) @ line.coefficients + line.intercepts
            return np.asarray((trees.scores(asked) + by_line) / 2)

        return scores


def _beyond_chance(gains: Floats, times: float) -> int:
    """How many features gain more than so many times what chance takes from others.

    >>> _beyond_chance(np.array([9.0, 2.5, 0.2, -1.0, 1.0, -1.0]), 2.0)
    2
    """
    below = gains[gains < 0]
    chance = float(np.sqrt((below**2).mean())) if len(below) else 0.0
    return int((gains > times * chance).sum())


def _spread(codes: Ints, rows: int) -> float:
    """What the excess of the loss goes with: 1 / a + 1 / b of a and b rows of the two classes.

    Further rows of one class alone bring little, once it is the common one.
    """
    return float((1 / np.maximum(np.bincount(codes[:rows], minlength=2), 1)).sum())


def _halves(rows: Ints, y: Ints) -> tuple[Ints, Ints]:
    """Every other row of each class."""
    first = np.zeros(len(rows), dtype=bool)
    for code in (0, 1):
        first[np.flatnonzero(y[rows] == code)[::2]] = True
    return rows[first], rows[~first]


def _losses_at(scores: Floats, y: Ints) -> Floats:
    """The log-loss of each row, with the intercept that these rows ask for."""
    p = softmax(scores + fit_intercepts(scores, y, np.ones(len(y))))
    return np.asarray(-np.log(p[np.arange(len(y)), y] + 1e-12))
