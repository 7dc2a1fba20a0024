"""Whether a model that was fitted again, on more cells, may take the place of the old one."""

from __future__ import annotations

import numpy as np

from thrifty.array_types import Floats, Ints
from thrifty.cells import Cells
from thrifty.labels.numbers import Numbers
from thrifty.labels.partly import PartlyLabelled
from thrifty.models.held.classifier import ModelClassifier
from thrifty.models.held.regressor import ModelRegressor
from thrifty.models.known import read_cells, what_is_known
from thrifty.models.learning import LearnedTable
from thrifty.models.table import Table

__all__ = ["is_not_worse"]

#: rows that the old model never saw, of each class, without which the number of rows decides
_JUDGES = 10
#: probabilities are kept so far from 0 and 1
_EDGE = 1e-3
#: standard errors by which the new model must lose for the old one to stay: what the new one says
#: of a row was learned from two thirds of its rows, so that a draw is a win (docs/models.md)
_BY = 1.0


def is_not_worse(new: LearnedTable, old: object, task: PartlyLabelled, cells: Cells) -> bool:
    """Judged on rows that the old model never saw, by what the new one said without them.

    The old one stays where the new one loses by more than a standard error of the difference.
    Where there are too few such rows, the one that was fitted on more rows is taken, of as many
    rows the one on more cells.
    """
    if not isinstance(old, ModelClassifier | ModelRegressor):
        return False
    table, before = new.bought.table, old.table_
    more = _size(table) > _size(before)
    fresh = np.flatnonzero(~np.isin(table.rows, before.rows))
    if new.left_out is None or not len(fresh):
        return more
    rows, labels = table.rows[fresh], table.labels[fresh]
    values = _values(cells, rows, before.features)
    if isinstance(task.labels, Numbers):
        if len(fresh) < 2 * _JUDGES or not isinstance(old, ModelRegressor):
            return more
        told = np.asarray(old.estimator_.predict(values)).reshape(-1)
        worse = _squares(new.left_out[fresh], labels) - _squares(told, labels)
        return not _is_above_0(worse, np.ones(len(worse)))
    if np.bincount(labels.astype(np.int64)).min() < _JUDGES or not isinstance(old, ModelClassifier):
        return more
    codes = labels.astype(np.int64)
    classes = np.unique(table.labels).astype(np.int64)
    mine = np.zeros((len(fresh), task.labels.n_classes))
    mine[:, classes] = new.left_out[fresh]
    worse = _losses(mine, codes) - _losses(old.probabilities(values), codes)
    return not _is_above_0(worse, table.weights[fresh])


def _size(table: Table) -> tuple[int, int]:
    return table.n_rows, int(table.bought.sum())


def _values(cells: Cells, rows: Ints, features: Ints) -> Floats:
    known = what_is_known(cells)[np.ix_(rows, features)]
    values, middles = read_cells(cells, rows, features, known)
    return np.where(known, values, middles)


def _squares(told: Floats, y: Floats) -> Floats:
    return np.asarray((np.asarray(told).reshape(-1) - y) ** 2)


def _losses(p: Floats, codes: Ints) -> Floats:
    return np.asarray(-np.log(np.clip(p[np.arange(len(codes)), codes], _EDGE, 1.0)))


def _is_above_0(found: Floats, weights: Floats) -> bool:
    """Whether the mean is above 0 by more than chance.

    >>> _is_above_0(np.array([1.0, 2.0, 1.5]), np.ones(3))
    True
    >>> _is_above_0(np.array([1.0, -2.0, 1.5]), np.ones(3))
    False
    """
    share = weights / weights.sum()
    mean = float(share @ found)
    error = float(np.sqrt((share**2) @ (found - mean) ** 2))
    return mean > _BY * error
