"""Quality of a user's own estimator, and of any model of numbers, on rows left out.

Measured when it is first asked for, from the table that was bought: the estimator is fitted on two
thirds of the rows and judged on the rest, three times. Nothing is bought for it, and learning does
not wait for it. As everywhere (:mod:`thrifty.models.fits.quality`), the features were chosen with
all rows, so that the figures lean towards the good side.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from thrifty.array_types import Floats, Ints
from thrifty.models.fits.fitted import FittedClasses, FittedNumbers
from thrifty.models.fits.folds import shuffled_folds, stratified_folds
from thrifty.models.fits.quality import Figure, Quality, quality_of, widened
from thrifty.models.table import Table

__all__ = ["NumberQuality", "numbers_left_out", "quality_left_out"]

F = TypeVar("F")

#: folds of a regressor's rows, as the classifiers have
_FOLDS = 3
#: rows that a figure needs, those that the mixture of numbers needs; set by hand
_LEAST = 24
#: draws of the interval, as in :mod:`thrifty.models.fits.quality`
_DRAWS = 200


@dataclass(frozen=True, slots=True)
class NumberQuality:
    """Cross-validated quality of a model of numbers.

    Attributes
    ----------
    r2 : Figure
        part of the variance of y that it explains, with a 95 % interval
    error : Figure
        root of the mean square of what is wrong, likewise
    rows : int
        how many rows it was measured on
    """

    r2: Figure
    error: Figure
    rows: int


def quality_left_out(
    table: Table, fit: Callable[[Table], FittedClasses], seed: int
) -> Quality | None:
    """Of a classifier; None with too few rows, or where it cannot be fitted on fewer."""
    own = np.flatnonzero(table.rows >= 0)
    codes = table.labels[own].astype(np.int64)
    groups = None if table.groups is None else table.groups[own]
    folds = stratified_folds(codes, np.random.default_rng(seed), groups)
    if folds is None:
        return None
    p = np.zeros((len(own), int(table.labels.max()) + 1))
    for fold in np.unique(folds).tolist():
        out = own[folds == fold]
        fitted = _without(table, out, fit)
        if fitted is None:
            return None
        known = np.asarray(fitted.classes_, dtype=np.int64)
        p[np.ix_(folds == fold, known)] = fitted.predict_proba(table.values[out])
    weights = table.of_rows(own).weighing_as(table).weights
    return quality_of(p, codes, weights, seed, groups=groups)


def numbers_left_out(
    table: Table, fit: Callable[[Table], FittedNumbers], seed: int
) -> NumberQuality | None:
    """Of a regressor; None with too few rows, or where it cannot be fitted on fewer."""
    y, weights = np.asarray(table.labels, dtype=np.float64), table.weights
    n = len(y) if table.groups is None else len(np.unique(table.groups))
    if n < _LEAST or y.min() == y.max():
        return None
    folds = shuffled_folds(len(y), _FOLDS, seed, table.groups)
    found = np.zeros(len(y))
    for fold in range(_FOLDS):
        out = np.flatnonzero(folds == fold)
        fitted = _without(table, out, fit)
        if fitted is None:
            return None
        found[out] = np.asarray(fitted.predict(table.values[out])).reshape(-1)
    draws = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=_DRAWS)
    if table.groups is not None:  # a group is drawn as a whole
        draws = draws[:, np.unique(table.groups, return_inverse=True)[1].reshape(-1)]
    counts = np.vstack([np.ones(len(y)), draws]) * weights
    share = counts / counts.sum(axis=1, keepdims=True)
    wrong = share @ (found - y) ** 2
    spread = share @ y**2 - (share @ y) ** 2
    left = _figure(wrong / np.maximum(spread, 1e-300))
    r2 = Figure(1 - left.value, 1 - left.high, 1 - left.low)
    return NumberQuality(r2, _figure(np.sqrt(wrong)), len(y))


def _figure(draws: Floats) -> Figure:
    """The first is the figure, the others its interval, twice as wide in logarithms.

    As wide as the draws say it held R squared on new rows in 32 of 46 models
    (`benchmarks/intervals.py --numbers`).

    >>> str(_figure(np.repeat([2.0, 1.0, 4.0], [1, 100, 100])))
    '2.00 (0.50 to 8.00)'
    """
    logs = np.log(np.maximum([draws[0], *np.quantile(draws[1:], (0.025, 0.975))], 1e-300))
    low, high = np.exp(widened(*logs.tolist()))
    return Figure(float(draws[0]), float(low), float(high))


def _without(table: Table, out: Ints, fit: Callable[[Table], F]) -> F | None:
    """The model of the other rows; None where an estimator refuses so few."""
    rest = np.setdiff1d(np.arange(table.n_rows), out)
    try:
        return fit(table.of_rows(rest))
    except (ArithmeticError, ValueError):
        return None
