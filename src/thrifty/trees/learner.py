"""How a tree is learned: what a learner must be able to do.

A learner is a frozen value with the parameters it uses, and no others. The three verbs are those of
the protocol, with the family's ``max_depth`` passed along; :class:`~thrifty.Trees` calls them and
adds nothing. A learner of your own needs no entry anywhere: hand it to ``Trees(learner=...)``.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias, TypeVar, runtime_checkable

from thrifty.attempt import Attempt, Expected, Failed, Found
from thrifty.cells import Door
from thrifty.errors import BadParameter
from thrifty.labels.classes import Labels
from thrifty.trees.tree import Tree
from thrifty.typing import Json, JsonLike

__all__ = ["AnyLearner", "Learner", "is_learner"]

#: the representation
Known = TypeVar("Known")


@runtime_checkable
class Learner(Protocol[Known]):
    """Paper, Race, Tested, Verified, or one of your own."""

    @property
    def missing(self) -> str:
        """What becomes of a row that lacks a value: "error" or "larger-child"."""

    def start(self) -> Known:
        """The empty representation."""

    def weigh(self, labels: Labels) -> Labels:
        """The labels with what a row of each class weighs; most learners give them back."""

    def expected_cells(self, known: Known, cells: Door, max_depth: int) -> Expected:
        """What a task is likely to cost; nothing may be bought for it."""

    def use_rep(self, known: Known, cells: Door, labels: Labels, max_depth: int) -> Attempt[Tree]:
        """A tree from what is known, or why that is not enough."""

    def from_scratch(
        self, cells: Door, labels: Labels, failed: Failed | None, max_depth: int
    ) -> Found[Tree]:
        """A tree from all the cells it takes."""

    def improve_rep(self, known: Known, found: Found[Tree]) -> Known:
        """What is known after the task."""

    def load_representation(self, data: JsonLike) -> Known:
        """The inverse of ``representation.to_dict()``."""

    def to_dict(self) -> Json:
        """``{"learner": name, ...}``: name and parameters, as JSON."""


#: a learner that a user brought: what it remembers and how is its own business
AnyLearner: TypeAlias = Learner[Any]


def is_learner(value: object) -> AnyLearner:
    """Refuse what cannot learn, a class in the place of a value included."""
    if isinstance(value, type) or not isinstance(value, Learner):
        raise BadParameter(
            "learner must be thrifty.Race(), thrifty.Paper(), thrifty.Tested(error, confidence), "
            f"thrifty.Verified(epsilon, delta) or one of your own; got {value!r}."
        )
    return value
