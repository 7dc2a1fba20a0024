"""Whole tasks over one priced table, learned side by side by the real lifetime.

Nothing is called: what a task has looked at is owned and charged when it is committed. A learner is
interrupted before its writes by others that learn or predict from the same table, and its process
may die at any of them; a process that comes after it makes the same call again.

In one such history in ten they live on: tasks are updated and rolled back, labels are bought from
an oracle, and tables are answered with its help.
"""

from __future__ import annotations

import random
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tests.simulator.disk import SimulatedProcess
from tests.simulator.worker import World
from thrifty.cells.ledger.compacted import read_column
from thrifty.cells.ledger.owner import simulated
from thrifty.cells.prices.money import minor_units
from thrifty.cells.sources import Source
from thrifty.cells.sources.oracle import Oracle
from thrifty.errors import BadInput, BudgetExceeded, StoreError, TaskExists, UnknownTask
from thrifty.lifetime.lifetime import Lifetime
from thrifty.models import Models
from thrifty.stores.pages import SqlPages
from thrifty.trees import Trees

#: examples and features of the table, and what a cell costs in millionths
_ROWS, _WIDE, _CELL = 12, 4, 370_000
_NAMES = [f"g{j}" for j in range(_WIDE)]
_LABEL = 250_000
_EXPECTED = (BudgetExceeded, StoreError, TaskExists, UnknownTask)
#: one history of learners in so many; they take some times longer than the others
_LIVE_ON = 10


def run_learners(world: World) -> None:
    """Some learners, one step at a time, until each has come to its end."""
    chance = random.Random(f"learners of {world.plan.seed}")
    lives = [_Learner(world, chance, n) for n in range(chance.randint(2, 3))]
    inside: list[_Learner] = []

    def another(but: list[_Learner]) -> _Learner | None:
        some = [one for one in lives if one.steps and one not in but]
        return chance.choice(some) if some else None

    def go_on(one: _Learner) -> None:
        inside.append(one)
        one.step()
        inside.pop()

    def interrupted() -> None:
        other = another(inside) if 0 < len(inside) < 3 and chance.random() < 0.2 else None
        if other is not None:
            world.happened["interrupted"] += 1
            go_on(other)

    world.disk.between = interrupted
    while (one := another([])) is not None:
        go_on(one)
    world.disk.between = None
    world.disk.often = 0.0
    for each in world.processes.values():
        each.dead = True  # they have all gone home
    with simulated(SimulatedProcess("the last learner", world.processes, foreign=False)):
        _judge(world, lives)


