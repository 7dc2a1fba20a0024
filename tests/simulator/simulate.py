"""One seed is one history; a seed that fails replays exactly and shrinks to its shortest form."""

from __future__ import annotations

import asyncio
import gc
import itertools
import random
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial

from stamina.instrumentation import get_on_retry_hooks, set_on_retry_hooks

from tests.simulator.clock import Deadlock, SimulatedLoop
from tests.simulator.disk import SimulatedDisk, SimulatedProcess
from tests.simulator.judge import Watch, at_each_call, judge
from tests.simulator.learners import run_learners
from tests.simulator.plan import Plan, make_plan
from tests.simulator.provider import SimulatedProvider
from tests.simulator.worker import World, live, resolve_all
from thrifty.cells.ledger.owner import process, simulated


@dataclass(frozen=True)
class History:
    """What happened, and what was found; nothing is found where all is well."""

    plan: Plan
    found: tuple[str, ...] = ()
    happened: Counter[str] = field(default_factory=Counter)

    @property
    def seed(self) -> int:
        return self.plan.seed

    @property
    def sound(self) -> bool:
        return not self.found


def simulate(seed: int | Plan, *, shrink: bool = True) -> History:
    """Run the history of a seed; one that fails comes back in its shortest form.

    Parameters
    ----------
    seed : int or Plan
        which history; the plan of one that was found before replays it exactly
    shrink : bool
        whether to leave out what the failure does not need

    >>> history = simulate(1)
    >>> history.sound, history.happened["calls"] == simulate(1).happened["calls"]
    (True, True)
    """
    plan = make_plan(seed) if isinstance(seed, int) else seed
    history = _run(plan)
    return history if history.sound or not shrink else _shortest(history)


def simulate_many(seeds: Iterable[int]) -> tuple[Counter[str], list[History]]:
    """Many histories: what happened in all of them, and those that failed, shrunk."""
    happened: Counter[str] = Counter()
    failed = []
    with _swept_now_and_then() as sweep:
        for seed in seeds:
            history = simulate(seed)
            happened.update(history.happened)
            happened["histories"] += 1
            if not history.sound:
                failed.append(history)
            sweep()
    return happened, failed


@contextmanager
def _swept_now_and_then() -> Iterator[Callable[[], None]]:
    """Python looks for garbage after every few hundred objects, which takes a third of the time."""
    enabled, done = gc.isenabled(), itertools.count(1)
    gc.collect()
    gc.freeze()  # what is there already is not looked at again
    gc.disable()

    def sweep() -> None:
        if next(done) % 100 == 0:
            gc.collect()

    try:
        yield sweep
    finally:
        gc.unfreeze()
        if enabled:
            gc.enable()


def _shortest(history: History) -> History:
    """Leave out one thing after another for as long as it still fails."""
    best = history
    while True:
        for plan in _shorter(best.plan):
            tried = _run(plan)
            if not tried.sound:
                best = tried
                break
        else:
            return best


def _shorter(plan: Plan) -> Iterable[Plan]:
    for which, steps in enumerate(plan.workers):
        for n in range(len(steps)):
            yield plan.without(which, n)
    if plan.budget is not None:
        yield replace(plan, budget=None)
    if plan.faults:
        yield replace(plan, faults=0.0)
    if plan.crashes:
        yield replace(plan, crashes=0.0)
    if plan.commits:
        yield replace(plan, commits=False)
    if plan.concurrency > 1:
        yield replace(plan, concurrency=1)


def _run(plan: Plan) -> History:
    before, hooks = random.getstate(), get_on_retry_hooks()
    random.seed(plan.seed)  # waits between tries have a random part
    set_on_retry_hooks(())
    loop = SimulatedLoop()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _history(plan, loop)
    finally:
        loop.close()
        random.setstate(before)
        set_on_retry_hooks(hooks)


def _history(plan: Plan, loop: SimulatedLoop) -> History:
    chance = random.Random(plan.seed ^ 0x5EED)
    disk = SimulatedDisk(chance, plan.crashes)
    provider = SimulatedProvider(plan, chance, loop)
    provider.plan = plan if plan.faults else replace(plan, faults=1e-9)
    book = disk.book("simulated", {}, {})
    world = World(plan, chance, loop, disk, provider, book)
    provider.at_call = partial(at_each_call, world)
    provider.given_up = world.given_up_of
    disk.at_commit = Watch(world).after_each_write

    def who() -> SimulatedProcess | None:
        one = process()
        return one if isinstance(one, SimulatedProcess) else None

    disk.who = who
    try:
        loop.run_until_complete(_everything(world))
    except Deadlock:
        world.found.append("everybody waits for somebody")
    found = judge(world)
    disk.give_back()
    happened = Counter(
        {
            **world.happened,
            **{f"disk: {k}": n for k, n in disk.happened.items()},
            **{f"provider: {k}": n for k, n in (provider.faults + provider.happened).items()},
            **({f"room: {plan.room}": 1} if plan.room else {}),
            "calls": sum(provider.faults.values()),
            "bills": len(provider.log),
        }
    )
    return History(plan, tuple(found), happened)


async def _everything(world: World) -> None:
    """Workers side by side, with a user who looks in now and then; then calm, and the last word."""
    if world.plan.room == "learners":
        run_learners(world)
        return
    workers = [
        asyncio.create_task(live(world, i, steps)) for i, steps in enumerate(world.plan.workers)
    ]
    user = asyncio.create_task(_user(world, workers))
    await asyncio.gather(*workers)
    await user
    world.provider.calm = True
    world.disk.often = 0.0
    for one in world.processes.values():
        one.dead = True  # they have all gone home
    with simulated(SimulatedProcess("the last", world.processes, foreign=False)):
        ledger = world.ledger(lambda: 1e6)
        for _ in range(3):
            if not await resolve_all(world, ledger, last=True):
                break
            await world.provider.quiet()


async def _user(world: World, workers: list[asyncio.Task[None]]) -> None:
    one = SimulatedProcess("user", world.processes, foreign=world.plan.foreign)
    with simulated(one):
        # of another machine it can only be told by the clock whether somebody still buys
        ahead = world.chance.choice((0.0, 0.0, 1000.0))
        ledger = world.ledger(lambda: ahead)
        for _ in range(2):
            await asyncio.sleep(world.chance.choice((1.0, 10.0, 60.0, 200.0)))
            if all(worker.done() for worker in workers):
                return
            try:
                await resolve_all(world, ledger, last=False)
            except BaseException as error:
                if not one.dead and not isinstance(error, Exception):
                    raise
                return
