"""Older metafeatures that fit a task as well as the newer one that was found for it.

Where a rule tries the newest metafeatures first, one that happens to agree with the labels is found
before the one that other tasks will need, which then stays old and dear to reach. So all that agree
are made new: those whose cells were bought anyway, and some of the older, looked at on a few rows.

What it may cost. A task that the newest n = 2, 4, 8, ... explain, and fewer do not, has bought n S
cells where n <= 2 x, with x metafeatures newer than its own; the bound is S (1 + 2 x). A quarter of
the S cells between the two is spent here, so the bound stays as it is.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np

from thrifty.cells import Door
from thrifty.labels.classes import Labels
from thrifty.trees.tree import Leaf, Node, Tree

__all__ = ["agreeing"]

#: of the task's examples: cells spent on the older ones
_SHARE = 0.25
#: rows on which one of them must agree; one that has nothing to do with the labels does so rarely
_ROWS = 8


def agreeing(
    newer: Sequence[Tree], older: Sequence[Tree], model: Tree, cells: Door, labels: Labels,
    seed: int,
) -> tuple[Tree, ...]:  # fmt: skip
    """Single features that agree with the labels: of the newer ones all whose cells are there.

    >>> from thrifty.trees.tree import stump
    >>> X = np.random.default_rng(0).random((64, 9)) < 0.5
    >>> X[:, 7] = X[:, 2]
    >>> labels = Labels(X[:, 2].astype(np.int64), np.array([False, True]))
    >>> from thrifty.cells import Cells
    >>> twins = agreeing([stump(2)], [stump(1), stump(7)], stump(2), Cells(X), labels, 0)
    >>> [tree.split.feature for tree in twins]
    [7]
    """
    if not _is_single(model):
        return ()
    random = np.random.default_rng([seed, zlib.crc32(labels.codes.tobytes())])
    found = [tree for tree in newer if _is_single(tree) and _agrees_for_free(tree, cells, labels)]
    return (*_some_of(older, cells, labels, random), *found)


def _agrees_for_free(tree: Tree, cells: Door, labels: Labels) -> bool:
    assert isinstance(tree, Node)
    rows = cells.owned_rows([tree.split.feature])
    if len(rows) < min(_ROWS, len(labels)):
        return False
    return _tells(tree, cells.get(rows, [tree.split.feature])[:, 0], labels.codes[rows])


def _some_of(
    older: Sequence[Tree], cells: Door, labels: Labels, random: np.random.Generator
) -> list[Tree]:
    single = [tree for tree in older if isinstance(tree, Node) and _is_single(tree)]
    n = min(len(single), int(_SHARE * len(labels)) // _ROWS)
    # What is bought beyond the need must not be what a budget lacks in the end.
    if not n or cells.allowance is not None:
        return []
    some = [single[i] for i in random.choice(len(single), n, replace=False).tolist()]
    rows = _of_every_class(labels, random)
    values = cells.get(rows, [tree.split.feature for tree in some])
    return [
        tree for tree, column in zip(some, values.T) if _tells(tree, column, labels.codes[rows])
    ]


def _is_single(tree: Tree) -> bool:
    return isinstance(tree, Node) and isinstance(tree.false, Leaf) and isinstance(tree.true, Leaf)


def _of_every_class(labels: Labels, random: np.random.Generator) -> np.ndarray:
    """A few rows, the first of them of different classes: a constant tells nothing."""
    order = random.permutation(len(labels))
    first = np.unique(labels.codes[order], return_index=True)[1]
    rest = np.setdiff1d(np.arange(len(order)), first)
    return np.asarray(order[np.concatenate([first, rest])[:_ROWS]])


def _tells(tree: Tree, column: np.ndarray, codes: np.ndarray) -> bool:
    """Whether each side of the split is of one class."""
    assert isinstance(tree, Node)
    true = column >= (0.5 if tree.split.threshold is None else tree.split.threshold)
    sides = (codes[true], codes[~true])
    return all(len(set(side.tolist())) == 1 for side in sides)
