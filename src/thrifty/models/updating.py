"""Next month's rows: a model's table grows by them, and what comes of it is judged beside it.

The features that the model asks for are bought on the new rows, on all of them or on as many of
each class as the money gives, by the model's cascade (:mod:`thrifty.models.cascade`); with what is
left, columns that the model has never seen. The new model is fitted on the old rows and the
new ones together. It is judged on held-out new rows, which the present model
has not seen either: both losses are of the same rows.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

import numpy as np

from thrifty.cells import Cells
from thrifty.errors import BadInput
from thrifty.labels import Labels, codes_among
from thrifty.models.cascade import on_cascade
from thrifty.models.estimators import ModelClassifier, ModelRegressor
from thrifty.models.fits.fitting import Fitted, NotBrought, fit_table, in_one_thread
from thrifty.models.fits.folds import make_folds
from thrifty.models.fits.quality import losses, said_left_out
from thrifty.models.learning import LearnedTable, allowance_of, read_cells, what_is_known
from thrifty.models.memory import categories_of
from thrifty.models.table import NamedColumns, Table
from thrifty.typing import AnyArray, Floats, Ints

#: folds of the new rows, each judged by a model of all other rows; fewer new rows judge nothing,
#: and the update is kept aside; nor do fewer than so many of a class judge a model fitted again
_FOLDS, _LEAST, _JUDGES = 4, 20, 10

Held: TypeAlias = ModelClassifier | ModelRegressor


@dataclass(frozen=True, eq=False)
class Updated:
    """A model on old and new rows, and how it compares on new rows that neither has seen.

    ``rows`` are the new rows that were bought, as indices into the update's; ``loss`` and
    ``loss_before`` are None where there were too few to judge.
    """

    model: Held
    rows: Ints
    loss: float | None
    loss_before: float | None
    n_judged: int

    @property
    def not_worse(self) -> bool:
        """Whether it is as good as the present one on held-out rows of both, or better."""
        if self.loss is None or self.loss_before is None:
            return False
        return self.loss <= self.loss_before


def update_model(model: Held, cells: Cells, labels: Labels, seed: int, known: Ints) -> Updated:
    """Buy what is worth buying of the rows that are not ``known``, and fit on all of it.

    Parameters
    ----------
    known : array of int
        rows of the reader that the model has learned from already
    """
    if isinstance(model.estimator_, NotBrought):
        model.estimator_.predict(None)  # says what to bring
    cells = on_cascade(cells, model.steps_)
    fresh = np.setdiff1d(np.arange(cells.n_examples), known)
    if not len(fresh):
        raise BadInput("every row of the update was learned from before: bring rows that are new.")
    made = _Update(model, cells, labels, fresh, seed)
    best = made.candidate(model.table_.features)
    new = made.new_columns()
    if len(new):
        other = made.candidate(np.concatenate([model.table_.features, new]))
        if other.loss is not None and best.loss is not None and other.loss < best.loss:
            best = other
    return best


def codes_in(model: Held, labels: Labels) -> AnyArray:
    """The labels as the model knows them: codes of its classes, or numbers.

    Other kinds of labels, and classes that it has never seen, are refused.
    """
    if isinstance(model, ModelRegressor):
        if labels.numbers is None:
            if labels.classes.dtype.kind not in "iuf":
                raise _another_kind("numbers", f"classes such as {labels.value(0)!r}")
            return labels.classes[labels.codes].astype(np.float64)
        return labels.numbers
    if labels.numbers is not None:
        raise _another_kind(f"the classes {model.classes_.tolist()[:5]}", "numbers")
    found = codes_among(labels.classes.tolist(), model.classes_.tolist())
    if min(found) < 0:
        other = labels.classes.tolist()[found.index(-1)]
        raise _another_kind(f"the classes {model.classes_.tolist()[:5]}", f"{other!r} too")
    return np.array(found, dtype=np.int64)[labels.codes]


def _another_kind(has: str, came: str) -> BadInput:
    return BadInput(
        f"the task predicts {has}, and the labels of the update hold {came}. Bring labels of the "
        "same kind, or learn them as a task of their own."
    )


class _Update:
    """The new rows that are bought, and models of old and new ones together."""

    def __init__(self, model: Held, cells: Cells, labels: Labels, fresh: Ints, seed: int) -> None:
        self.model, self.cells, self.labels, self.fresh = model, cells, labels, fresh
        self.seed, self.y = seed, codes_in(model, labels)
        self.numbers = isinstance(model, ModelRegressor)
        self.rows = self._rows()

    def _rows(self) -> Ints:
        """New rows that can be paid: all of them, or as many of each class as the money buys."""
        drawn = np.random.default_rng(self.seed).permutation(self.fresh)
        most = allowance_of(self.cells)
        y = np.zeros(len(self.y)) if self.numbers else self.y
        groups = [drawn[y[drawn] == c] for c in np.unique(y[drawn])]

        def taken(each: int) -> Ints:
            return np.sort(np.concatenate([group[:each] for group in groups]))

        def is_too_much(each: int) -> bool:
            return self.cells.price_of(taken(each), self.model.table_.features) > most

        n = bisect_left(range(1, max(map(len, groups)) + 1), True, key=is_too_much)
        if not n:
            raise BadInput(
                "the money does not buy what the model asks for on a single new row: raise spend=."
            )
        return taken(n)

    def new_columns(self) -> Ints:
        """Columns that the model has never seen and that what is left buys on these rows."""
        cells, left = self.cells, self.cells.allowance
        new = np.arange(self.model.n_features_in_, cells.n_features)
        new = new[~cells.absent[new]]
        ranked = new[np.argsort(np.asarray(cells.prices)[new], kind="stable")]
        if left is None:
            return ranked
        paid = (k for k in range(len(ranked)) if cells.price_of(self.rows, ranked[: k + 1]) > left)
        return ranked[: next(paid, len(ranked))]

    def candidate(self, features: Ints) -> Updated:
        """A model of the old rows and the new ones together, over these features."""
        model, cells = self.model, self.cells
        words = {**model.words_, **categories_of(cells)}
        old = _widened(model.table_, features, cells)
        old = replace(old, columns=NamedColumns(cells.feature_names, words))
        if self.labels.groups is not None and old.groups is None:
            old = replace(old, groups=np.arange(old.n_rows))  # nothing was said: each is its own
        new = self._new_table(old)
        whole = joined(old, new)
        fit = partial(fit_table, estimator=model.estimator, seed=self.seed)
        with in_one_thread(model.estimator is None):
            said = self._left_out(whole, new, fit)
            fitted = fit(whole)
        made = model.around(whole, fitted, cells.feature_names, words)
        if said is None:
            return Updated(made, self.rows, None, None, len(self.rows))
        asked = new.of_features(np.arange(len(model.features_)))
        weights = new.weights / new.weights.sum()
        loss, before = losses(said, new.labels), model.losses(asked.values, new.labels)
        n = len(self.rows)
        return Updated(made, self.rows, float(weights @ loss), float(weights @ before), n)

    def _left_out(self, whole: Table, new: Table, fit: Callable[[Table], Fitted]) -> Floats | None:
        """What models of the old rows and other new ones say of each new row; None of few."""
        if new.n_rows < _LEAST:
            return None
        codes = None if self.numbers else new.labels.astype(np.int64)
        tried = (make_folds(new.n_rows, _FOLDS, self.seed, by, new.groups) for by in (codes, None))
        folds = next((found for found in tried if found is not None), None)
        if folds is None:
            return None
        n_old = whole.n_rows - new.n_rows
        said = said_left_out(whole, fit, self.seed, np.r_[np.full(n_old, -1), folds])
        return None if said is None else said[n_old:]

    def _new_table(self, old: Table) -> Table:
        cells, rows = self.cells, self.rows
        values = np.asarray(cells.get(rows, old.features), dtype=np.float64)
        values[:, cells.absent[old.features]] = np.nan
        y = np.zeros(len(self.y), dtype=np.int64) if self.numbers else self.y
        n = int(y.max()) + 1
        had = np.bincount(y[self.fresh], minlength=n)
        weights = (had / np.maximum(np.bincount(y[rows], minlength=n), 1))[y[rows]]
        if self.labels.row_weights is not None:
            weights = weights * self.labels.row_weights[rows]
        first, groups = int(old.rows.max(initial=-1)) + 1, self.labels.groups
        if old.groups is not None:  # apart from those of the old rows
            groups = np.arange(len(rows)) if groups is None else groups[rows]
            groups = int(old.groups.max(initial=-1)) + 1 + groups
        return replace(
            old,
            rows=np.arange(first, first + len(rows)),
            values=values,
            labels=self.y[rows],
            bought=np.ones(values.shape, dtype=bool),
            weights=weights,
            looked=0,
            keys=None,
            groups=groups,
        )


def _widened(table: Table, features: Ints, cells: Cells) -> Table:
    """The present table with further features, which are gaps on its rows."""
    sizes = tuple(len(cells.categories.get(f, ())) for f in features.tolist())
    had = dict(zip(table.features.tolist(), table.categories or (0,) * table.width))
    sizes = tuple(max(n, had.get(f, 0)) for n, f in zip(sizes, features.tolist()))
    categories = sizes if any(sizes) else ()
    k, seen = len(features) - table.width, table.background
    return replace(
        table,
        features=features,
        categories=categories,
        values=np.pad(table.values, ((0, 0), (0, k)), constant_values=np.nan),
        bought=np.pad(table.bought, ((0, 0), (0, k)), constant_values=True),
        background=None if seen is None else np.pad(seen, ((0, k), (0, 0))),
    )


def joined(old: Table, new: Table) -> Table:
    """The rows of both, those of the first one before the others."""

    def both(name: str) -> AnyArray:
        return np.concatenate([getattr(old, name), getattr(new, name)])

    return replace(
        old,
        rows=both("rows"),
        values=both("values"),
        bought=both("bought"),
        weights=both("weights"),
        labels=both("labels"),
        groups=None if old.groups is None else both("groups"),  # of both, or of neither
        keys=None,  # those of the new rows are not known here
    )


def is_not_worse(new: LearnedTable, old: object, task: Labels, cells: Cells) -> bool:
    """Whether a model that was fitted again, on more cells, may take the place of the old one.

    Judged on rows that the old one never saw, by what the new one said without them: that was
    learned from two thirds of its rows, so that a draw is a win, and the old one stays only where
    the new one loses by more than a standard error of the difference. Where there
    are too few such rows, the one that was fitted on more rows is taken, of as many rows the one
    on more cells.
    """
    if not isinstance(old, ModelClassifier | ModelRegressor):
        return False
    table, before = new.table, old.table_
    more = _size(table) > _size(before)
    fresh = np.flatnonzero(~np.isin(table.rows, before.rows))
    numbers = task.numbers is not None
    if new.held_out is None or not len(fresh) or numbers != isinstance(old, ModelRegressor):
        return more
    rows, labels, said = table.rows[fresh], table.labels[fresh], new.held_out[fresh]
    codes = np.arange(len(labels)) % 2 if numbers else labels.astype(np.int64)
    if np.bincount(codes).min() < _JUDGES:
        return more
    if not numbers:
        mine = np.zeros((len(fresh), task.n_classes))
        mine[:, np.unique(table.labels).astype(np.int64)] = said
        said = mine
    known = what_is_known(cells)[np.ix_(rows, before.features)]
    values = read_cells(cells, rows, before.features, known)  # what is not known is a gap
    worse = losses(said, labels) - old.losses(values, labels)
    return not _is_above_0(worse, np.ones(len(worse)) if numbers else table.weights[fresh])


def _size(table: Table) -> tuple[int, int]:
    return table.n_rows, int(table.bought.sum())


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
    return mean > error
