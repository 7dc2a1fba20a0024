"""Counting the Boolean features of a tree's nodes, a level at a time.

A level's nodes are counted in one pass over the tiles, each tile while it is in cache. Of two
siblings only the smaller one is counted; the other is their parent minus it. Counts are kept for
that subtraction up to a fixed number of bytes; what does not fit is counted anew.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from thrifty import kernels
from thrifty.trees.tree import Path

__all__ = ["Pending", "batches", "by_class", "children", "count"]

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


def _bytes_of_counts(tiles: Tiles, n_classes: int) -> int:
    return int(4 * n_classes * tiles.shape[0] * kernels.TILE)


def batches(nodes: list[Pending], tiles: Tiles, n_classes: int) -> list[list[Pending]]:
    """Few enough nodes at a time that their counts fit the buffer."""
    at_once = max(1, BUFFER // _bytes_of_counts(tiles, n_classes))
    return [nodes[i : i + at_once] for i in range(0, len(nodes), at_once)]


def count(nodes: list[Pending], tiles: Tiles, n_threads: int = 1) -> None:
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
    if n_threads == 1:
        kernels.count_segments(tiles, rows, starts, 0, B, counts)
    else:
        cuts = np.linspace(0, B, n_threads + 1).astype(np.int64).tolist()
        with ThreadPoolExecutor(n_threads) as threads:
            parts = [
                threads.submit(kernels.count_segments, tiles, rows, starts, lo, hi, counts)
                for lo, hi in pairwise(cuts)
            ]
            for part in parts:
                part.result()
    for i, node in enumerate(todo):
        node.counts = counts[i * C : (i + 1) * C]


def children(
    nodes: list[Pending], features: list[int], tiles: Tiles, *, keep: bool, n_threads: int = 1
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
    count(small_ones, tiles, n_threads)
    for node, small, large in differences:
        assert node.counts is not None and small.counts is not None
        # In place: the parent's counts have served, and fresh memory is slower than old.
        large.counts = np.subtract(node.counts, small.counts, out=node.counts)
    for node in nodes:
        node.counts = None
    return [child for pair in pairs for child in pair]
