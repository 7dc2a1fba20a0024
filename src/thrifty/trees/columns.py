"""Every candidate on every row of a node: Boolean columns, packed, and rows of any kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thrifty import kernels
from thrifty.cells import Cells
from thrifty.labels.classes import Labels
from thrifty.trees.gains import Gain
from thrifty.trees.growing import Chosen, path_prices
from thrifty.trees.thresholds import block_columns, choose, true_side
from thrifty.trees.tree import Node, Path, Split
from thrifty.typing import AnyArray, Bools, Ints


def split_of(feature: int, threshold: float, boolean: Bools) -> Split:
    """A Boolean feature's split has no threshold."""
    return Split(feature) if boolean[feature] else Split(feature, threshold)


@dataclass(slots=True)
class MaskPlace:
    """A node whose rows are bits."""

    path: Path
    totals: Ints
    mask: NDArray[np.uint64]


class BooleanColumns:
    """Boolean features alone: columns are bought packed and counted by popcount."""

    def __init__(self, cells: Cells, labels: Labels, gain: Gain) -> None:
        self.cells, self.gain, self.class_masks = cells, gain, labels.masks()
        self.prices = path_prices(cells, gain)

    def root(self) -> MaskPlace:
        """All rows."""
        totals = np.bitwise_count(self.class_masks).sum(axis=1, dtype=np.int64)
        return MaskPlace((), totals, np.bitwise_or.reduce(self.class_masks, axis=0))

    def best(self, place: MaskPlace, features: Ints) -> Chosen[MaskPlace] | None:
        """The feature of the highest gain, ties to the lowest index; None if none varies."""
        columns = self.cells.columns(features, place.mask)
        counts = kernels.count_columns(columns, self.class_masks)  # columns are 0 off the mask
        gains = self.gain(counts, place.totals, self.prices.at(place.path)[features])
        at = int(np.argmax(gains))
        if gains[at] == -np.inf:
            return None
        split = Split(int(features[at]))
        self.prices.follow(place.path, split)
        # The winner's counts are its true child's totals: nothing is counted twice.
        true, mask, path = counts[:, at], place.mask, place.path
        return Chosen(
            split,
            MaskPlace((*path, False), place.totals - true, mask & ~columns[at]),
            MaskPlace((*path, True), true, mask & columns[at]),
        )


@dataclass(slots=True)
class RowPlace:
    """A node whose rows are numbers."""

    path: Path
    totals: Ints
    rows: Ints

    @classmethod
    def of(cls, path: Path, rows: Ints, labels: Labels) -> RowPlace:
        """These rows, counted by class."""
        counts = np.bincount(labels.codes[rows], minlength=labels.n_classes)
        return cls(path, counts.astype(np.int64), rows)

    def parted(self, split: Split, side: Bools, labels: Labels) -> Chosen[RowPlace]:
        """The nodes below a split that is true where ``side`` says."""
        false, true = (
            RowPlace.of((*self.path, branch), rows, labels)
            for branch, rows in ((False, self.rows[~side]), (True, self.rows[side]))
        )
        return Chosen(split, false, true)


class RowColumns:
    """Features of any kind on given rows.

    ``stored``: the pieces that lie at a node; with them only stored thresholds are compared,
    otherwise thresholds are fitted to the rows of the node.
    """

    def __init__(
        self,
        cells: Cells,
        labels: Labels,
        gain: Gain,
        *,
        stored: Callable[[Path], list[Node]] | None = None,
    ) -> None:
        self.cells, self.labels, self.gain, self.stored = cells, labels, gain, stored
        self.prices = path_prices(cells, gain)

    def root(self, rows: Ints | None = None) -> RowPlace:
        """These rows, or all of them."""
        return RowPlace.of((), np.arange(len(self.labels)) if rows is None else rows, self.labels)

    def best(self, place: RowPlace, features: Ints) -> Chosen[RowPlace] | None:
        """The feature of the highest gain at its best cut; None if none varies."""
        chosen = self._best(place, features)
        if chosen is not None:
            self.prices.follow(place.path, chosen.split)
        return chosen

    def _best(self, place: RowPlace, features: Ints) -> Chosen[RowPlace] | None:
        values = np.asarray(self.cells.get(place.rows, features))
        codes = self.labels.codes[place.rows]
        if self.cells.boolean[features].all():
            return self._best_boolean(place, features, values != 0, codes)
        if values.dtype not in (np.float32, np.float64):
            values = values.astype(np.float64)
        if self.stored is None:
            found = self._best_fitted(place, features, values, codes)
        else:
            found = self._best_stored(place, features, values, codes, self.stored(place.path))
        if found is None:
            return None
        at, threshold = found
        split = split_of(int(features[at]), threshold, self.cells.boolean)
        return place.parted(split, true_side(values[:, at], threshold), self.labels)

    def _best_boolean(
        self, place: RowPlace, features: Ints, true: Bools, codes: Ints
    ) -> Chosen[RowPlace] | None:
        classes = range(len(place.totals))
        counts = np.stack([true[codes == c].sum(axis=0, dtype=np.int64) for c in classes])
        gains = self.gain(counts, place.totals, self.prices.at(place.path)[features])
        at = int(np.argmax(gains))
        if gains[at] == -np.inf:
            return None
        return place.parted(Split(int(features[at])), true[:, at], self.labels)

    def _best_fitted(
        self, place: RowPlace, features: Ints, values: AnyArray, codes: Ints
    ) -> tuple[int, float] | None:
        prices = self.prices.at(place.path)[features]
        columns = block_columns(values, codes, place.totals, prices, self.gain)
        choice = choose(columns, place.totals, prices, self.gain, lambda i: values[:, i])
        return None if choice is None else (choice.index, choice.threshold)

    def _best_stored(
        self, place: RowPlace, features: Ints, values: AnyArray, codes: Ints, pieces: list[Node]
    ) -> tuple[int, float] | None:
        asked = set(features.tolist())
        stored = sorted(
            {(p.split.feature, p.split.cut) for p in pieces if p.split.feature in asked}
        )
        index = [int(np.searchsorted(features, feature)) for feature, _ in stored]
        counts = np.empty((len(place.totals), len(stored)), dtype=np.int64)
        for j, (i, (_, threshold)) in enumerate(zip(index, stored)):
            side = true_side(values[:, i], threshold)
            counts[:, j] = np.bincount(codes[side], minlength=len(place.totals))
        gains = self.gain(counts, place.totals, self.prices.at(place.path)[features[index]])
        best = int(np.argmax(gains))
        return None if gains[best] == -np.inf else (index[best], stored[best][1])
