"""Whole tasks over one priced table, learned side by side by the real lifetime.

Nothing is called: what a task has looked at is owned and charged when it is committed. A learner is
interrupted before its writes by others that learn or predict from the same table, and its process
may die at any of them; a process that comes after it makes the same call again.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.simulator.disk import SimulatedProcess
from tests.simulator.worker import World
from thrifty.cells.ledger.compacted import read_column
from thrifty.cells.ledger.owner import simulated
from thrifty.cells.prices.money import minor_units
from thrifty.cells.sources import Source
from thrifty.errors import BudgetExceeded, StoreError, TaskExists, UnknownTask
from thrifty.lifetime import Lifetime
from thrifty.stores.pages import SqlPages
from thrifty.trees import Trees

__all__ = ["run_learners"]

#: examples and features of the table, and what a cell costs in millionths
_ROWS, _WIDE, _CELL = 12, 4, 370_000
_NAMES = [f"g{j}" for j in range(_WIDE)]
_EXPECTED = (BudgetExceeded, StoreError, TaskExists, UnknownTask)


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
    with simulated(SimulatedProcess("the last learner", world.processes, foreign=False)):
        _judge(world)


class _Learner:
    """A process after another, which learn and predict from the same table."""

    def __init__(self, world: World, chance: random.Random, n: int) -> None:
        self.world, self.chance, self.n = world, chance, n
        self.steps = [self._drawn() for _ in range(chance.randint(1, 3))]
        self._begun = 0
        self._life: Lifetime | None = None
        self._process: SimulatedProcess | None = None

    def _drawn(self) -> Callable[[Lifetime], object]:
        chance, n = self.chance, self.n
        rows = sorted(chance.sample(range(_ROWS), chance.randint(8, _ROWS)))
        table, target = _table(rows), chance.randrange(_WIDE)
        shared = chance.random() < 0.2
        name = "shared" if shared else f"t{n}-{chance.randrange(10**6)}"
        if chance.random() < 0.3:
            return lambda life: life.predict(chance.choice(list(life) or ["none"]), table)
        y = _values(rows)[:, target]
        return lambda life: life.learn(name, table, y)

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
            call(self._life)
            self.world.happened["learned"] += 1
        except _EXPECTED as error:
            self.world.happened[type(error).__name__] += 1
        except BaseException as error:
            if not self._process.dead:
                if not isinstance(error, Exception):
                    raise
                self.world.found.append(f"{type(error).__name__}: {error}")


def _opened(world: World) -> Lifetime:
    return Lifetime(
        Trees(max_depth=2),
        store=world.disk,
        name="learners",
        prices=dict.fromkeys(_NAMES, "0.37"),
        budget=world.plan.budget,
        random_state=0,
        progress=False,
    )


def _values(rows: list[int]) -> np.ndarray[Any, Any]:
    whole = np.random.default_rng(7).integers(0, 2, (_ROWS, _WIDE)).astype(bool)
    return np.asarray(whole[rows])


def _table(rows: list[int]) -> Source:
    ids = [f"q{row}" for row in rows]
    return Source.from_array(_values(rows), feature_names=_NAMES, examples=ids, name="ward")


def _judge(world: World) -> None:
    """Each cell of the table was charged once, to whoever was first; the bill is the balance."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        life = _opened(world)

    def owned(pages: SqlPages) -> int:
        of = {n: source for n, (source, _) in pages.sources_of("feature").items()}
        some = [c for c in pages.columns("feature") if of[c.number] == "ward"]
        return sum(len(read_column(column).examples) for column in some)

    spent = minor_units(life.balance().spent)
    due = _CELL * int(life.ledger.book.read(owned))
    if spent != due:
        world.found.append(f"a shared table: {spent} charged for cells of {due}")
    told = sum(minor_units(float(str(row["cost"]))) for row in life._bill_rows())
    if told != spent:
        world.found.append(f"a shared table: the bill says {told}, the balance {spent}")
    for task in life.tasks:
        lines = minor_units(task.receipt.cost)
        if lines != _CELL * task.receipt.cells:
            world.found.append(f"{task.name}: {task.receipt.cells} cells for {lines}")
