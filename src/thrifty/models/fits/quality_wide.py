"""Quality of a wide table's model on rows left out.

Its table has holes: a row shows most of the features of a prediction only where the joint features
were bought, so that it is measured there, and only where these carry most of the score. Rows are
left out in six parts, and what is believed of every effect is believed anew without their looks:
taken out to first order, and in three parts, errors were a fifth larger and leant to the low side.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.special import expit, logit

from thrifty.array_types import Floats, Ints
from thrifty.models.belief import Looked, believe
from thrifty.models.fits.folds import folds_in_turn_by_class
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
#: parts of the rows, each left out once
_PARTS = 6
#: intervals are so much wider than draws of these rows say: what holes leave out is in no draw. 1.2
#: held in 92.2 and 91.4 % of the first 245 drawn tables, 1.3 in 94 (`python benchmarks/promises.py
#: intervals --design "wide Boolean"`); with three parts and beliefs to first order 2 was needed
_WIDER = 1.3


def quality_of_wide(
    fitted: LinearAndTrees, table: Table, joint: JointRows, seed: int = 0
) -> Quality | None:
    """Quality where rows of the table can show it; None elsewhere."""
    linear = fitted.linear
    sizes = np.bincount(joint.codes, minlength=2)
    if sizes.min() < _LEAST or _carried(linear, joint.features) < _CARRIED:
        return None
    joint = replace(joint, folds=folds_in_turn_by_class(joint.codes, _PARTS))
    found = np.zeros(len(joint.rows))
    for fold in range(_PARTS):
        out = joint.folds == fold
        values = table.values[joint.rows[out]]
        model = fit_linear(_believed_without(table, joint.rows[out]))
        trees = grow_beside(table, model, joint.but(fold), fitted.share, trust_of(joint), seed)
        again = replace(fitted, linear=model, trees=trees)
        found[out] = again.decision_function(values)
    p = expit(found)
    # of each class other parts were bought together: the rows weigh what their class does
    weights = table.of_rows(joint.rows).weighing_as(table).weights
    groups = None if table.groups is None else table.groups[joint.rows]
    return quality_of(np.column_stack([1 - p, p]), joint.codes, weights, seed, _WIDER, groups)


def _carried(linear: LinearScore, joint: Ints) -> float:
    """How much of the linear score's variance the joint features carry."""
    mu = linear.centres_
    each = linear.coef_**2 * mu * (1 - mu)
    return float(each[joint].sum() / max(each.sum(), 1e-12))


def _believed_without(table: Table, out: Ints) -> Table:
    """The table without some rows, with what is believed of its effects without their looks."""
    rest = table.of_rows(np.setdiff1d(np.arange(table.n_rows), out))
    if table.centres is None or table.effects is None:
        return rest
    outside = rest.bought[rest.labels != table.rare_code].sum(axis=0).astype(np.float64)
    (mean, variance), (mean_without, variance_without) = (
        _of_effects(one, table.centres, outside) for one in (table, rest)
    )
    moved = table.effects[:, 0] + mean_without - mean
    wider = table.effects[:, 1] * variance_without / np.maximum(variance, 1e-12)
    return replace(rest, effects=np.column_stack([moved, wider]))


def _of_effects(table: Table, centres: Floats, outside: Floats) -> tuple[Floats, Floats]:
    """Mean and variance of every effect, from the rare rows of a table and the background."""
    rare = table.labels == table.rare_code
    bought = table.bought[rare]
    ones = np.where(bought, table.values[rare], 0.0).sum(axis=0)
    looked = Looked(bought.sum(axis=0).astype(np.float64), ones, outside, centres * outside)
    belief = believe(looked, float(centres.mean()))
    return belief.mean(), belief.variance()


def table_without(table: Table, out: Ints) -> Table:
    """The table without some rows, and its beliefs, where it has any, without what those said.

    To first order, which leaves them a little too small: who stops asking by what rows left out
    say (:mod:`thrifty.models.asking.cross_fitted`) rather stops too late.
    """
    rest = np.setdiff1d(np.arange(table.n_rows), out)
    if table.centres is None or table.effects is None:
        return table.of_rows(rest)
    mean, variance = table.effects[:, 0], table.effects[:, 1]
    rate = expit(logit(table.centres) + mean)
    rare = out[table.labels[out] == table.rare_code]
    said = np.where(table.bought[rare], table.values[rare] - rate, 0.0).sum(axis=0)
    effects = np.column_stack([mean - said * variance, variance])
    return replace(table.of_rows(rest), effects=effects)
