"""Learning many tasks with several workers, with the result of learning them one by one.

Workers run UseRep on a snapshot of the representation. Tasks are committed in their order; an
attempt counts only if the representation is still the one it was made with, otherwise the task is
tried again on the newest. So models, representation and receipts are those of a loop over
``life.learn``, whatever the engine does.

Tasks whose cells cost money, or are limited by a budget, or are remembered by the examples' ids,
are not tried ahead of their turn: an attempt that is thrown away would have spent. Nor is anything
under a rule that tries parts of the representation (``Doubling``): each task changes their order.
``Models`` learns in waves (:mod:`.waves`): every task adds to what later ones are learned from.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from thrifty.agnostic import Rule
from thrifty.cells import Budget, Source
from thrifty.engines.attempts import Tried, TriedFamily, try_task
from thrifty.engines.pools import Pool, Promise, open_pool
from thrifty.errors import BadInput
from thrifty.lifetime.learned import Learned
from thrifty.lifetime.waves import LifeInWaves, learn_in_waves, read_wave
from thrifty.protocol import AnyFamily, Representation, traits_of
from thrifty.typing import LabelsLike, MoneyLike, TableLike

__all__ = ["Life", "Tasks", "learn_many"]

#: tasks tried ahead, for each worker
_AHEAD = 3


class Life(LifeInWaves, Protocol):
    """What is needed of a lifetime."""

    @property
    def agnostic(self) -> Rule: ...

    @property
    def budget(self) -> Budget | None: ...

    @property
    def row_seed(self) -> int: ...

    def fits_in(self, X: TableLike) -> bool:
        """Whether X has the lifetime's features in their order."""

    def learn_as(
        self,
        family: AnyFamily,
        name: str,
        X: TableLike,
        y: LabelsLike,
        *,
        good: bool | None = None,
        spend: MoneyLike = None,
    ) -> Learned:
        """``learn``, with another object in the family's place."""


class TaskLike(Protocol):
    """A task as an object; a tuple (name, X, y) is one too."""

    @property
    def name(self) -> str: ...
    @property
    def X(self) -> TableLike: ...
    @property
    def y(self) -> LabelsLike: ...


Named: TypeAlias = tuple[str, TableLike, LabelsLike]
#: one after the other, or by name
Tasks: TypeAlias = Iterable[TaskLike | Named] | Mapping[str, tuple[TableLike, LabelsLike]]


@dataclass(eq=False)
class _Waiting:
    """A task whose turn comes, and the attempt that is being made at it."""

    name: str
    X: TableLike
    y: LabelsLike
    good: bool | None
    representation: Representation | None = None
    future: Promise[Tried | None] | None = None


def learn_many(
    life: Life,
    tasks: Tasks,
    *,
    n_jobs: int | None = None,
    engine: object = "threads",
    wave: int | None = None,
    spend: MoneyLike = None,
) -> list[Learned]:
    """Learn tasks, each (name, X, y) or an object with these attributes; see the module."""
    side_by_side = read_wave(wave)
    coming = _read_tasks(tasks)
    learned: list[Learned] = []
    pool = open_pool(engine, n_jobs)
    try:
        if traits_of(life.family).one_after_another and side_by_side > 1:
            return learn_in_waves(life, coming, pool, side_by_side, spend)
        window: deque[_Waiting] = deque()
        while True:
            _fill(window, coming, life, pool)
            if not window:
                return learned
            task = window.popleft()
            learned.append(_take_turn(life, task, spend))
    finally:
        if pool is not engine:
            pool.close()


def _fill(window: deque[_Waiting], coming: Iterator[_Waiting], life: Life, pool: Pool) -> None:
    """Keep enough tasks on the way, all of them on the newest representation."""
    while len(window) < _AHEAD * pool.n_jobs:
        task = next(coming, None)
        if task is None:
            break
        window.append(task)
    newest = life.representation
    if next(iter(life.agnostic.portions(newest))) is not newest:
        return
    shared: object = None
    for task in window:
        if task.representation is newest or not _may_be_tried(life, task.X):
            continue
        if shared is None:
            shared = pool.share(newest)
        task.representation = newest
        task.future = pool.submit(try_task, life.family, shared, task.X, task.y, life.row_seed)


def _may_be_tried(life: Life, X: TableLike) -> bool:
    if traits_of(life.family).one_after_another:
        return False
    if life.budget is not None or not life.fits_in(X):
        return False
    return not isinstance(X, Source) or (X.free and getattr(X, "examples", None) is None)


def _take_turn(life: Life, task: _Waiting, spend: MoneyLike) -> Learned:
    family: Any = life.family  # or one that stands in its place
    if task.future is not None:
        tried: Tried | None = task.future.result()
        if tried is not None:
            family = TriedFamily(life.family, task.representation, tried)
    return life.learn_as(family, task.name, task.X, task.y, good=task.good, spend=spend)


def _read_tasks(tasks: Tasks) -> Iterator[_Waiting]:
    """One at a time: a stream of a million tasks takes no memory."""
    if isinstance(tasks, Mapping):
        tasks = ((name, *pair) for name, pair in tasks.items())
    task: Any  # whatever came
    for task in tasks:
        if hasattr(task, "name") and hasattr(task, "X") and hasattr(task, "y"):
            yield _Waiting(task.name, task.X, task.y, None)
            continue
        try:
            name, X, y = task
        except (TypeError, ValueError):
            raise BadInput(
                f"a task must be (name, X, y) or have these attributes; got {task!r}."
            ) from None
        yield _Waiting(name, X, y, None)
