"""What each feature does for a model: what its estimator says, and what rows left out say.

A feature's permutation importance is how much the loss rises on rows left out when the values of
that feature are dealt to other rows (Breiman, 2001): the logarithmic loss of classes, the squared
error of numbers. A model that was fitted without a row judges it; rows of one group are left out
together. Nothing is bought: it is measured on the cells that the model was fitted on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from sklearn.base import BaseEstimator

from thrifty.array_types import Floats
from thrifty.models.fits.estimators import Prepared
from thrifty.models.fits.folds import make_folds
from thrifty.models.table import Table
from thrifty.typing import AnyArray

__all__ = [
    "FitLoss",
    "coefficients_by_name",
    "column_names",
    "log_loss_of",
    "own_importances",
    "rise_of_loss",
]

_FOLDS = 3
#: a probability is no closer to 0 than this when its logarithm is taken
_LEAST_P = 1e-6

#: from a table to what says a loss of each row of some values, given their labels
FitLoss = Callable[[Table], Callable[[Floats, AnyArray], Floats]]


def rise_of_loss(
    table: Table, fit: FitLoss, seed: int, repeats: int, *, classes: bool
) -> Floats | None:
    """(features, repeats) how much the loss rises on rows left out; None with too few rows."""
    table = table.block()
    codes = np.unique(table.labels, return_inverse=True)[1].reshape(-1) if classes else None
    rng = np.random.default_rng(seed)
    folds = make_folds(table.n_rows, _FOLDS, seed, codes, table.groups)
    if folds is None or table.n_rows < 2 * _FOLDS:
        return None
    rise = np.zeros((table.width, repeats))
    share = table.weights / table.weights.sum()
    for fold in np.unique(folds).tolist():
        out = np.flatnonzero(folds == fold)
        loss = fit(table.of_rows(np.flatnonzero(folds != fold)))
        values, y = table.values[out], table.labels[out]
        before = share[out] @ loss(values, y)
        for j in range(table.width):
            other = values.copy()
            for r in range(repeats):
                other[:, j] = values[rng.permutation(len(out)), j]
                rise[j, r] += share[out] @ loss(other, y) - before
    return rise


def log_loss_of(p: Floats, y: AnyArray) -> Floats:
    """Of each row."""
    right = p[np.arange(len(y)), y.astype(np.int64)]
    return np.asarray(-np.log(np.maximum(right, _LEAST_P)))


def column_names(
    model: Prepared, names: Sequence[str], words: Mapping[str, Sequence[str]]
) -> list[str]:
    """The columns that a user's estimator was given; a category has one for each of its words."""
    if model.fills is None:
        return list(names)
    found: list[str] = []
    for name, n in zip(names, model.categories):
        said = words.get(name, ())
        found += [f"{name}={said[i] if i < len(said) else i}" for i in range(n)] if n else [name]
    return found


def coefficients_by_name(
    model: Prepared, columns: Sequence[str], classes: Sequence[object]
) -> dict[str, float] | dict[object, dict[str, float]]:
    """The estimator's coefficients; where it has a line for each class, by class."""
    coefficients = np.asarray(_last(model).coef_, dtype=np.float64)
    if coefficients.ndim == 1 or len(coefficients) == 1:
        return dict(zip(columns, coefficients.reshape(-1).tolist()))
    return {c: dict(zip(columns, line)) for c, line in zip(classes, coefficients.tolist())}


def own_importances(model: Prepared, values: Floats) -> Floats | None:
    """What a user's estimator says of each feature, in all 1; None where it says nothing.

    Its ``feature_importances_``, else the size of its coefficients times the spread of their
    columns; those of a category's columns together.
    """
    last = _last(model)
    columns = model.columns(values)
    if hasattr(last, "feature_importances_"):
        each = np.asarray(last.feature_importances_, dtype=np.float64)
    elif hasattr(last, "coef_"):
        size = np.abs(np.atleast_2d(np.asarray(last.coef_, dtype=np.float64))).sum(axis=0)
        each = size * np.nanstd(columns, axis=0) if len(size) == columns.shape[1] else size
    else:
        return None
    if len(each) != columns.shape[1]:  # steps before it made other columns
        return None
    wide = [max(n, 1) if model.fills is not None else 1 for n in model.categories]
    found = np.add.reduceat(each, np.cumsum([0, *wide[:-1]])) if len(each) else each
    return np.asarray(found / found.sum()) if found.sum() > 0 else np.zeros(len(wide))


def _last(model: Prepared) -> BaseEstimator:
    steps = getattr(model.fitted, "steps", None)
    return steps[-1][1] if steps else model.fitted
