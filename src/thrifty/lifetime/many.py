"""Learning many tasks with several workers: what it gives does not depend on how many there are.

*Ahead*: workers run UseRep on a snapshot of the representation. Tasks are committed in their order;
an attempt counts only if the representation is still the one it was made with, otherwise the task
is tried again on the newest. So models, representation and receipts are those of a loop over
``life.learn``. Nothing is tried ahead under a rule that tries parts of the representation
(``Doubling``): each task changes their order.

*In waves*: for families whose tasks each add to what the next one is learned from (``Models``). The
tasks of a wave are opened on one snapshot of the memory and of the cells that are owned, learned on
workers, and committed in their order: a cell that two of them wanted is booked to the first, and
what each taught joins the memory. Labels over the same table are one piece of work, learned at
once. The result depends on the wave.

What a worker reads must be free to read: arrays, frames, files, with prices or without. Tasks whose
cells are bought of a provider, or are held by a budget, are learned in their turn by the process
that keeps the ledger: an attempt that is thrown away would have spent.

Several tasks on the same rows at once: one door, one table, a bill that they share.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import islice
from typing import Any, Protocol, TypeAlias, cast, runtime_checkable

from thrifty.agnostic import Rule
from thrifty.attempt import Attempt, Found
from thrifty.cells import Budget, Cells, Oracle, Receipt, Source
from thrifty.checks import whole_number
from thrifty.engines import LookedCells, Pool, Promise, Tried, TriedFamily, open_pool, try_task
from thrifty.errors import BadInput, BadParameter
from thrifty.labels.partly import PartlyLabelled
from thrifty.lifetime.learned import Learned
from thrifty.protocol import AnyFamily, Representation, traits_of
from thrifty.typing import LabelsLike, MoneyLike, TableLike

__all__ = [
    "Ahead",
    "LearnsTogether",
    "Life",
    "OneTask",
    "Tasks",
    "in_shares",
    "learn_in_waves",
    "learn_many",
    "read_wave",
    "shared_receipts",
]


@runtime_checkable
class LearnsTogether(Protocol):
    """A family that learns several tasks on the same rows from one table."""

    def learn_together(
        self, representation: object, cells: Cells, tasks: Sequence[PartlyLabelled]
    ) -> Sequence[Found[object]]: ...

    def learn_again(
        self, cells: Cells, tasks: Sequence[PartlyLabelled], models: Sequence[object]
    ) -> Sequence[object | None]:
        """Models of earlier tasks on all that is known now; None where the old one stays."""


def in_shares(amount: int, n: int) -> list[int]:
    """n whole numbers as alike as can be, with this sum.

    >>> in_shares(8, 3)
    [3, 3, 2]
    """
    return [amount // n + (i < amount % n) for i in range(n)]


def shared_receipts(receipt: Receipt, n: int) -> list[Receipt]:
    """What n tasks paid together, as the bill of each: cells, money and lines sum to the whole.

    >>> both = shared_receipts(Receipt(5, 2.5, 0, 3, 2, 4, 2, {"a": 3, "b": 2}), 2)
    >>> [one.cells for one in both], sum(one.cost for one in both), both[0].per_feature
    ([3, 2], 2.5, {'a': 2, 'b': 1})
    """
    costs = _money(receipt.cost, n)
    counts = {name: in_shares(count, n) for name, count in receipt.per_feature.items()}
    cells = in_shares(receipt.cells, n)
    reused, avoided = in_shares(receipt.reused_cells, n), in_shares(receipt.avoided_cells, n)
    lines = [(what, in_shares(count, n), _money(sum_, n)) for what, count, sum_ in receipt.lines]
    return [
        replace(
            receipt,
            cells=cells[i],
            cost=costs[i],
            reused_cells=reused[i],
            avoided_cells=avoided[i],
            per_feature={name: parts[i] for name, parts in counts.items() if parts[i]},
            lines=tuple((what, c[i], sums[i]) for what, c, sums in lines if c[i] or sums[i]),
        )
        for i in range(n)
    ]


def _money(amount: float, n: int) -> list[float]:
    """An amount in n parts of whole millionths, the smallest that is counted."""
    return [part / 1e6 for part in in_shares(round(amount * 1e6), n)]


#: tasks that are learned side by side where nothing is said
_WAVE = 8


class OneTask(Protocol):
    """A task that is to be learned."""

    name: str
    X: TableLike
    y: LabelsLike


@dataclass(frozen=True, eq=False)
class Ahead:
    """What a worker needs of a piece of work: a door, the labels behind it, its features."""

    cells: Cells
    labels: object
    features: Sequence[str]


class LifeInWaves(Protocol):
    """What is needed of a lifetime."""

    @property
    def family(self) -> AnyFamily: ...

    @property
    def representation(self) -> Representation: ...

    def _open_ahead(
        self, names: Sequence[str], X: TableLike, ys: Sequence[LabelsLike], spend: MoneyLike
    ) -> Ahead | None:
        """A door that a worker may be given; None: these are learned in their turn."""

    def _learn_ahead(
        self, names: Sequence[str], X: TableLike, ys: Sequence[LabelsLike], spend: MoneyLike,
        family: AnyFamily,
    ) -> list[Learned]: ...  # fmt: skip


@dataclass(eq=False)
class _Work:
    """Tasks over one table, and the answer that is on its way."""

    X: TableLike
    names: list[str] = field(default_factory=list)
    ys: list[LabelsLike] = field(default_factory=list)
    answer: Promise[_Done | None] | None = None


@dataclass(frozen=True, eq=False)
class _Done:
    """What a worker found, one for each task, and the cells that it looked at."""

    found: Sequence[Attempt[object]]
    looked: LookedCells


def read_wave(wave: int | None) -> int:
    """How many tasks are learned side by side: 8 where nothing is said.

    >>> read_wave(None), read_wave(1)
    (8, 1)
    """
    if wave is None:
        return _WAVE
    try:
        return whole_number("wave", wave)
    except BadParameter:
        raise BadParameter(
            f"wave must be how many tasks are learned side by side, 1 or more; got {wave!r}."
        ) from None


def learn_in_waves(
    life: LifeInWaves, tasks: Iterable[OneTask], pool: Pool, wave: int, spend: MoneyLike = None
) -> list[Learned]:
    """Learn the tasks, so many side by side; ``spend`` is for each of them."""
    coming, learned = iter(tasks), list[Learned]()
    while some := list(islice(coming, wave)):
        works = list(_by_table(some, together=_learns_together(life.family)))
        _start(life, works, pool, spend)
        done: dict[str, Learned] = {}
        for work in works:
            for one in _commit_work(life, work, spend):
                done[one.name] = one
        learned += [done[task.name] for task in some]
    return learned


def _learns_together(family: AnyFamily) -> bool:
    """A way to buy of a user's own buys for one task at a time."""
    return isinstance(family, LearnsTogether) and getattr(family, "buying", None) is None


