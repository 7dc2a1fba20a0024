"""From a bought table to a fitted estimator, and from one to JSON and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from thrifty.array_types import Floats
from thrifty.errors import ThriftyError
from thrifty.models.fits.estimators import fit_user
from thrifty.models.fits.fitted import FittedClasses, FittedNumbers
from thrifty.models.fits.linear_and_trees import (
    LinearAndTrees,
    fit_wide,
    joint_rows,
    linear_and_trees_from_dict,
)
from thrifty.models.fits.linear_score import LinearScore
from thrifty.models.fits.mixture import Stack, fit_stack_left_out, stack_from_dict
from thrifty.models.fits.number_mixture import NumberMix, fit_numbers
from thrifty.models.fits.quality import measure
from thrifty.models.fits.quality_wide import measured_wide
from thrifty.models.table import Table
from thrifty.typing import EstimatorLike, Json, JsonLike

__all__ = [
    "NotBrought", "classes_from_dict", "default_fit", "fit_classes", "fit_regressor",
    "fitted_to_dict",
]  # fmt: skip


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


def default_fit(table: Table, seed: int) -> Stack | LinearScore | LinearAndTrees:
    """Our own classifier for this kind of table."""
    if table.effects is not None:
        joint = joint_rows(table)
        return measured_wide(fit_wide(table, joint, seed), table, joint, seed)
    categories = np.array(table.categories, dtype=np.int64) > 0 if table.categories else None
    stack, left_out = fit_stack_left_out(
        table.filled(), table.labels, table.weights, categories=categories, seed=seed,
        lent=table.rows < 0, looked=table.looked,
    )  # fmt: skip
    codes = np.searchsorted(stack.classes_, table.labels).astype(np.int64)
    own = np.flatnonzero(table.rows >= 0)
    weights = table.of_rows(own).weighing_as(table).weights
    return replace(stack, quality=measure(left_out[own], codes[own], weights, seed))


class NotBrought:
    """Stands in a store's model for a user's estimator that was not brought along.

    >>> NotBrought({"class": "lib.Forest", "parameters": "Forest()"}).predict_proba(None)
    Traceback (most recent call last):
    ...
    thrifty.errors.ThriftyError: this model was fitted with lib.Forest, which a store keeps as \
text only: Forest(). Open it with Lifetime.open(store, family=thrifty.Models(that estimator)); it \
is then fitted again on the cells that were bought, for nothing.
    """

    def __init__(self, words: Mapping[str, str]) -> None:
        self.words = dict(words)
        self.classes_ = np.zeros(0, dtype=np.int64)

    def predict_proba(self, values: object) -> Floats:
        raise ThriftyError(
            f"this model was fitted with {self.words['class']}, which a store keeps as text only: "
            f"{self.words['parameters']}. Open it with Lifetime.open(store, "
            "family=thrifty.Models(that estimator)); it is then fitted again on the cells that "
            "were bought, for nothing."
        )

    predict = predict_proba


def fitted_to_dict(fitted: object) -> Json | None:
    """Our own models as JSON; None for those of others, which are fitted again."""
    if isinstance(fitted, Stack | LinearScore | LinearAndTrees | NumberMix):
        return fitted.to_dict()
    return None


def classes_from_dict(data: JsonLike) -> Stack | LinearScore | LinearAndTrees:
    """The inverse of :func:`fitted_to_dict`, for classifiers."""
    if data.get("model") == "Stack":
        return stack_from_dict(dict(data))
    if data.get("model") == "LinearAndTrees":
        return linear_and_trees_from_dict(dict(data))
    return LinearScore.from_dict(dict(data))
