"""Cells from a numpy array that is already in memory: free to read, counted all the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

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

__all__ = ["ArraySource"]


class ArraySource(Source):
    """A two-dimensional array, examples x features.

    The array itself is kept, not copied. Packed forms are made when first needed: a column when a
    learner compares it, all tiles when a task is learned from scratch (1 bit per cell).
    """

    def __init__(
        self, X: Any, feature_names: Sequence[str] | None = None, *, allow_missing: bool = False
    ) -> None:
        table = checked_table(X)
        self.named = feature_names is not None
        if feature_names is None:
            names = default_names(table.shape[1])
        else:
            names = checked_names(feature_names, table.shape[1])
        boolean = boolean_columns(table, names, allow_missing=allow_missing)
        super().__init__(table.shape[0], names, boolean)
        self._table = table
        self._tiles: NDArray[np.uint64] | None = None
        self._columns: dict[int, NDArray[np.uint64]] = {}

    def read(self, rows: NDArray[np.int64], features: NDArray[np.int64]) -> NDArray[Any]:
        return self._table[np.ix_(rows, features)]

    def table(self) -> NDArray[Any]:
        return self._table

    def columns(self, features: NDArray[np.int64]) -> NDArray[np.uint64]:
        known = self._columns
        missing = np.array([f for f in features.tolist() if f not in known], dtype=np.int64)
        if len(missing):
            if self._tiles is not None:
                packed = kernels.columns_of_tiles(self._tiles, missing)
            else:
                packed = kernels.pack_columns(self._table, missing)
            known.update(zip(missing.tolist(), packed))
        out = np.empty((len(features), kernels.words_for(self.n_examples)), dtype=np.uint64)
        for i, f in enumerate(features.tolist()):
            out[i] = known[f]
        return out

    def tiles(self) -> NDArray[np.uint64]:
        if self._tiles is None:
            table = self._table
            if table.dtype.kind == "f":
                # packbits takes integers; one block at a time keeps the extra memory small.
                self._tiles = kernels.pack_tiles(table, as_bool=True)
            else:
                self._tiles = kernels.pack_tiles(table)
        return self._tiles
