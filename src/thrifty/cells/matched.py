"""A door whose indices mean somebody's own features, wherever the source keeps them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thrifty import kernels
from thrifty.cells.door import Cells
from thrifty.cells.matching import Match
from thrifty.cells.open_door import Opening
from thrifty.cells.prices.price_list import PricesLike
from thrifty.typing import AnyArray, TableLike

__all__ = ["MatchedCells", "open_cells"]


def open_cells(
    source: TableLike, prices: PricesLike = None, *, match: Match | None, **how: Unpack[Opening]
) -> Cells:
    """A door to a source; with a match, to the features that the match names, in its order."""
    if match is None:
        return Cells(source, prices, **how)
    return MatchedCells(source, prices, match=match, **how)


class MatchedCells(Cells):
    """The cells of a task, asked for by the indices of a match.

    A feature that the source lacks is constant 0 and costs nothing: no learner can gain by it.

    >>> from thrifty.cells.sources import Source
    >>> from thrifty.cells.matching import match_features
    >>> frame = Source.from_array(np.array([[1, 0], [1, 1]]), feature_names=["b", "a"])
    >>> cells = MatchedCells(frame, match=match_features(["a", "b"], frame))
    >>> cells.get([0, 1], [0]).tolist(), cells.receipt().per_feature
    ([[0], [1]], {'a': 2})
    """

    def __init__(
        self, source: TableLike, prices: PricesLike = None, *, match: Match, **how: Unpack[Opening]
    ) -> None:
        super().__init__(source, prices, **how)
        self._match, self._place = match, match.place
        here = np.flatnonzero(match.place >= 0)
        there = match.place[here]
        #: where the source's columns stand here; -1: not at all
        self._back = np.full(self._source.n_features, -1, dtype=np.int64)
        self._back[there] = here
        self.prices = np.ones(len(match.place))
        self.prices[here] = self._each[there]
        self._boolean = np.ones(len(match.place), dtype=np.bool_)
        self._boolean[here] = self._source.boolean[there]
        self._there = there
        if self._paid is None and len(there) < self._source.n_features and self._owned_before:
            self._owned_before = self.meter.owned.count(there)

    @property
    def offered(self) -> NDArray[np.int64]:
        return self._there

    @property
    def n_offered(self) -> int:
        return len(self._there)

    @property
    def n_features(self) -> int:
        return len(self._place)

    @property
    def feature_names(self) -> tuple[str, ...]:
        return self._match.names

    @property
    def boolean(self) -> NDArray[np.bool_]:
        return self._boolean

    @property
    def categories(self) -> Mapping[int, tuple[str, ...]]:
        there = self._source.categories
        return {int(self._back[f]): c for f, c in there.items() if self._back[f] >= 0}

    @property
    def absent(self) -> NDArray[np.bool_]:
        return self._match.absent

    @property
    def fees(self) -> tuple[tuple[float, tuple[int, ...]], ...]:
        turned = [(fee, [int(self._back[m]) for m in members]) for fee, members in super().fees]
        return tuple((fee, tuple(m for m in members if m >= 0)) for fee, members in turned)

    @property
    def orders(self) -> tuple[tuple[int, ...], ...]:
        turned = [[int(self._back[m]) for m in members] for members in super().orders]
        return tuple(tuple(m for m in members if m >= 0) for members in turned)

    def get(self, rows: ArrayLike, features: ArrayLike) -> AnyArray:
        which = self._indices(features, self.n_features, "feature")
        place = self._place[which]
        here = place >= 0
        if here.all():
            return super().get(rows, place)
        block = super().get(rows, place[here])
        out = np.zeros((len(block), len(which)), dtype=block.dtype)
        out[:, here] = block
        return out

    def _here(self, features: Sequence[int]) -> list[int]:
        return [int(self._place[f]) for f in features]

    def _row_costs(
        self, rows: NDArray[np.int64], features: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        place = self._place[features]
        return super()._row_costs(rows, place[place >= 0])

    def _margins(
        self, rows: NDArray[np.int64], features: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        place = self._place[features]
        here = place >= 0
        out = np.zeros((len(rows), len(features)))
        out[:, here] = super()._margins(rows, place[here])
        return out

    def _depending(self, tied: NDArray[np.int64]) -> NDArray[np.int64]:
        here = self._back[super()._depending(tied)]
        return np.asarray(here[here >= 0])

    def prices_after(self, features: Sequence[int]) -> NDArray[np.float64]:
        found = super().prices_after(features)
        if found is self.prices:
            return found
        out = self.prices.copy()
        out[self._back[self._there]] = found[self._there]
        return out

    def columns(self, features: NDArray[np.int64], mask: NDArray[np.uint64]) -> NDArray[np.uint64]:
        place = self._place[features]
        here = place >= 0
        if here.all():
            return super().columns(place, mask)
        out = np.zeros((len(features), len(mask)), dtype=np.uint64)
        out[here] = super().columns(place[here], mask)
        return out

    def everything(self) -> NDArray[np.uint64]:
        n = self.n_examples
        tiles = kernels.empty_tiles(self.n_features, n)
        mask = kernels.mask_of_rows(np.arange(n), n)
        for b in range(len(tiles)):
            some = np.arange(b * kernels.TILE, min((b + 1) * kernels.TILE, self.n_features))
            kernels.tile_of_columns(self.columns(some, mask), tiles[b])
        return tiles

    def table(self) -> AnyArray:
        return self.get(np.arange(self.n_examples), np.arange(self.n_features))
