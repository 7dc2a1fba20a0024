"""Learning a tree from scratch where features are real-valued, wholly or in part.

As for Booleans: split on the highest gain, ties to the lowest feature and then to the lowest
threshold, until leaves are pure. One cell buys every threshold of its feature on that example, so
the bill is the same S N. A feature may recur on a path with another threshold.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.trees.gains.cuts import true_side
from thrifty.trees.gains.gain import Floats, Gain
from thrifty.trees.growing.real_table import RealTable
from thrifty.trees.growing.stuck import Stuck, contradiction
from thrifty.trees.labels import Labels
from thrifty.trees.tree import Leaf, Path, Split, Tree, build

__all__ = ["grow_real", "split_of"]

Ints = NDArray[np.int64]


def split_of(feature: int, threshold: float, boolean: NDArray[np.bool_]) -> Split:
    """A Boolean feature's split has no threshold."""
    return Split(feature) if boolean[feature] else Split(feature, threshold)


def grow_real(
    values: NDArray[Any],
    boolean: NDArray[np.bool_],
    labels: Labels,
    gain: Gain,
    prices: Floats,
    *,
    max_depth: int | None = None,
    stuck: Stuck | None = None,
) -> Tree:
    """The top-down tree on all of ``values`` (S, N); ``boolean`` says which features are.

    With ``stuck`` the tree is consistent with the labels within ``max_depth``, or what ``stuck``
    makes of the place is raised; without either ContradictoryLabels is. With ``max_depth`` alone a
    leaf takes the most common class.
    """
    if max_depth is None and stuck is None:
        stuck = contradiction
    table = RealTable(values)
    C = labels.n_classes
    splits: dict[Path, Split] = {}
    leaves: dict[Path, Leaf] = {}
    stack: list[tuple[Path, Ints]] = [((), np.arange(len(labels), dtype=np.int64))]
    while stack:
        path, rows = stack.pop()
        codes = labels.codes[rows]
        totals = np.bincount(codes, minlength=C).astype(np.int64)
        deep = max_depth is not None and len(path) >= max_depth
        choice = None
        if (totals > 0).sum() > 1:
            choice = None if deep else table.best(rows, codes, totals, prices, gain)
            if choice is None and stuck is not None:
                raise stuck(path, *_by_class(rows, codes, totals), labels)
        if choice is None:
            leaves[path] = Leaf(int(np.argmax(totals)), tuple(totals.tolist()))
            continue
        splits[path] = split_of(choice.index, choice.threshold, boolean)
        side = true_side(table.values[rows, choice.index], choice.threshold)
        stack.append(((*path, True), rows[side]))
        stack.append(((*path, False), rows[~side]))
    return build(splits, leaves)


def _by_class(rows: Ints, codes: Ints, totals: Ints) -> tuple[Ints, Ints]:
    """The rows of a node, those of one class together, and where each class starts."""
    return rows[np.argsort(codes, kind="stable")], np.concatenate([[0], np.cumsum(totals)])
