"""Quality of the linear score on rows left out.

Its table has holes: a row shows most of the features of a prediction only where the joint features
were bought, so that it is measured there, and only where these carry most of the score. What a
row's looks added to the belief about effects is taken out, to first order, before it is scored.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from thrifty.models.linear import LinearScore, fit_linear
from thrifty.models.measured import Quality, measure
from thrifty.models.table import Table
from thrifty.models.with_trees import LinearAndTrees, carried, grow_joint

__all__ = ["measured_wide"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

#: folds, and rows of either class that the joint rows must have
_FOLDS, _LEAST = 3, 30
#: of the linear score's variance, what the joint features must carry for a figure to be given
_CARRIED = 0.6


def measured_wide(
    fitted: LinearScore | LinearAndTrees, table: Table, seed: int = 0
) -> LinearScore | LinearAndTrees:
    """The same with its quality, where rows of its table can show it."""
    quality = _quality(table, fitted, seed)
    if isinstance(fitted, LinearAndTrees):
        return replace(fitted, quality=quality)
    return LinearScore(fitted.coef_, fitted.centres_, fitted.intercept_, quality)


def _quality(
    table: Table, fitted: LinearScore | LinearAndTrees, seed: int = 0
) -> Quality | None:
    linear = fitted.linear if isinstance(fitted, LinearAndTrees) else fitted
    joint, rows = table.joint()
    codes = table.labels[rows].astype(np.int64)
    if np.bincount(codes, minlength=2).min() < _LEAST or carried(linear, joint) < _CARRIED:
        return None
    folds = np.zeros(len(rows), dtype=np.int64)
    for code in (0, 1):
        at = np.flatnonzero(codes == code)
        folds[at] = np.arange(len(at)) % _FOLDS
    found = np.zeros(len(rows))
    for fold in range(_FOLDS):
        out, kept = rows[folds == fold], rows[folds != fold]
        values = table.values[out]
        scores = fit_linear(_without(table, out)).decision_function(values)
        if isinstance(fitted, LinearAndTrees):
            trees, offset = grow_joint(table, joint, kept, seed)
            grown = trees.scores(values[:, joint])[:, 0] + offset
            scores = (1 - fitted.share) * scores + fitted.share * grown
        found[folds == fold] = scores
    p = expit(found)
    return measure(np.column_stack([1 - p, p]), codes, table.weights[rows], seed)


def _without(table: Table, out: Ints) -> Table:
    """The table without some rows, and its beliefs without what those rows said."""
    assert table.centres is not None and table.effects is not None
    mean, variance = table.effects[:, 0], table.effects[:, 1]
    rate = expit(logit(table.centres) + mean)
    rare = out[table.labels[out] == table.rare_code]
    said = np.where(table.bought[rare], table.values[rare] - rate, 0.0).sum(axis=0)
    effects = np.column_stack([mean - said * variance, variance])
    rest = np.setdiff1d(np.arange(table.n_rows), out)
    return replace(table.of_rows(rest), effects=effects)
