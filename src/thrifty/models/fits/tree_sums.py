"""Many small trees as plain arrays: kept as JSON, asked by a kernel, added up.

Boosted trees and forests are both of these, whatever library grew them: a fitted object of
scikit-learn can only be kept with pickle, which runs code on load. Both are grown on numbers cut
into a few bins, and their cuts are numbers again afterwards.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from thrifty.array_types import Bools, Floats, Ints
from thrifty.cells.ledger.arrays import pack_arrays, unpack_arrays
from thrifty.kernels.tree_sums import sum_trees
from thrifty.typing import Json, JsonLike

__all__ = ["TreeSum", "add_up", "bin_edges", "in_bins", "in_values", "tree_sum_from_dict"]

#: the most bins of a number: enough for tables of some hundred rows; set by hand, not measured
_BINS = 64
#: whole numbers, and what there is one of for each node
_WHOLE = ("roots", "column", "feature", "left", "right")
_BY_NODE = ("feature", "left", "right", "threshold", "gap_left", "value")


@dataclass(frozen=True, eq=False)
class TreeSum:
    """Nodes of all trees in one list; a child comes after its parent, a leaf points at itself.

    Attributes
    ----------
    roots, column : array of int
        (trees,) where a tree begins, and which column of scores it adds to
    feature, threshold, left, right, gap_left, value : array
        (nodes,); left where value <= threshold
    sets : mapping
        categories that go left, by node; such a node has no threshold
    base : array of float
        (c,) what every row starts with
    """

    roots: Ints
    column: Ints
    feature: Ints
    threshold: Floats
    left: Ints
    right: Ints
    gap_left: Bools
    value: Floats
    sets: dict[int, tuple[tuple[float, ...], tuple[float, ...]]]
    base: Floats

    def scores(self, values: Floats) -> Floats:
        """(rows, c) what all trees say of each row together."""
        if values.shape[1] < self._width:
            raise ValueError(f"trees over {self._width} features got {values.shape[1]}")
        found = np.tile(self.base, (len(values), 1))
        sum_trees(
            np.ascontiguousarray(values, dtype=np.float64), self.roots, self.column, self.feature,
            self.threshold, self.left, self.right, self.gap_left, self.value, *self._by_category,
            found,
        )  # fmt: skip
        return found

    @cached_property
    def _width(self) -> int:
        """How many features are asked for, at least."""
        return int(self.feature.max(initial=-1)) + 1

    @cached_property
    def _by_category(self) -> tuple[Ints, Floats, Bools]:
        """Of each node its line in a table of who goes left, or -1; the categories of its columns.

        The last column is for categories that the node never saw, and for gaps.
        """
        nodes = np.array(list(self.sets), dtype=np.int64)
        line = np.full(len(self.value), -1)
        line[nodes] = np.arange(len(nodes))
        known_by_node = [np.zeros(0), *(np.array(known) for known, _ in self.sets.values())]
        every = np.unique(np.concatenate(known_by_node))
        table = np.repeat(self.gap_left[nodes][:, None], len(every) + 1, axis=1)
        for i, (known, chosen) in enumerate(self.sets.values()):
            table[i, np.searchsorted(every, known)] = np.isin(known, chosen)
        return line, every, table

    def to_dict(self) -> Json:
        """Plain data, for JSON; the nodes, thousands of them, as packed numbers."""
        small = {name: getattr(self, name).astype(np.int32) for name in _WHOLE}
        packed = pack_arrays(
            {
                **small,
                "threshold": self.threshold,
                "value": self.value,
                "gap_left": self.gap_left.astype(np.uint8),
            }
        )
        return {
            "nodes": base64.b64encode(packed).decode(),
            "sets": [[node, *map(list, sets)] for node, sets in self.sets.items()],
            "base": self.base.tolist(),
        }


def add_up(parts: Sequence[tuple[float, TreeSum]], shift: float = 0.0) -> TreeSum:
    """One list of trees whose scores are so many times those of each, and a shift."""
    roots, left, right, value, sets, at = [], [], [], [], {}, 0
    base = np.full(len(parts[0][1].base), shift)
    for times, trees in parts:
        roots.append(trees.roots + at)
        left.append(trees.left + at)
        right.append(trees.right + at)
        value.append(times * trees.value)
        sets.update({node + at: of for node, of in trees.sets.items()})
        base += times * trees.base
        at += len(trees.value)
    every = [trees for _, trees in parts]
    return TreeSum(
        np.concatenate(roots),
        np.concatenate([trees.column for trees in every]),
        np.concatenate([trees.feature for trees in every]),
        np.concatenate([trees.threshold for trees in every]),
        np.concatenate(left),
        np.concatenate(right),
        np.concatenate([trees.gap_left for trees in every]),
        np.concatenate(value),
        sets,
        base,
    )


def tree_sum_from_dict(data: JsonLike) -> TreeSum:
    """The inverse of :meth:`TreeSum.to_dict`.

    Nodes that are not trees are refused here: the kernel that walks them looks at no bounds.
    """
    nodes = unpack_arrays(base64.b64decode(data["nodes"], validate=True))
    whole = {name: nodes[name].astype(np.int64) for name in _WHOLE}
    base = np.array(data["base"], dtype=np.float64)
    sets = {int(node): (tuple(known), tuple(chosen)) for node, known, chosen in data["sets"]}
    n = len(nodes["value"])
    if not (
        all(nodes[name].shape == (n,) for name in _BY_NODE)
        and base.ndim == 1
        and whole["roots"].shape == whole["column"].shape
        and _within(whole["roots"], n)
        and _within(whole["column"], len(base))
        and _are_trees(whole["left"], whole["right"])
        and (whole["feature"] >= 0).all()
        and all(0 <= node < n for node in sets)
    ):
        raise ValueError("nodes that are no trees")
    return TreeSum(
        threshold=nodes["threshold"].astype(np.float64),
        gap_left=nodes["gap_left"].astype(bool),
        value=nodes["value"].astype(np.float64),
        sets=sets,
        base=base,
        **whole,
    )


def _within(places: Ints, n: int) -> bool:
    return bool(((places >= 0) & (places < n)).all())


def _are_trees(left: Ints, right: Ints) -> bool:
    """Whether every walk ends: a leaf points at itself, any other node at two later ones."""
    here = np.arange(len(left))
    inner = (left > here) & (right > here) & (left < len(left)) & (right < len(left))
    return bool((inner | ((left == here) & (right == here))).all())


def bin_edges(column: Floats) -> Floats:
    """Limits between at most 64 bins: halfway between values, or at quantiles of many of them.

    scikit-learn bins too, but asks for 254 weighted quantiles a feature, one at a time: on some
    hundred rows that was nine tenths of the time.
    """
    known = column[~np.isnan(column)]
    ends = np.array([known.min(), known.max()]) if len(known) else known
    # most columns of a wide table have two values, and need no sorting
    two = len(known) > 0 and bool(((known == ends[0]) | (known == ends[1])).all())
    distinct = ends if two and ends[0] < ends[1] else np.unique(known)
    if len(distinct) > _BINS:
        cuts = np.quantile(known, np.arange(1, _BINS) / _BINS, method="nearest")
        return np.unique(cuts)
    below, above = distinct[:-1], distinct[1:]
    with np.errstate(invalid="ignore", over="ignore"):
        middle = below / 2 + above / 2
    return np.where(np.isfinite(middle) & (middle > below), middle, above)


def in_bins(values: Floats, edges: list[Floats], categories: Bools) -> Floats:
    """Numbers as bins; categories as they are. A column without a value becomes a constant."""
    found = np.where(np.isnan(values).all(axis=0), 0.0, values)
    for f, limits in enumerate(edges):
        if not categories[f]:
            known = ~np.isnan(found[:, f])
            found[known, f] = np.searchsorted(limits, found[known, f], side="right")
    return found


def in_values(trees: TreeSum, edges: list[Floats]) -> TreeSum:
    """Thresholds between bins as thresholds of values: at most the number before a bin's limit."""
    threshold = trees.threshold.copy()
    node = np.flatnonzero(trees.left != np.arange(len(trees.left)))
    node = node[~np.isin(node, list(trees.sets))]
    sizes = np.array([len(limits) for limits in edges], dtype=np.int64)
    begin = np.cumsum(sizes) - sizes
    # a threshold beyond all bins parts gaps from values, and stays infinite
    node = node[threshold[node] < sizes[trees.feature[node]]]
    place = begin[trees.feature[node]] + threshold[node].astype(np.int64)
    threshold[node] = np.nextafter(np.concatenate([np.zeros(0), *edges])[place], -np.inf)
    return replace(trees, threshold=threshold)
