"""Labels by row: put in the order of the examples, gaps left out, several tasks side by side.

What is said of rows beside their labels: how much each weighs, which belong together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from thrifty.checks import warn_user
from thrifty.errors import BadInput, RowsLeftOut
from thrifty.labels.classes import Labels
from thrifty.labels.numbers import Numbers
from thrifty.typing import AnyArray, Floats, Ints, LabelsLike, TableLike


def aligned_labels(X: TableLike, y: Any) -> Any:
    """The labels in the order of the examples, where both say which row is which.

    A pandas series and a pandas frame (or the source made of one) carry an index. Where the two
    differ the labels are put in the frame's order; where they are not of the same rows, that is an
    error: by position they would be the labels of others.

    >>> import pandas
    >>> X = pandas.DataFrame({"a": [1, 0]}, index=["p", "q"])
    >>> aligned_labels(X, pandas.Series([7, 8], index=["q", "p"])).tolist()
    [8, 7]
    """
    mine = y.index if hasattr(y, "index") and hasattr(y, "reindex") else None
    theirs: Any = getattr(X, "index", None)
    if mine is None:
        return y
    if theirs is None:
        return _by_ids(getattr(X, "examples", None), y)
    if callable(theirs) or mine.equals(theirs):
        return y
    if len(mine) == len(theirs) and mine.is_unique and not len(mine.symmetric_difference(theirs)):
        return y.reindex(theirs)
    odd = next((label for label in theirs if label not in mine), None)
    odd = mine[0] if odd is None else odd
    raise BadInput(
        f"X and y have an index each ({len(theirs)} and {len(mine)} rows) and they are not of the "
        f"same rows: {odd!r} is in one of them alone, or comes twice. Bring the labels of these "
        "rows, y.loc[X.index]; or, where row i of y is for row i of X whatever the index says, "
        "y.to_numpy()."
    )


def _by_ids(ids: Sequence[str] | None, y: Any) -> Any:
    """Labels whose index holds the ids of the examples, in the order of the examples."""
    said = [str(label) for label in y.index] if ids is not None and len(ids) == len(y) else None
    if ids is None or said is None or tuple(said) == tuple(ids) or set(said) != set(ids):
        return y
    at = {label: i for i, label in enumerate(said)}
    return y.iloc[[at[i] for i in ids]]


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


def known_labels(y: Any, name: str = "") -> tuple[Any, NDArray[np.int64] | None]:
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
        of = f" of {name!r}" if name else ""
        raise BadInput(
            f"every label{of} is empty: there is nothing to learn. Bring rows with a label."
        )
    return array, np.flatnonzero(there)


def _is_empty(value: object) -> bool:
    if value is None or (isinstance(value, float) and value != value):
        return True
    if isinstance(value, str):
        return not value.strip()
    return type(value).__name__ in ("NAType", "NaTType")


def say_left_out(task: str, rows: NDArray[np.int64], n: int, named: int = 3) -> None:
    """Tell the user which rows have no label."""
    gone = np.setdiff1d(np.arange(n), rows)
    shown = ", ".join(map(str, gone[:named].tolist())) + (", ..." if len(gone) > named else "")
    warn_user(
        f"{len(gone)} of {n} rows of {task!r} have no label and are left out (rows {shown}); "
        "nothing is bought on them.",
        RowsLeftOut,
    )


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

    @property
    def by_row(self) -> AnyArray:
        """Of every row its code, -1 for none; or its number, NaN for none."""
        if isinstance(self.labels, Numbers):
            values = np.full(self.n_rows, np.nan)
            values[self.rows] = self.labels.values
            return values
        codes = np.full(self.n_rows, -1, dtype=np.int64)
        codes[self.rows] = self.labels.codes
        return codes


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
    known, rows = known_labels(y, name)
    if rows is None:
        return PartlyLabelled(read(known), np.arange(n_rows), n_rows)
    if known.dtype.kind == "f" and bool((known == np.floor(known)).all()):
        known = known.astype(np.int64)  # NaN made numbers of classes
    return PartlyLabelled(read(known), rows, n_rows)


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
            "group, those of a patient for instance, are held out together."
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
        raise BadInput("groups holds one group: no rows could be held out to measure a model.")
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
