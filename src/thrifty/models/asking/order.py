"""In which order to ask: most worth per price first, on what the answers before left open.

Candidates are single features and orders that fill several at once. Each round ranks them by the
gain on the out-of-fold residuals of the present model per price^a, cross-validates the best four,
and takes the one with the largest fall of the log-loss per price^a. What is free comes first, all
of it. Nothing is bought: everything is read off the table that was bought for learning.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from thrifty.array_types import Floats, Ints
from thrifty.models.fits.folds import deal_out, make_folds
from thrifty.models.fits.proxy import proxy_out_of_fold
from thrifty.models.fits.score_test import BinnedFeatures, bin_codes, significant
from thrifty.models.table import Table

__all__ = ["Order", "OrderSearch", "Price", "each_costs", "find_order"]

#: what wanting some features costs where others are owned already
Price = Callable[[Sequence[int], Sequence[int]], float]

# Constants of asking in order were chosen on spam, physionet_icu and slashdot, `python
# benchmarks/predictions.py` (docs/research/asking.md); of each one alone nothing was noted.
#: so many of the best candidates are compared by cross-validation
COMPARED = 4
#: bins of the proxy model's trees
FINE = 32
#: so many steps are chosen one at a time; later ones by their gains alone
ONE_AT_A_TIME = 16
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


@dataclass(frozen=True)
class _Candidate:
    features: tuple[int, ...]  # positions in the table, not owned yet
    price: float
    gain: float


def find_order(
    table: Table,
    price: Price,
    orders: Sequence[Sequence[int]] = (),
    *,
    exponent: float | None = None,
    folds: int = 4,
    seed: int = 0,
    compared: int = COMPARED,
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
    folds, seed : int
        of the cross-validation
    compared : int
        how many of the best candidates are cross-validated at each step
    """
    search = OrderSearch(table, price, orders, exponent, folds, seed, compared)
    if table.is_whole:
        return search.run()
    together = table.block()
    sizes = np.unique(together.labels, return_counts=True)[1]
    if len(sizes) < 2 or sizes.min() < _TOGETHER:
        return search.as_ranked([])
    first = OrderSearch(together, price, orders, exponent, folds, seed, compared).run()
    return search.as_ranked(first.features())


