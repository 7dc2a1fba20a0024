"""Cells that are known not to exist before anything is bought: ``present=`` of a source.

A test that was never ordered has no result, and whoever keeps the records knows that without
looking at one. Such a gap costs nothing, is never asked for, and is known on every row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from thrifty.cells.sources.base import Source
from thrifty.errors import BadInput
from thrifty.typing import AnyArray, PresentLike

__all__ = ["PresentSource", "read_present", "with_present"]


def read_present(
    present: PresentLike | None, ids: Sequence[object] | None, names: Sequence[str], n: int
) -> NDArray[np.bool_] | None:
    """(examples, features) which cells exist; None where all do.

    >>> read_present([[1, 0], [1, 1]], None, ["a", "b"], 2).tolist()
    [[True, False], [True, True]]
    >>> made = read_present(lambda ids, names: [["b" in i for _ in names] for i in ids],
    ...                     ["ab", "c"], ["a"], 2)
    >>> made.tolist()
    [[True], [False]]
    """
    if present is None:
        return None
    told: object = present
    if callable(present):
        told = present(list(range(n)) if ids is None else list(ids), list(names))
    columns = getattr(told, "columns", None)
    if columns is not None:
        told = _by_name(told, [str(c) for c in columns], names)
    try:
        mask = np.asarray(told)
    except ValueError as error:
        raise BadInput(f"present must be rows x features of True and False: {error}.") from error
    if mask.shape != (n, len(names)):
        raise BadInput(
            f"present must say of every cell whether it exists: expected {n} examples x "
            f"{len(names)} features, got {' x '.join(map(str, mask.shape)) or 'one value'}."
        )
    if mask.dtype != np.bool_:
        values = _numbers(mask)
        if not np.isin(values, (0.0, 1.0)).all():
            raise BadInput(
                "present must hold True where a cell exists and False where it does not, no "
                "values; for a table with gaps that is ~np.isnan(X), or frame.notna()."
            )
        mask = values == 1.0
    return None if mask.all() else np.array(mask, dtype=np.bool_)


def _numbers(mask: AnyArray) -> NDArray[np.float64]:
    try:
        return mask.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise BadInput(f"present must hold True and False; got {mask.flat[0]!r}.") from error


def _by_name(frame: object, columns: Sequence[str], names: Sequence[str]) -> AnyArray:
    """A frame's columns, in the order of the features."""
    lacking = [name for name in names if name not in columns]
    if lacking:
        raise BadInput(
            f"present must have a column for every feature; it lacks {lacking[:5]}. Give an array "
            "where its columns have no names."
        )
    given = list(frame.columns)  # type: ignore[attr-defined]
    at = [given[columns.index(name)] for name in names]
    return np.column_stack([np.asarray(frame[c].to_numpy()) for c in at])  # type: ignore[index]


def with_present(
    source: Source, present: PresentLike | None, ids: Sequence[object] | None
) -> Source:
    """A source that is free to read, told which of its cells exist."""
    mask = read_present(present, ids, source.feature_names, source.n_examples)
    return source if mask is None else PresentSource(source, mask)


class PresentSource(Source):
    """A source that is free to read, with gaps where cells do not exist.

    >>> from thrifty import Cells
    >>> cells = Cells(Source.from_array(np.eye(2), present=[[True, False], [True, True]]))
    >>> cells.get([0, 1], [0, 1]).tolist(), cells.receipt().cells, cells.price_of([0], [1])
    ([[1.0, nan], [0.0, 1.0]], 3, 0.0)
    """

    def __init__(self, source: Source, present: NDArray[np.bool_]) -> None:
        # a column with gaps is none of Booleans
        boolean = source.boolean & present.all(axis=0)
        super().__init__(source.n_examples, source.feature_names, boolean)
        self.named, self.name, self.unread = source.named, source.name, source.unread
        self.examples, self.index, self.gaps = source.examples, source.index, source.gaps
        self.told_kinds = source.told_kinds
        self.kept = source.kept
        self.present, self._source = present, source

    @property
    def categories(self) -> Mapping[int, tuple[str, ...]]:  # type: ignore[override]
        return self._source.categories

    def read(self, rows: NDArray[np.int64], features: NDArray[np.int64]) -> AnyArray:
        values = self._source.read(rows, features)
        assert self.present is not None
        here = self.present[np.ix_(rows, features)]
        return values if here.all() else np.where(here, values.astype(np.float64), np.nan)

    def columns(self, features: NDArray[np.int64]) -> NDArray[np.uint64]:
        return self._source.columns(features)  # of Boolean features, which have no gaps

    def tiles(self) -> NDArray[np.uint64]:
        return self._source.tiles()
