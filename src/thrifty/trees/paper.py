"""The paper's way to learn a tree: every candidate on every row, accepted when consistent.

A *way* is how the family's three verbs are carried out; each acceptance rule and each manner of
comparing candidates has its own, and :class:`~thrifty.trees.family.Trees` picks one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from thrifty.attempt import Attempt
from thrifty.cells import Cells
from thrifty.trees.gain import Gain
from thrifty.trees.improve import improved
from thrifty.trees.labels import Labels
from thrifty.trees.representation import Metafeatures
from thrifty.trees.scratch import grow_from_scratch
from thrifty.trees.use_rep import use_rep

__all__ = ["PaperWay", "Way"]


class Way(Protocol):
    """How the three verbs are carried out."""

    def use_rep(self, metafeatures: Metafeatures, cells: Cells, labels: Labels) -> Attempt: ...
    def from_scratch(self, cells: Cells, labels: Labels, attempt: Attempt | None) -> Attempt: ...
    def improve_rep(self, metafeatures: Metafeatures, attempt: Attempt) -> Metafeatures: ...


@dataclass(frozen=True)
class PaperWay:
    """Algorithms 2 and 3 as they stand."""

    gain: Gain
    max_depth: int
    max_nodes: int | None
    improve: str

    def use_rep(self, metafeatures: Metafeatures, cells: Cells, labels: Labels) -> Attempt:
        return use_rep(
            metafeatures, cells, labels, self.gain,
            max_depth=self.max_depth, max_nodes=self.max_nodes,
        )  # fmt: skip

    def from_scratch(self, cells: Cells, labels: Labels, attempt: Attempt | None) -> Attempt:
        tree = grow_from_scratch(cells.everything(), labels, self.gain, cells.prices)
        if attempt is None:
            return Attempt("scratch", tree)
        return Attempt("scratch", tree, attempt.failure, attempt.grown)

    def improve_rep(self, metafeatures: Metafeatures, attempt: Attempt) -> Metafeatures:
        assert attempt.model is not None
        return improved(self.improve, metafeatures, attempt.model, attempt.grown)
