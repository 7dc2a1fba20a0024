"""From a bought table to what is fitted on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from thrifty.array_types import Bools, Floats
from thrifty.models.fits.estimators import fit_user
from thrifty.models.fits.fitted import FittedClasses, FittedNumbers
from thrifty.models.fits.linear_and_trees import fit_wide, joint_rows
from thrifty.models.fits.linear_score import fit_linear
from thrifty.models.fits.mixture import fit_mixture_left_out
from thrifty.models.fits.number_mixture import fit_numbers, fit_numbers_left_out, kernels_of
from thrifty.models.fits.quality import quality_of
from thrifty.models.fits.quality_wide import quality_of_wide
from thrifty.models.fits.rungs import fit_rungs
from thrifty.models.table import Table
from thrifty.typing import EstimatorLike

__all__ = [
    "default_fit",
    "fit_classes",
    "fit_regressor",
    "fit_regressors_left_out",
    "fit_unmeasured",
    "which_categories",
]


def fit_classes(
    table: Table, estimator: EstimatorLike | None = None, *, seed: int = 0
) -> FittedClasses:
    """Fit a classifier on what was bought; None: the default for this kind of table."""
    return default_fit(table, seed) if estimator is None else fit_user(table, estimator, seed)


def fit_regressor(
    table: Table, estimator: EstimatorLike | None = None, *, seed: int = 0
) -> FittedNumbers:
    """The same for numbers."""
    return fit_numbers(table, seed) if estimator is None else fit_user(table, estimator, seed)


def fit_regressors_left_out(
    tables: Sequence[Table], estimator: EstimatorLike | None = None, *, seed: int = 0
) -> list[tuple[FittedNumbers, Floats | None]]:
    """Of several labels; and what ours would say of their rows had they not seen them."""
    if estimator is not None:
        return [(fit_user(table, estimator, seed), None) for table in tables]
    near = kernels_of(tables, seed)
    return [fit_numbers_left_out(table, seed, one) for table, one in zip(tables, near)]


def fit_unmeasured(
    table: Table, estimator: EstimatorLike | None = None, *, seed: int = 0
) -> FittedClasses:
    """The same classifier, without a figure of its quality: for parts that nobody is shown."""
    if estimator is not None or table.effects is None:
        return fit_classes(table, estimator, seed=seed)
    joint = joint_rows(table)
    return fit_linear(table) if joint is None else fit_wide(table, joint, seed, quick=True)


def default_fit(table: Table, seed: int) -> FittedClasses:
    """Our own classifier for this kind of table, with its quality."""
    if table.effects is not None:
        joint = joint_rows(table)
        if joint is None:  # too few rows for trees, and for a figure
            return fit_linear(table)
        wide = fit_wide(table, joint, seed)
        return replace(wide, quality=quality_of_wide(wide, table, joint, seed))
    if table.rungs and table.bought.all(axis=0).any():
        return fit_rungs(table, seed)
    mixture, left_out = fit_mixture_left_out(
        table.filled(),
        table.labels,
        table.weights,
        categories=which_categories(table),
        seed=seed,
        borrowed=table.rows < 0,
        looked=table.looked,
        groups=table.groups,
    )
    codes = np.searchsorted(mixture.classes_, table.labels).astype(np.int64)
    own = np.flatnonzero(table.rows >= 0)
    weights = table.of_rows(own).weighing_as(table).weights
    groups = None if table.groups is None else table.groups[own]
    quality = quality_of(left_out[own], codes[own], weights, seed, groups=groups)
    return replace(mixture, quality=quality)


def which_categories(table: Table) -> Bools | None:
    """Which features of a table are categories; None: none of them."""
    return np.array(table.categories, dtype=np.int64) > 0 if table.categories else None
