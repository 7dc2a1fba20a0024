"""A tree as arrays, for predicting many examples at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from thrifty.lazy import Forest
from thrifty.trees.tree import Leaf, Tree


@dataclass(frozen=True, eq=False)
class FlatTree:
    """Node i asks ``value[feature[i]] >= threshold[i]`` and goes to ``child[i, answer]``.

    A leaf has feature -1 and the code of its label; ``share`` is the share of each class among the
    training rows of a node, and the label of an inner node its most common class. A Boolean
    split is the threshold 1/2. A row without the value goes to ``larger[i]``, the child that more
    training rows reached (the false one of equals).
    """

    feature: NDArray[np.int64]
    threshold: NDArray[np.float64]
    child: NDArray[np.int64]
    label: NDArray[np.int64]
    share: NDArray[np.float64]
    larger: NDArray[np.int64]

    def forest(self) -> Forest:
        """The form that lazy prediction walks."""
        return Forest(
            feature=self.feature,
            threshold=self.threshold,
            first=self.child[:, 0],
            second=self.child[:, 1],
            missing=self.larger,
            roots=np.zeros(1, dtype=np.int64),
            strict=True,
            share=self.share,
        )


class ToFlatten:
    """A tree whose arrays are made when a prediction first needs them: many models never predict.

    An object of its own, as scikit-learn wants ``predict`` to leave a model's attributes alone.
    """

    def __init__(self, tree: Tree, n_classes: int) -> None:
        self.tree, self.n_classes = tree, n_classes

    @cached_property
    def flat(self) -> FlatTree:
        """The arrays."""
        return flatten(self.tree, self.n_classes)


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
    rows = _rows(order, child)
    for i in range(n - 1, -1, -1):  # children come after their parents
        if feature[i] >= 0:
            weights = rows[child[i]] if rows[i] > 0 else np.ones(2)
            share[i] = weights @ share[child[i]] / weights.sum()
            label[i] = int(np.argmax(share[i]))
    larger = np.where(rows[child[:, 1]] > rows[child[:, 0]], child[:, 1], child[:, 0])
    return FlatTree(feature, threshold, child, label, share, larger)


def _rows(order: list[Tree], child: NDArray[np.int64]) -> NDArray[np.float64]:
    """Training rows that reached each node; children come after their parents: sum backwards."""
    rows = np.zeros(len(order))
    for i in range(len(order) - 1, -1, -1):
        at = order[i]
        if isinstance(at, Leaf):
            rows[i] = 0 if at.counts is None else sum(at.counts)
        else:
            rows[i] = rows[child[i]].sum()
    return rows


def _shares(leaf: Leaf, n_classes: int) -> NDArray[np.float64]:
    if leaf.counts is not None and sum(leaf.counts) > 0:
        counts = np.asarray(leaf.counts, dtype=np.float64)
        return np.asarray(counts / counts.sum())
    share = np.zeros(n_classes)
    share[0 if leaf.label is None else leaf.label] = 1.0
    return share
