"""Algorithm 2 on a few rows, going on where it fails.

A rare branch may hold too few of a sample's rows to tell its split, and one wrong choice there
leaves the metafeatures without an answer. That says nothing against the tree as a whole: such a
node becomes a leaf of the most common class, and a test on fresh rows decides.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thrifty.cells import Cells
from thrifty.trees.gains.cuts import block_columns, choose, true_side
from thrifty.trees.gains.gain import Gain
from thrifty.trees.growing.scratch_real import split_of
from thrifty.trees.labels import Labels
from thrifty.trees.representation import Metafeatures
from thrifty.trees.tree import Leaf, Node, Path, Split, Tree, build

__all__ = ["SampleTree", "agree", "grow_on_sample"]

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class SampleTree:
    """A tree, and how many of the sample's rows its unfinished leaves get wrong."""

    tree: Tree
    mistakes: int

    @property
    def root(self) -> int | None:
        """The feature at the root, if there is a split."""
        return self.tree.split.feature if isinstance(self.tree, Node) else None


def grow_on_sample(
    metafeatures: Metafeatures,
    cells: Cells,
    labels: Labels,
    rows: Ints,
    gain: Gain,
    *,
    max_depth: int,
    max_nodes: int | None,
    by_feature: bool = True,
    not_at_root: frozenset[int] = frozenset(),
) -> SampleTree:
    """Depth first, false branch first, on the given rows alone.

    ``not_at_root``: features that were tried at the root and led nowhere.

    Where features are real-valued, ``by_feature`` says that splits of one feature agree whatever
    their thresholds.
    """
    roots = [f for f in metafeatures if isinstance(f, Node)]
    splits: dict[Path, Split] = {}
    leaves: dict[Path, Leaf] = {}
    mistakes = 0
    stack: list[tuple[Path, Ints, list[Node]]] = [((), rows, [])]
    while stack:
        path, rows, carried = stack.pop()
        codes = labels.codes[rows]
        totals = np.bincount(codes, minlength=labels.n_classes).astype(np.int64)
        pieces = carried + roots
        best = None
        room = max_nodes is None or len(splits) < max_nodes
        if np.count_nonzero(totals) > 1 and len(path) < max_depth and room:
            tried = frozenset() if path else not_at_root
            allowed = [piece for piece in pieces if piece.split.feature not in tried]
            best = _best(cells, gain, allowed, rows, codes, totals)
        if best is None:
            leaves[path] = Leaf(int(np.argmax(totals)), tuple(totals.tolist()))
            mistakes += int(totals.sum() - totals.max())
            continue
        splits[path], true = best
        agreeing = [piece for piece in pieces if agree(piece.split, splits[path], by_feature)]
        for branch, side in ((True, rows[true]), (False, rows[~true])):
            below = [piece.child(branch) for piece in agreeing]
            stack.append(((*path, branch), side, [p for p in below if isinstance(p, Node)]))
    return SampleTree(build(splits, leaves), mistakes)


def agree(a: Split, b: Split, by_feature: bool) -> bool:
    """Whether two splits count as the same when a metafeature is laid over a tree."""
    return a.feature == b.feature and (by_feature or a.threshold == b.threshold)


def _best(
    cells: Cells, gain: Gain, pieces: list[Node], rows: Ints, codes: Ints, totals: Ints
) -> tuple[Split, NDArray[np.bool_]] | None:
    """The best split that the pieces suggest and where it is true; None if none varies.

    A Boolean feature that the path has asked is constant here, so it is never chosen again.
    """
    candidates = sorted({piece.split.feature for piece in pieces})
    if not candidates:
        return None
    values, prices = cells.get(rows, candidates), cells.prices[candidates]
    if not cells.boolean[candidates].all():
        values = values.astype(np.float64)
        columns = block_columns(values, codes, totals, prices, gain)
        choice = choose(columns, totals, prices, gain, lambda i: values[:, i])
        if choice is None:
            return None
        split = split_of(candidates[choice.index], choice.threshold, cells.boolean)
        return split, true_side(values[:, choice.index], choice.threshold)
    true = values != 0
    counts = np.stack([true[codes == c].sum(axis=0) for c in range(len(totals))])
    gains = gain(counts, totals, prices)
    best = int(np.argmax(gains))
    return None if gains[best] == -np.inf else (Split(candidates[best]), true[:, best])