class _Learner:
    """A process after another, which learn and predict from the same table."""

    def __init__(self, world: World, chance: random.Random, n: int) -> None:
        self.world, self.chance, self.n = world, chance, n
        self.steps = [self._drawn() for _ in range(chance.randint(1, 3))]
        self._begun = 0
        #: what it was billed for: labels (of a task, of an example)
        self.labels: Counter[tuple[str, str]] = Counter()
        self._life: Lifetime | None = None
        self._process: SimulatedProcess | None = None

    def _drawn(self) -> Callable[[Lifetime], object]:
        chance, n = self.chance, self.n
        rows = sorted(chance.sample(range(_ROWS), chance.randint(8, _ROWS)))
        table, target = _table(rows), chance.randrange(_WIDE)
        shared = chance.random() < 0.2
        name = "shared" if shared else f"t{n}-{chance.randrange(10**6)}"
        if _lives_on(self.world) and chance.random() < 0.7:
            return self._drawn_later(target)
        if chance.random() < 0.3:
            return lambda life: life.predict(chance.choice(list(life) or ["none"]), table)
        y = _values(rows)[:, target]
        return lambda life: life.learn(name, table, y)

    def _drawn_later(self, target: int) -> Callable[[Lifetime], object]:
        """What is done once there are tasks; labels are its own, since nobody may wait for them."""
        what = self.chance.choice(("update", "update", "rollback", "labels", "answer"))
        rows = sorted(self.chance.sample(range(2 * _ROWS), self.chance.randint(8, _ROWS)))
        table, y, prefix = _table(rows), _values(rows)[:, target], f"y{self.n}-"
        name, at = f"{prefix}{self.chance.randrange(10**6)}", self.chance.randrange(2)

        def call(life: Lifetime) -> object:
            mine = [task for task in life if task.startswith(prefix)]
            if what == "answer" and mine:
                oracle = self._oracle(mine[0])
                return life.answer(mine[0], table, oracle=oracle, agree=0.7, spend="2")
            there = list(life)[:2]
            if what in ("labels", "answer") or not there:
                return life.learn(name, table, self._oracle(name), spend="5")
            task = life[there[at % len(there)]]
            return task.update(table, y, spend="3") if what == "update" else task.rollback()

        return call

    def _oracle(self, label: str) -> Oracle:
        def ask(ids: Sequence[str]) -> list[bool]:
            self.labels.update((label, id) for id in ids)
            return [_label(label, id) for id in ids]

        return Oracle(ask, price=_LABEL / 10**6, name="doctor", classes=(False, True), attempts=1)

    def resolve(self, life: Lifetime) -> None:
        """What one before it left in doubt was billed, or was not: they know whom they asked."""
        for purchase in life.ledger.open_purchases():
            (label,), ids = purchase.features, purchase.examples
            if not label.startswith(f"y{self.n}-"):
                continue
            if all(self.labels[label, id] for id in ids):
                life.ledger.resolve(purchase.id, "billed", [[_label(label, id)] for id in ids])
            else:
                life.ledger.resolve(purchase.id, "not-billed")

    def step(self) -> None:
        """Make the next call; should the process die in it, another makes it once more."""
        call = self.steps.pop(0)
        for _ in range(2):
            if self._process is None or self._process.dead:
                self._begun += 1
                name = f"learner{self.n}.{self._begun}"
                self._process = SimulatedProcess(name, self.world.processes, foreign=False)
                self._life = None
            with simulated(self._process):
                self._call(call)
            if not self._process.dead:
                return
            self.world.happened["learner died"] += 1

    def _call(self, call: Callable[[Lifetime], object]) -> None:
        assert self._process is not None
        try:
            if self._life is None:
                self._life = _opened(self.world)
                self.resolve(self._life)
            call(self._life)
            self.world.happened["learned"] += 1
        except _EXPECTED as error:
            self.world.happened[type(error).__name__] += 1
        except BadInput:
            if not _lives_on(self.world):
                raise
            self.world.happened["could not"] += 1
        except BaseException as error:
            if not self._process.dead:
                if not isinstance(error, Exception):
                    raise
                self.world.found.append(f"{type(error).__name__}: {error}")


def _opened(world: World) -> Lifetime:
    return Lifetime(
        Models() if _lives_on(world) else Trees(max_depth=2),
        store=world.disk,
        name="learners",
        prices=dict.fromkeys(_NAMES, "0.37"),
        budget=world.plan.budget,
        random_state=0,
        progress=False,
    )


def _values(rows: list[int]) -> np.ndarray[Any, Any]:
    whole = np.random.default_rng(7).integers(0, 2, (2 * _ROWS, _WIDE)).astype(bool)
    return np.asarray(whole[rows])


def _lives_on(world: World) -> bool:
    return world.plan.seed // 25 % _LIVE_ON == 3


def _label(label: str, id: str) -> bool:
    return bool(_values([int(id[1:])])[0, 1])


def _table(rows: list[int]) -> Source:
    ids = [f"q{row}" for row in rows]
    return Source.from_array(_values(rows), feature_names=_NAMES, examples=ids, name="ward")


def _judge(world: World, lives: Sequence[_Learner]) -> None:
    """Each cell of the table, and each label, was charged once; the bill is the balance."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        life = _opened(world)
        for one in lives:
            one.resolve(life)
    labels = sum((one.labels for one in lives), Counter())
    world.found += [f"twice: {cell}" for cell, times in labels.items() if times > 1]
    world.happened["labels"] += len(labels)

    def owned(pages: SqlPages) -> int:
        of = {n: source for n, (source, _) in pages.sources_of("feature").items()}
        some = [c for c in pages.columns("feature") if of[c.number] == "ward"]
        return sum(len(read_column(column).examples) for column in some)

    spent = minor_units(life.balance().spent)
    due = _CELL * int(life.ledger.book.read(owned)) + _LABEL * len(labels)
    if spent != due:
        world.found.append(f"a shared table: {spent} charged for cells of {due}")
    told = sum(minor_units(float(str(row["cost"]))) for row in life._bill_rows())
    if told != spent:
        world.found.append(f"a shared table: the bill says {told}, the balance {spent}")
    if life.balance().reserved:
        world.found.append(f"a shared table: {life.balance().reserved} reserved at the end")
    for task in life.tasks:
        present = [version.state for version in life[task.name].versions].count("present")
        if present != 1:
            world.found.append(f"{task.name} has {present} present versions")
        lines = minor_units(task.receipt.cost)
        if not _lives_on(world) and lines != _CELL * task.receipt.cells:
            world.found.append(f"{task.name}: {task.receipt.cells} cells for {lines}")
