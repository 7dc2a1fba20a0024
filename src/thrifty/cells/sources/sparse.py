"""Cells from a scipy sparse matrix, without ever making it dense as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty import kernels
from thrifty.cells.sources.base import Source
from thrifty.cells.sources.checks import checked_names, default_names
from thrifty.errors import BadInput
from thrifty.typing import AnyArray

__all__ = ["SparseSource"]

_ROWS_AT_ONCE = 256


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
        self.named = feature_names is not None
        if feature_names is None:
            names = default_names(n_features)
        else:
            names = checked_names(feature_names, n_features)
        self._by_row = by_row
        self._by_column = by_row.tocsc()
        super().__init__(n_examples, names, self._kinds())

    def _kinds(self) -> NDArray[np.bool_]:
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

    def read(self, rows: NDArray[np.int64], features: NDArray[np.int64]) -> AnyArray:
        block = self._by_column[:, features].tocsr()[rows].toarray()
        return np.asarray(block)

    def columns(self, features: NDArray[np.int64]) -> NDArray[np.uint64]:
        out = np.zeros((len(features), kernels.words_for(self.n_examples)), dtype=np.uint64)
        matrix = self._by_column
        for i, f in enumerate(features.tolist()):
            lo, hi = matrix.indptr[f], matrix.indptr[f + 1]
            rows = matrix.indices[lo:hi][matrix.data[lo:hi] != 0].astype(np.int64)
            out[i] = kernels.mask_of_rows(rows, self.n_examples)
        return out

    def tiles(self) -> NDArray[np.uint64]:
        blocks = [
            kernels.pack_tiles(self._by_row[start : start + _ROWS_AT_ONCE].toarray() != 0)
            for start in range(0, self.n_examples, _ROWS_AT_ONCE)
        ]
        return np.concatenate(blocks, axis=1)


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
