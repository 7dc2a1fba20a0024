"""Learning a tree from scratch where features are real-valued, wholly or in part.

As for Booleans: split on the highest gain, ties to the lowest feature and then to the lowest
threshold, until leaves are pure. One cell buys every threshold of its feature on that example, so
the bill is the same S N. A feature may recur on a path with another threshold.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thrifty.array_types import Ints
from thrifty.labels.classes import Labels
from thrifty.trees.gains.cuts import true_side
from thrifty.trees.gains.gain import Gain
from thrifty.trees.growing.candidates import AllFeatures
from thrifty.trees.growing.columns import RowPlace, split_of
from thrifty.trees.growing.grow import Chosen, grow, one_by_one
from thrifty.trees.growing.path_prices import Prices, path_prices
from thrifty.trees.growing.real_table import RealTable
from thrifty.trees.growing.stuck import Stuck, or_leaf
from thrifty.trees.tree import Tree
from thrifty.typing import AnyArray

__all__ = ["grow_real"]


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

    ``stuck`` and ``max_depth`` as for :func:`~thrifty.trees.growing.scratch.grow_from_scratch`.
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
