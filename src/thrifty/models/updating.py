"""Next month's rows: a model's table grows by them, and what comes of it is judged beside it.

The features that the model asks for are bought on the new rows, on all of them or on as many of
each class as the money gives, by the model's cascade (:mod:`thrifty.models.cascade`); with what is
left, columns that the model has never seen. The new model is fitted on the old rows and the
new ones together. It is judged on new rows that were left out of its fit, which the present model
has not seen either: both losses are of the same rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from thrifty.array_types import Floats, Ints
from thrifty.cells import Cells
from thrifty.errors import BadInput
from thrifty.labels.classes import Labels
from thrifty.labels.numbers import Numbers
from thrifty.labels.partly import PartlyLabelled
from thrifty.models.cascade import on_cascade
from thrifty.models.fits.fitting import fit_table
from thrifty.models.fits.folds import make_folds
from thrifty.models.fits.threads import in_one_thread
from thrifty.models.held.classifier import ModelClassifier
from thrifty.models.held.regressor import ModelRegressor
from thrifty.models.known import read_cells, what_is_known
from thrifty.models.learning import Learned, allowance_of
from thrifty.models.memory import words_of
from thrifty.models.table import Table
from thrifty.typing import AnyArray, EstimatorLike

__all__ = ["Held", "Updated", "codes_in", "is_not_worse", "update_model"]

#: folds of the new rows, each judged by a model of all other rows; set by hand
_FOLDS = 4
#: fewer new rows than this judge nothing: the update is kept aside
_LEAST = 20
#: a probability is no closer to 0 than this when its logarithm is taken
_LEAST_P = 1e-6

Held: TypeAlias = ModelClassifier | ModelRegressor
#: what was said of the update's rows: what each weighs, which belong together
Said: TypeAlias = tuple[Floats | None, Ints | None]


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
        """Whether it is as good as the present one on rows left out of both, or better."""
        if self.loss is None or self.loss_before is None:
            return False
        return self.loss <= self.loss_before


def update_model(
    model: Held,
    cells: Cells,
    labels: Labels | Numbers,
    estimator: EstimatorLike | None,
    seed: int,
    known: Ints,
) -> Updated:
    """Buy what is worth buying of the rows that are not ``known``, and fit on all of it.

    Parameters
    ----------
    known : array of int
        rows of the door that the model has learned from already
    """
    y, said = codes_in(model, labels), (labels.row_weights, labels.groups)
    cells = on_cascade(cells, model.steps_) if model.steps_ else cells
    rng = np.random.default_rng(seed)
    fresh = np.setdiff1d(np.arange(cells.n_examples), known)
    if not len(fresh):
        raise BadInput("every row of the update was learned from before: bring rows that are new.")
    asked = model.table_.features
    rows = _rows(cells, y, fresh, asked, allowance_of(cells), rng, numbers=_numbers(model))
    if not len(rows):
        raise BadInput(
            "the money does not buy what the model asks for on a single new row: raise spend=."
        )
    best = _candidate(model, cells, y, said, fresh, rows, asked, estimator, seed)
    new = _new_columns(model, cells, rows)
    if len(new):
        more = np.concatenate([asked, new])
        other = _candidate(model, cells, y, said, fresh, rows, more, estimator, seed)
        if other.loss is not None and best.loss is not None and other.loss < best.loss:
            best = other
    return best


def _numbers(model: Held) -> bool:
    return isinstance(model, ModelRegressor)


def codes_in(model: Held, labels: Labels | Numbers) -> AnyArray:
    """The labels as the model knows them: codes of its classes, or numbers.

    Other kinds of labels, and classes that it has never seen, are refused.
    """
    if isinstance(model, ModelRegressor):
        if isinstance(labels, Labels):
            if labels.classes.dtype.kind not in "iuf":
                raise _another_kind("numbers", f"classes such as {labels.value(0)!r}")
            return labels.classes[labels.codes].astype(np.float64)
        return labels.values
    if isinstance(labels, Numbers):
        raise _another_kind(f"the classes {model.classes_.tolist()[:5]}", "numbers")
    place = {c: i for i, c in enumerate(model.classes_.tolist())}
    found = [place.get(c, -1) for c in labels.classes.tolist()]
    if min(found) < 0:
        other = labels.classes.tolist()[found.index(-1)]
        raise _another_kind(f"the classes {model.classes_.tolist()[:5]}", f"{other!r} too")
    return np.array(found, dtype=np.int64)[labels.codes]


def _another_kind(has: str, came: str) -> BadInput:
    return BadInput(
        f"the task tells {has}, and the labels of the update hold {came}. Bring labels of the same "
        "kind, or learn them as a task of their own."
    )


def _rows(
    cells: Cells,
    y: AnyArray,
    fresh: Ints,
    features: Ints,
    most: float,
    rng: np.random.Generator,
    *,
    numbers: bool,
) -> Ints:
    """New rows that can be paid: all of them, or as many of each class as the money buys."""
    drawn = rng.permutation(fresh)
    groups = [drawn] if numbers else [drawn[y[drawn] == c] for c in np.unique(y[drawn])]

    def taken(each: int) -> Ints:
        return np.sort(np.concatenate([group[:each] for group in groups]))

    low, high = 0, max(map(len, groups))
    while low < high:  # the largest number of each class that can be paid
        middle = (low + high + 1) // 2
        if cells.price_of(taken(middle), features) <= most:
            low = middle
        else:
            high = middle - 1
    return taken(low)


def _new_columns(model: Held, cells: Cells, rows: Ints) -> Ints:
    """Columns that the model has never seen and that what is left buys on these rows."""
    new = np.arange(model.n_features_in_, cells.n_features)
    new = new[~cells.absent[new]]
    taken: list[int] = []
    for f in new[np.argsort(np.asarray(cells.prices)[new], kind="stable")].tolist():
        left = cells.allowance
        if left is not None and cells.price_of(rows, np.array([*taken, f])) > left:
            break
        taken.append(f)
    return np.array(taken, dtype=np.int64)


def _candidate(
    model: Held,
    cells: Cells,
    y: AnyArray,
    said: Said,
    fresh: Ints,
    rows: Ints,
    features: Ints,
    estimator: EstimatorLike | None,
    seed: int,
) -> Updated:
    old = _widened(model.table_, features, cells)
    if said[1] is not None and old.groups is None:  # of old rows nothing was said: each is its own
        old = replace(old, groups=np.arange(old.n_rows))
    new = _new_table(cells, y, said, fresh, rows, old, numbers=_numbers(model))
    whole = joined(old, new)
    with in_one_thread(estimator is None):
        loss, before = _judged(model, old, new, estimator, seed)
        fitted = fit_table(whole, estimator, seed=seed)
    words = {**model.words_, **words_of(cells)}
    made = _around(model, whole, fitted, cells.feature_names, estimator, words)
    made.steps_ = model.steps_
    return Updated(made, rows, loss, before, len(rows))


def _widened(table: Table, features: Ints, cells: Cells) -> Table:
    """The present table with further features, which are gaps on its rows."""
    sizes = tuple(len(cells.categories.get(f, ())) for f in features.tolist())
    had = dict(zip(table.features.tolist(), table.categories or (0,) * table.width))
    sizes = tuple(max(n, had.get(f, 0)) for n, f in zip(sizes, features.tolist()))
    categories = sizes if any(sizes) else ()
    k = len(features) - table.width
    if not k:
        return replace(table, categories=categories)
    gaps = np.full((table.n_rows, k), np.nan)
    return replace(
        table,
        features=features,
        values=np.hstack([table.values, gaps]),
        categories=categories,
        bought=np.hstack([table.bought, np.ones((table.n_rows, k), dtype=bool)]),
        background=None
        if table.background is None
        else np.vstack([table.background, np.zeros((k, 2))]),
    )


def _new_table(
    cells: Cells, y: AnyArray, said: Said, fresh: Ints, rows: Ints, old: Table, *, numbers: bool
) -> Table:
    values = np.asarray(cells.get(rows, old.features), dtype=np.float64)
    values[:, cells.absent[old.features]] = np.nan
    ours = y[rows]
    if numbers:
        weights = np.full(len(rows), len(fresh) / len(rows))
    else:
        n = int(y.max()) + 1
        share = np.bincount(y[fresh], minlength=n) / np.maximum(np.bincount(ours, minlength=n), 1)
        weights = share[ours]
    row_weights, groups = said
    if row_weights is not None:
        weights = weights * row_weights[rows]
    first = int(old.rows.max(initial=-1)) + 1
    return replace(
        old,
        rows=np.arange(first, first + len(rows)),
        values=values,
        labels=ours,
        bought=np.ones(values.shape, dtype=bool),
        weights=weights,
        looked=0,
        keys=None,
        groups=_groups_after(old, np.arange(len(rows)) if groups is None else groups[rows]),
    )


def _groups_after(old: Table, groups: Ints) -> Ints | None:
    """Groups of the new rows, apart from those of the old ones; None where nobody said any."""
    return None if old.groups is None else int(old.groups.max(initial=-1)) + 1 + groups


def joined(old: Table, new: Table) -> Table:
    """The rows of both, those of the first one before the others."""
    return replace(
        old,
        rows=np.concatenate([old.rows, new.rows]),
        values=np.vstack([old.values, new.values]),
        bought=np.vstack([old.bought, new.bought]),
        weights=np.concatenate([old.weights, new.weights]),
        labels=np.concatenate([old.labels, new.labels]),
        keys=None,  # those of the new rows are not known here
        groups=None
        if old.groups is None or new.groups is None
        else np.concatenate([old.groups, new.groups]),
    )


def _around(
    model: Held,
    table: Table,
    fitted: object,
    names: tuple[str, ...],
    estimator: EstimatorLike | None,
    words: dict[str, tuple[str, ...]],
) -> Held:
    if isinstance(model, ModelRegressor):
        return ModelRegressor.around(table, fitted, names, estimator, words)  # type: ignore[arg-type]
    return ModelClassifier.around(
        table,
        fitted,  # type: ignore[arg-type]
        model.classes_,
        names,
        estimator,
        words,
        model.positive_,
    )


def _judged(
    model: Held, old: Table, new: Table, estimator: EstimatorLike | None, seed: int
) -> tuple[float | None, float | None]:
    """Losses on the new rows, of models fitted without each and of the present one."""
    if new.n_rows < _LEAST:
        return None, None
    codes = None if _numbers(model) else new.labels.astype(np.int64)
    folds = make_folds(new.n_rows, _FOLDS, seed, codes, new.groups)
    if folds is None:
        folds = make_folds(new.n_rows, _FOLDS, seed, None, new.groups)
    if folds is None:
        return None, None
    found = np.zeros(new.n_rows)
    for fold in range(_FOLDS):
        out = np.flatnonzero(folds == fold)
        kept = joined(old, new.of_rows(np.flatnonzero(folds != fold)))
        try:
            fitted = fit_table(kept, estimator, seed=seed)
        except (ArithmeticError, ValueError):
            return None, None
        found[out] = _losses(model, fitted, new.of_rows(out))
    asked = len(model.features_)
    before = _losses(model, model.estimator_, new.of_features(np.arange(asked)))
    weights = new.weights / new.weights.sum()
    return float(weights @ found), float(weights @ before)


def _losses(model: Held, fitted: object, table: Table) -> Floats:
    """Of each row: squared errors of numbers, logarithms of classes."""
    if isinstance(model, ModelRegressor):
        said = np.asarray(fitted.predict(table.values)).reshape(-1)  # type: ignore[attr-defined]
        return np.asarray((said - table.labels) ** 2, dtype=np.float64)
    p = np.zeros((table.n_rows, len(model.classes_)))
    known = np.asarray(fitted.classes_, dtype=np.int64)  # type: ignore[attr-defined]
    p[:, known] = fitted.predict_proba(table.values)  # type: ignore[attr-defined]
    right = p[np.arange(table.n_rows), table.labels.astype(np.int64)]
    return np.asarray(-np.log(np.maximum(right, _LEAST_P)))


# Whether a model that was fitted again, on more cells, may take the place of the old one.
#: rows that the old model never saw, of each class, without which the number of rows decides
_JUDGES = 10
#: probabilities are kept so far from 0 and 1
_EDGE = 1e-3
#: standard errors by which the new model must lose for the old one to stay: what the new one says
#: of a row was learned from two thirds of its rows, so that a draw is a win (docs/models.md)
_BY = 1.0


def is_not_worse(new: Learned, old: object, task: PartlyLabelled, cells: Cells) -> bool:
    """Judged on rows that the old model never saw, by what the new one said without them.

    The old one stays where the new one loses by more than a standard error of the difference.
    Where there are too few such rows, the one that was fitted on more rows is taken, of as many
    rows the one on more cells.
    """
    if not isinstance(old, ModelClassifier | ModelRegressor):
        return False
    table, before = new.table, old.table_
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
    worse = _log_losses(mine, codes) - _log_losses(old.probabilities(values), codes)
    return not _is_above_0(worse, table.weights[fresh])


def _size(table: Table) -> tuple[int, int]:
    return table.n_rows, int(table.bought.sum())


def _values(cells: Cells, rows: Ints, features: Ints) -> Floats:
    known = what_is_known(cells)[np.ix_(rows, features)]
    return read_cells(cells, rows, features, known)  # what is not known is a gap


def _squares(told: Floats, y: Floats) -> Floats:
    return np.asarray((np.asarray(told).reshape(-1) - y) ** 2)


def _log_losses(p: Floats, codes: Ints) -> Floats:
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
