"""What prefixes say of rows that chose nothing: whole pipelines, each without a part of the rows.

A prefix that is scaled on rows by which its features were put in order states too much: on wide
tables rows that stopped after three answers were right in .60 to .65 of the cases where .94 was
stated. So the order is found again without a third of the rows, and the prefixes of *that* order
are fitted without them; what they say of the rows left out is what prefixes of this length are
worth. Beliefs of the way of buying lose what those rows said, too (to first order).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from thrifty.array_types import Bools, Floats, Ints
from thrifty.models.asking.order import Order
from thrifty.models.fits.fitted import FittedClasses
from thrifty.models.fits.fitting import fit_unmeasured, which_categories
from thrifty.models.fits.folds import stratified_k_folds
from thrifty.models.fits.mixture import Mixture
from thrifty.models.fits.quality_wide import table_without
from thrifty.models.fits.quick_mixture import ForAllLengths, fit_parts, mix
from thrifty.models.table import Table
from thrifty.typing import EstimatorLike

__all__ = [
    "Choose",
    "CrossFitted",
    "Parted",
    "Pipelines",
    "all_classes",
    "beginning",
    "cross_fitted",
    "fill_between",
    "fitted_places",
    "mixtures_left_out",
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
    ``fitted``: the prefixes, by their places, that pipelines were fitted at; what is said at the
    lengths between lies between what is said there.
    """

    parted: Parted
    p: Floats
    judged: Ints
    fitted: list[int]


def fitted_places(lengths: Sequence[int]) -> list[int]:
    """Of these lengths, by their places: 0, 1, 2, 4, 8, 16, 64, 256, ... and the last.

    Beyond 16 none that is more than an eighth of the last: those are the dearest.

    >>> fitted_places([0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 32, 50])
    [0, 1, 2, 4, 7, 10, 12]
    """
    found, power = {0, len(lengths) - 1}, 1
    while power < lengths[-1] if power <= 16 else 8 * power <= lengths[-1]:
        found.add(next(k for k, length in enumerate(lengths) if length >= power))
        power *= 2 if power < 16 else 4
    return sorted(found)


def fill_between(of: Floats, lengths: Sequence[int], fitted: Sequence[int]) -> None:
    """On a line between the nearest lengths that were fitted, in place; lengths come first."""
    for a, b in pairwise(fitted):
        for k in range(a + 1, b):
            part = (lengths[k] - lengths[a]) / (lengths[b] - lengths[a])
            of[k] = (1 - part) * of[a] + part * of[b]


def cross_fitted(
    table: Table,
    parted: Parted,
    lengths: Sequence[int],
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
    """
    p = np.tile(shares, (len(lengths), table.n_rows, 1))
    known = np.zeros((len(lengths), table.n_rows), dtype=bool)
    fitted = fitted_places(lengths)
    for out, rest, k, which in _pipelines(table, parted, lengths):
        known[k, out] = table.bought[np.ix_(out, which)].all(axis=1)
        if len(which) and k in fitted:
            model = fit_unmeasured(_useful(rest.of_features(which)), estimator, seed=seed)
            values = table.of_features(which).of_rows(out).filled()
            p[k, out] = all_classes(model, values, len(shares))
    logs = np.log(p)
    fill_between(logs, lengths, fitted)
    p = np.exp(logs)
    return CrossFitted(p / p.sum(axis=2, keepdims=True), known)


def mixtures_left_out(
    table: Table,
    features: Sequence[Sequence[int]],
    parted: Parted,
    shares: Floats,
    judged: Ints,
    seed: int,
) -> tuple[list[Mixture | None], CrossFitted]:
    """The default mixture at each beginning of an order, and what pipelines say of rows left out.

    The pipelines' parts also say how those on all rows are mixed.
    """
    lengths, n_classes = [len(some) for some in features], len(shares)
    columns = 1 if n_classes == 2 else n_classes
    left_out = np.zeros((len(lengths), 4, table.n_rows, columns))
    n_parts, fitted = 4, fitted_places(lengths)
    known = np.zeros((len(lengths), table.n_rows), dtype=bool)
    values, told, every = table.filled(), which_categories(table), np.arange(table.n_rows)
    ready = ForAllLengths.of(values, table.labels, table.weights, told, n_classes)
    for out, _, k, which in _pipelines(table, parted, lengths):
        known[k, out] = table.bought[np.ix_(out, which)].all(axis=1)
        if len(which) and k in fitted:
            rest = np.setdiff1d(every, out)
            rest = rest[useful_rows(table.of_rows(rest).of_features(which))]
            parts = fit_parts(ready, rest, which, seed, kept=False)
            said = parts.scores(values[np.ix_(out, which)])
            n_parts = min(n_parts, len(said))
            for one, scores in zip(left_out[k], said):
                one[out] = scores
    fill_between(left_out, lengths, [k for k in fitted if lengths[k]])
    p = np.tile(shares, (len(lengths), table.n_rows, 1))
    models: list[Mixture | None] = []
    at = {int(f): j for j, f in enumerate(table.features)}
    for k, some in enumerate(features):
        if not len(some):
            models.append(None)
            continue
        which = np.array([at[f] for f in some], dtype=np.int64)
        parts = fit_parts(ready, useful_rows(table.of_features(which)), which, seed)
        model, p[k] = mix(parts, list(left_out[k, :n_parts]), table.labels, table.weights, judged)
        models.append(model)
    return models, CrossFitted(np.clip(p, 1e-6, 1.0), known)


def _pipelines(
    table: Table, parted: Parted, lengths: Sequence[int]
) -> Iterator[tuple[Ints, Table, int, Ints]]:
    """Rows left out, the others, a length by its place, and the columns that it has there."""
    at = {int(f): j for j, f in enumerate(table.features)}
    for out, order in parted:
        rest = table_without(table, out)
        for k, length in enumerate(lengths):
            yield out, rest, k, np.array([at[f] for f in beginning(order, length)], dtype=np.int64)


def _useful(part: Table) -> Table:
    useful = useful_rows(part)
    return part.of_rows(useful).weighing_as(part) if len(useful) < part.n_rows else part


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


def beginning(order: Order, length: int) -> list[int]:
    """The features of the first steps that have so many together."""
    found: list[int] = []
    for step in order.steps:
        if len(found) >= length:
            break
        found += step
    return found


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
