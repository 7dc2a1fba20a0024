"""In which order to ask: most worth per price first, on what the answers before left open.

Candidates are single features and orders that fill several at once. Each round takes the one with
the largest gain per price^a on the out-of-fold residuals of the present model; of several tasks
gains are summed, each weighing what the user says. What is free comes first, all of it. Nothing is
bought: everything is read off the table that was bought for learning.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from thrifty.models.fits.folds import deal_out, make_folds
from thrifty.models.fits.proxy import proxy_out_of_fold
from thrifty.models.fits.score_test import BinnedFeatures, bin_codes, significant
from thrifty.models.table import Table
from thrifty.typing import Bools, Floats, Ints

#: what wanting some features costs where others are owned already
Price = Callable[[Sequence[int], Sequence[int]], float]

# Constants of asking in order were chosen on spam, physionet_icu and slashdot, `python
# benchmarks/predictions.py` (docs/research/asking.md); of each one alone nothing was noted.
#: folds of the proxy model, and bins of its trees
_FOLDS, _FINE = 4, 32
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
    prices : tuple of float
        what each step costs once the steps before it are there
    """

    steps: tuple[tuple[int, ...], ...]
    prices: tuple[float, ...]

    def features(self, n_steps: int | None = None) -> list[int]:
        """The features of the first steps, in order."""
        return [f for step in self.steps[:n_steps] for f in step]


def find_order(
    table: Table,
    price: Price,
    orders: Sequence[Sequence[int]] = (),
    *,
    exponent: float | None = None,
    seed: int = 0,
) -> Order:
    """The order in which a model over the table's features should ask.

    Parameters
    ----------
    table : Table
        what was bought, with the weights of its rows
    price : Price
        what wanting features costs where others are owned
    orders : sequence of sequence of int
        features that one order fills, for orders that fill several
    exponent : float or None
        the power of the price that a gain is divided by; None: 1, or .5 where most of the features
        that cost something come in orders of several
    seed : int
        of the folds
    """
    search = _Search([table], [1.0], price, orders, exponent)
    if table.is_whole:
        return search.run(seed)
    together = table.block()
    sizes = np.unique(together.labels, return_counts=True)[1]
    if len(sizes) < 2 or sizes.min() < _TOGETHER:
        return search.as_ranked([])
    return search.as_ranked(
        _Search([together], [1.0], price, orders, exponent).run(seed).features()
    )


def find_joint_order(
    tables: Sequence[Table],
    weights: Sequence[float],
    price: Price,
    orders: Sequence[Sequence[int]] = (),
    *,
    seed: int = 0,
) -> Order:
    """The order in which several tasks should ask together; tables are whole, of the same features.

    ``weights``: what a fall of each task's loss counts.
    """
    return _Search(tables, weights, price, orders).run(seed)


class _Search:
    def __init__(
        self,
        tables: Sequence[Table],
        weights: Sequence[float],
        price: Price,
        orders: Sequence[Sequence[int]],
        exponent: float | None = None,
    ) -> None:
        self.tables, self.weights, self._price = tables, weights, price
        self.names = [int(f) for f in tables[0].features]
        at = {f: i for i, f in enumerate(self.names)}
        several = [tuple(at[f] for f in order if f in at) for order in orders]
        self.orders = [order for order in several if len(order) > 1]
        self.owned: list[int] = []
        self.steps: list[tuple[int, ...]] = []
        self.prices: list[float] = []
        self.exponent = self._exponent() if exponent is None else exponent

    def _exponent(self) -> float:
        paid = [i for i in range(len(self.names)) if self.price([i]) > 0]
        in_orders = {i for order in self.orders for i in order}
        return 0.5 if 2 * sum(i in in_orders for i in paid) > len(paid) else 1.0

    def price(self, wanted: Sequence[int]) -> float:
        owned = [self.names[i] for i in self.owned]
        return self._price(owned, [self.names[i] for i in wanted])

    def run(self, seed: int) -> Order:
        bins: dict[bytes, tuple[BinnedFeatures, Ints]] = {}  # of the same rows they are made once
        labels = [_Label(table, seed, bins) for table in self.tables]
        self._take_what_is_free()
        while True:
            found, shown = self._gains(labels)
            if not shown or len(self.steps) > _ONE_AT_A_TIME or len(self.owned) == len(self.names):
                break
            self._take(self._ranked(found)[0])
        for step in self._ranked(found):  # what showed nothing beyond chance comes last
            left = tuple(i for i in step if i not in set(self.owned))
            if left:
                self._take(left)
        return self._order()

    def as_ranked(self, first: Sequence[int]) -> Order:
        """Some features first, the rest as the table ranks them: it knows them on too few rows."""
        self._take_what_is_free()
        for i in [*(self.names.index(f) for f in first), *range(len(self.names))]:
            if i not in set(self.owned):
                self._take((i,))
        return self._order()

    def _order(self) -> Order:
        named = tuple(tuple(self.names[i] for i in step) for step in self.steps)
        return Order(named, tuple(self.prices))

    def _take_what_is_free(self) -> None:
        """The first step, which may be empty."""
        self._take(tuple(i for i in range(len(self.names)) if self.price([i]) <= 0))

    def _take(self, step: tuple[int, ...]) -> None:
        self.prices.append(self.price(step) if step else 0.0)
        self.steps.append(step)
        self.owned.extend(step)

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
    """The rows of one task, in bins, with their classes and folds."""

    def __init__(
        self, table: Table, seed: int, bins: dict[bytes, tuple[BinnedFeatures, Ints]]
    ) -> None:
        key = table.values.tobytes() + table.bought.tobytes()
        if key not in bins:
            fine = _filled(bin_codes(table.values, table.bought, _FINE))
            bins[key] = BinnedFeatures(bin_codes(table.values, table.bought)), fine
        self.binned, self.fine = bins[key]
        self.weights = table.weights
        classes, self.y = np.unique(table.labels, return_inverse=True)
        self.hot = np.eye(len(classes))[self.y]
        fold = make_folds(len(self.y), _FOLDS, seed, self.y, table.groups)
        self.fold = deal_out(len(self.y), _FOLDS, table.groups) if fold is None else fold

    def gains(self, owned: Sequence[int]) -> tuple[Floats, Bools]:
        """For each feature the gain beside those owned, a row, and whether it is beyond chance."""
        p = proxy_out_of_fold(self.fine[:, owned], self.y, self.weights, self.fold)
        found = self.binned.gains(self.hot - p, p * (1 - p), self.weights)
        return found[:, 0] / self.weights.sum(), np.asarray(significant(found))


def _filled(codes: Ints) -> Ints:
    """What was not bought, in its column's commonest bin: which cells are there shows the label."""
    out = codes.copy()
    for j in np.flatnonzero((codes < 0).any(axis=0)).tolist():
        seen = codes[codes[:, j] >= 0, j]
        out[codes[:, j] < 0, j] = int(np.bincount(seen).argmax()) if len(seen) else 0
    return out
