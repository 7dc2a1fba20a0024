"""Categories of a source in the places that they have elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from thrifty.cells.sources.base import Source
from thrifty.typing import AnyArray

__all__ = ["RecodedSource"]


class RecodedSource(Source):
    """Another source, its categories in given places; made by :meth:`Source.recoded`.

    >>> source = Source.from_array(np.array([["red"], ["green"]], dtype=object))
    >>> source.recoded({"x0": ["blue", "red"]}).read(np.arange(2), np.arange(1)).ravel().tolist()
    [1.0, 2.0]
    """

    def __init__(self, source: Source, known: Mapping[str, Sequence[str]]) -> None:
        super().__init__(source.n_examples, source.feature_names, source.boolean)
        self.named, self.free, self.examples = source.named, source.free, source.examples
        self.name, self.gaps, self.kept = source.name, source.gaps, source.kept
        self.told_kinds = source.told_kinds
        self.present = source.present
        self.values = source.values
        self._source, self._known = source, known

    @property
    def categories(self) -> Mapping[int, tuple[str, ...]]:  # type: ignore[override]
        """Asked anew each time: a table that is read by columns learns them when it is read."""
        names = self.feature_names
        return {
            f: _extended(self._known.get(names[f], ()), here)
            for f, here in self._source.categories.items()
        }

    def read(self, rows: NDArray[np.int64], features: NDArray[np.int64]) -> AnyArray:
        out = self._source.read(rows, features)
        here, there = self._source.categories, self.categories
        for j, f in enumerate(features.tolist()):
            if f in here:
                place = np.array([there[f].index(c) for c in here[f]], dtype=np.float64)
                out[:, j] = _moved(out[:, j], place)
        return out

    def columns(self, features: NDArray[np.int64]) -> NDArray[np.uint64]:
        return self._source.columns(features)

    def tiles(self) -> NDArray[np.uint64]:
        return self._source.tiles()


def _extended(known: Sequence[str], here: Sequence[str]) -> tuple[str, ...]:
    return (*known, *(c for c in here if c not in set(known)))


def _moved(codes: AnyArray, place: NDArray[np.float64]) -> NDArray[np.float64]:
    out = np.full(len(codes), np.nan)
    there = ~np.isnan(codes)
    out[there] = place[codes[there].astype(np.int64)]
    return out
