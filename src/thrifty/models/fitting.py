"""From a bought table to a fitted estimator."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline

from thrifty.models.linear import fit_linear
from thrifty.models.table import Table

__all__ = ["fit"]

Floats = NDArray[np.float64]


def fit(table: Table, estimator: Any = None, *, seed: int = 0) -> Any:
    """Fit an estimator on what was bought; None: the default for this kind of table.

    What comes back takes ``values`` of the table's features, in their order, NaN for gaps, and has
    ``predict_proba`` and ``classes_``, as in scikit-learn.
    """
    if estimator is None:
        return default_fit(table, seed)
    return fit_user(table, estimator, seed)


def default_fit(table: Table, seed: int) -> Any:
    """The default for this kind of table."""
    if table.effects is not None:
        return fit_linear(table)
    X = np.nan_to_num(table.filled())
    return LogisticRegression(C=0.3, max_iter=300).fit(X, table.labels, table.weights)


def fit_user(table: Table, estimator: Any, seed: int) -> Any:
    """A user's estimator, cloned, with the rows' weights; seeds come from the lifetime."""
    made = clone(estimator)
    names = [n for n in made.get_params() if n == "random_state" or n.endswith("__random_state")]
    made.set_params(**{name: seed for name in names if made.get_params()[name] is None})
    weights = {"sample_weight": table.weights}
    if isinstance(made, Pipeline):
        weights = {f"{made.steps[-1][0]}__sample_weight": table.weights}
    return made.fit(table.filled(), table.labels, **weights)
