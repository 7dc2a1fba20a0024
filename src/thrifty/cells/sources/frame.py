"""Cells from a pandas or polars frame: columns keep their names, Booleans their promise."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.cells.sources.array import ArraySource
from thrifty.cells.sources.base import Source
from thrifty.errors import BadInput

__all__ = ["frame_source"]


def frame_source(frame: Any, *, allow_missing: bool = False) -> Source:
    """A source over the frame's columns.

    All-Boolean frames become one byte per cell; a frame with any other numeric column becomes
    float64 (integers in a frame may be counts or ages, so they are not taken as a promise).
    """
    names = [str(name) for name in frame.columns]
    columns = [_numeric(frame[name], str(name)) for name in frame.columns]
    if not columns:
        raise BadInput("X must hold at least one example and one feature; the frame has no column.")
    if all(_is_boolean(column) for column in columns):
        table: NDArray[Any] = np.column_stack([column.astype(np.uint8) for column in columns])
    else:
        table = np.column_stack([column.astype(np.float64) for column in columns])
    return ArraySource(table, names, allow_missing=allow_missing)


def _numeric(column: Any, name: str) -> NDArray[Any]:
    values = np.asarray(column.to_numpy())
    if values.dtype == object:
        known = [v for v in values.tolist() if v is not None]
        if all(isinstance(v, bool | int | float | np.number | np.bool_) for v in known):
            return np.array([np.nan if v is None else float(v) for v in values.tolist()])
    if values.dtype.kind not in "biuf":
        raise BadInput(
            f"every feature must hold numbers or Booleans; column {name!r} holds "
            f"{values.dtype} values. Encode it first, for instance with "
            "sklearn.preprocessing.OneHotEncoder (or OrdinalEncoder where it has an order)."
        )
    return values


def _is_boolean(column: NDArray[Any]) -> bool:
    return column.dtype.kind == "b" or bool(((column == 0) | (column == 1)).all())
