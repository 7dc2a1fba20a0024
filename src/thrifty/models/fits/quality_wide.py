"""Quality of a wide table's model on rows left out.

Its table has holes: a row shows most of the features of a prediction only where the joint features
were bought, so that it is measured there, and only where these carry most of the score. What a
row's looks added to the belief about effects is taken out, to first order, before it is scored.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.special import expit, logit

from thrifty.array_types import Ints
from thrifty.models.fits.linear_and_trees import JointRows, LinearAndTrees, grow_beside, trust_of
from thrifty.models.fits.linear_score import LinearScore, fit_linear
from thrifty.models.fits.quality import Quality, quality_of
from thrifty.models.table import Table

__all__ = ["quality_of_wide", "table_without"]

#: rows of either class that the joint rows must have: with fewer the interval says nothing; by hand
_LEAST = 30
#: of the linear score's variance, what the joint features must carry for a figure to be given; set
#: by hand, and `python benchmarks/intervals.py` says how often figures then hold on new rows
_CARRIED = 0.6
#: intervals are so much wider than draws of these rows say: what holes leave out is in no draw;
#: 1.32 would do on drawn tables, and held 13 of 20 on tmc2007_500, slashdot and jester_items
_WIDER = 2.0


def quality_of_wide(
    fitted: LinearAndTrees, table: Table, joint: JointRows, seed: int = 0
) -> Quality | None:
    """Quality where rows of the table can show it; None elsewhere."""
    linear = fitted.linear
    sizes = np.bincount(joint.codes, minlength=2)
    if sizes.min() < _LEAST or _carried(linear, joint.features) < _CARRIED:
        return None
    found = np.zeros(len(joint.rows))
    for fold in np.unique(joint.folds).tolist():
        out = joint.folds == fold
        values = table.values[joint.rows[out]]
        model = fit_linear(table_without(table, joint.rows[out]))
        trees = grow_beside(table, model, joint.but(fold), fitted.share, trust_of(joint), seed)
        again = replace(fitted, linear=model, trees=trees)
        found[out] = again.decision_function(values)
    p = expit(found)
    # of each class other parts were bought together: the rows weigh what their class does
    weights = table.of_rows(joint.rows).weighing_as(table).weights
    return quality_of(np.column_stack([1 - p, p]), joint.codes, weights, seed, _WIDER)


def _carried(linear: LinearScore, joint: Ints) -> float:
    """How much of the linear score's variance the joint features carry."""
    mu = linear.centres_
    each = linear.coef_**2 * mu * (1 - mu)
    return float(each[joint].sum() / max(each.sum(), 1e-12))


def table_without(table: Table, out: Ints) -> Table:
    """The table without some rows, and its beliefs, where it has any, without what those said."""
    rest = np.setdiff1d(np.arange(table.n_rows), out)
    if table.centres is None or table.effects is None:
        return table.of_rows(rest)
    mean, variance = table.effects[:, 0], table.effects[:, 1]
    rate = expit(logit(table.centres) + mean)
    rare = out[table.labels[out] == table.rare_code]
    said = np.where(table.bought[rare], table.values[rare] - rate, 0.0).sum(axis=0)
    effects = np.column_stack([mean - said * variance, variance])
    return replace(table.of_rows(rest), effects=effects)
