"""Learning a tree from scratch: every cell is bought, every feature compared at every node.

Top-down: split on the feature of the highest gain (ties to the lowest index) until leaves are pure.
Nodes of one level are counted together, and of two siblings only the smaller one is counted: the
other is their parent minus it. The tree does not depend on that order.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thrifty.trees.gains.gain import Gain
from thrifty.trees.growing.boolean_counts import Pending, batches, children, count
from thrifty.trees.growing.stuck import Stuck, contradiction
from thrifty.trees.labels import Labels
from thrifty.trees.tree import Leaf, Path, Split, Tree, build

__all__ = ["grow_from_scratch"]


def grow_from_scratch(
    tiles: NDArray[np.uint64],
    labels: Labels,
    gain: Gain,
    prices: NDArray[np.float64],
    *,
    max_depth: int | None = None,
    min_rows: int = 2,
    n_threads: int = 1,
    stuck: Stuck | None = None,
) -> Tree:
    """The top-down tree on all features; ``len(prices)`` says how many there are.

    With ``stuck`` the tree is consistent with the labels within ``max_depth``, or what ``stuck``
    makes of the first place where that fails is raised; without either ContradictoryLabels is.
    With ``max_depth`` alone, and below ``min_rows`` rows, a leaf takes the most common class (the
    first of equals).
    """
    if max_depth is None and stuck is None:
        stuck = contradiction
    splits: dict[Path, Split] = {}
    leaves: dict[Path, Leaf] = {}
    level = [Pending((), *labels.rows_by_class())]
    while level:
        growing = []
        for node in level:
            deep = max_depth is not None and len(node.path) >= max_depth
            if deep and stuck is not None and not node.pure():
                raise stuck(node.path, node.rows, node.starts, labels)
            if node.pure() or deep or len(node.rows) < min_rows:
                leaves[node.path] = _leaf(node)
            else:
                growing.append(node)
        level = []
        parts = batches(growing, tiles, labels.n_classes)
        # The children of the last level are leaves whatever their counts.
        last = bool(growing) and len(growing[0].path) + 1 == max_depth
        keep = len(parts) == 1 and not last
        for batch in parts:
            count(batch, tiles, n_threads)
            split: list[Pending] = []
            features: list[int] = []
            for node in batch:
                assert node.counts is not None
                gains = gain(node.counts[:, : len(prices)], node.totals, prices)
                best = int(np.argmax(gains))
                if gains[best] == -np.inf:
                    if stuck is not None:
                        raise stuck(node.path, node.rows, node.starts, labels)
                    leaves[node.path] = _leaf(node)
                    continue
                splits[node.path] = Split(best)
                split.append(node)
                features.append(best)
            level += children(split, features, tiles, keep=keep, n_threads=n_threads)
    return build(splits, leaves)


def _leaf(node: Pending) -> Leaf:
    totals = node.totals
    return Leaf(int(np.argmax(totals)), tuple(totals.tolist()))
