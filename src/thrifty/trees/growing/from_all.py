"""The top-down tree over every cell, Boolean columns or real ones."""

from __future__ import annotations

from thrifty.cells import Door
from thrifty.labels.classes import Labels
from thrifty.trees.gains.class_weights import weigh_leaves
from thrifty.trees.gains.gain import Gain
from thrifty.trees.growing.path_prices import path_prices
from thrifty.trees.growing.scratch import grow_from_scratch
from thrifty.trees.growing.scratch_real import grow_real
from thrifty.trees.growing.stuck import Stuck
from thrifty.trees.tree import Tree

__all__ = ["scratch_tree"]


def scratch_tree(
    cells: Door,
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
