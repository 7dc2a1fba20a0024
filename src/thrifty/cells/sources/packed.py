"""Cells from a packed column file: very wide data, of which a task reads a few columns."""

from __future__ import annotations

from os import PathLike

import numpy as np
from numpy.typing import NDArray

from thrifty import kernels
from thrifty.cells.sources.base import Source
from thrifty.cells.sources.packed_file import PackedFile
from thrifty.typing import AnyArray

__all__ = ["PackedSource"]


class PackedSource(Source):
    """A folder made by ``thrifty pack``; columns are read, and checked, when they are asked for."""

    named = True

    def __init__(self, path: str | PathLike[str]) -> None:
        self.file = PackedFile(path)
        self.n_examples = self.file.n_examples
        self.boolean = self.file.boolean

    def __reduce__(self) -> tuple[object, ...]:
        """On another worker: the same folder, opened there."""
        return PackedSource, (str(self.file.path.absolute()),)

    @property
    def n_features(self) -> int:
        return self.file.n_features

    @property
    def feature_names(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.file.names

    def read(self, rows: NDArray[np.int64], features: NDArray[np.int64]) -> AnyArray:
        boolean = self.boolean[features]
        if boolean.all():
            return np.asarray(kernels.unpack_columns(self.file.columns(features), rows))
        out = np.empty((len(rows), len(features)))
        bits = self.file.columns(features[boolean])
        out[:, boolean] = kernels.unpack_columns(bits, rows)
        out[:, ~boolean] = self.file.reals(features[~boolean])[:, rows].T
        return out

    def columns(self, features: NDArray[np.int64]) -> NDArray[np.uint64]:
        return self.file.columns(features)

    def tiles(self) -> NDArray[np.uint64]:
        self.file.expect_everything()
        tiles = kernels.empty_tiles(self.n_features, self.n_examples)
        for b in range(len(tiles)):
            start = b * kernels.TILE
            some = np.arange(start, min(start + kernels.TILE, self.n_features))
            kernels.tile_of_columns(self.file.columns(some), tiles[b])
        return tiles
