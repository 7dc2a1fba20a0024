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
from thrifty.labels import Labels
from thrifty.trees.columns import RowPlace, split_of
from thrifty.trees.gains import Gain, highest
from thrifty.trees.growing import (
    AllFeatures,
    Chosen,
    OnStuck,
    PathPrices,
    PlaceOfRows,
    consistent,
    grow,
    one_by_one,
)
from thrifty.trees.thresholds import RealTable, true_side
from thrifty.trees.tree import Path, Split, Tree
from thrifty.typing import AnyArray, Floats, Ints


def scratch_tree(
    cells: Cells,
    labels: Labels,
    gain: Gain,
    *,
    max_depth: int | None = None,
    on_stuck: OnStuck[PlaceOfRows] | None = None,
) -> Tree:
    """Buy every cell and grow the top-down tree, with or without thresholds."""
    prices = PathPrices.of(cells, gain)
    if cells.boolean.all():
        tiles = cells.everything()
        return grow_from_scratch(tiles, labels, gain, prices, max_depth, on_stuck)
    table = cells.table()
    return grow_real(table, cells.boolean, labels, gain, prices, max_depth, on_stuck)


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


def children(split: list[tuple[Pending, int]], tiles: Tiles, *, keep: bool) -> list[Pending]:
    """Split each node by its feature; with ``keep``, count the children as well.

    The parents' counts are given up. Pure children are leaves and need no counts.
    """
    pairs: list[tuple[Pending, Pending]] = []
    small_ones: list[Pending] = []
    differences: list[tuple[Pending, Pending, Pending]] = []
    for node, feature in split:
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
    for node, _ in split:
        node.counts = None
    return [child for pair in pairs for child in pair]


def grow_from_scratch(
    tiles: NDArray[np.uint64],
    labels: Labels,
    gain: Gain,
    prices: PathPrices | Floats,
    max_depth: int | None = None,
    on_stuck: OnStuck[PlaceOfRows] | None = None,
) -> Tree:
    """The top-down tree on all features; ``len(prices)`` says how many there are.

    It is consistent with the labels within ``max_depth``, or says where not;
    with ``on_stuck`` it is what that makes of such a place.
    """
    n_features = len(prices)
    at_once = max(1, BUFFER // (4 * labels.n_classes * tiles.shape[0] * kernels.TILE))

    def choose(
        level: list[Pending], asked: list[Ints], costs: list[Floats]
    ) -> list[Chosen[Pending] | None]:
        found: list[Chosen[Pending] | None] = []
        nodes = list(zip(level, costs))
        parts = [nodes[i : i + at_once] for i in range(0, len(nodes), at_once)]
        # The children of the last level are leaves whatever their counts.
        keep = len(parts) == 1 and len(level[0].path) + 1 != max_depth
        for batch in parts:
            count([node for node, _ in batch], tiles)
            best = []
            for node, cost in batch:
                assert node.counts is not None
                best.append(highest(gain(node.counts[:, :n_features], node.totals, cost)))
            split = [(node, f) for (node, _), f in zip(batch, best) if f is not None]
            below = iter(children(split, tiles, keep=keep))
            found += [
                None if feature is None else Chosen(Split(feature), next(below), next(below))
                for feature in best
            ]
        return found

    return grow(
        Pending((), *labels.rows_by_class()),
        AllFeatures(n_features),
        choose,
        PathPrices.fixed(prices),
        on_stuck or consistent(labels, max_depth),
        max_depth=max_depth,
        by_level=True,
    )


def grow_real(
    values: AnyArray,
    boolean: NDArray[np.bool_],
    labels: Labels,
    gain: Gain,
    prices: PathPrices | Floats,
    max_depth: int | None = None,
    on_stuck: OnStuck[PlaceOfRows] | None = None,
) -> Tree:
    """The top-down tree on all of ``values`` (S, N); ``boolean`` says which features are.

    ``max_depth`` and ``on_stuck`` as for :func:`grow_from_scratch`.
    """
    table = RealTable(values)

    def best(place: RowPlace, features: Ints, costs: Floats) -> Chosen[RowPlace] | None:
        found = table.best(place.rows, labels.codes[place.rows], place.totals, costs, gain)
        if found is None:
            return None
        at, threshold = found
        side = true_side(table.values[place.rows, at], threshold)
        return place.parted(split_of(at, threshold, boolean), side, labels)

    return grow(
        RowPlace.of((), np.arange(len(labels), dtype=np.int64), labels),
        AllFeatures(len(prices)),
        one_by_one(best),
        PathPrices.fixed(prices),
        on_stuck or consistent(labels, max_depth),
        max_depth=max_depth,
    )
