"""The same estimator at growing prefixes of the order, each calibrated on rows it did not see.

A model per prefix, not one model with gaps: a row that stops after two answers is judged by a
model that was made for those two. All of it comes from the table that was bought for learning; no
further cell is bought.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from thrifty.array_types import Bools, Floats, Ints
from thrifty.models.asking.cross_fitted import (
    Choose,
    Parted,
    Pipelines,
    all_classes,
    cross_fitted,
    fitted_places,
    parted_by,
    useful_rows,
)
from thrifty.models.asking.order import Order, Price
from thrifty.models.fits.calibration import Scaling, fit_scaling, fit_scaling_cautiously
from thrifty.models.fits.fitting import Fitted, fit_prefix
from thrifty.models.fits.folds import deal_out, make_folds
from thrifty.models.table import Table
from thrifty.typing import AnyArray, EstimatorLike

__all__ = ["Fits", "Prefix", "Prefixes", "fit_lengths", "fit_prefixes", "prefix_sizes", "scaled"]

#: rows on which so many of the first features were bought are judged by; set by hand
FIRST = 8
#: rows of each class without which all rows judge, or fit; set by hand
_ENOUGH = 20


def prefix_sizes(n_steps: int) -> list[int]:
    """How many steps each prefix has: 1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 32, 64, ... and all.

    >>> prefix_sizes(20), prefix_sizes(40)
    ([1, 2, 3, 4, 5, 6, 8, 10, 12, 20], [1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 40])
    """
    sizes, size = [1, 2, 3, 4, 5, 6, 8, 10, 12], 16
    while 3 * size < 2 * n_steps:
        sizes.append(size)
        size *= 2
    return [s for s in sizes if s < n_steps] + ([n_steps] if n_steps else [])


@dataclass(frozen=True, eq=False)
class Prefix:
    """The first steps of the order and what is known once they are answered.

    Attributes
    ----------
    features : tuple of int
        all features of the prefix, in the order in which they are asked
    price : float
        what they cost, asked prefix by prefix on a row where nothing is owned
    model : estimator
        what was fitted on them; None: nothing is asked, the class shares are the answer
    scaling : Scaling
        of the model's probabilities
    price_after : float
        what the features of all later prefixes cost at once, where these are owned
    """

    features: tuple[int, ...]
    price: float
    model: Fitted | None
    scaling: Scaling
    price_after: float = 0.0

    def probabilities(self, values: Floats, shares: Floats) -> Floats:
        """(rows, classes) from the values of the prefix's features, in their order."""
        if self.model is None:
            return np.repeat(shares[None, :], len(values), axis=0)
        return self.scaling(all_classes(self.model, values, len(shares)))


@dataclass(frozen=True, eq=False)
class Prefixes:
    """Every prefix, and what each would have said of the rows of the table, out of fold.

    Attributes
    ----------
    seen : array of float
        (prefixes, rows, classes) calibrated probabilities, out of fold
    codes : array of int
        (rows,) the class of each row of the table
    weights : array of float
        (rows,) what each row stands for
    pipelines : Pipelines or None
        what ``seen`` was made from; None where no pipeline left rows out, or from a store
    """

    parts: tuple[Prefix, ...]
    classes: AnyArray
    shares: Floats
    seen: Floats
    codes: Ints
    weights: Floats
    pipelines: Pipelines | None = None

    def __len__(self) -> int:
        return len(self.parts)

    @property
    def prices(self) -> Floats:
        """What each prefix costs in all."""
        return np.array([part.price for part in self.parts])

    def losses(self) -> Floats:
        """The mean log-loss of each prefix, out of fold."""
        right = self.seen[:, np.arange(len(self.codes)), self.codes]
        return np.asarray(
            np.average(-np.log(np.maximum(right, 1e-9)), axis=1, weights=self.weights)
        )

    def capped(self, n: int) -> Prefixes:
        """The first n prefixes alone."""
        return replace(self, parts=self.parts[:n], seen=self.seen[:n])


