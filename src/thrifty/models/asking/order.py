"""In which order to ask: most worth per price first, on what the answers before left open.

Candidates are single features and orders that fill several at once. Each round takes the one with
the largest gain per price^a on the out-of-fold residuals of the present model, a ridge over bins:
good enough to compare questions with, and too weak for the answers themselves. Of several tasks
gains are summed, each weighing what the user says. What is free comes first, all of it. Nothing is
bought: everything is read off the table that was bought for learning.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from thrifty.models.fits.folds import deal_out, make_folds
from thrifty.models.fits.score_test import BinnedFeatures, bin_codes, significant
from thrifty.models.table import Table
from thrifty.typing import Bools, Floats, Ints

#: what wanting some features costs where others are owned already
Price = Callable[[Sequence[int], Sequence[int]], float]

#: folds of the present model
_FOLDS = 4
#: rows' worth of no difference between the bins of a feature
_RIDGE = 5.0
#: so many steps are chosen one at a time; later ones by their gains alone
_ONE_AT_A_TIME = 16
#: rows of each class that must have been bought together to say which features to ask first; set by
#: hand, after a look at medical and tox21_maccs
_TOGETHER = 20


def each_costs(prices: Floats) -> Price:
    """Every feature has its own price.

    >>> each_costs(np.array([1.0, 2.5]))([0], [0, 1])
    2.5
    """

    def price(owned: Sequence[int], wanted: Sequence[int]) -> float:
        return float(sum(prices[f] for f in set(wanted) - set(owned)))

    return price


@dataclass(frozen=True)
class Order:
    """Steps in the order in which they are asked; each fills one feature or several.

    Attributes
    ----------
    steps : tuple of tuple of int
        features of each step, as indices into all N; the first step holds what is free
    """

    steps: tuple[tuple[int, ...], ...]

    def features(self, n_steps: int | None = None) -> list[int]:
        """The features of the first steps, in order."""
        return [f for step in self.steps[:n_steps] for f in step]

    def beginning(self, length: int) -> list[int]:
        """The features of the first steps that have so many together."""
        found: list[int] = []
        for step in self.steps:
            if len(found) >= length:
                break
            found += step
        return found


def find_order(
    tables: Table | Sequence[Table],
    price: Price,
    orders: Sequence[Sequence[int]] = (),
    *,
    weights: Sequence[float] | None = None,
    seed: int = 0,
) -> Order:
    """The order in which a model over the table's features should ask, or several models together.

    Parameters
    ----------
    tables : Table or sequence of Table
        what was bought, with the weights of its rows; of several tasks whole ones of the same
        features
    price : Price
        what wanting features costs where others are owned
    orders : sequence of sequence of int
        features that one order fills, for orders that fill several
    weights : sequence of float or None
        what a fall of each task's loss counts; None: 1
    seed : int
        of the folds
    """
    tables = [tables] if isinstance(tables, Table) else tables
    weights = [1.0] * len(tables) if weights is None else weights
    search, one = _Search(tables, weights, price, orders), tables[0]
    if len(tables) > 1 or one.is_whole:
        return search.run(seed)
    together = one.block()
    kinds = np.unique(together.labels, return_counts=True)[1]
    if one.labels.dtype.kind == "f":
        kinds = np.array([together.n_rows, together.n_rows])
    if len(kinds) < 2 or kinds.min() < _TOGETHER:
        return search.as_ranked([])
    return search.as_ranked(_Search([together], weights, price, orders).run(seed).features())


class _Search:
    def __init__(
        self,
        tables: Sequence[Table],
        weights: Sequence[float],
        price: Price,
        orders: Sequence[Sequence[int]],
    ) -> None:
        self.tables, self.weights, self._price = tables, weights, price
        self.names = [int(f) for f in tables[0].features]
        at = {f: i for i, f in enumerate(self.names)}
        several = [tuple(at[f] for f in order if f in at) for order in orders]
        self.orders = [order for order in several if len(order) > 1]
        self.owned: list[int] = []
        # what is free comes first, and the step may be empty
        self.steps = [tuple(i for i in range(len(self.names)) if self.price([i]) <= 0)]
        self.owned.extend(self.steps[0])
        paid = set(range(len(self.names))) - set(self.owned)
        in_orders = paid.intersection(*[{i for order in self.orders for i in order}])
        #: where most of what costs comes in orders of several, prices count less
        self.exponent = 0.5 if 2 * len(in_orders) > len(paid) else 1.0

    def price(self, wanted: Sequence[int]) -> float:
        owned = [self.names[i] for i in self.owned]
        return self._price(owned, [self.names[i] for i in wanted])

    def run(self, seed: int) -> Order:
        bins: dict[bytes, Ints] = {}  # of the same rows they are made once
        labels = [_Label(table, seed, bins) for table in self.tables]
        while True:
            found, shown = self._gains(labels)
            if not shown or len(self.steps) > _ONE_AT_A_TIME or len(self.owned) == len(self.names):
                break
            self._take(self._ranked(found)[0])
        for step in self._ranked(found):  # what showed nothing beyond chance comes last
            self._take(step)
        return self._order()

    def as_ranked(self, first: Sequence[int]) -> Order:
        """Some features first, the rest as the table ranks them: it knows them on too few rows."""
        for i in [*(self.names.index(f) for f in first), *range(len(self.names))]:
            self._take((i,))
        return self._order()

    def _order(self) -> Order:
        return Order(tuple(tuple(self.names[i] for i in step) for step in self.steps))

    def _take(self, step: Sequence[int]) -> None:
        left = tuple(i for i in step if i not in set(self.owned))
        if left:
            self.steps.append(left)
            self.owned.extend(left)

    def _gains(self, labels: Sequence[_Label]) -> tuple[Floats, bool]:
        """What each feature gains beside those owned, and whether some does beyond chance."""
        total, some = np.zeros(len(self.names)), False
        waits = ~np.isin(np.arange(len(total)), self.owned)
        for label, weight in zip(labels, self.weights):
            gain, passes = label.gains(self.owned)
            # a gain that may be chance counts next to nothing
            total += weight * np.where(passes, gain, 1e-3 * np.maximum(gain, 0.0))
            some |= bool((passes & waits).any())
        return total, some

    def _ranked(self, found: Floats) -> list[tuple[int, ...]]:
        """Single features and orders, the most gain per price^a first."""
        owned = set(self.owned)
        wanted: list[tuple[int, ...]] = [(i,) for i in range(len(found)) if i not in owned]
        for order in self.orders:
            left = tuple(sorted((i for i in order if i not in owned), key=lambda i: -found[i]))
            if len(left) > 1:
                wanted.append(left)

        def worth(step: tuple[int, ...]) -> float:
            each = sorted((float(found[i]) for i in step), reverse=True)
            gain = each[0] + 0.5 * sum(each[1:])
            return float(gain / max(self.price(step), 1e-9) ** self.exponent)

        return sorted(wanted, key=lambda step: -worth(step))


class _Label:
    """The rows of one task, in bins, with what they are to be told apart by, and folds."""

    def __init__(self, table: Table, seed: int, bins: dict[bytes, Ints]) -> None:
        key = table.values.tobytes() + table.bought.tobytes()
        if key not in bins:
            bins[key] = bin_codes(table.values, table.bought)
        self.binned, self.codes = BinnedFeatures(bins[key]), _filled(bins[key])
        self.weights, y = table.weights, table.labels
        kinds = None if y.dtype.kind == "f" else np.unique(y, return_inverse=True)[1]
        self.numbers = kinds is None
        share = self.weights / self.weights.sum()
        #: of classes one column each; a number in standard deviations
        self.hot = np.eye(1)
        if kinds is not None:
            self.hot = np.eye(int(kinds.max()) + 1)[kinds]
        else:
            off = y - share @ y
            self.hot = (off / max(float(np.sqrt(share @ off**2)), 1e-12))[:, None]
        fold = make_folds(len(y), _FOLDS, seed, kinds, table.groups)
        self.fold = deal_out(len(y), _FOLDS, table.groups) if fold is None else fold

    def gains(self, owned: Sequence[int]) -> tuple[Floats, Bools]:
        """For each feature the gain beside those owned, a row, and whether it is beyond chance."""
        said = self._said_out_of_fold(owned)
        if self.numbers:  # as two classes whose residuals are opposite
            off = self.hot - said
            residuals, curvature = np.hstack([off, -off]), np.full((len(off), 2), np.mean(off**2))
        else:
            p = np.clip(said, 0.01, 0.99)
            p /= p.sum(axis=1, keepdims=True)
            residuals, curvature = self.hot - p, p * (1 - p)
        found = self.binned.gains(residuals, curvature, self.weights)
        return found[:, 0] / self.weights.sum(), np.asarray(significant(found))

    def _said_out_of_fold(self, owned: Sequence[int]) -> Floats:
        """What a ridge over the bins of some features says of rows that it did not see."""
        parts = [np.ones((len(self.hot), 1))]
        parts += [np.eye(int(self.codes[:, j].max()) + 1)[self.codes[:, j]] for j in owned]
        design = np.hstack(parts)
        weighed = design * (self.weights / self.weights.mean())[:, None]
        folds = [np.flatnonzero(self.fold == i) for i in range(_FOLDS)]
        inner = [weighed[out].T @ design[out] for out in folds]
        outer = [weighed[out].T @ self.hot[out] for out in folds]
        ridge = np.diag(np.r_[1e-3, np.full(design.shape[1] - 1, _RIDGE)])
        said = np.zeros(self.hot.shape)
        for i, out in enumerate(folds):
            points = np.linalg.solve(sum(inner) - inner[i] + ridge, sum(outer) - outer[i])
            said[out] = design[out] @ points
        return said


def _filled(codes: Ints) -> Ints:
    """What was not bought, in its column's commonest bin: which cells are there shows the label."""
    out = codes.copy()
    for j in np.flatnonzero((codes < 0).any(axis=0)).tolist():
        seen = codes[codes[:, j] >= 0, j]
        out[codes[:, j] < 0, j] = int(np.bincount(seen).argmax()) if len(seen) else 0
    return out
