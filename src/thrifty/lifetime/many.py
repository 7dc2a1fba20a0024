"""Learning many tasks with several workers: what it gives does not depend on how many there are.

A few tasks are on their way at a time. Workers learn them on a snapshot of the representation and
of the cells that are owned; they are committed in their order.

*As one by one*, for families that mostly reuse (trees, lists): an attempt counts only if the
representation is still the one it was made with, otherwise the task is tried again on the newest.
So models, representation and receipts are those of a loop over ``life.learn``. Nothing is tried
ahead under a rule that tries parts of the representation (``Doubling``): each task changes their
order.

*In waves*, for families whose tasks each add to what the next one is learned from (``Models``): the
tasks of a wave see what was known at its start. A cell that two of them wanted is booked to the
first, and what each taught joins the memory. Labels over the same table are one piece of work,
learned at once. The result depends on the wave.

What a worker reads must be free to read: arrays, frames, files, with prices or without. Tasks whose
cells are bought of a provider, or are held by a budget, are learned in their turn by the process
that keeps the ledger: an attempt that is thrown away would have spent.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice
from typing import Any, Protocol, TypeAlias, cast

from thrifty.attempt import Attempt
from thrifty.cells import Cells, Oracle
from thrifty.checks import whole_number
from thrifty.engines import ChargedCells, Pool, StartedWork, open_pool
from thrifty.errors import BadInput
from thrifty.labels import Labels
from thrifty.lifetime.learned import Learned
from thrifty.lifetime.learning import Learning, learns_together
from thrifty.lifetime.transaction import Brought, TaskOptions
from thrifty.protocol import AnyFamily, traits_of
from thrifty.typing import LabelsLike, MoneyLike, TableLike


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
class _Work:
    """Tasks over one table; the answer that is on its way, and what was known for it."""

    brought: Brought
    known: object = None
    answer: StartedWork[_Answer | None] | None = None


@dataclass(frozen=True, eq=False)
class _Answer:
    """What a worker found, one for each task, the cells it read, and of which features."""

    found: Sequence[Attempt[object]]
    asked: ChargedCells
    features: Sequence[str]


def learn_many(
    learning: Learning,
    tasks: Tasks,
    *,
    n_jobs: int | None = None,
    engine: object = "threads",
    wave: int | None = None,
    spend: MoneyLike = None,
) -> list[Learned]:
    """Learn tasks, each (name, X, y) or an object with these attributes; see the module."""
    in_a_wave = 8 if wave is None else whole_number("wave", wave)
    coming = _read_tasks(tasks)
    in_waves = traits_of(learning.state.family).one_after_another
    order, done = list[str](), dict[str, Learned]()
    works: deque[_Work] = deque()
    pool = open_pool(engine, n_jobs)
    try:
        while True:
            if not works or not in_waves:
                most = in_a_wave if in_waves else 3 * pool.n_jobs
                some = list(islice(coming, most - len(works)))
                order += [name for name, _, _ in some]
                together = in_waves and learns_together(learning.state.family)
                works += map(_Work, _by_table(some, together, spend))
            if not works:
                return [done[name] for name in order]
            _start(learning, works, pool, again=not in_waves)
            for learned in _in_turn(learning, works.popleft(), in_waves):
                done[learned.name] = learned
    finally:
        if pool is not engine:
            pool.close()


def _by_table(tasks: Sequence[Named], together: bool, spend: MoneyLike) -> Iterator[Brought]:
    """Tasks over one and the same object are one piece of work, in the place of the first."""
    works: dict[object, list[Named]] = {}
    for i, task in enumerate(tasks):
        alone = not together or isinstance(task[2], Oracle)
        works.setdefault((i, "alone") if alone else id(task[1]), []).append(task)
    for some in works.values():
        names, (X, *_), columns = zip(*some)
        said = TaskOptions(_of_all(spend, len(some)))
        yield Brought(names, X, columns, said, together=len(some) > 1)


def _start(learning: Learning, works: Iterable[_Work], pool: Pool, again: bool) -> None:
    """Give a reader to a worker for all that wait; ``again``: if theirs is not the newest."""
    state, shared = learning.state, None
    newest = state.now.representation
    if next(iter(state.rule.portions(newest))) is not newest:
        return
    for work in works:
        if work.known is newest or (work.known is not None and not again):
            continue
        work.known, work.answer = newest, None
        ahead = learning.open_ahead(work.brought)
        if ahead is not None:
            shared = pool.share(newest) if shared is None else shared
            work.answer = pool.submit(_learn, state.family, shared, *ahead)


def _learn(
    family: AnyFamily, representation: object, cells: Cells, labels: object
) -> _Answer | None:
    """On a worker; None where it raises: its turn will raise again, where it can be seen."""
    try:
        if isinstance(labels, list):
            found = cast(Any, family).learn_together(representation, cells, labels)
        else:
            found = [family.use_rep(representation, cells, labels)]
        return _Answer(found, ChargedCells.at(cells), cells.feature_names)
    except Exception:
        return None


def _in_turn(learning: Learning, work: _Work, in_waves: bool) -> Iterable[Learned]:
    answer, brought = None if work.answer is None else work.answer.result(), work.brought
    family = learning.state.family
    if answer is not None:
        family = cast(AnyFamily, _Known(family, answer, None if in_waves else work.known))
    names, X, columns, said = brought.names, brought.X, brought.columns, brought.said
    if not brought.together:
        return [learning.learn(names[0], X, columns[0], said, family)]
    return learning.learn_together(names, X, dict(zip(names, columns)), said, family).values()


def _of_all(spend: MoneyLike, n: int) -> MoneyLike:
    """What n tasks at once may spend where each was told this much; of shares at most all.

    >>> _of_all("5 %", 3), _of_all(2, 3), _of_all("1.10 EUR", 2), _of_all("60 %", 2)
    ('15 %', 6, '2.20 EUR', '100 %')
    """
    if n == 1 or spend is None:
        return spend
    if not isinstance(spend, str):
        return spend * n  # type: ignore[operator]
    number = re.search(r"\d+(\.\d+)?", spend)
    if number is None:
        return spend  # what is wrong with it is said where it is read
    of_all = Decimal(number[0]) * n
    if "%" in spend:
        of_all = min(of_all, Decimal(100))
    return spend.replace(number[0], str(of_all), 1)


class _Known:
    """A family whose answer is known already; everything else is the family's own.

    The protocol around it does not change: a failed attempt is followed by scratch, and a rule may
    forget first. Where the answer is to another representation (``to``; None: to any), or of other
    features, the family is asked.
    """

    def __init__(self, family: AnyFamily, answer: _Answer, to: object) -> None:
        self._family, self._answer, self._to = family, answer, to

    def __getattr__(self, name: str) -> Any:
        return getattr(self._family, name)

    def _told(self, representation: object, cells: Cells) -> Sequence[Attempt[object]]:
        """What was found, as if it were found now; nothing where the family has to be asked."""
        to = self._to
        if self._answer.features != cells.feature_names or not (
            to is None or representation is to or representation == to
        ):
            return []
        self._answer.asked.replay(cells)
        return self._answer.found

    def use_rep(self, representation: object, cells: Cells, labels: object) -> Attempt[object]:
        for found in self._told(representation, cells):
            return found
        return self._family.use_rep(representation, cells, labels)

    def learn_together(
        self, representation: object, cells: Cells, tasks: Sequence[Labels]
    ) -> Sequence[Attempt[object]]:
        family: Any = self._family
        told = self._told(representation, cells)
        return told or family.learn_together(representation, cells, tasks)


def _read_tasks(tasks: Tasks) -> Iterator[Named]:
    """One at a time: a stream of a million tasks takes no memory."""
    if isinstance(tasks, Mapping):
        tasks = ((name, *pair) for name, pair in tasks.items())
    task: Any  # whatever came
    for task in tasks:
        if hasattr(task, "name") and hasattr(task, "X") and hasattr(task, "y"):
            yield task.name, task.X, task.y
            continue
        try:
            name, X, y = task
        except (TypeError, ValueError):
            raise BadInput(
                f"a task must be (name, X, y) or have these attributes; got {task!r}."
            ) from None
        yield name, X, y
