"""UseRep, Algorithm 2: learn a tree from metafeatures, buying only what they suggest.

At a node only the splits *induced* there are bought and compared: lay the root of a metafeature on
the node or on one of its ancestors; if it agrees with every split chosen since, the split it has
at the node's position is a candidate. Instead of laying every metafeature on every ancestor anew,
the pieces that still agree are carried down the path with the growing tree.

Guarantee: when the scratch tree lies in DT(Pref(F~)), it is the tree returned; at most
2 (|F~| + d) cells are bought on one example (paper, Theorem 2 and Lemmas 1 and 2).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thrifty import kernels
from thrifty.attempt import Attempt, Failed, Failure, Found
from thrifty.cells import Cells
from thrifty.trees.gains.gain import Gain
from thrifty.trees.labels import Labels
from thrifty.trees.representation import Metafeatures
from thrifty.trees.tree import Leaf, Node, Path, Split, Tree, build

__all__ = ["Stopped", "Grown", "induced", "use_rep", "within_bounds"]


@dataclass(frozen=True, slots=True)
class Grown:
    """The unfinished tree of a failed attempt, and the position at which it failed.

    ``at_a_bound`` says that the node there would have been too deep or one too many: nothing was
    tried at it, so it is no difference from any tree.
    """

    tree: Tree
    failed_at: Path
    at_a_bound: bool = False


class Stopped(Exception):
    """Growing stopped at a position; never leaves this package."""

    def __init__(self, path: Path, reason: str, message: str) -> None:
        self.path, self.failure = path, Failure(reason, message, {"path": path})
        self.at_a_bound = reason in ("too-deep", "too-large")


def induced(pieces: list[Node], asked: frozenset[int]) -> list[int]:
    """The candidates at a node: what the pieces lying there ask, less what the path has asked."""
    return sorted({piece.split.feature for piece in pieces} - asked)


def within_bounds(path: Path, n_nodes: int, max_depth: int, max_nodes: int | None) -> None:
    """Fail where the node to be grown is too deep, or one too many."""
    if len(path) >= max_depth:
        raise Stopped(path, "too-deep", f"the tree would grow deeper than max_depth={max_depth}")
    if max_nodes is not None and n_nodes >= max_nodes:
        raise Stopped(
            path, "too-large", f"the tree would need more than max_nodes={max_nodes} nodes"
        )


def use_rep(
    metafeatures: Metafeatures,
    cells: Cells,
    labels: Labels,
    gain: Gain,
    *,
    max_depth: int,
    max_nodes: int | None,
) -> Attempt[Tree]:
    """Grow a tree depth first, false branch first; fail where the metafeatures do not reach."""
    grower = _Grower(metafeatures, cells, labels, gain, max_depth, max_nodes)
    try:
        grower.grow()
    except Stopped as stop:
        tree = build(grower.splits, grower.leaves)
        return Failed(stop.failure, Grown(tree, stop.path, stop.at_a_bound))
    return Found("reused", build(grower.splits, grower.leaves))


class _Grower:
    def __init__(
        self,
        metafeatures: Metafeatures,
        cells: Cells,
        labels: Labels,
        gain: Gain,
        max_depth: int,
        max_nodes: int | None,
    ) -> None:
        self.roots = [f for f in metafeatures if isinstance(f, Node)]
        self.cells, self.gain = cells, gain
        self.max_depth, self.max_nodes = max_depth, max_nodes
        self.class_masks = labels.masks()
        self.splits: dict[Path, Split] = {}
        self.leaves: dict[Path, Leaf] = {}

    def grow(self) -> None:
        everyone = np.bitwise_or.reduce(self.class_masks, axis=0)
        whole = np.bitwise_count(self.class_masks).sum(axis=1, dtype=np.int64)
        stack: list[
            tuple[Path, NDArray[np.uint64], NDArray[np.int64], list[Node], frozenset[int]]
        ]
        stack = [((), everyone, whole, [], frozenset())]
        while stack:
            path, mask, totals, carried, asked = stack.pop()
            if np.count_nonzero(totals) <= 1:
                self.leaves[path] = Leaf(int(np.argmax(totals)), tuple(totals.tolist()))
                continue
            within_bounds(path, len(self.splits), self.max_depth, self.max_nodes)
            pieces = carried + self.roots
            feature, column, true = self._best(path, pieces, asked, mask, totals)
            self.splits[path] = Split(feature)
            agreeing = [piece for piece in pieces if piece.split.feature == feature]
            # The winner's counts are its true child's totals: nothing is counted twice.
            for branch, side, part in (
                (True, mask & column, true), (False, mask & ~column, totals - true)
            ):  # fmt: skip
                below = [piece.child(branch) for piece in agreeing]
                carry = [piece for piece in below if isinstance(piece, Node)]
                stack.append(((*path, branch), side, part, carry, asked | {feature}))

    def _best(
        self,
        path: Path,
        pieces: list[Node],
        asked: frozenset[int],
        mask: NDArray[np.uint64],
        totals: NDArray[np.int64],
    ) -> tuple[int, NDArray[np.uint64], NDArray[np.int64]]:
        candidates = np.array(induced(pieces, asked), dtype=np.int64)
        where = "the root" if not path else f"depth {len(path)}"
        if not len(candidates):
            raise Stopped(path, "no-candidate", f"no metafeature reaches the node at {where}")
        columns = self.cells.columns(candidates, mask)
        counts = kernels.count_columns(columns, self.class_masks)  # columns are 0 off the mask
        gains = self.gain(counts, totals, self.cells.prices[candidates])
        best = int(np.argmax(gains))
        if gains[best] == -np.inf:
            raise Stopped(
                path,
                "constant-candidates",
                f"every feature the metafeatures suggest at {where} is constant there",
            )
        return int(candidates[best]), columns[best], counts[:, best]
