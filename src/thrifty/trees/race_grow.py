"""Growing a tree by races, from the metafeatures' suggestions or from all features.

Theorem. Rows are bought in a uniformly random order, drawn before anything is seen. With
probability at least 1 - delta the raced tree is the tree of ``compare="all"``.

Proof. Let T be that tree and u_1, u_2, ... its internal nodes, depth first; T does not depend on
the order of rows. Restricted to u_i and one class the order is uniform again, so for the winner at
u_i the ratio of :mod:`thrifty.kernels.race` rules out its true counts at some prefix of the order
with probability at most delta_i = delta / (i (i + 1)), whichever prefixes are looked at; the sum of
all delta_i is delta. If that happens at no node, induction over i shows that the raced tree has the
split of T at u_i: the incumbent's gain is exact and at most the winner's, so the winner is never
dropped, and among what was bought on every row the highest gain wins, ties to the lowest index.

Whatever happens, each split is bought on every row of its node and leaves are pure, so a raced tree
is consistent: only *which* consistent tree is a matter of probability.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from thrifty import kernels
from thrifty.cells import Cells
from thrifty.trees.gain import Gain
from thrifty.trees.labels import Labels
from thrifty.trees.race_node import Contest, RacedNode, winner
from thrifty.trees.representation import Metafeatures
from thrifty.trees.tree import Leaf, Node, Path, Split, Tree, build
from thrifty.trees.use_rep import induced

__all__ = ["DELTA", "race_all_features", "race_metafeatures", "shuffled"]

#: how often a raced tree may differ from the tree of compare="all"
DELTA = 0.001
#: one order of rows for every task of a size: tasks over the same rows then share what they bought
_SEED = 20_221

Ints = NDArray[np.int64]


def shuffled(labels: Labels) -> RacedNode:
    """All rows in random order."""
    order = np.random.default_rng(_SEED).permutation(len(labels))
    codes = labels.codes[order]
    rows = tuple(order[codes == c] for c in range(labels.n_classes))
    mask = kernels.mask_of_rows(order, len(labels))
    return RacedNode(rows, mask, np.zeros(labels.n_classes, dtype=np.int64))


def race_metafeatures(
    metafeatures: Metafeatures,
    cells: Cells,
    labels: Labels,
    gain: Gain,
    *,
    max_depth: int,
    max_nodes: int | None,
) -> Tree | None:
    """Algorithm 2 with races; None where it fails."""
    roots = [f for f in metafeatures if isinstance(f, Node)]
    pieces_at: dict[Path, list[Node]] = {(): roots}

    def candidates(path: Path, asked: frozenset[int], grown: int) -> Ints:
        if len(path) >= max_depth or (max_nodes is not None and grown >= max_nodes):
            return np.empty(0, dtype=np.int64)
        return np.array(induced(pieces_at[path], asked), dtype=np.int64)

    def chosen(path: Path, split: Split) -> None:
        agreeing = [piece for piece in pieces_at.pop(path) if piece.split == split]
        for branch in (False, True):
            below = [piece.child(branch) for piece in agreeing]
            pieces_at[*path, branch] = [p for p in below if isinstance(p, Node)] + roots

    return _grow(cells, labels, gain, candidates, chosen)


def race_all_features(cells: Cells, labels: Labels, gain: Gain) -> Tree | None:
    """Scratch with races; None where rows of different labels agree on every feature."""
    everything = np.arange(cells.n_features)

    def candidates(path: Path, asked: frozenset[int], grown: int) -> Ints:
        return np.delete(everything, list(asked))

    return _grow(cells, labels, gain, candidates, lambda path, split: None)


def _grow(
    cells: Cells,
    labels: Labels,
    gain: Gain,
    candidates: Callable[[Path, frozenset[int], int], Ints],
    chosen: Callable[[Path, Split], None],
) -> Tree | None:
    """Depth first, false branch first."""
    contest = Contest(cells, gain, labels.masks())
    splits: dict[Path, Split] = {}
    leaves: dict[Path, Leaf] = {}
    stack: list[tuple[Path, RacedNode, frozenset[int]]] = [((), shuffled(labels), frozenset())]
    while stack:
        path, node, asked = stack.pop()
        totals = node.totals
        if np.count_nonzero(totals) <= 1:
            leaves[path] = Leaf(int(np.argmax(totals)), tuple(totals.tolist()))
            continue
        racing = candidates(path, asked, len(splits))
        i = len(splits) + 1
        won = winner(contest, node, racing, DELTA / (i * (i + 1))) if len(racing) else None
        if won is None:
            return None
        splits[path] = Split(won.feature)
        chosen(path, splits[path])
        false, true = node.split(won)
        stack.append(((*path, True), true, asked | {won.feature}))
        stack.append(((*path, False), false, asked | {won.feature}))
    return build(splits, leaves)
