"""Older metafeatures that fit a task as well as the newer one that was found for it.

Where a rule tries the newest metafeatures first, one that happens to agree with the labels is found
before the one that other tasks will need, which then stays old and dear to reach. So all that agree
are made new: those whose cells were bought anyway, and some of the older, looked at on a few rows.

What it may cost. A task that the newest n = 2, 4, 8, ... explain, and fewer do not, has bought n S
cells where n <= 2 x, with x metafeatures newer than its own; the bound is S (1 + 2 x), so that
S (1 + 2 x - n) cells, S at least, may be spent here and the bound stays as it is. A stranger made
new would push others back: what is made new agrees on every row of the task, not on a few.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np

from thrifty.cells import Door
from thrifty.labels.classes import Labels
from thrifty.trees.tree import Leaf, Node, Tree

__all__ = ["agreeing"]

#: of the task's examples: cells spent on first looks at older ones
_SHARE = 0.25
#: rows of a first look; one that has nothing to do with the labels seldom agrees on them
_ROWS = 8


def agreeing(
    newer: Sequence[Tree],
    older: Sequence[Tree],
    model: Tree,
    cells: Door,
    labels: Labels,
    seed: int,
) -> tuple[Tree, ...]:
    """Single features that agree with the labels: of the newer ones all whose cells are there.

    >>> from thrifty.trees.tree import stump
    >>> X = np.random.default_rng(0).random((64, 9)) < 0.5
    >>> X[:, 7] = X[:, 2]
    >>> labels = Labels(X[:, 2].astype(np.int64), np.array([False, True]))
    >>> from thrifty.cells import Cells
    >>> twins = agreeing([stump(2), stump(3)], [stump(1), stump(7)], stump(2), Cells(X), labels, 0)
    >>> [tree.split.feature for tree in twins]
    [7]
    """
    if not _is_single(model):
        return ()
    random = np.random.default_rng([seed, zlib.crc32(labels.codes.tobytes())])
    found = [tree for tree in newer if _is_single(tree) and _agrees_for_free(tree, cells, labels)]
    spare = len(labels) * (1 + 2 * _newer_than(model, newer) - len(newer))
    return (*_some_of(older, cells, labels, spare, random), *found)


def _newer_than(model: Tree, trees: Sequence[Tree]) -> int:
    """How many stand behind the model's own, which is the last of its feature; 0 if none is."""
    assert isinstance(model, Node)
    for behind, tree in enumerate(reversed(trees)):
        if isinstance(tree, Node) and tree.split.feature == model.split.feature:
            return behind
    return 0


def _agrees_for_free(tree: Tree, cells: Door, labels: Labels) -> bool:
    assert isinstance(tree, Node)
    rows = cells.owned_rows([tree.split.feature])
    return len(rows) == len(labels) and _tells(
        tree, cells.get(rows, [tree.split.feature])[:, 0], labels.codes[rows]
    )


def _some_of(
    older: Sequence[Tree], cells: Door, labels: Labels, spare: int, random: np.random.Generator
) -> list[Tree]:
    """Some of the older ones that agree on every row, for ``spare`` cells at most."""
    single = [tree for tree in older if isinstance(tree, Node) and _is_single(tree)]
    n = min(len(single), int(_SHARE * len(labels)) // _ROWS)
    # What is bought beyond the need must not be what a budget lacks in the end.
    if not n or spare < len(labels) or cells.allowance is not None:
        return []
    if spare < (1 + _SHARE) * len(labels):
        n = 1  # two first looks and a whole column would be too much
    some = [single[i] for i in random.choice(len(single), n, replace=False).tolist()]
    rows = _of_every_class(labels, random)
    values = cells.get(rows[:_ROWS], [tree.split.feature for tree in some])
    spare -= n * _ROWS
    found = []
    for tree, column in zip(some, values.T):
        if spare < len(rows) - _ROWS or not _tells(tree, column, labels.codes[rows[:_ROWS]]):
            continue
        looked, agrees = _on_every_row(tree, rows, cells, labels)
        spare -= looked - _ROWS
        if agrees:
            found.append(tree)
    return found


def _on_every_row(tree: Node, rows: np.ndarray, cells: Door, labels: Labels) -> tuple[int, bool]:
    """Rows looked at, twice as many each time until one disagrees, and whether none does."""
    n = _ROWS
    while n < len(rows):
        n = min(2 * n, len(rows))
        column = cells.get(rows[:n], [tree.split.feature])[:, 0]
        if not _tells(tree, column, labels.codes[rows[:n]]):
            return n, False
    return n, True


def _is_single(tree: Tree) -> bool:
    return isinstance(tree, Node) and isinstance(tree.false, Leaf) and isinstance(tree.true, Leaf)


def _of_every_class(labels: Labels, random: np.random.Generator) -> np.ndarray:
    """The rows in random order, the first of different classes: a constant tells nothing."""
    order = random.permutation(len(labels))
    first = np.unique(labels.codes[order], return_index=True)[1]
    rest = np.setdiff1d(np.arange(len(order)), first)
    return np.asarray(order[np.concatenate([first, rest])])


def _tells(tree: Tree, column: np.ndarray, codes: np.ndarray) -> bool:
    """Whether each side of the split is of one class."""
    assert isinstance(tree, Node)
    true = column >= (0.5 if tree.split.threshold is None else tree.split.threshold)
    sides = (codes[true], codes[~true])
    return all(len(set(side.tolist())) == 1 for side in sides)
