"""Labels that are not known: their rows are left out, before anything is bought on them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.errors import BadInput, RowsLeftOut

__all__ = ["known_labels", "labels_of_kept", "say_left_out"]

#: rows that are named in the warning
_NAMED = 3


def labels_of_kept(y: Any, kept: tuple[NDArray[np.int64], int] | None) -> Any:
    """Labels of the rows that a source has kept, where they come for all it was made of.

    >>> labels_of_kept([7, 8, 9], (np.array([0, 2]), 3))
    [7, 9]
    """
    if kept is None or len(y) != kept[1]:
        return y
    if hasattr(y, "iloc"):
        return y.iloc[kept[0]]
    return y[kept[0]] if isinstance(y, np.ndarray) else [y[i] for i in kept[0].tolist()]


def known_labels(y: Any) -> tuple[Any, NDArray[np.int64] | None]:
    """The labels that are there, and their rows; None: all of them are.

    Nothing (None, NaN, pandas' own gaps, empty text) is no label. Nullable Booleans and integers
    become plain ones.

    >>> known_labels([1, None, 0])[1].tolist()
    [0, 2]
    >>> known_labels(["yes", float("nan"), "no"])[0].tolist()
    ['yes', 'no']
    """
    array = np.ma.getdata(y) if np.ma.isMaskedArray(y) else np.asarray(y)
    if isinstance(y, list | tuple) and array.dtype.kind == "U":
        array = np.asarray(y, dtype=object)  # among texts a NaN would become the text "nan"
    if np.ma.isMaskedArray(y) or array.ndim != 1 or array.dtype.kind not in "OUf":
        return y, None
    listed = array.tolist()
    there = np.array([not _is_empty(v) for v in listed], dtype=np.bool_)
    if array.dtype.kind == "O" and there.any():
        plain = np.asarray([v for v, known in zip(listed, there) if known])
        array = array[there] if plain.dtype.kind not in "biufU" or plain.ndim != 1 else plain
    else:
        array = array[there]
    if there.all():
        nullable = type(getattr(y, "dtype", None)).__name__.endswith("Dtype")
        return (array if nullable else y), None
    if not len(array):
        raise BadInput("every label is empty: there is nothing to learn. Bring rows with a label.")
    return array, np.flatnonzero(there)


def _is_empty(value: object) -> bool:
    if value is None or (isinstance(value, float) and value != value):
        return True
    if isinstance(value, str):
        return not value.strip()
    return type(value).__name__ in ("NAType", "NaTType")


def say_left_out(task: str, rows: NDArray[np.int64], n: int, stacklevel: int) -> None:
    """Tell the user which rows have no label."""
    gone = np.setdiff1d(np.arange(n), rows)
    shown = ", ".join(map(str, gone[:_NAMED].tolist())) + (", ..." if len(gone) > _NAMED else "")
    warnings.warn(
        f"{len(gone)} of {n} rows of {task!r} have no label and are left out (rows {shown}); "
        "nothing is bought on them.",
        RowsLeftOut,
        stacklevel=stacklevel + 1,
    )
