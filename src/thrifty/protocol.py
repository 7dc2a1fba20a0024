"""Algorithm 1 of the paper: the whole idea, in three verbs.

Tasks arrive one after the other over the same features. The learner keeps a representation of what
past tasks taught. It first tries to learn a task from the representation, with few cells; only
when that fails does it buy everything, learn from scratch and improve the representation. Every
variant of the paper, every agnostic rule and every engine is built from these three verbs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, Protocol, runtime_checkable

from thrifty.attempt import Attempt
from thrifty.cells import Cells

__all__ = ["Family", "Ordered", "Representation", "attempt_task", "learn_task"]


@runtime_checkable
class Representation(Protocol):
    """What past tasks taught: an immutable value, so snapshots and retries are simple."""

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Any]: ...
    def to_dict(self) -> dict[str, Any]: ...


@runtime_checkable
class Ordered(Protocol):
    """A representation that knows which of its parts were learned or used last."""

    def __len__(self) -> int: ...

    def newest(self, n: int) -> Any:
        """The n that were learned or used last."""

    def refreshed(self, model: Any) -> Any:
        """The same, with the parts that the model is made of as the newest."""


class Family(Protocol):
    """A kind of model: how to use a representation, learn without one, and improve it."""

    @property
    def kind(self) -> Literal["classifier", "regressor"]:
        """What its estimators are."""

    def start(self) -> Any:
        """The empty representation."""

    def read_labels(self, y: Any) -> Any:
        """Check the labels a user brought and put them into the form the verbs take."""

    def use_rep(self, representation: Any, cells: Cells, labels: Any) -> Attempt:
        """Learn from the representation; ``model`` is None where it is not enough."""

    def from_scratch(self, cells: Cells, labels: Any, attempt: Attempt | None) -> Attempt:
        """Learn without the representation, from all the cells it takes."""

    def improve_rep(self, representation: Any, attempt: Attempt) -> Any:
        """The representation with what this task taught added to it."""

    def estimator(self, model: Any, labels: Any, feature_names: Sequence[str]) -> Any:
        """What users hold: a fitted scikit-learn estimator around the model."""

    def load_representation(self, data: dict[str, Any]) -> Any:
        """The inverse of ``representation.to_dict()``."""

    def load_estimator(self, data: dict[str, Any]) -> Any:
        """The inverse of ``estimator.to_dict()``."""

    def to_dict(self) -> dict[str, Any]:
        """Name and parameters, as JSON."""


def attempt_task(
    family: Family, portions: Iterable[Any], cells: Cells, labels: Any
) -> Attempt:
    """UseRep on one portion of a representation after the other, the whole last; else scratch."""
    for portion in portions:
        attempt = family.use_rep(portion, cells, labels)
        if attempt.model is not None:
            return attempt
    return family.from_scratch(cells, labels, attempt)  # the representation was not enough


def learn_task(
    family: Family, representation: Any, cells: Cells, labels: Any
) -> tuple[Attempt, Any]:
    """One turn of Algorithm 1: the attempt that succeeded, and the representation after it."""
    attempt = attempt_task(family, (representation,), cells, labels)
    if attempt.route != "reused":  # this task taught something new
        representation = family.improve_rep(representation, attempt)
    return attempt, representation
