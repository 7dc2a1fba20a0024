"""A tree as arrays, for predicting many examples at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thrifty.trees.tree import Leaf, Tree

__all__ = ["FlatTree", "flatten"]


@dataclass(frozen=True, eq=False)
class FlatTree:
    """Node i asks ``value[feature[i]] >= threshold[i]`` and goes to ``child[i, answer]``.

    A leaf has feature -1, the code of its label, and the share of each class there. A Boolean
    split is the threshold 1/2. A row without the value goes to ``larger[i]``, the child that more
    training rows reached (the false one of equals).
    """

    feature: NDArray[np.int64]
    threshold: NDArray[np.float64]
    child: NDArray[np.int64]
    label: NDArray[np.int64]
    share: NDArray[np.float64]
    larger: NDArray[np.int64]


def flatten(tree: Tree, n_classes: int) -> FlatTree:
    """Number the nodes parents first; leaves carry class codes."""
    order: list[Tree] = [tree]
    children: list[tuple[int, int]] = []
    i = 0
    while i < len(order):
        at = order[i]
        if isinstance(at, Leaf):
            children.append((i, i))
        else:
            children.append((len(order), len(order) + 1))
            order.extend((at.false, at.true))
        i += 1
    n = len(order)
    feature = np.full(n, -1, dtype=np.int64)
    threshold = np.full(n, 0.5)
    label = np.zeros(n, dtype=np.int64)
    share = np.zeros((n, n_classes))
    for i, at in enumerate(order):
        if isinstance(at, Leaf):
            label[i] = 0 if at.label is None else at.label
            share[i] = _shares(at, n_classes)
        else:
            feature[i] = at.split.feature
            if at.split.threshold is not None:
                threshold[i] = at.split.threshold
    child = np.array(children, dtype=np.int64)
    return FlatTree(feature, threshold, child, label, share, _larger(order, child))


def _larger(order: list[Tree], child: NDArray[np.int64]) -> NDArray[np.int64]:
    """The child of more training rows; children come after their parents, so sum backwards."""
    rows = np.zeros(len(order))
    larger = child[:, 0].copy()
    for i in range(len(order) - 1, -1, -1):
        at = order[i]
        if isinstance(at, Leaf):
            rows[i] = 0 if at.counts is None else sum(at.counts)
            continue
        false, true = child[i]
        rows[i] = rows[false] + rows[true]
        larger[i] = true if rows[true] > rows[false] else false
    return larger


def _shares(leaf: Leaf, n_classes: int) -> NDArray[np.float64]:
    if leaf.counts is not None and sum(leaf.counts) > 0:
        counts = np.asarray(leaf.counts, dtype=np.float64)
        return np.asarray(counts / counts.sum())
    share = np.zeros(n_classes)
    share[0 if leaf.label is None else leaf.label] = 1.0
    return share
