"""Learning in waves: the tasks of a wave see what was known at its start, and run side by side.

For families whose tasks each add to what the next one is learned from (``Models``). The tasks of a
wave are opened on one snapshot of the memory and of the cells that are owned, learned on workers,
and committed in their order: a cell that two of them wanted is booked to the first, and what each
taught joins the memory. Labels over the same table are one piece of work, learned at once. So the
result depends on the wave, and never on how many workers there are or which of them is first.

What a worker reads must be free to read: arrays, frames, files, with prices or without. Tasks whose
cells are bought of a provider, or are held by a budget, are learned in their turn by the process
that keeps the ledger, since an allowance can be spent by one purchase at a time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import islice
from typing import Protocol, cast

from thrifty.attempt import Attempt
from thrifty.cells import Cells, Oracle
from thrifty.checks import whole_number
from thrifty.engines.attempts import LookedCells
from thrifty.engines.pools import Pool, Promise
from thrifty.errors import BadParameter
from thrifty.labels.partly import PartlyLabelled
from thrifty.lifetime.at_once import LearnsTogether
from thrifty.lifetime.learned import Learned
from thrifty.protocol import AnyFamily, Representation
from thrifty.typing import LabelsLike, MoneyLike, TableLike

__all__ = ["Ahead", "OneTask", "learn_in_waves", "read_wave"]

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

    def open_ahead(
        self, names: Sequence[str], X: TableLike, ys: Sequence[LabelsLike], spend: MoneyLike
    ) -> Ahead | None:
        """A door that a worker may be given; None: these are learned in their turn."""

    def learn_ahead(
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
            for one in _take_turn(life, work, spend):
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
        ahead = life.open_ahead(work.names, work.X, work.ys, _of_all(spend, len(work.names)))
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


def _take_turn(life: LifeInWaves, work: _Work, spend: MoneyLike) -> list[Learned]:
    family = life.family
    if work.answer is not None:
        done = work.answer.result()
        if done is not None:
            family = cast(AnyFamily, _KnownFamily(family, done))
    return life.learn_ahead(work.names, work.X, work.ys, _of_all(spend, len(work.names)), family)


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
