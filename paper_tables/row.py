"""One row of the paper's tables as an experiment: stream, learners, bounds, form of the bill."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from paper_tables.point import Grid, Point
from thrifty.agnostic import Rule
from thrifty.protocol import AnyFamily
from thrifty.streams import StreamTask
from thrifty.typing import LabelsLike

__all__ = ["Condition", "Form", "GrowthClaim", "RowLearner", "Row", "Seen", "Terms"]


def _as_posed(task: StreamTask) -> LabelsLike:
    return task.y


@dataclass(frozen=True)
class RowLearner:
    """A family, when to forget on streams with unrelated tasks, and the labels it is shown."""

    family: AnyFamily
    rule: Rule | None = None
    labels: Callable[[StreamTask], LabelsLike] = _as_posed


@dataclass(frozen=True)
class Seen:
    """How many tasks of a stream were good and bad, once it has been run."""

    good: int
    bad: int


@dataclass(frozen=True)
class Condition:
    """What a theorem asks of a point, and whether it holds there."""

    says: str
    holds: bool


@dataclass(frozen=True)
class GrowthClaim:
    """One part of the bill along one axis, on log axes.

    The theory's exponent is that of its own sum over the same points: of its first term for
    ``scratch_cells``, of the others for ``reused_cells``. Where it is said, it is that.
    """

    part: str  # "cells", "scratch_cells" or "reused_cells"
    axis: str
    learner: str = "paper"
    exponent: float | None = None


Terms = Callable[[Point, Seen], Mapping[str, float]]


@dataclass(frozen=True)
class Form:
    """The parts of the theory's sum, without its constants: a bill is fitted as their combination.

    ``leaner`` is the form that the measured bill suggests where the theory's is looser, and
    ``bends`` says why it is.
    """

    terms: Terms
    learner: str = "paper"
    leaner: Terms | None = None
    bends: str = ""


@dataclass(frozen=True)
class Row:
    """What to run, and what the theory says of it.

    ``stream(point, seed)`` gives the tasks, ``learners(point)`` who learns them.
    ``upper(point, learner, seen)`` is the largest bill the theory allows that learner on good
    tasks, None where it says nothing; ``lower(point, seen)`` the smallest for anybody.
    ``forms`` are the bills' forms; the first is that of the row's own learner, with which
    others are compared.
    """

    key: str
    table: int
    title: str
    theory: str
    says: str
    full: Grid
    quick: Grid
    stream: Callable[[Point, int], Iterable[StreamTask]]
    learners: Callable[[Point], Mapping[str, RowLearner]]
    upper: Callable[[Point, str, Seen], float | None]
    lower: Callable[[Point, Seen], float | None]
    forms: tuple[Form, ...]
    growth: tuple[GrowthClaim, ...] = ()
    conditions: Callable[[Point], Iterable[Condition]] = field(default=lambda point: ())
    right: Callable[[Any, StreamTask], bool] = field(default=lambda model, task: True)

    @property
    def fitted(self) -> str:
        """The row's own learner."""
        return self.forms[0].learner

    def grid(self, quick: bool) -> Grid:
        return self.quick if quick else self.full
