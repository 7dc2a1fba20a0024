"""What every source can do: say its size and names, and read a block of values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.errors import BadInput

__all__ = ["Source", "as_source"]


class Source(ABC):
    """Values of n_features features on n_examples examples.

    A source is not asked directly: it is handed to a :class:`~thrifty.cells.Cells` door, which
    charges for what it passes on.

    Attributes
    ----------
    feature_names : tuple of str
    boolean : array of bool, one per feature; the others are real-valued
    named : whether the names came from the user (a frame, or ``feature_names=``)
    """

    feature_names: tuple[str, ...]
    boolean: NDArray[np.bool_]
    named: bool = False

    def __init__(
        self, n_examples: int, feature_names: Sequence[str], boolean: NDArray[np.bool_]
    ) -> None:
        self.n_examples = n_examples
        self.feature_names = tuple(feature_names)
        self.boolean = boolean

    @property
    def n_features(self) -> int:
        return len(self.feature_names)

    @abstractmethod
    def read(self, rows: NDArray[np.int64], features: NDArray[np.int64]) -> NDArray[Any]:
        """Values of a block: (len(rows), len(features))."""

    @abstractmethod
    def columns(self, features: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Boolean features packed over all examples: (len(features), W)."""

    @abstractmethod
    def tiles(self) -> NDArray[np.uint64]:
        """Every feature of every example, packed in tiles; Boolean sources only."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.n_examples} examples x {self.n_features} features)"

    @staticmethod
    def from_array(
        X: Any, *, feature_names: Sequence[str] | None = None, allow_missing: bool = False
    ) -> Source:
        """A numpy array or a scipy sparse matrix.

        ``bool`` and integer arrays promise Booleans: anything but 0 and 1 is an error. Float
        columns that hold only 0 and 1 count as Boolean, the others as real-valued.

        >>> Source.from_array(np.eye(3, dtype=bool))
        ArraySource(3 examples x 3 features)
        """
        from thrifty.cells.sources.array import ArraySource
        from thrifty.cells.sources.sparse import SparseSource

        if hasattr(X, "tocsr"):
            return SparseSource(X, feature_names)
        return ArraySource(X, feature_names, allow_missing=allow_missing)

    @staticmethod
    def from_frame(frame: Any, *, allow_missing: bool = False) -> Source:
        """A pandas or polars frame; its columns name the features."""
        from thrifty.cells.sources.frame import frame_source

        return frame_source(frame, allow_missing=allow_missing)


def as_source(X: Any, *, allow_missing: bool = False) -> Source:
    """Whatever the user brought, as a source."""
    if isinstance(X, Source):
        return X
    if hasattr(X, "columns") and hasattr(X, "dtypes"):
        return Source.from_frame(X, allow_missing=allow_missing)
    if isinstance(X, str | bytes):
        raise BadInput(
            f"X must be an array, a frame, a scipy sparse matrix or a Source; got the text {X!r}. "
            "Read the file first, or use a Source.from_... constructor."
        )
    return Source.from_array(X, allow_missing=allow_missing)
