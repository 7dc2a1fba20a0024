"""Cells from a numpy array that is already in memory: free to read, counted all the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from thrifty import kernels
from thrifty.cells.sources.base import Source
from thrifty.cells.sources.checks import (
    boolean_columns,
    checked_names,
    checked_table,
    default_names,
)
from thrifty.cells.sources.gaps import read_na
from thrifty.cells.sources.kinds import plain_kinds, read_columns, read_kinds
from thrifty.typing import AnyArray, KindsLike, NaLike, TableLike

__all__ = ["ArraySource"]


class ArraySource(Source):
    """A two-dimensional array, examples x features.

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
        known: Mapping[str, Sequence[str]] | None = None,
        na: NaLike = None,
    ) -> None:
        table = checked_table(X)
        self.named = feature_names is not None
        if feature_names is None:
            names = default_names(table.shape[1])
        else:
            names = checked_names(feature_names, table.shape[1])
        told = read_kinds(kinds, names)
        categories: dict[int, tuple[str, ...]] = {}
        codes, found = read_na(na), dict[str, list[object]]()
        if told or codes or table.dtype.kind in "OU":
            table, categories = read_columns(
                table.T, names, told, known or {}, na=codes, found=found
            )
            self.gaps, self.told_kinds = found, plain_kinds(told)
        boolean = boolean_columns(table, names, allow_missing=allow_missing)
        if categories:  # of two categories the places are 0 and 1, too
            boolean[list(categories)] = False
        super().__init__(table.shape[0], names, boolean)
        self.categories = categories
        self._table = table
        self._tiles: NDArray[np.uint64] | None = None
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

    def read(self, rows: NDArray[np.int64], features: NDArray[np.int64]) -> AnyArray:
        return self._table[np.ix_(rows, features)]

    def table(self) -> AnyArray:
        return self._table

    def columns(self, features: NDArray[np.int64]) -> NDArray[np.uint64]:
        if (self._place[features] < 0).any():
            with self._packing:
                self._pack(features)
        return self._packed[self._place[features]]

    def _pack(self, features: NDArray[np.int64]) -> None:
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

    def tiles(self) -> NDArray[np.uint64]:
        if self._tiles is None:
            table = self._table
            if table.dtype.kind == "f":
                # packbits takes integers; one block at a time keeps the extra memory small.
                self._tiles = kernels.pack_tiles(table, as_bool=True)
            else:
                self._tiles = kernels.pack_tiles(table)
        return self._tiles
