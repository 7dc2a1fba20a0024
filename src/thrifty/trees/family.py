"""Decision trees as a family: the three verbs of the protocol, carried out by a learner."""

from __future__ import annotations

from dataclasses import dataclass

from thrifty.attempt import Representation
from thrifty.checks import set_checked, whole_number
from thrifty.trees.learned_trees import LearnedTrees
from thrifty.trees.learner import AnyLearner, is_learner
from thrifty.trees.learners import learner_from_dict
from thrifty.trees.race.learner import Race
from thrifty.trees.version_0_1 import learner_of_0_1, warn_of_old_parameters
from thrifty.typing import Json, JsonLike

__all__ = ["Trees"]


@dataclass(frozen=True, init=False)
class Trees(LearnedTrees[Representation]):
    """Decision trees (paper, Section 2).

    Parameters
    ----------
    max_depth : int
        Edges from the root to the deepest leaf, at most: in UseRep and from scratch, for every
        learner. A learner of consistent trees says so where labels do not fit into that depth.
    learner : Learner, default Race()
        How a tree is learned: ``thrifty.Race()``, the paper's tree for few cells;
        ``thrifty.Paper()``, Algorithms 2 and 3 line by line; ``thrifty.Tested(error, confidence)``,
        right on enough fresh examples; ``thrifty.Verified(epsilon, delta)``, evidence, for noisy
        labels.

    Examples
    --------
    >>> Trees(max_depth=3).learner.gain
    'entropy'
    """

    max_depth: int
    learner: AnyLearner

    def __init__(
        self, max_depth: int = 6, learner: AnyLearner | None = None, **old: object
    ) -> None:
        if old:
            warn_of_old_parameters(old, learner)
            learner = learner_of_0_1(old)
        set_checked(
            self,
            max_depth=whole_number("max_depth", max_depth),
            learner=is_learner(Race() if learner is None else learner),
        )

    @property
    def how(self) -> AnyLearner:
        """The learner."""
        return self.learner

    def to_dict(self) -> Json:
        """Name and parameters, for JSON."""
        return {"family": "Trees", "max_depth": self.max_depth, "learner": self.learner.to_dict()}

    @classmethod
    def from_dict(cls, data: JsonLike) -> Trees:
        """The inverse of :meth:`to_dict`, and of what 0.1 wrote."""
        if "learner" in data:
            return cls(data["max_depth"], learner_from_dict(data["learner"]))
        old = {key: value for key, value in data.items() if key not in ("family", "max_depth")}
        return cls(data["max_depth"], learner_of_0_1(old))
