"""Growing a tree by races, from the metafeatures' suggestions or from all features.

Theorem. Rows are bought in a uniformly random order, drawn before anything is seen. With
probability at least 1 - delta the raced tree is the tree of :class:`~thrifty.Paper`.

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

from thrifty.cells import Cells
from thrifty.trees.gains.gain import Gain
from thrifty.trees.growing.sample_tree import agree
from thrifty.trees.growing.stuck import too_deep
from thrifty.trees.labels import Labels
from thrifty.trees.race.node import Contest, NodeRace, RacedNode
from thrifty.trees.race.real_node import RealNodeRace
from thrifty.trees.representation import Metafeatures
from thrifty.trees.tree import Leaf, Node, Path, Split, Tree, build

__all__ = ["DELTA", "race_all_features", "race_metafeatures", "shuffled"]

#: how often a raced tree may differ from the tree of Paper()
DELTA = 0.001
#: one order of rows for every task of a size: tasks over the same rows then share what they bought
_SEED = 20_221

Ints = NDArray[np.int64]


def shuffled(labels: Labels) -> RacedNode:
    """All rows in random order."""
    order = np.random.default_rng(_SEED).permutation(len(labels))
    codes = labels.codes[order]
    rows = tuple(order[codes == c] for c in range(labels.n_classes))
    return RacedNode(rows, np.zeros(labels.n_classes, dtype=np.int64))


def race_metafeatures(
    metafeatures: Metafeatures,
    cells: Cells,
    labels: Labels,
    gain: Gain,
    *,
    max_depth: int,
    max_nodes: int | None,
    by_feature: bool = True,
) -> Tree | None:
    """Algorithm 2 with races; None where it fails.

    Where features are real-valued, ``by_feature`` says that splits of one feature agree whatever
    their thresholds.
    """
    roots = [f for f in metafeatures if isinstance(f, Node)]
    pieces_at: dict[Path, list[Node]] = {(): roots}

    def candidates(path: Path, totals: Ints, grown: int) -> Ints:
        if len(path) >= max_depth or (max_nodes is not None and grown >= max_nodes):
            return np.empty(0, dtype=np.int64)
        return np.unique(np.array([p.split.feature for p in pieces_at[path]], dtype=np.int64))

    def chosen(path: Path, split: Split) -> None:
        agreeing = [p for p in pieces_at.pop(path) if agree(p.split, split, by_feature)]
        for branch in (False, True):
            below = [piece.child(branch) for piece in agreeing]
            pieces_at[*path, branch] = [p for p in below if isinstance(p, Node)] + roots

    return _grow(cells, labels, gain, candidates, chosen)


def race_all_features(
    cells: Cells, labels: Labels, gain: Gain, *, max_depth: int | None = None
) -> Tree | None:
    """Scratch with races; None where rows of different labels agree on every feature.

    The first impure node at ``max_depth`` ends it: nothing more is bought then.
    """
    everything = np.arange(cells.n_features)

    def candidates(path: Path, totals: Ints, grown: int) -> Ints:
        if max_depth is not None and len(path) >= max_depth:
            raise too_deep(max_depth, totals, labels)
        return everything

    return _grow(cells, labels, gain, candidates, lambda path, split: None)


def _grow(
    cells: Cells,
    labels: Labels,
    gain: Gain,
    candidates: Callable[[Path, Ints, int], Ints],
    chosen: Callable[[Path, Split], None],
) -> Tree | None:
    """Depth first, false branch first."""
    contest = Contest(cells, gain)
    kind = NodeRace if cells.boolean.all() else RealNodeRace
    splits: dict[Path, Split] = {}
    leaves: dict[Path, Leaf] = {}
    stack: list[tuple[Path, RacedNode, Ints]]
    stack = [((), shuffled(labels), np.empty(0, dtype=np.int64))]
    while stack:
        path, node, spent = stack.pop()
        totals = node.totals
        if np.count_nonzero(totals) <= 1:
            leaves[path] = Leaf(int(np.argmax(totals)), tuple(totals.tolist()))
            continue
        racing = candidates(path, totals, len(splits))
        racing = racing[~np.isin(racing, spent)]
        i = len(splits) + 1
        won = kind(contest, node, racing, DELTA / (i * (i + 1))).won() if len(racing) else None
        if won is None:
            return None
        splits[path] = won.split
        chosen(path, won.split)
        if won.split.threshold is None:  # a Boolean feature is constant below its own split
            spent = np.append(spent, won.split.feature)
        false, true = node.split(won)
        stack.append(((*path, True), true, spent))
        stack.append(((*path, False), false, spent))
    return build(splits, leaves)
