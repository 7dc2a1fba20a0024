"""Algorithm 1 of the paper: the whole idea, in three verbs.

Tasks arrive one after the other over the same features. The learner keeps a representation of what
past tasks taught. It first tries to learn a task from the representation, with few cells; only
when that fails does it buy everything, learn from scratch and improve the representation. Every
variant of the paper, every agnostic rule and every engine is built from these three verbs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from typing import Any, Literal, Protocol, TypeAlias, TypeVar, runtime_checkable

from thrifty.attempt import Attempt, Expected, Failed, Found, Ordered, Representation, Traits
from thrifty.cells import Cells
from thrifty.errors import BadParameter
from thrifty.lazy import Estimator
from thrifty.typing import Json, JsonLike, LabelsLike

__all__ = [
    "AnyFamily", "Block", "Cells", "Family", "InBlocks", "Ordered", "Representation", "Traits",
    "attempt_task", "learn_task", "traits_of", "with_seed",
]  # fmt: skip


class Block(Protocol):
    """A part of a representation that never changes; another value is another object."""

    def to_bytes(self) -> bytes: ...


@runtime_checkable
class InBlocks(Protocol):
    """A representation that a store keeps in parts, so that a task writes what it changed.

    ``head`` is written after every task, of ``blocks`` only those that are other objects than
    before. ``load_representation`` gets the head with ``blocks``, the bytes of each by its name.
    """

    def head(self) -> Json: ...
    def blocks(self) -> Mapping[str, Block]: ...


Known = TypeVar("Known")  # the representation
Labels = TypeVar("Labels")
Model = TypeVar("Model")


class Family(Protocol[Known, Labels, Model]):
    """A kind of model: how to use a representation, learn without one, and improve it.

    See Also
    --------
    thrifty.testing.family_checks : whether yours keeps the rules
    thrifty.Models, thrifty.Trees : families that are there

    Examples
    --------
    >>> import thrifty
    >>> family = thrifty.Trees(max_depth=3)
    >>> family.kind, len(family.start())
    ('classifier', 0)
    """

    @property
    def kind(self) -> Literal["classifier", "regressor"]:
        """What its estimators are."""

    @property
    def traits(self) -> Traits:
        """What it can; a class attribute will do."""

    def start(self) -> Known:
        """The empty representation."""

    def read_labels(self, y: LabelsLike) -> Labels:
        """Check the labels a user brought and put them into the form the verbs take."""

    def expected_cells(self, representation: Known, cells: Cells) -> Expected:
        """What a task is likely to cost; nothing may be bought for it."""

    def use_rep(self, representation: Known, cells: Cells, labels: Labels) -> Attempt[Model]:
        """Learn from the representation, or say why it is not enough."""

    def from_scratch(self, cells: Cells, labels: Labels, failed: Failed | None) -> Found[Model]:
        """Learn without the representation, from all the cells it takes."""

    def improve_rep(self, representation: Known, found: Found[Model]) -> Known:
        """The representation with what this task taught added to it."""

    def estimator(self, model: Model, labels: Labels, feature_names: Sequence[str]) -> Estimator:
        """What users hold: a fitted scikit-learn estimator around the model."""

    def load_representation(self, data: JsonLike) -> Known:
        """The inverse of ``representation.to_dict()``."""

    def load_estimator(self, data: JsonLike) -> Estimator:
        """The inverse of ``estimator.to_dict()``."""

    def to_dict(self) -> Json:
        """Name and parameters, as JSON."""


#: a family that a user brought: what it learns and how is its own business
AnyFamily: TypeAlias = Family[Any, Any, Any]


def traits_of(family: AnyFamily) -> Traits:
    """What a family says that it can; one that says nothing is refused."""
    said = getattr(family, "traits", None)
    if isinstance(said, Traits):
        return said
    raise BadParameter(
        f"{type(family).__name__}.traits must be a thrifty.protocol.Traits, which says what the "
        f"family can; got {said!r}. examples/architecture/a_family.py declares one."
    )


def with_seed(family: AnyFamily, seed: object) -> AnyFamily:
    """A family that draws and was given no seed takes this one."""
    mine: Any = family
    if seed is None or not traits_of(family).draws or mine.random_state is not None:
        return family
    seeded = copy(family)
    object.__setattr__(seeded, "random_state", seed)
    return seeded


def attempt_task(
    family: Family[Known, Labels, Model], portions: Iterable[Known], cells: Cells, labels: Labels
) -> Found[Model]:
    """UseRep on one portion of a representation after the other, the whole last; else scratch."""
    failed = None
    for portion in portions:
        attempt = family.use_rep(portion, cells, labels)
        if isinstance(attempt, Found):
            return attempt
        failed = attempt
    return family.from_scratch(cells, labels, failed)  # the representation was not enough


def learn_task(
    family: Family[Known, Labels, Model], representation: Known, cells: Cells, labels: Labels
) -> tuple[Found[Model], Known]:
    """One turn of Algorithm 1: what was found, and the representation after it."""
    found = attempt_task(family, (representation,), cells, labels)
    if found.route != "reused":  # this task taught something new
        representation = family.improve_rep(representation, found)
    return found, representation
