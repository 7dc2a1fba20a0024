"""Tables in memory: arrays, sparse matrices, frames, and columns of categories as codes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Any

import numpy as np

from thrifty import kernels
from thrifty.cells.sources.base import Source, SourceView
from thrifty.cells.sources.checks import (
    boolean_columns,
    checked_names,
    checked_table,
    default_names,
)
from thrifty.cells.sources.gaps import read_na, with_na
from thrifty.cells.sources.kinds import in_one_spelling, plain_kinds, read_columns, read_kinds
from thrifty.errors import BadInput
from thrifty.typing import AnyArray, Bools, Ints, KindsLike, NaLike, TableLike, Words


class ArraySource(Source):
    """A two-dimensional array, examples x features; or the columns of a frame.

    ``lazily``: a column of a frame that is no feature, dates for instance, is an error when it is
    needed. A frame whose columns are all Boolean becomes one byte per cell, another float64.

    The array itself is kept, not copied. Packed forms are made when first needed: a column when a
    learner compares it, all tiles when a task is learned from scratch (1 bit per cell).
    """

    def __init__(
        self,
        X: TableLike,
        feature_names: Sequence[str] | None = None,
        *,
        allow_missing: bool = False,
        kinds: KindsLike = None,
        na: NaLike = None,
        frame: bool = False,
        lazily: bool = False,
    ) -> None:
        given: Any = X
        if frame and (given.shape[0] == 0 or given.shape[1] == 0):
            raise BadInput(
                "X must hold at least one example and one feature; the frame has "
                f"{given.shape[0]} rows and {given.shape[1]} columns."
            )
        feature_names = list(given.columns) if frame else feature_names
        table = None if frame else checked_table(X)
        n = given.shape[1] if table is None else table.shape[1]
        names, self.named = _names(feature_names, n)
        told, codes = read_kinds(kinds, names), read_na(na)
        categories: dict[int, tuple[str, ...]] = {}
        found, unread = dict[str, list[object]](), dict[str, BadInput]()
        if table is None or told or codes or table.dtype.kind in "OU":
            columns = (np.asarray(given[name].to_numpy()) for name in feature_names or ())
            table, categories = read_columns(
                columns if table is None else table.T,
                names,
                told,
                unread if lazily else None,
                na=codes,
                found=found,
            )
            self.unread = unread
            self.gaps, self.told_kinds = with_na(codes, found), plain_kinds(told)
        boolean = boolean_columns(table, names, allow_missing=allow_missing)
        if categories:  # of two categories the places are 0 and 1, too
            boolean[list(categories)] = False
        super().__init__(table.shape[0], names, boolean)
        self.categories = categories
        self._table = table
        self._tiles: Words | None = None
        # Columns packed so far, and where each feature is among them; -1: not yet.
        self._packed = np.zeros((0, kernels.words_for(table.shape[0])), dtype=np.uint64)
        self._place = np.full(table.shape[1], -1, dtype=np.int64)
        self._n_packed = 0
        self._packing = Lock()

    def __getstate__(self) -> dict[str, object]:
        """To another process goes the table; locks stay, packed forms are made anew."""
        kept = {k: v for k, v in self.__dict__.items() if k not in ("_packing", "_tiles")}
        kept["_packed"], kept["_n_packed"] = self._packed[:0], 0
        kept["_place"] = np.full_like(self._place, -1)
        return kept

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self._tiles, self._packing = None, Lock()

    def read(self, rows: Ints, features: Ints) -> AnyArray:
        return self._table[np.ix_(rows, features)]

    def table(self) -> AnyArray:
        return self._table

    def columns(self, features: Ints) -> Words:
        if (self._place[features] < 0).any():
            with self._packing:
                self._pack(features)
        return self._packed[self._place[features]]

    def _pack(self, features: Ints) -> None:
        missing = features[self._place[features] < 0]
        if (missing[1:] <= missing[:-1]).any():  # learners ask in order, without repetition
            missing = np.unique(missing)
        if self._tiles is not None:
            packed = kernels.columns_of_tiles(self._tiles, missing)
        else:
            packed = kernels.pack_columns(self._table, missing)
        n = self._n_packed + len(missing)
        if n > len(self._packed):  # room for as many again: columns come a few at a time
            room = np.zeros((min(2 * n, len(self._place)), packed.shape[1]), dtype=np.uint64)
            room[: self._n_packed] = self._packed[: self._n_packed]
            room[self._n_packed : n] = packed
            self._packed = room
        else:
            self._packed[self._n_packed : n] = packed
        self._place[missing] = np.arange(self._n_packed, n)  # last: others may be reading
        self._n_packed = n

    def tiles(self) -> Words:
        if self._tiles is None:
            # packbits takes integers; one block at a time keeps the extra memory small
            of_floats = self._table.dtype.kind == "f"
            self._tiles = kernels.pack_tiles(self._table, as_bool=of_floats)
        return self._tiles


def _names(given: Sequence[str] | None, n: int) -> tuple[tuple[str, ...], bool]:
    """Names of n features, and whether they came from the user."""
    return (default_names(n), False) if given is None else (checked_names(given, n), True)


class SparseSource(Source):
    """A scipy sparse matrix or array, examples x features; what is not stored is 0."""

    def __init__(self, X: Any, feature_names: Sequence[str] | None = None) -> None:
        _check_indices(X)
        by_row = X.tocsr(copy=True)
        by_row.sum_duplicates()
        n_examples, n_features = by_row.shape
        if n_examples == 0 or n_features == 0:
            raise BadInput(
                f"X must hold at least one example and one feature; got shape {by_row.shape}."
            )
        names, self.named = _names(feature_names, n_features)
        self._by_column = by_row.tocsc()
        super().__init__(n_examples, names, self._kinds())

    def _kinds(self) -> Bools:
        """Boolean columns hold only 0 and 1; the others are numbers."""
        stored = self._by_column
        if not np.isfinite(np.asarray(stored.data, dtype=np.float64)).all():
            raise BadInput(
                "every value must be known and finite; the sparse matrix stores NaN or infinity. "
                "Replace those values."
            )
        odd = (stored.data != 0) & (stored.data != 1)
        boolean = np.ones(stored.shape[1], dtype=np.bool_)
        columns = np.repeat(np.arange(stored.shape[1]), np.diff(stored.indptr))[odd]
        boolean[columns] = False
        return boolean

    def read(self, rows: Ints, features: Ints) -> AnyArray:
        block = self._by_column[:, features].tocsr()[rows].toarray()
        return np.asarray(block)

    def columns(self, features: Ints) -> Words:
        out = np.zeros((len(features), kernels.words_for(self.n_examples)), dtype=np.uint64)
        matrix = self._by_column
        for i, f in enumerate(features.tolist()):
            lo, hi = matrix.indptr[f], matrix.indptr[f + 1]
            rows = matrix.indices[lo:hi][matrix.data[lo:hi] != 0].astype(np.int64)
            out[i] = kernels.mask_of_rows(rows, self.n_examples)
        return out


def _check_indices(X: Any) -> None:
    """Indices that point outside the matrix would be read from foreign memory."""
    try:
        if hasattr(X, "check_format"):
            X.check_format(full_check=True)
        if hasattr(X, "row") and hasattr(X, "col"):  # coordinates are not checked by scipy
            _check_range(X.row, X.shape[0], "row")
            _check_range(X.col, X.shape[1], "column")
        lengths = [len(X.data), len(X.row), len(X.col)] if X.format == "coo" else [0]
        if len(set(lengths)) > 1:
            raise ValueError(f"data, row and col have lengths {lengths}")
    except (ValueError, IndexError, TypeError, AttributeError) as error:
        raise BadInput(
            f"the sparse matrix is malformed ({error}). Build it again from its values."
        ) from error


def _check_range(at: AnyArray, n: int, what: str) -> None:
    if len(at) and (int(at.min()) < 0 or int(at.max()) >= n):
        raise ValueError(f"{what} indices must lie in 0..{n - 1}")


class RecodedSource(SourceView):
    """Another source, its categories in given places; made by :meth:`Source.recoded`.

    >>> source = Source.from_array(np.array([["red"], ["green"]], dtype=object))
    >>> source.recoded({"x0": ["blue", "red"]}).read(np.arange(2), np.arange(1)).ravel().tolist()
    [1.0, 2.0]
    """

    def __init__(self, source: Source, known: Mapping[str, Sequence[str]]) -> None:
        super().__init__(source, source.boolean)
        self._known = known

    def _spelt(self, f: int) -> tuple[list[str], Sequence[str]]:
        """A feature's categories as they are spelt elsewhere, and those that are known there."""
        known = self._known.get(self.feature_names[f], ())
        here = self._source.categories[f]
        spelt = in_one_spelling(here, known)
        return [spelt[c] for c in here], known

    @property
    def categories(self) -> Mapping[int, tuple[str, ...]]:  # type: ignore[override]
        found = {}
        for f in self._source.categories:
            here, known = self._spelt(f)
            found[f] = tuple(dict.fromkeys([*known, *here]))
        return found

    def read(self, rows: Ints, features: Ints) -> AnyArray:
        out = super().read(rows, features)
        here, there = self._source.categories, self.categories
        for j, f in enumerate(features.tolist()):
            if f in here:
                places = [there[f].index(c) for c in self._spelt(f)[0]]
                place = np.array(places, dtype=np.float64)
                known = ~np.isnan(out[:, j])
                out[known, j] = place[out[known, j].astype(np.int64)]
        return out
