"""The paper's way to learn a tree: every candidate on every row, accepted when consistent.

A *way* is how the family's three verbs are carried out; each acceptance rule and each manner of
comparing candidates has its own, and :class:`~thrifty.trees.family.Trees` picks one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from thrifty.attempt import Attempt
from thrifty.cells import Cells
from thrifty.trees.gains.class_weights import weigh_leaves, weighted
from thrifty.trees.gains.gain import Gain
from thrifty.trees.growing.scratch import grow_from_scratch
from thrifty.trees.growing.scratch_real import Stuck, grow_real
from thrifty.trees.labels import Labels
from thrifty.trees.paper.improve import improved
from thrifty.trees.paper.use_rep import use_rep
from thrifty.trees.paper.use_rep_real import use_rep_real
from thrifty.trees.representation import Metafeatures
from thrifty.trees.tree import Tree

__all__ = ["PaperWay", "Way", "scratch_tree"]


class Way(Protocol):
    """How the three verbs are carried out."""

    def use_rep(self, metafeatures: Metafeatures, cells: Cells, labels: Labels) -> Attempt: ...
    def from_scratch(self, cells: Cells, labels: Labels, attempt: Attempt | None) -> Attempt: ...
    def improve_rep(self, metafeatures: Metafeatures, attempt: Attempt) -> Metafeatures: ...


@dataclass(frozen=True)
class PaperWay:
    """Algorithms 2 and 3 as they stand.

    ``match`` says when a metafeature agrees with the tree where features are real-valued.
    """

    gain: Gain
    max_depth: int
    max_nodes: int | None
    improve: str
    match: str = "feature"

    def use_rep(self, metafeatures: Metafeatures, cells: Cells, labels: Labels) -> Attempt:
        gain = weighted(self.gain, labels)
        if cells.boolean.all():
            return use_rep(
                metafeatures, cells, labels, gain,
                max_depth=self.max_depth, max_nodes=self.max_nodes,
            )  # fmt: skip
        return use_rep_real(
            metafeatures, cells, labels, gain,
            max_depth=self.max_depth, max_nodes=self.max_nodes, match=self.match,
        )  # fmt: skip

    def from_scratch(self, cells: Cells, labels: Labels, attempt: Attempt | None) -> Attempt:
        tree = scratch_tree(cells, labels, weighted(self.gain, labels))
        if attempt is None:
            return Attempt("scratch", tree)
        return Attempt("scratch", tree, attempt.failure, attempt.grown)

    def improve_rep(self, metafeatures: Metafeatures, attempt: Attempt) -> Metafeatures:
        assert attempt.model is not None
        by_feature = self.match == "feature"
        return improved(
            self.improve, metafeatures, attempt.model, attempt.grown, by_feature=by_feature
        )


def scratch_tree(
    cells: Cells,
    labels: Labels,
    gain: Gain,
    *,
    max_depth: int | None = None,
    stuck: Stuck | None = None,
) -> Tree:
    """Buy every cell and grow the top-down tree, with or without thresholds."""
    if cells.boolean.all():
        tree = grow_from_scratch(
            cells.everything(), labels, gain, cells.prices, max_depth=max_depth, stuck=stuck
        )
    else:
        tree = grow_real(
            cells.table(), cells.boolean, labels, gain, cells.prices,
            max_depth=max_depth, stuck=stuck,
        )  # fmt: skip
    return weigh_leaves(tree, labels)