class OrderSearch:
    def __init__(
        self,
        table: Table,
        price: Price,
        orders: Sequence[Sequence[int]],
        exponent: float | None,
        folds: int,
        seed: int,
        compared: int = COMPARED,
    ) -> None:
        self.table, self.compared = table, compared
        self.names = [int(f) for f in table.features]
        at = {f: i for i, f in enumerate(self.names)}
        self._price = price
        self.orders = [tuple(at[f] for f in order if f in at) for order in orders]
        self.orders = [order for order in self.orders if len(order) > 1]
        self.classes, self.y = np.unique(table.labels, return_inverse=True)
        self.hot = np.eye(len(self.classes))[self.y]
        self._folds = folds, seed
        self.owned: list[int] = []
        self.steps: list[tuple[int, ...]] = []
        self.prices: list[float] = []
        self.exponent = self._exponent() if exponent is None else exponent

    @cached_property
    def binned(self) -> BinnedFeatures:
        """Every cell in its bin, for the score test."""
        return BinnedFeatures(bin_codes(self.table.values, self.table.bought))

    @cached_property
    def fine(self) -> Ints:
        """The same in finer bins, for the proxy's trees."""
        return _filled(bin_codes(self.table.values, self.table.bought, FINE))

    @cached_property
    def fold(self) -> Ints:
        """Which rows are left out together."""
        folds, seed = self._folds
        found = make_folds(len(self.y), folds, seed, self.y, self.table.groups)
        return deal_out(len(self.y), folds, self.table.groups) if found is None else found

    def price(self, wanted: Sequence[int]) -> float:
        owned = [self.names[i] for i in self.owned]
        return self._price(owned, [self.names[i] for i in wanted])

    def _exponent(self) -> float:
        paid = [i for i in range(len(self.names)) if self.price([i]) > 0]
        in_orders = {i for order in self.orders for i in order}
        return 0.5 if 2 * sum(i in in_orders for i in paid) > len(paid) else 1.0

    def run(self) -> Order:
        self._take_the_rest(self._take_one_at_a_time())
        return Order(self.named(), tuple(self.prices))

    def named(self) -> tuple[tuple[int, ...], ...]:
        return tuple(tuple(self.names[i] for i in step) for step in self.steps)

    def _take_one_at_a_time(self) -> Floats:
        self.take(tuple(i for i in range(len(self.names)) if self.price([i]) <= 0))
        present = self.probabilities(self.owned)
        while len(self.owned) < len(self.names) and len(self.steps) <= ONE_AT_A_TIME:
            ranked = self._candidates(present)
            if not ranked:
                break
            best, present = self._compare(ranked[: self.compared], present)
            self.take(best.features)
        return present

    def as_ranked(self, first: Sequence[int]) -> Order:
        """Some features first, the rest as the table ranks them: it knows them on too few rows."""
        self.take(tuple(i for i in range(len(self.names)) if self.price([i]) <= 0))
        named = [self.names.index(f) for f in first]
        for i in [*named, *range(len(self.names))]:
            if i not in set(self.owned):
                self.take((i,))
        return Order(self.named(), tuple(self.prices))

    def take(self, step: tuple[int, ...]) -> None:
        """The first step is what is free, and may be empty."""
        self.prices.append(self.price(step) if step else 0.0)
        self.steps.append(step)
        self.owned.extend(step)

    def probabilities(self, which: Sequence[int]) -> Floats:
        """Out of fold, from the proxy model on these features."""
        return proxy_out_of_fold(self.fine[:, which], self.y, self.table.weights, self.fold)

    def gains(self, present: Floats) -> Floats:
        curvature = present * (1 - present)
        found = self.binned.gains(self.hot - present, curvature, self.table.weights)
        found[self.owned] = 0.0, -1.0, 0.0
        return found

    def _candidates(self, present: Floats, *, all_of_them: bool = False) -> list[_Candidate]:
        """Singles and orders that show more than chance, the most gain per price^a first."""
        found = self.gains(present)
        pass_ = significant(found) | all_of_them
        owned = set(self.owned)
        wanted: list[tuple[int, ...]]
        wanted = [(i,) for i in range(len(self.names)) if i not in owned and pass_[i]]
        for order in self.orders:
            left = tuple(i for i in order if i not in owned)
            if len(left) > 1 and any(pass_[i] for i in left):
                wanted.append(tuple(sorted(left, key=lambda i: -found[i, 0])))
        out = []
        for features in wanted:
            each = sorted((float(found[i, 0]) for i in features if pass_[i]), reverse=True)
            gain = each[0] + 0.5 * sum(each[1:])
            out.append(_Candidate(features, self.price(features), gain))
        return sorted(out, key=lambda c: -self.per_price(c.gain, c.price))

    def per_price(self, gain: float, price: float) -> float:
        return float(gain / max(price, 1e-9) ** self.exponent)

    def _compare(
        self, candidates: Sequence[_Candidate], present: Floats
    ) -> tuple[_Candidate, Floats]:
        """The candidate with the largest fall of the cross-validated log-loss per price^a."""
        before = self.loss(present)
        best, best_p, best_score = candidates[0], present, -np.inf
        for one in candidates:
            p = self.probabilities([*self.owned, *one.features])
            fall = before - self.loss(p)
            score = self.per_price(fall, one.price) if fall > 0 else fall
            if score > best_score:
                best, best_p, best_score = one, p, score
        return best, best_p

    def loss(self, p: Floats) -> float:
        logs = -np.log(np.clip(p[np.arange(len(self.y)), self.y], 1e-6, 1.0))
        return float(np.average(logs, weights=self.table.weights))

    def _take_the_rest(self, present: Floats) -> None:
        """What showed nothing beyond chance comes last: the whole model still reads it."""
        for one in self._candidates(present, all_of_them=True):
            left = tuple(i for i in one.features if i not in set(self.owned))
            if left:
                self.take(left)


def _filled(codes: Ints) -> Ints:
    """What was not bought, in its column's commonest bin: which cells are there shows the label."""
    out = codes.copy()
    for j in np.flatnonzero((codes < 0).any(axis=0)).tolist():
        seen = codes[codes[:, j] >= 0, j]
        out[codes[:, j] < 0, j] = int(np.bincount(seen).argmax()) if len(seen) else 0
    return out
