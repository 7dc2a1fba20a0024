"""Learning a tree from scratch: every cell is bought, every feature compared at every node.

Top-down: split on the feature of the highest gain (ties to the lowest index) until leaves are pure.
Nodes of one level are counted together, and of two siblings only the smaller one is counted: the
other is their parent minus it. The tree does not depend on that order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thrifty import kernels
from thrifty.errors import ContradictoryLabels
from thrifty.trees.gain import Gain
from thrifty.trees.labels import Labels
from thrifty.trees.tree import Leaf, Path, Split, Tree, build

__all__ = ["contradiction", "grow_from_scratch"]

#: counts kept for later subtraction, and counted at once, stay below this many bytes each
_BUFFER = 64 * 2**20


@dataclass(slots=True)
class _Pending:
    """A node to be grown: its rows by class, and its counts once they are known."""

    path: Path
    rows: NDArray[np.int64]
    starts: NDArray[np.int64]
    counts: NDArray[np.int32] | None = None

    @property
    def totals(self) -> NDArray[np.int64]:
        return np.diff(self.starts)

    def pure(self) -> bool:
        return int((self.totals > 0).sum()) <= 1


def grow_from_scratch(
    tiles: NDArray[np.uint64],
    labels: Labels,
    gain: Gain,
    prices: NDArray[np.float64],
    *,
    max_depth: int | None = None,
    min_rows: int = 2,
    stuck: Callable[[Path, NDArray[np.int64], NDArray[np.int64], Labels], Exception] | None = None,
) -> Tree:
    """The top-down tree on all features; ``len(prices)`` says how many there are.

    Without ``max_depth`` the tree is consistent with the labels, or ContradictoryLabels is raised
    (or what ``stuck`` makes of the path, rows and class starts at which no split is possible).
    With it, and below ``min_rows`` rows, a leaf takes the most common class (the first of equals).
    """
    splits: dict[Path, Split] = {}
    leaves: dict[Path, Leaf] = {}
    level = [_Pending((), *labels.rows_by_class())]
    while level:
        below: list[_Pending] = []
        growing = []
        for node in level:
            deep = max_depth is not None and len(node.path) >= max_depth
            if node.pure() or deep or len(node.rows) < min_rows:
                leaves[node.path] = _leaf(node)
            else:
                growing.append(node)
        for batch in _batches(growing, tiles, labels.n_classes):
            _count(batch, tiles)
            for node in batch:
                assert node.counts is not None
                gains = gain(node.counts[:, : len(prices)], node.totals, prices)
                best = int(np.argmax(gains))
                if gains[best] == -np.inf:
                    if max_depth is None:
                        raise (stuck or contradiction)(node.path, node.rows, node.starts, labels)
                    leaves[node.path] = _leaf(node)
                    continue
                splits[node.path] = Split(best)
                below.extend(_children(node, tiles, best))
        level = below
    return build(splits, leaves)


def _leaf(node: _Pending) -> Leaf:
    totals = node.totals
    return Leaf(int(np.argmax(totals)), tuple(totals.tolist()))


def _batches(nodes: list[_Pending], tiles: NDArray[np.uint64], C: int) -> list[list[_Pending]]:
    """Few enough nodes at a time that their counts fit the buffer."""
    at_once = max(1, _BUFFER // (4 * C * tiles.shape[0] * kernels.TILE))
    return [nodes[i : i + at_once] for i in range(0, len(nodes), at_once)]


def _count(batch: list[_Pending], tiles: NDArray[np.uint64]) -> None:
    """Fill in the counts that subtraction did not give."""
    todo = [node for node in batch if node.counts is None]
    if not todo:
        return
    C = len(todo[0].starts) - 1
    rows = np.concatenate([node.rows for node in todo])
    starts = np.zeros(len(todo) * C + 1, dtype=np.int64)
    np.cumsum(np.concatenate([node.totals for node in todo]), out=starts[1:])
    counts = np.empty((len(todo) * C, tiles.shape[0] * kernels.TILE), dtype=np.int32)
    kernels.count_segments(tiles, rows, starts, 0, tiles.shape[0], counts)
    for i, node in enumerate(todo):
        node.counts = counts[i * C : (i + 1) * C]


def _children(node: _Pending, tiles: NDArray[np.uint64], feature: int) -> list[_Pending]:
    false_rows, false_starts, true_rows, true_starts = kernels.partition_rows(
        tiles, node.rows, node.starts, feature
    )
    pair = [
        _Pending((*node.path, False), false_rows, false_starts),
        _Pending((*node.path, True), true_rows, true_starts),
    ]
    small, large = sorted(pair, key=lambda child: len(child.rows))
    if not large.pure() and node.counts is not None and node.counts.nbytes * 8 <= _BUFFER:
        _count([small], tiles)
        assert small.counts is not None
        large.counts = node.counts - small.counts
    node.counts = None
    return pair


def contradiction(
    path: Path, rows: NDArray[np.int64], starts: NDArray[np.int64], labels: Labels
) -> ContradictoryLabels:
    """Rows that agree on every feature and differ in their label."""
    by_class = [rows[starts[c] : starts[c + 1]] for c in range(labels.n_classes)]
    named = [(int(some[0]), labels.value(c)) for c, some in enumerate(by_class) if len(some)]
    (a, ya), (b, yb) = named[:2]
    return ContradictoryLabels(
        f"a consistent tree is impossible: examples {a} and {b} agree on every feature, yet their "
        f"labels are {ya!r} and {yb!r} ({len(rows)} examples are alike there). Mend or drop "
        "such rows, or learn from noisy data with accept=thrifty.Verified()."
    )
