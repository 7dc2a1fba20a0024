"""What prefixes say of rows that chose nothing: whole pipelines, each without a part of the rows.

A prefix that is scaled on rows by which its features were put in order states too much: on wide
tables rows that stopped after three answers were right in .60 to .65 of the cases where .94 was
stated. So the order is found again without a third of the rows, and the prefixes of *that* order
are fitted without them; what they say of the rows left out is what prefixes of this length are
worth. Beliefs of the way of buying lose what those rows said, too (to first order).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from thrifty.array_types import Bools, Floats, Ints
from thrifty.models.asking.order import Order
from thrifty.models.fits.fitted import FittedClasses
from thrifty.models.fits.fitting import fit_unmeasured, which_categories
from thrifty.models.fits.folds import stratified_k_folds
from thrifty.models.fits.mixture import Mixture, refit_mixture
from thrifty.models.fits.quality_wide import table_without
from thrifty.models.table import Table
from thrifty.typing import EstimatorLike

__all__ = [
    "Choose",
    "CrossFitted",
    "Parted",
    "Pipelines",
    "all_classes",
    "cross_fitted",
    "parted_by",
    "useful_rows",
]

#: finds an order on the rows of a table
Choose = Callable[[Table], Order]
#: rows left out, and the order that was found without them
Parted = Sequence[tuple[Ints, Order]]

#: each pipeline sees two thirds of the rows, as the mixture's folds do
FOLDS = 3
#: rows of the rarest class without which no pipeline is parted; set by hand
LEAST = 15


@dataclass(frozen=True, eq=False)
class CrossFitted:
    """(prefixes, rows, classes) probabilities, and on which rows all cells of them were there."""

    p: Floats
    known: Bools


@dataclass(frozen=True, eq=False)
class Pipelines:
    """What whole pipelines without some rows said of them, before any scaling.

    ``judged``: the rows, by their positions in the table, that prefixes are scaled and judged on.
    """

    parted: Parted
    p: Floats
    judged: Ints


def cross_fitted(
    table: Table,
    parted: Parted,
    lengths: Sequence[int],
    models: Sequence[FittedClasses | None],
    shares: Floats,
    estimator: EstimatorLike | None,
    seed: int,
) -> CrossFitted:
    """What each length of an order found without a row says of it.

    Parameters
    ----------
    table : Table
        with class codes as labels
    parted : Parted
        rows left out, and the order that was found without them
    lengths : sequence of int
        features of each prefix; of another order the first steps that have as many
    models : sequence of FittedClasses or None
        the prefixes on all rows: a mixture's shares and slope are theirs, its parts are fitted
        again
    """
    p = np.tile(shares, (len(lengths), table.n_rows, 1))
    known = np.zeros((len(lengths), table.n_rows), dtype=bool)
    for out, order in parted:
        rest = table_without(table, out)
        at = {int(f): j for j, f in enumerate(table.features)}
        for k, (length, model) in enumerate(zip(lengths, models)):
            which = np.array([at[f] for f in _beginning(order, length)], dtype=np.int64)
            known[k, out] = table.bought[np.ix_(out, which)].all(axis=1)
            if not len(which):
                continue
            fitted = _fit_again(rest.of_features(which), model, estimator, seed)
            values = table.of_features(which).of_rows(out).filled()
            p[k, out] = all_classes(fitted, values, len(shares))
    return CrossFitted(p, known)


def parted_by(table: Table, choose: Choose, seed: int) -> Parted | None:
    """Thirds of the rows with an order found without each; None where rows are too few."""
    own = np.flatnonzero(table.rows >= 0)
    counts = np.unique(table.labels[own], return_counts=True)[1]
    if len(counts) < len(np.unique(table.labels)) or counts.min() < LEAST:
        return None
    groups = None if table.groups is None else table.groups[own]
    codes = np.unique(table.labels[own], return_inverse=True)[1]
    fold = stratified_k_folds(codes, FOLDS, seed, groups)
    parts = [own[fold == i] for i in range(FOLDS)]
    return [(out, choose(table_without(table, out))) for out in parts]


def _beginning(order: Order, length: int) -> list[int]:
    """The features of the first steps that have so many together."""
    found: list[int] = []
    for step in order.steps:
        if len(found) >= length:
            break
        found += step
    return found


def _fit_again(
    part: Table, model: FittedClasses | None, estimator: EstimatorLike | None, seed: int
) -> FittedClasses:
    useful = useful_rows(part)
    part = part.of_rows(useful).weighing_as(part) if len(useful) < part.n_rows else part
    if isinstance(model, Mixture) and estimator is None and part.effects is None:
        return refit_mixture(
            model, part.filled(), part.labels, part.weights, which_categories(part), seed
        )
    return fit_unmeasured(part, estimator, seed=seed)


def useful_rows(part: Table, enough: int = 20) -> Ints:
    """Rows with every cell of the prefix, where there are enough of each class; else all rows.

    A table with the background's means at hand fills its holes with them, and needs but one.
    """
    everyone = np.arange(part.n_rows)
    if part.is_whole:
        return everyone
    share = part.bought.mean(axis=1)
    useful = np.flatnonzero(share == 1 if part.centres is None else share > 0)
    counts = np.bincount(part.labels[useful], minlength=int(part.labels.max()) + 1)
    return useful if counts.min() >= enough else everyone


def all_classes(model: FittedClasses, values: Floats, n_classes: int) -> Floats:
    """Probabilities over all class codes; a class that a fold lacked gets none."""
    p = np.zeros((len(values), n_classes))
    if len(values):
        p[:, np.asarray(model.classes_, dtype=np.int64)] = model.predict_proba(values)
    p = np.clip(p, 1e-6, 1.0)
    return np.asarray(p / p.sum(axis=1, keepdims=True))
