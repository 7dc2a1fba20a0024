"""What users bring, read as numbers: frames by dtype, object arrays column by column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from thrifty.array_types import Floats
from thrifty.errors import BadInput
from thrifty.typing import TableLike

__all__ = ["ColumnReader", "has_texts"]


def has_texts(X: Any) -> bool:
    """Whether some column of a frame or an object array has to be read as categories."""
    if hasattr(X, "dtypes") and hasattr(X, "columns"):
        return any(_is_category(X[name]) for name in X.columns)
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "OUS":
        return any(_is_category(X[:, f]) for f in range(X.shape[1]))
    return False


@dataclass(frozen=True)
class ColumnReader:
    """Texts of every column that holds categories, None for numbers; learned from training rows.

    >>> reader = ColumnReader.of(np.array([["red", 1], ["blue", 2]], dtype=object))
    >>> reader.categories, reader.read(np.array([["blue", 5], ["green", None]], dtype=object))
    ((('blue', 'red'), None), array([[ 0.,  5.],
           [ 2., nan]]))
    """

    categories: tuple[tuple[object, ...] | None, ...]

    @classmethod
    def of(cls, X: TableLike) -> ColumnReader:
        return cls(
            tuple(
                _distinct(column, name) if _is_category(column) else None
                for name, column in _columns(X)
            )
        )

    def read(self, X: TableLike) -> Floats:
        """Numbers; a category never seen is one more than the last, a gap NaN."""
        found = []
        for texts, (name, column) in zip(self.categories, _columns(X)):
            if texts is None:
                found.append(_numbers(column, name))
                continue
            values = np.asarray(column, dtype=object)
            number = {text: float(i) for i, text in enumerate(texts)}
            stranger = float(len(texts))
            found.append(
                np.array([np.nan if _is_gap(v) else number.get(v, stranger) for v in values])
            )
        return np.column_stack(found)


def _columns(X: Any) -> list[tuple[str, Any]]:
    if hasattr(X, "columns"):
        return [(str(name), X[name]) for name in X.columns]
    return [(f"x{f}", X[:, f]) for f in range(X.shape[1])]


def _is_category(column: Any) -> bool:
    kind = str(column.dtype).lower()
    if any(word in kind for word in ("category", "categorical", "str", "enum", "utf8")):
        return True
    if kind == "object":
        return any(isinstance(value, str) for value in np.asarray(column, dtype=object))
    return kind.startswith(("<u", ">u", "|s"))


def _is_gap(value: object) -> bool:
    return value is None or (isinstance(value, float) and value != value) or str(value) == "<NA>"


def _distinct(column: ArrayLike, name: str) -> tuple[object, ...]:
    values = [value for value in np.asarray(column, dtype=object) if not _is_gap(value)]
    try:
        return tuple(sorted(set(values), key=lambda value: (str(type(value)), str(value))))
    except TypeError as error:
        raise BadInput(
            f"the values of a category must be texts or numbers; column {name!r} holds others: "
            f"{error}. Turn them into texts first."
        ) from error


def _numbers(column: ArrayLike, name: str) -> Floats:
    values = np.asarray(column)
    if values.dtype.kind in "Mm":
        raise BadInput(
            f"column {name!r} holds dates; a card takes numbers and categories. Turn dates into "
            "numbers that mean something to the task, such as days before a visit."
        )
    if values.dtype.kind != "O":
        return np.asarray(values, dtype=np.float64)
    try:
        return np.array([np.nan if _is_gap(v) else float(v) for v in values], dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise BadInput(
            f"the values of a feature must be numbers or texts; column {name!r} holds others: "
            f"{error}. Turn them into numbers or texts first."
        ) from error