def _by_table(tasks: Sequence[OneTask], together: bool) -> Iterator[_Work]:
    """Tasks over one and the same object are one piece of work, in the place of the first."""
    works: dict[object, _Work] = {}
    for i, task in enumerate(tasks):
        alone = not together or isinstance(task.y, Oracle)
        work = works.setdefault((i, "alone") if alone else id(task.X), _Work(task.X))
        work.names.append(task.name)
        work.ys.append(task.y)
    yield from works.values()


def _start(life: LifeInWaves, works: Sequence[_Work], pool: Pool, spend: MoneyLike) -> None:
    """Open every door on what is known now, and give it to a worker."""
    shared: object = None
    features: Sequence[str] | None = None
    for work in works:
        ahead = life._open_ahead(work.names, work.X, work.ys, _of_all(spend, len(work.names)))
        if ahead is None or (features is not None and list(features) != list(ahead.features)):
            continue  # columns that others of the wave do not know join in their turn
        features = ahead.features
        if shared is None:
            shared = pool.share(life.representation)
        work.answer = pool.submit(_learn, life.family, shared, ahead.cells, ahead.labels)


def _learn(family: AnyFamily, representation: object, cells: Cells, labels: object) -> _Done | None:
    """On a worker; None where it raises: its turn will raise again, where it can be seen."""
    try:
        found: Sequence[Attempt[object]]
        if isinstance(labels, list) and isinstance(family, LearnsTogether):
            found = family.learn_together(representation, cells, labels)
        else:
            found = [family.use_rep(representation, cells, labels)]
    except Exception:
        return None
    return _Done(found, LookedCells.at(cells))


def _commit_work(life: LifeInWaves, work: _Work, spend: MoneyLike) -> list[Learned]:
    family = life.family
    if work.answer is not None:
        done = work.answer.result()
        if done is not None:
            family = cast(AnyFamily, _KnownFamily(family, done))
    return life._learn_ahead(work.names, work.X, work.ys, _of_all(spend, len(work.names)), family)


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


class _KnownFamily:
    """A family whose answer is known already; everything else is the family's own."""

    def __init__(self, family: AnyFamily, done: _Done) -> None:
        self._family, self._done = family, done

    def __getattr__(self, name: str) -> object:
        return getattr(self._family, name)

    def use_rep(self, representation: object, cells: Cells, labels: object) -> Attempt[object]:
        self._done.looked.replay(cells)
        return self._done.found[0]

    def learn_together(
        self, representation: object, cells: Cells, labels: object
    ) -> Sequence[Attempt[object]]:
        self._done.looked.replay(cells)
        return self._done.found

    def learn_again(
        self, cells: Cells, tasks: Sequence[PartlyLabelled], models: Sequence[object]
    ) -> Sequence[object | None]:
        """The family's own; named here so that it is seen to learn several labels at once."""
        if not isinstance(self._family, LearnsTogether):
            return [None] * len(tasks)
        return self._family.learn_again(cells, tasks, models)


#: tasks tried ahead, for each worker
_AHEAD = 3


class Life(LifeInWaves, Protocol):
    """What is needed of a lifetime."""

    @property
    def agnostic(self) -> Rule: ...

    @property
    def budget(self) -> Budget | None: ...

    @property
    def _row_seed(self) -> int: ...

    def _fits_in(self, X: TableLike) -> bool:
        """Whether X has the lifetime's features in their order."""

    def _learn_as(
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
        task.future = pool.submit(try_task, life.family, shared, task.X, task.y, life._row_seed)


def _may_be_tried(life: Life, X: TableLike) -> bool:
    if traits_of(life.family).one_after_another:
        return False
    if life.budget is not None or not life._fits_in(X):
        return False
    return not isinstance(X, Source) or (X.free and getattr(X, "examples", None) is None)


def _take_turn(life: Life, task: _Waiting, spend: MoneyLike) -> Learned:
    family: Any = life.family  # or one that stands in its place
    if task.future is not None:
        tried: Tried | None = task.future.result()
        if tried is not None:
            family = TriedFamily(life.family, task.representation, tried)
    return life._learn_as(family, task.name, task.X, task.y, good=task.good, spend=spend)


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
