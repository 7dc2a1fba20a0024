"""Labels of several tasks on the same rows, some of them missing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from thrifty.array_types import Ints
from thrifty.errors import BadInput
from thrifty.labels.classes import Labels
from thrifty.labels.numbers import Numbers
from thrifty.typing import LabelsLike

__all__ = ["PartlyLabelled", "columns_of", "read_partly"]


@dataclass(frozen=True, eq=False)
class PartlyLabelled:
    """The labels of the rows that have one.

    Attributes
    ----------
    labels : Labels or Numbers
        of those rows, in their order
    rows : array of int
        which rows have one
    n_rows : int
        how many rows there are
    """

    labels: Labels | Numbers
    rows: Ints
    n_rows: int


def columns_of(names: Sequence[str], Y: object) -> list[LabelsLike]:
    """The labels of each task, from a frame, a mapping or a 2-D array.

    >>> [list(y) for y in columns_of(["a", "b"], {"b": [1, 0], "a": [0, 0]})]
    [[0, 0], [1, 0]]
    """
    if len(set(names)) < len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise BadInput(f"every task needs a name of its own; {twice!r} comes twice.")
    if isinstance(Y, Mapping) or hasattr(Y, "columns"):
        keys = list(Y) if isinstance(Y, Mapping) else list(getattr(Y, "columns"))  # noqa: B009
        there = [str(key) for key in keys]
        odd = sorted(set(there) ^ set(map(str, names)))
        if odd:
            where = "Y alone" if odd[0] in there else "the names alone"
            raise BadInput(
                f"Y must hold a column for each task and no other: {odd[0]!r} is in {where}. Y has "
                f"{there[:6]}, the names are {list(names)[:6]}."
            )
        by_name = cast(Mapping[object, LabelsLike], Y)
        return [by_name[keys[there.index(str(name))]] for name in names]
    array = np.asarray(Y)
    if array.ndim != 2 or array.shape[1] != len(names):
        raise BadInput(
            f"Y must be rows x tasks, a column for each of the {len(names)} names; got shape "
            f"{array.shape}."
        )
    return [array[:, j] for j in range(len(names))]


def read_partly(
    y: LabelsLike, n_rows: int, name: str, read: Callable[[LabelsLike], Labels | Numbers]
) -> PartlyLabelled:
    """Read the labels of one task; NaN, None and NA are rows without one.

    >>> from thrifty.labels.classes import read_classes
    >>> found = read_partly([1, None, 0], 3, "a", read_classes)
    >>> found.rows.tolist(), found.labels.codes.tolist()
    ([0, 2], [1, 0])
    """
    values = np.asarray(y, dtype=object) if not hasattr(y, "dtype") else np.asarray(y)
    if values.ndim != 1 or len(values) != n_rows:
        raise BadInput(
            f"the labels of {name!r} must be one per row: X has {n_rows} rows, and they have shape "
            f"{values.shape}."
        )
    gaps = np.array([_is_gap(value) for value in values.tolist()], dtype=bool)
    if gaps.all():
        raise BadInput(f"{name!r} has no label on any row. Leave it out.")
    rows = np.flatnonzero(~gaps)
    if not gaps.any():
        return PartlyLabelled(read(y), rows, n_rows)
    known = values[rows]
    if known.dtype.kind == "O":
        known = np.array(known.tolist())
    if known.dtype.kind == "f" and bool((known == np.floor(known)).all()):
        known = known.astype(np.int64)  # NaN made numbers of classes
    return PartlyLabelled(read(known), rows, n_rows)


def _is_gap(value: object) -> bool:
    return value is None or (isinstance(value, float) and value != value) or str(value) == "<NA>"