@dataclass(frozen=True, eq=False)
class Fits:
    """What was fitted at each length of an order, before it is scaled.

    Attributes
    ----------
    table : Table
        with class codes as labels; ``classes`` are what they stand for
    beginnings : list of list of int
        the features of each length
    models : sequence of Fitted or None
        of each length; None where it has no feature
    p : array of float
        (lengths, rows, classes) from models that did not see a row
    known : array of bool
        (lengths, rows) whether all cells were there when that was said
    judged : array of int
        the rows that say how probabilities are scaled
    """

    table: Table
    classes: AnyArray
    shares: Floats
    beginnings: list[list[int]]
    models: Sequence[Fitted | None]
    p: Floats
    known: Bools
    judged: Ints
    parted: Parted | None


def fit_prefixes(
    table: Table,
    order: Order,
    price: Price,
    estimator: EstimatorLike | None = None,
    *,
    folds: int = 4,
    seed: int = 0,
    sizes: Sequence[int] | None = None,
    choose: Choose | None = None,
) -> Prefixes:
    """Fit the estimator at every prefix.

    Parameters
    ----------
    choose : Choose or None
        how an order is found on other rows: probabilities are then scaled on rows that chose
        neither order nor model (:mod:`thrifty.models.asking.cross_fitted`); None: on held-out rows
        of the models alone
    sizes : sequence of int or None
        steps of each prefix; None: 1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 32, ... and all
    """
    fits = fit_lengths(table, order, estimator, folds=folds, seed=seed, sizes=sizes, choose=choose)
    return scaled(fits, price)


def fit_lengths(
    table: Table,
    order: Order,
    estimator: EstimatorLike | None = None,
    *,
    folds: int = 4,
    seed: int = 0,
    sizes: Sequence[int] | None = None,
    choose: Choose | None = None,
    parted: Parted | None = None,
) -> Fits:
    """The estimator at every length, and what it says of held-out rows.

    As :func:`fit_prefixes`; ``parted``: held-out rows with the orders that were found without
    them, where they are known already.
    """
    classes, codes = np.unique(table.labels, return_inverse=True)
    table = replace(table, labels=codes.astype(np.int64))
    shares = np.bincount(codes, table.weights, len(classes))
    shares = shares / shares.sum()
    at = {int(f): i for i, f in enumerate(table.features)}
    first = np.array([at[f] for f in order.features()[:FIRST]], dtype=np.int64)
    if choose is not None:
        parted = parted_by(table, choose, seed)
    judged = _judged(table, first)
    steps = [0, *(s + 1 for s in (sizes or prefix_sizes(len(order.steps) - 1)))]
    beginnings = _beginnings(order, [s for s in steps if s <= len(order.steps)])
    known = np.ones((len(beginnings), table.n_rows), dtype=bool)
    models: Sequence[Fitted | None]
    fits = [
        _fit_one(
            table.of_features(np.array([at[f] for f in features], dtype=np.int64)),
            estimator,
            shares,
            0 if parted else folds,
            seed,
        )
        for features in beginnings
    ]
    models, p_of = [model for _, model in fits], np.array([p for p, _ in fits])
    if parted:
        left_out = cross_fitted(
            table, parted, [len(some) for some in beginnings], shares, estimator, seed
        )
        p_of, known = left_out.p, left_out.known
    return Fits(table, classes, shares, beginnings, models, p_of, known, judged, parted)


def scaled(fits: Fits, price: Price) -> Prefixes:
    """Prefixes whose probabilities mean what they say, as far as held-out rows can tell."""
    table, codes, judged, parted = fits.table, fits.table.labels, fits.judged, fits.parted
    lengths = [len(features) for features in fits.beginnings]
    fitted = fitted_places(lengths) if parted else list(range(len(lengths)))
    scalings: dict[int, Scaling] = {}
    for k in fitted:
        on = judged if fits.models[k] is None else _enough_of(judged, fits.known[k], codes)
        of = table.of_rows(on).weighing_as(table).weights
        fit = fit_scaling_cautiously if parted else fit_scaling
        scalings[k] = fit(fits.p[k][on], codes[on], of)
    _scale_between(scalings, lengths)
    parts, seen = [], []
    for k, (features, paid) in enumerate(zip(fits.beginnings, _paid(fits.beginnings, price))):
        model, p, scaling = fits.models[k], fits.p[k], scalings[k]
        after = price(features, fits.beginnings[-1])
        parts.append(Prefix(tuple(features), paid, model, scaling, after))
        seen.append(scaling(p[judged]) if model is not None else p[judged])
    return Prefixes(
        tuple(parts),
        fits.classes,
        fits.shares,
        np.array(seen),
        codes[judged].astype(np.int64),
        table.of_rows(judged).weighing_as(table).weights,
        Pipelines(parted, fits.p, judged, fitted) if parted else None,
    )


