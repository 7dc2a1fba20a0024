"""From scratch: every cell is bought, every feature compared at every node.

Top-down: split on the feature of the highest gain (ties to the lowest index) until leaves are pure.

Boolean features. A level's nodes are counted in one pass over the tiles, each tile while it is in
cache. Of two siblings only the smaller one is counted; the other is their parent minus it. Counts
are kept for that subtraction up to a fixed number of bytes; what does not fit is counted anew. The
tree does not depend on that order.

Real-valued features, wholly or in part. Ties go to the lowest feature and then to the lowest
threshold. One cell buys every threshold of its feature on that example, so the bill is the same
S N. A feature may recur on a path with another threshold.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thrifty import kernels
from thrifty.cells import Cells
from thrifty.labels.classes import Labels
from thrifty.trees.columns import RowPlace, split_of
from thrifty.trees.gains import Gain, weigh_leaves
from thrifty.trees.growing import (
    AllFeatures,
    Chosen,
    Prices,
    Stuck,
    grow,
    one_by_one,
    or_leaf,
    path_prices,
)
from thrifty.trees.thresholds import RealTable, true_side
from thrifty.trees.tree import Path, Split, Tree
from thrifty.typing import AnyArray, Ints


def scratch_tree(
    cells: Cells,
    labels: Labels,
    gain: Gain,
    *,
    max_depth: int | None = None,
    stuck: Stuck | None = None,
) -> Tree:
    """Buy every cell and grow the top-down tree, with or without thresholds."""
    prices = path_prices(cells, gain)
    if cells.boolean.all():
        tree = grow_from_scratch(
            cells.everything(), labels, gain, prices, max_depth=max_depth, stuck=stuck
        )
    else:
        tree = grow_real(
            cells.table(), cells.boolean, labels, gain, prices, max_depth=max_depth, stuck=stuck
        )
    return weigh_leaves(tree, labels)


Tiles = NDArray[np.uint64]

#: counts kept for later subtraction, and counted at once, stay below this many bytes each
BUFFER = 64 * 2**20


@dataclass(slots=True)
class Pending:
    """A node to be grown: its rows by class, and its counts once they are known."""

    path: Path
    rows: NDArray[np.int64]
    starts: NDArray[np.int64]
    counts: NDArray[np.int32] | None = None

    @property
    def totals(self) -> NDArray[np.int64]:
        return self.starts[1:] - self.starts[:-1]

    def pure(self) -> bool:
        return int(np.count_nonzero(self.totals)) <= 1


def by_class(node: Pending) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """A node's rows, those of one class together, and where each class starts."""
    return node.rows, node.starts


