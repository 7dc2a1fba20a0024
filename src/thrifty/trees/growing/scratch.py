"""Learning a tree from scratch: every cell is bought, every feature compared at every node.

Top-down: split on the feature of the highest gain (ties to the lowest index) until leaves are pure.
Nodes of one level are counted together, and of two siblings only the smaller one is counted: the
other is their parent minus it. The tree does not depend on that order.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thrifty.array_types import Ints
from thrifty.labels.classes import Labels
from thrifty.trees.gains.gain import Gain
from thrifty.trees.growing.boolean_counts import Pending, batches, by_class, children, count
from thrifty.trees.growing.candidates import AllFeatures
from thrifty.trees.growing.grow import Chosen, grow
from thrifty.trees.growing.path_prices import Prices, path_prices
from thrifty.trees.growing.stuck import Stuck, or_leaf
from thrifty.trees.tree import Split, Tree

__all__ = ["grow_from_scratch"]


def grow_from_scratch(
    tiles: NDArray[np.uint64],
    labels: Labels,
    gain: Gain,
    prices: Prices,
    *,
    max_depth: int | None = None,
    n_threads: int = 1,
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
            count(batch, tiles, n_threads)
            best = [_best(node, gain, costs.at(node.path)) for node in batch]
            for node, feature in zip(batch, best):
                if feature is not None:
                    costs.follow(node.path, Split(feature))
            split = [node for node, feature in zip(batch, best) if feature is not None]
            features = [feature for feature in best if feature is not None]
            below = iter(children(split, features, tiles, keep=keep, n_threads=n_threads))
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
