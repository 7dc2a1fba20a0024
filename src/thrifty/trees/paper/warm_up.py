"""First few from scratch: a first phase that learns whole trees before it reuses any.

Paper, semi-adversarial model: when every metafeature is on top of a target with probability at
least p_min, the first ceil(ln(K / delta) / p_min) targets show every metafeature at the top of one
of them, with probability 1 - delta. Whole trees are stored; after that UseRep does not fail.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from thrifty.attempt import Attempt, Failure
from thrifty.cells import Cells
from thrifty.errors import BadParameter
from thrifty.trees.labels import Labels
from thrifty.trees.paper.anchors import recut
from thrifty.trees.paper.way import Way
from thrifty.trees.representation import Metafeatures
from thrifty.trees.tree import Node

__all__ = ["WarmUp", "WarmUpWay", "read_warm_up", "warm_up_from_dict", "warm_up_to_dict"]


@dataclass(frozen=True)
class WarmUp:
    """How many tasks to learn from scratch before anything is reused.

    Parameters
    ----------
    p_min : the least probability with which a metafeature (with anchored families: an anchor) is
        on top of a target, in (0, 1]
    n_metafeatures : how many of them there are: K, or the number of families K2
    delta : the probability with which one of them may be missed, in (0, 1)

    >>> WarmUp(p_min=0.1, n_metafeatures=8, delta=0.05).n_tasks
    51
    """

    p_min: float
    n_metafeatures: int
    delta: float = 0.05

    def __post_init__(self) -> None:
        if not _number(self.p_min) or not 0 < self.p_min <= 1:
            raise BadParameter(
                f"p_min must be a probability, above 0 and at most 1; got {self.p_min!r}."
            )
        k = self.n_metafeatures
        if not isinstance(k, int) or isinstance(k, bool) or k < 1:
            raise BadParameter(f"n_metafeatures must be an integer, 1 or more; got {k!r}.")
        if not _number(self.delta) or not 0 < self.delta < 1:
            raise BadParameter(
                f"delta must be a probability strictly between 0 and 1; got {self.delta!r}."
            )

    @property
    def n_tasks(self) -> int:
        """ceil(ln(K / delta) / p_min)."""
        return math.ceil(math.log(self.n_metafeatures / self.delta) / self.p_min)


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def read_warm_up(warm_up: object) -> WarmUp | int:
    """A WarmUp, or the number of tasks itself."""
    if isinstance(warm_up, WarmUp):
        return warm_up
    if isinstance(warm_up, int) and not isinstance(warm_up, bool) and warm_up >= 0:
        return warm_up
    raise BadParameter(
        "warm_up must be thrifty.WarmUp(p_min=..., n_metafeatures=..., delta=...) or a number of "
        f"tasks, 0 or more; got {warm_up!r}."
    )


def warm_up_to_dict(warm_up: WarmUp | int) -> dict[str, Any] | int:
    """Plain data, for JSON."""
    if isinstance(warm_up, int):
        return warm_up
    return {
        "p_min": warm_up.p_min,
        "n_metafeatures": warm_up.n_metafeatures,
        "delta": warm_up.delta,
    }


def warm_up_from_dict(data: dict[str, Any] | int) -> WarmUp | int:
    """The inverse of :func:`warm_up_to_dict`."""
    return data if isinstance(data, int) else WarmUp(**data)


@dataclass(frozen=True)
class WarmUpWay:
    """Another way, after a first phase in which every task is learned from scratch."""

    way: Way
    n_tasks: int
    families: bool

    def use_rep(self, metafeatures: Metafeatures, cells: Cells, labels: Labels) -> Attempt:
        # One class alone is a leaf for no cells, and teaches nothing.
        if metafeatures.warmed >= self.n_tasks or labels.n_classes == 1:
            return self.way.use_rep(metafeatures, cells, labels)
        message = (
            f"task {metafeatures.warmed + 1} of {self.n_tasks} that the warm-up learns from scratch"
        )
        return Attempt("scratch", None, Failure("warm-up", message, {"of": self.n_tasks}))

    def from_scratch(self, cells: Cells, labels: Labels, attempt: Attempt | None) -> Attempt:
        return self.way.from_scratch(cells, labels, attempt)

    def improve_rep(self, metafeatures: Metafeatures, attempt: Attempt) -> Metafeatures:
        if metafeatures.warmed >= self.n_tasks:
            return self.way.improve_rep(metafeatures, attempt)
        tree = attempt.model
        assert tree is not None
        known = metafeatures.with_trees([tree]).with_warm_task()
        if not self.families:
            return known
        if isinstance(tree, Node):
            known = known.with_anchors([tree.split.feature])
        if known.warmed < self.n_tasks:
            return known
        # All anchors are known now: what the first phase stored falls apart into metafeatures.
        return replace(known, trees=()).with_trees(recut(known.trees, known.anchors))