def batches(nodes: list[Pending], tiles: Tiles, n_classes: int) -> list[list[Pending]]:
    """Few enough nodes at a time that their counts fit the buffer."""
    at_once = max(1, BUFFER // (4 * n_classes * tiles.shape[0] * kernels.TILE))
    return [nodes[i : i + at_once] for i in range(0, len(nodes), at_once)]


def count(nodes: list[Pending], tiles: Tiles) -> None:
    """Fill in the counts that are not known yet, all in one pass over the tiles."""
    todo = [node for node in nodes if node.counts is None]
    if not todo:
        return
    C = len(todo[0].starts) - 1
    B = tiles.shape[0]
    rows = np.concatenate([node.rows for node in todo]) if len(todo) > 1 else todo[0].rows
    starts = np.zeros(len(todo) * C + 1, dtype=np.int64)
    np.cumsum(np.concatenate([node.totals for node in todo]), out=starts[1:])
    counts = np.empty((len(todo) * C, B * kernels.TILE), dtype=np.int32)
    kernels.count_segments(tiles, rows, starts, counts)
    for i, node in enumerate(todo):
        node.counts = counts[i * C : (i + 1) * C]


def children(
    nodes: list[Pending], features: list[int], tiles: Tiles, *, keep: bool
) -> list[Pending]:
    """Split each node by its feature; with ``keep``, count the children as well.

    The parents' counts are given up. Pure children are leaves and need no counts.
    """
    pairs: list[tuple[Pending, Pending]] = []
    small_ones: list[Pending] = []
    differences: list[tuple[Pending, Pending, Pending]] = []
    for node, feature in zip(nodes, features):
        false_rows, false_starts, true_rows, true_starts = kernels.partition_rows(
            tiles, node.rows, node.starts, feature
        )
        pair = (
            Pending((*node.path, False), false_rows, false_starts),
            Pending((*node.path, True), true_rows, true_starts),
        )
        pairs.append(pair)
        small, large = sorted(pair, key=lambda child: len(child.rows))
        if keep and not large.pure():
            small_ones.append(small)
            differences.append((node, small, large))
    count(small_ones, tiles)
    for node, small, large in differences:
        assert node.counts is not None and small.counts is not None
        # In place: the parent's counts have served, and fresh memory is slower than old.
        large.counts = np.subtract(node.counts, small.counts, out=node.counts)
    for node in nodes:
        node.counts = None
    return [child for pair in pairs for child in pair]


def grow_from_scratch(
    tiles: NDArray[np.uint64],
    labels: Labels,
    gain: Gain,
    prices: Prices,
    *,
    max_depth: int | None = None,
    stuck: Stuck | None = None,
) -> Tree:
    """The top-down tree on all features; ``len(prices)`` says how many there are.

    With ``stuck`` the tree is consistent with the labels within ``max_depth``, or what ``stuck``
    makes of the first place where that fails is raised; without either ContradictoryLabels is.
    With ``max_depth`` alone a leaf takes the most common class (the first of equals).
    """
    costs = path_prices(prices, gain)

    def choose(level: list[Pending], asked: list[Ints]) -> list[Chosen[Pending] | None]:
        found: list[Chosen[Pending] | None] = []
        parts = batches(level, tiles, labels.n_classes)
        # The children of the last level are leaves whatever their counts.
        keep = len(parts) == 1 and len(level[0].path) + 1 != max_depth
        for batch in parts:
            count(batch, tiles)
            best = [_best(node, gain, costs.at(node.path)) for node in batch]
            for node, feature in zip(batch, best):
                if feature is not None:
                    costs.follow(node.path, Split(feature))
            split = [node for node, feature in zip(batch, best) if feature is not None]
            features = [feature for feature in best if feature is not None]
            below = iter(children(split, features, tiles, keep=keep))
            found += [
                None if feature is None else Chosen(Split(feature), next(below), next(below))
                for feature in best
            ]
        return found

    on_stuck = or_leaf(stuck, max_depth, labels, by_class)
    root = Pending((), *labels.rows_by_class())
    everything = AllFeatures(len(prices))
    return grow(root, everything, choose, on_stuck, max_depth=max_depth, by_level=True)


def _best(node: Pending, gain: Gain, prices: NDArray[np.float64]) -> int | None:
    """The feature of the highest gain, ties to the lowest index; None if none varies."""
    assert node.counts is not None
    gains = gain(node.counts[:, : len(prices)], node.totals, prices)
    best = int(np.argmax(gains))
    return None if gains[best] == -np.inf else best


def grow_real(
    values: AnyArray,
    boolean: NDArray[np.bool_],
    labels: Labels,
    gain: Gain,
    prices: Prices,
    *,
    max_depth: int | None = None,
    stuck: Stuck | None = None,
) -> Tree:
    """The top-down tree on all of ``values`` (S, N); ``boolean`` says which features are.

    ``stuck`` and ``max_depth`` as for :func:`grow_from_scratch`.
    """
    table = RealTable(values)
    costs = path_prices(prices, gain)

    def best(place: RowPlace, features: Ints) -> Chosen[RowPlace] | None:
        rows = place.rows
        choice = table.best(rows, labels.codes[rows], place.totals, costs.at(place.path), gain)
        if choice is None:
            return None
        side = true_side(table.values[rows, choice.index], choice.threshold)
        split = split_of(choice.index, choice.threshold, boolean)
        costs.follow(place.path, split)
        return place.parted(split, side, labels)

    def by_class(place: RowPlace) -> tuple[Ints, Ints]:
        codes = labels.codes[place.rows]
        starts = np.concatenate([[0], np.cumsum(place.totals)])
        return place.rows[np.argsort(codes, kind="stable")], starts

    on_stuck = or_leaf(stuck, max_depth, labels, by_class)
    root = RowPlace.of((), np.arange(len(labels), dtype=np.int64), labels)
    everything = AllFeatures(len(prices))
    return grow(root, everything, one_by_one(best), on_stuck, max_depth=max_depth)
