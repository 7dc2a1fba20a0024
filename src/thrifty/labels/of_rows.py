"""What is said of rows beside their labels: how much each weighs, which belong together."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar, cast

import numpy as np

from thrifty.array_types import Floats, Ints
from thrifty.errors import BadInput
from thrifty.labels.classes import Labels
from thrifty.labels.numbers import Numbers
from thrifty.typing import AnyArray

__all__ = ["read_groups", "read_row_weights", "with_rows"]

L = TypeVar("L", Labels, Numbers)


def read_row_weights(sample_weight: object, n: int) -> Floats | None:
    """How many rows each row counts for; 0 leaves it out.

    >>> read_row_weights([1, 0, 2.5], 3).tolist()
    [1.0, 0.0, 2.5]
    """
    if sample_weight is None:
        return None
    try:
        weights = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise BadInput(f"sample_weight must hold numbers; {error}.") from error
    if weights.ndim == 0:
        weights = np.full(n, float(weights))
    if weights.shape != (n,):
        raise BadInput(
            f"sample_weight must hold one number per example, {n}; Sample weights must be 1D array "
            f"or scalar, got shape {weights.shape}."
        )
    bad = ~np.isfinite(weights) | (weights < 0)
    if bad.any():
        i = int(np.flatnonzero(bad)[0])
        raise BadInput(
            f"sample_weight must hold numbers, 0 or more; got {weights[i]:g} for example {i} "
            f"({int(bad.sum())} of {n} are bad)."
        )
    if not weights.any():
        raise BadInput("sample_weight must leave at least one example; all weights are zero.")
    return weights


def read_groups(groups: object, n: int) -> Ints | None:
    """Which group each row belongs to, as small integers; None where every row is its own.

    >>> read_groups(["ann", "bob", "ann"], 3).tolist()
    [0, 1, 0]
    """
    if groups is None:
        return None
    listed: AnyArray = np.asarray(groups)
    if listed.shape != (n,):
        raise BadInput(
            f"groups must hold one group per example, {n}; got shape {listed.shape}. Rows of one "
            "group, those of a patient for instance, are never parted."
        )
    if any(g is None or g != g for g in listed.tolist()):
        i = next(i for i, g in enumerate(listed.tolist()) if g is None or g != g)
        raise BadInput(f"groups must say where every row belongs; example {i} has none.")
    try:
        found, codes = np.unique(listed, return_inverse=True)
    except TypeError as error:
        raise BadInput(f"groups must be of one kind that can be ordered; {error}.") from error
    if len(found) == n:
        return None  # one member each: as if nothing was said
    if len(found) < 2:
        raise BadInput("groups holds one group: nothing could be left out to judge a model by.")
    return np.asarray(codes.reshape(-1), dtype=np.int64)


def _said_of_rows(labels: L, weights: Floats | None, groups: Ints | None) -> L:
    """Labels with what was said of their rows."""
    return replace(labels, row_weights=weights, groups=groups)


def with_rows(
    labels: L, rows: Ints | None, weights: Floats | None, groups: Ints | None
) -> tuple[L, Ints | None]:
    """Labels of ``rows`` (None: all) with what was said of all rows; returned with their rows.

    Those that weigh 0 are left out.
    """
    if rows is not None:
        weights = None if weights is None else weights[rows]
        groups = None if groups is None else groups[rows]
    labels = _said_of_rows(labels, weights, groups)
    if weights is None or weights.all():
        return labels, rows
    kept = np.flatnonzero(weights)
    if not len(kept):
        raise BadInput("sample_weight must leave at least one example with a label; all are zero.")
    return cast(L, _some_labels(labels, kept)), kept if rows is None else rows[kept]


def _some_labels(labels: Labels | Numbers, rows: Ints) -> Labels | Numbers:
    """The labels of some rows; a class of which none is left is none."""
    weights = None if labels.row_weights is None else labels.row_weights[rows]
    groups = None if labels.groups is None else labels.groups[rows]
    if isinstance(labels, Numbers):
        return replace(labels, values=labels.values[rows], row_weights=weights, groups=groups)
    kept, codes = np.unique(labels.codes[rows], return_inverse=True)
    return replace(
        labels,
        codes=codes.reshape(-1).astype(np.int64),
        classes=labels.classes[kept],
        row_weights=weights,
        groups=groups,
    )