def _scale_between(scalings: dict[int, Scaling], lengths: Sequence[int]) -> None:
    """Scalings of the lengths at which no pipeline was fitted, in place.

    From those at which some were: what pipelines are taken to say in between is a mean of two, as
    such too modest, and what was scaled by it was sure too soon.
    """
    for a, b in pairwise(sorted(scalings)):
        for k in range(a + 1, b):
            part = (lengths[k] - lengths[a]) / (lengths[b] - lengths[a])
            scalings[k] = scalings[a].towards(scalings[b], part)


def _beginnings(order: Order, steps: Sequence[int]) -> list[list[int]]:
    """The features of so many steps, each set once; the first is what is free."""
    found: list[list[int]] = []
    for n in steps:
        features = order.features(n if n else 1)
        if not found or len(features) > len(found[-1]):
            found.append(features)
    return found


def _paid(beginnings: Sequence[Sequence[int]], price: Price) -> list[float]:
    """What each costs in all, asked one after another."""
    found = [price((), beginnings[0])]
    for had, features in pairwise(beginnings):
        found.append(found[-1] + price(had, features))
    return found


def _enough_of(judged: Ints, there: NDArray[np.bool_], codes: Ints) -> Ints:
    """Rows on which all cells of a prefix were bought, where there are enough of each class."""
    some = judged[there[judged]]
    counts = np.bincount(codes[some], minlength=int(codes.max()) + 1)
    return some if counts.min() >= _ENOUGH else judged


def _judged(table: Table, first: Ints) -> Ints:
    """Rows to calibrate and to plan with: those on which the first features were all bought.

    A row that was never asked says nothing of what asking it brings.
    """
    rows = np.flatnonzero(table.bought[:, first].all(axis=1))
    counts = np.bincount(table.labels[rows], minlength=int(table.labels.max()) + 1)
    return rows if counts.min() >= _ENOUGH else np.arange(table.n_rows)


def _fit_one(
    part: Table, estimator: EstimatorLike | None, shares: Floats, folds: int, seed: int
) -> tuple[Floats, Fitted | None]:
    """Probabilities out of fold, and the model fitted on all rows."""
    p = np.repeat(shares[None, :], part.n_rows, axis=0)
    if not len(part.features):
        return p, None
    fit_on = useful_rows(part)
    chosen = part.of_rows(fit_on).weighing_as(part)
    p[fit_on], model = _left_out(chosen, estimator, shares, folds, seed)
    rest = np.setdiff1d(np.arange(part.n_rows), fit_on)
    if len(rest):  # rows without all of the prefix's cells: never fitted on, so left out as well
        p[rest] = all_classes(model, part.values[rest], len(shares))
    return p, model


def _left_out(
    part: Table, estimator: EstimatorLike | None, shares: Floats, folds: int, seed: int
) -> tuple[Floats, Fitted]:
    """The model, and what models without a row's fold say of it; no folds: nothing is said."""
    p = np.repeat(shares[None, :], part.n_rows, axis=0)
    if not folds:
        return p, fit_prefix(part, estimator, seed=seed)
    values = part.values
    fold = make_folds(part.n_rows, folds, seed, part.labels, part.groups)
    if fold is None:
        fold = deal_out(part.n_rows, max(2, min(folds, part.n_rows)), part.groups)
    for i in np.unique(fold):
        train, test = np.flatnonzero(fold != i), np.flatnonzero(fold == i)
        if len(np.unique(part.labels[train])) < 2:
            continue
        model = fit_prefix(part.of_rows(train).weighing_as(part), estimator, seed=seed)
        p[test] = all_classes(model, values[test], len(shares))
    return p, fit_prefix(part, estimator, seed=seed)
