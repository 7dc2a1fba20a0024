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
from thrifty.trees.gain import Gain
from thrifty.trees.labels import Labels
from thrifty.trees.representation import Metafeatures
from thrifty.trees.tree import Leaf, Node, Path, Split, Tree, build
from thrifty.trees.use_rep import induced

__all__ = ["SampleTree", "grow_on_sample"]

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class SampleTree:
    """A tree, and how many of the sample's rows its unfinished leaves get wrong."""

    tree: Tree
    mistakes: int


def grow_on_sample(
    metafeatures: Metafeatures,
    cells: Cells,
    labels: Labels,
    rows: Ints,
    gain: Gain,
    *,
    max_depth: int,
    max_nodes: int | None,
) -> SampleTree:
    """Depth first, false branch first, on the given rows alone."""
    roots = [f for f in metafeatures if isinstance(f, Node)]
    splits: dict[Path, Split] = {}
    leaves: dict[Path, Leaf] = {}
    mistakes = 0
    stack: list[tuple[Path, Ints, list[Node], frozenset[int]]] = [((), rows, [], frozenset())]
    while stack:
        path, rows, carried, asked = stack.pop()
        codes = labels.codes[rows]
        totals = np.bincount(codes, minlength=labels.n_classes).astype(np.int64)
        pieces = carried + roots
        best = None
        room = max_nodes is None or len(splits) < max_nodes
        if np.count_nonzero(totals) > 1 and len(path) < max_depth and room:
            best = _best(cells, gain, induced(pieces, asked), rows, codes, totals)
        if best is None:
            leaves[path] = Leaf(int(np.argmax(totals)), tuple(totals.tolist()))
            mistakes += int(totals.sum() - totals.max())
            continue
        feature, true = best
        splits[path] = split = Split(feature)
        for branch, side in ((True, rows[true]), (False, rows[~true])):
            below = [piece.child(branch) for piece in pieces if piece.split == split]
            carry = [piece for piece in below if isinstance(piece, Node)]
            stack.append(((*path, branch), side, carry, asked | {feature}))
    return SampleTree(build(splits, leaves), mistakes)


def _best(
    cells: Cells, gain: Gain, candidates: list[int], rows: Ints, codes: Ints, totals: Ints
) -> tuple[int, NDArray[np.bool_]] | None:
    """The best candidate and where it is true; None if none varies."""
    if not candidates:
        return None
    values = cells.get(rows, candidates) != 0
    counts = np.stack([values[codes == c].sum(axis=0) for c in range(len(totals))])
    gains = gain(counts, totals, cells.prices[candidates])
    best = int(np.argmax(gains))
    return None if gains[best] == -np.inf else (candidates[best], values[:, best])
