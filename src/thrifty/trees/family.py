"""Decision trees as a family: the three verbs of the protocol, carried out by a learner."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from thrifty.attempt import Attempt, Expected, Failed, Found
from thrifty.cells import Cells
from thrifty.checks import set_checked, whole_number
from thrifty.trees.labels import Labels, read_classes
from thrifty.trees.learner import Learner, is_learner
from thrifty.trees.learners import learner_from_dict
from thrifty.trees.missing import allows_missing
from thrifty.trees.model import TreeClassifier
from thrifty.trees.over_bits import (
    BitTree,
    OnBits,
    after_failing,
    estimator_around,
    improved,
    load_around,
    load_known,
    read_or_cut,
)
from thrifty.trees.race.learner import Race
from thrifty.trees.tree import Tree
from thrifty.trees.version_0_1 import learner_of_0_1, warn_of_old_parameters

__all__ = ["Trees"]


@dataclass(frozen=True, init=False)
class Trees:
    """Decision trees (paper, Section 2).

    Parameters
    ----------
    max_depth : int
        Edges from the root to the deepest leaf, at most: in UseRep and from scratch, for every
        learner. A learner of consistent trees says so where labels do not fit into that depth.
    learner : Learner, default thrifty.Race()
        How a tree is learned: ``thrifty.Race()``, the paper's tree for few cells;
        ``thrifty.Paper()``, Algorithms 2 and 3 line by line; ``thrifty.Tested(error, confidence)``,
        right on enough fresh examples; ``thrifty.Verified(epsilon, delta)``, evidence, for noisy
        labels.

    Examples
    --------
    >>> Trees(max_depth=3).learner.gain
    'entropy'
    """

    kind: ClassVar[Literal["classifier"]] = "classifier"

    max_depth: int
    learner: Learner

    def __init__(self, max_depth: int = 6, learner: Learner | None = None, **old: Any) -> None:
        if old:
            warn_of_old_parameters(old, learner)
            learner = learner_of_0_1(old)
        set_checked(
            self,
            max_depth=whole_number("max_depth", max_depth),
            learner=is_learner(Race() if learner is None else learner),
        )

    @property
    def allow_missing(self) -> bool:
        """Whether NaN may come in: where it has a rule, or where gaps are bits of their own."""
        return allows_missing(self.learner.missing) or "number" not in self._reads

    @property
    def reads_categories(self) -> bool:
        """Learners get them as bits."""
        return True

    @property
    def _reads(self) -> frozenset[str]:
        return getattr(self.learner, "reads", frozenset({"boolean", "number"}))

    def start(self) -> Any:
        """The learner's empty representation."""
        return self.learner.start()

    def read_labels(self, y: Any) -> Labels:
        """Classes as codes, with the learner's weights."""
        return self.learner.weigh(read_classes(y))

    def expected_cells(self, representation: Any, cells: Cells) -> Expected:
        """What the learner expects."""
        if isinstance(representation, OnBits) or cells.categories:
            return Expected()  # bits: what they save is not known before they are cut
        return self.learner.expected_cells(representation, cells, self.max_depth)

    def use_rep(self, representation: Any, cells: Cells, labels: Labels) -> Attempt[Any]:
        """A tree from the representation, or why that is not enough."""

        def learn(known: Any, door: Cells) -> Any:
            return self.learner.use_rep(known, door, labels, self.max_depth)

        attempt: Attempt[Any] = read_or_cut(
            representation, cells, self._reads, learn, self.start
        )
        return attempt

    def from_scratch(self, cells: Cells, labels: Labels, failed: Failed | None) -> Found[Any]:
        """A tree from all the cells it takes."""
        known, failed = after_failing(failed, self.start)

        def learn(_: Any, door: Cells) -> Any:
            return self.learner.from_scratch(door, labels, failed, self.max_depth)

        found: Found[Any] = read_or_cut(known, cells, self._reads, learn, self.start)
        return found

    def improve_rep(self, representation: Any, found: Found[Any]) -> Any:
        """The representation with what the task taught."""
        return improved(representation, found, self.learner.improve_rep, self.start)

    def estimator(
        self, model: Tree | BitTree, labels: Labels, feature_names: Sequence[str]
    ) -> Any:
        """A fitted classifier around the tree."""
        missing = self.learner.missing
        return estimator_around(TreeClassifier, model, labels, feature_names, missing)

    def load_representation(self, data: dict[str, Any]) -> Any:
        """The inverse of ``representation.to_dict()``."""
        return load_known(data, self.learner.load_representation)

    def load_estimator(self, data: dict[str, Any]) -> Any:
        """The inverse of ``estimator.to_dict()``."""
        return load_around(data, TreeClassifier)

    def to_dict(self) -> dict[str, Any]:
        """Name and parameters, for JSON."""
        return {
            "family": "Trees",
            "max_depth": self.max_depth,
            "learner": self.learner.to_dict(),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Trees:
        """The inverse of :meth:`to_dict`, and of what 0.1 wrote."""
        if "learner" in data:
            return cls(data["max_depth"], learner_from_dict(data["learner"]))
        old = {key: value for key, value in data.items() if key not in ("family", "max_depth")}
        return cls(data["max_depth"], learner_of_0_1(old))
