"""Quality of the linear score on rows left out.

Its table has holes: a row shows most of the features of a prediction only where the joint features
were bought, so that it is measured there, and only where these carry most of the score. What a
row's looks added to the belief about effects is taken out, to first order, before it is scored.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.special import expit, logit

from thrifty.array_types import Ints
from thrifty.models.fits.linear_and_trees import (
    JointRows,
    LinearAndTrees,
    grow_beside,
    trust_of,
)
from thrifty.models.fits.linear_score import LinearScore, fit_linear
from thrifty.models.fits.quality import Quality, measure
from thrifty.models.table import Table

__all__ = ["measured_wide"]

#: rows of either class that the joint rows must have
_LEAST = 30
#: of the linear score's variance, what the joint features must carry for a figure to be given
_CARRIED = 0.6


def measured_wide(
    fitted: LinearScore | LinearAndTrees, table: Table, joint: JointRows | None, seed: int = 0
) -> LinearScore | LinearAndTrees:
    """The same with its quality, where rows of its table can show it."""
    quality = None if joint is None else _quality(table, fitted, joint, seed)
    if isinstance(fitted, LinearAndTrees):
        return replace(fitted, quality=quality)
    return LinearScore(fitted.coef_, fitted.centres_, fitted.intercept_, quality)


def _quality(
    table: Table, fitted: LinearScore | LinearAndTrees, joint: JointRows, seed: int
) -> Quality | None:
    linear = fitted.linear if isinstance(fitted, LinearAndTrees) else fitted
    sizes = np.bincount(joint.codes, minlength=2)
    if sizes.min() < _LEAST or _carried(linear, joint.features) < _CARRIED:
        return None
    found = np.zeros(len(joint.rows))
    for fold in np.unique(joint.folds).tolist():
        out = joint.folds == fold
        values = table.values[joint.rows[out]]
        model = fit_linear(_without(table, joint.rows[out]))
        scores = model.decision_function(values)
        if isinstance(fitted, LinearAndTrees):
            kept, trust = joint.but(fold), trust_of(joint)
            trees = grow_beside(table, model, kept, fitted.share, trust, seed)
            grown = trees.scores(values[:, joint.features])[:, 0]
            scores = (1 - fitted.share) * scores + grown
        found[out] = scores
    p = expit(found)
    # of each class other parts were bought together: the rows weigh what their class does
    weights = table.of_rows(joint.rows).weighing_as(table).weights
    return measure(np.column_stack([1 - p, p]), joint.codes, weights, seed)


def _carried(linear: LinearScore, joint: Ints) -> float:
    """How much of the linear score's variance the joint features carry."""
    mu = linear.centres_
    each = linear.coef_**2 * mu * (1 - mu)
    return float(each[joint].sum() / max(each.sum(), 1e-12))


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
