"""Every candidate on every row of a node: Boolean columns, packed, and rows of any kind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from thrifty import kernels
from thrifty.cells import Cells
from thrifty.labels import Labels
from thrifty.trees.gains import Gain, highest
from thrifty.trees.growing import Chosen, P
from thrifty.trees.thresholds import block_cuts, choose, true_side
from thrifty.trees.tree import Path, Split
from thrifty.typing import Bools, Floats, Ints


def split_of(feature: int, threshold: float, boolean: Bools) -> Split:
    """A Boolean feature's split has no threshold."""
    return Split(feature) if boolean[feature] else Split(feature, threshold)


class CandidateColumns(Protocol[P]):
    """What UseRep compares at a node, whatever its rows are."""

    def root(self) -> P:
        """All rows."""

    def best(self, place: P, features: Ints, costs: Floats) -> Chosen[P] | None:
        """The feature of the highest gain, ties to the lowest index; None if none varies."""


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

    def root(self) -> MaskPlace:
        """All rows."""
        totals = np.bitwise_count(self.class_masks).sum(axis=1, dtype=np.int64)
        return MaskPlace((), totals, np.bitwise_or.reduce(self.class_masks, axis=0))

    def best(self, place: MaskPlace, features: Ints, costs: Floats) -> Chosen[MaskPlace] | None:
        """The feature of the highest gain, ties to the lowest index; None if none varies."""
        columns = self.cells.columns(features, place.mask)
        counts = kernels.count_columns(columns, self.class_masks)  # columns are 0 off the mask
        at = highest(self.gain(counts, place.totals, costs[features]))
        if at is None:
            return None
        # The winner's counts are its true child's totals: nothing is counted twice.
        true, mask, path = counts[:, at], place.mask, place.path
        return Chosen(
            Split(int(features[at])),
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
    """Features of any kind on given rows; thresholds are fitted to the rows of the node."""

    def __init__(self, cells: Cells, labels: Labels, gain: Gain) -> None:
        self.cells, self.labels, self.gain = cells, labels, gain

    def root(self, rows: Ints | None = None) -> RowPlace:
        """These rows, or all of them."""
        return RowPlace.of((), np.arange(len(self.labels)) if rows is None else rows, self.labels)

    def best(self, place: RowPlace, features: Ints, costs: Floats) -> Chosen[RowPlace] | None:
        """The feature of the highest gain at its best cut; None if none varies."""
        values, prices = np.asarray(self.cells.get(place.rows, features)), costs[features]
        codes = self.labels.codes[place.rows]
        if self.cells.boolean[features].all():
            true, classes = values != 0, range(len(place.totals))
            counts = np.stack([true[codes == c].sum(axis=0, dtype=np.int64) for c in classes])
            at = highest(self.gain(counts, place.totals, prices))
            if at is None:
                return None
            return place.parted(Split(int(features[at])), true[:, at], self.labels)
        if values.dtype not in (np.float32, np.float64):
            values = values.astype(np.float64)
        cuts = block_cuts(values, codes, place.totals, prices, self.gain)
        found = choose(cuts, place.totals, prices, self.gain, lambda i: values[:, i])
        if found is None:
            return None
        at, threshold = found
        split = split_of(int(features[at]), threshold, self.cells.boolean)
        return place.parted(split, true_side(values[:, at], threshold), self.labels)
