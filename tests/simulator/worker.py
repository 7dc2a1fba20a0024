"""A simulated process that buys through the real ledger, and the user who says what happened."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np

from tests.simulator.disk import Crashed, SimulatedDisk, SimulatedProcess
from tests.simulator.plan import FEATURES, LABEL, TRIES, WINDOW, WORDS, Plan, Step, truth
from tests.simulator.provider import Bill, SimulatedProvider, said
from thrifty import kernels
from thrifty.cells.account import PaidAccount, count_as_owned
from thrifty.cells.cells import Cells
from thrifty.cells.ledger.ledger import Ledger, OpenPurchase
from thrifty.cells.ledger.owner import process, simulated
from thrifty.cells.sources import Source
from thrifty.cells.sources.callable import CallableSource
from thrifty.cells.sources.oracle import Oracle
from thrifty.errors import BadInput, BudgetExceeded, ClockWentBack, ProviderError, StoreError
from thrifty.stores.base import LifetimeBook
from thrifty.stores.pages import SqlPages
from thrifty.typing import Fields

if TYPE_CHECKING:
    from tests.simulator.clock import SimulatedLoop

_BEGINNING = 1.7e9
_EXPECTED = (ProviderError, BudgetExceeded, StoreError, ClockWentBack)


@dataclass
class World:
    """Everything that a history happens in."""

    plan: Plan
    chance: random.Random
    loop: SimulatedLoop
    disk: SimulatedDisk
    provider: SimulatedProvider
    book: LifetimeBook
    processes: dict[str, SimulatedProcess] = field(default_factory=dict)
    found: list[str] = field(default_factory=list)
    happened: Counter[str] = field(default_factory=Counter)
    #: purchases that a user gave up; where that was written, their cells may be billed once more
    given_up: set[int] = field(default_factory=set)
    #: what the readers of living workers say they have spent
    receipts: dict[str, PaidAccount] = field(default_factory=dict)
    crashes: set[str] = field(default_factory=set)
    #: of a purchase and who makes it, whether the list was believed when it was first called
    believed: dict[tuple[int, str], bool] = field(default_factory=dict)
    _keys: int = 0
    _sources: dict[tuple[str, ...], CallableSource] = field(default_factory=dict)

    def ledger(self, turned: Callable[[], float] = lambda: 0.0) -> Ledger:
        ledger = Ledger(
            self.book,
            self.plan.budget,
            lambda: _BEGINNING + self.loop.time() + turned(),
            self.loop.time,
        )
        ledger.new_key, ledger.poll = self._new_key, 1.0
        return ledger

    def _new_key(self) -> str:
        self._keys += 1
        return f"k{self._keys}"

    def given_up_of(self, purchases: Collection[int]) -> set[int]:
        """Those of some purchases that are paid for and came to nothing, as things stand now."""

        def work(pages: SqlPages) -> set[int]:
            some = [p for id in purchases if (p := pages.purchase(id)) is not None]
            return {p.id for p in some if p.status in ("lost", "late")}

        return self.book.read(work)

    def crashed(self, name: str) -> bool:
        """Whether a process did not come to its end."""
        return name in self.crashes

    def source(self, words: tuple[str, ...]) -> CallableSource:
        """The provider with its categories in some order."""
        if words not in self._sources:
            self._sources[words] = self._new_source(words)
        return self._sources[words]

    def _new_source(self, words: tuple[str, ...]) -> CallableSource:
        plan = self.plan
        fn: Callable[..., object] = self.provider.keyed if plan.keyed else self.provider.plain
        gaps = plan.room == "gaps"
        return Source.from_callable(
            fn,
            examples=plan.examples,
            features=FEATURES,
            name="lab",
            prices=plan.prices(),
            idempotent=plan.keyed,
            boolean=[] if gaps else ["b", "w"],  # a Boolean is never a gap
            kinds={"c": words},
            **self._limits(),
            **({"on_failure": "gap", "tries": TRIES} if gaps else {}),  # type: ignore[arg-type]
        )

    def _limits(self) -> Fields:
        plan = self.plan
        return {
            "concurrency": plan.concurrency,
            "max_examples": plan.max_examples,
            "timeout": 20.0,
            "attempts": 2,
            "on_doubt": plan.on_doubt,
            "per_second": plan.per_second,
        }

    def oracle(self) -> CallableSource:
        """Labels of the same examples, from somebody else, within the same budget."""
        if (LABEL,) not in self._sources:
            price = self.plan.own[LABEL]
            asked = Oracle(
                self.provider.labels,
                price=f"{price // 10**6}.{price % 10**6:06d}",
                name="doctor",
                **self._limits(),
            )
            rows = np.zeros((self.plan.n_examples, 1))
            X = Source.from_array(rows, examples=self.plan.examples, name="lab")
            self._sources[LABEL,] = asked.about(X, LABEL)
        return self._sources[LABEL,]


async def live(world: World, which: int, steps: tuple[Step, ...]) -> None:
    """A process from its first step to its last, or to its crash."""
    one = SimulatedProcess(f"worker{which}", world.processes, foreign=world.plan.foreign)
    with simulated(one):
        try:
            await _live(world, which, steps)
        except BaseException as error:
            if not one.dead:
                if not isinstance(error, Exception):
                    raise
                world.found.append(f"{type(error).__name__}: {error}")
        if one.dead:
            world.happened["crashed"] += 1
            world.crashes.add(str(one.name))


async def _live(world: World, which: int, steps: tuple[Step, ...]) -> None:
    turned = [0.0]
    ledger = world.ledger(lambda: turned[0])
    readers: dict[bool, PaidAccount] = {}
    words = tuple(world.chance.sample(WORDS, len(WORDS)))
    for n, step in enumerate(steps):
        await asyncio.sleep(step.wait)
        turned[0] = step.turn
        try:
            if step.table:
                _tell(world, ledger, step)
                continue
            if step.labels not in readers or step.new_door:
                _commit(world, ledger, readers.get(step.labels))
                task = f"t{which}-{n}"
                source = world.oracle() if step.labels else world.source(words)
                buyer, claims = ledger.opened(source, None, task)
                if claims:
                    await buyer.bought(*buyer.nothing)
                readers[step.labels] = PaidAccount(buyer.source, ledger, None, task, buyer=buyer)
                world.receipts[task] = readers[step.labels]
            await _look(world, readers[step.labels], step, words)
            world.happened["looked"] += 1
        except _EXPECTED as error:
            world.happened[type(error).__name__] += 1
        except BaseExceptionGroup as group:
            if process().name in world.processes and world.processes[str(process().name)].dead:
                raise Crashed from None
            rest = group.split(_EXPECTED)[1]
            if rest is not None:
                raise
    for reader in readers.values():
        with suppress(StoreError):
            _commit(world, ledger, reader)


def _tell(world: World, ledger: Ledger, step: Step) -> None:
    """A table that is free to read: what it says of some examples is owned from now on."""
    ids, names = [f"p{row}" for row in step.rows], ["r", "s"]
    table = np.array([[truth(example, name) for name in names] for example in ids])
    source = Source.from_array(table, feature_names=names, examples=ids, name="lab")
    cells = Cells(source, 0.0, ledger=ledger, task="a table", is_task=False)
    cells.get(range(len(ids)), range(len(names)))
    changed = world.book.write(
        lambda pages: count_as_owned(pages, source, cells.meter, ledger.now())
    )
    if changed is not None:
        world.found.append(f"a table that is right was refused: {changed}")
    world.provider.tables.update(ids)
    world.happened["told by a table"] += 1


def _commit(world: World, ledger: Ledger, reader: PaidAccount | None) -> None:
    """The end of a task: what it bought becomes columns, in one write."""
    if reader is not None and world.plan.commits:
        world.book.write(lambda pages: ledger.compact(pages, reader.task))
        world.happened["committed"] += 1


async def _look(world: World, reader: PaidAccount, step: Step, words: tuple[str, ...]) -> None:
    """Buy, and read through the real reader; every value is held against the truth."""
    rows, features = np.array(step.rows), np.array((0,) if step.labels else step.features)
    named = (LABEL,) if step.labels else FEATURES
    mask = kernels.mask_of_rows(rows, world.plan.n_examples)
    buyer = reader._buyer
    wanted = reader._bought_for(features)
    reader.load(np.union1d(wanted, reader.tariff.tied))
    try:
        if buyer.known.missing(wanted, mask).any():
            await buyer.bought(wanted, mask)
    except ProviderError:
        if buyer.known.missing(wanted, mask).any():
            raise
    values = reader.get(rows, features)
    for i, row in enumerate(step.rows):
        for j, f in enumerate(features.tolist()):
            example, name = f"p{row}", named[f]
            want = truth(example, name)
            want = float(words.index(WORDS[int(want)])) if name == "c" else want
            if np.isnan(values[i, j]) and world.provider.failures[example, name] >= TRIES:
                continue  # a gap; the judge counts its failures again
            if values[i, j] != want:
                world.found.append(f"wrong: {example} {name} is {values[i, j]}, not {want}")
            if name == "w" and world.plan.expires:
                _not_stale(world, buyer.known.as_of, example)


def _not_stale(world: World, as_of: float, example: str) -> None:
    """What was read had not expired when the reader was opened: values count from being told.

    By an answer, by one that was repeated under its key, or by a user.
    """
    told = world.provider.told.get((example, "w"))
    # a clock that was turned ahead may take a value for younger than it is; never by more
    if told is not None and all(step.turn == 0 for steps in world.plan.workers for step in steps):
        late = as_of - _BEGINNING - (told + WINDOW)
        if late > 1.0:
            world.found.append(f"stale: {example} w had expired {late:.0f} seconds before")


async def resolve_all(world: World, ledger: Ledger, *, last: bool) -> bool:
    """What a truthful user does: the list, then the provider finishes, then its log.

    Whether there was anything to be resolved.
    """
    waiting = ledger.open_purchases()
    if not waiting:
        return False
    await world.provider.quiet()
    for purchase in waiting:
        if world.plan.keyed and purchase.status == "doubt" and not last:
            continue  # it resolves itself when somebody asks again
        billed = _was_billed(world, purchase)
        try:
            if billed is not None and billed.tried:
                _resolve_failure(ledger, purchase, billed)
                continue
            cost = None if billed is None else billed.cost_of(purchase.examples)
            _resolve(world, ledger, purchase, cost)
        except BadInput:
            world.happened["too late to resolve"] += 1
    return True


def _was_billed(world: World, purchase: OpenPurchase) -> Bill | None:
    """What the provider has billed for it; None where it has not."""
    log = world.provider.log
    call = purchase.key.split("#")[0]  # of a part: the call's
    if world.plan.keyed:
        return next((b for b in log if b.key == call), None)
    mine = [b for b in log if b.purchase[0] == purchase.id or b.purchase[1] == call]
    return mine[-1] if mine else None


def _resolve_failure(ledger: Ledger, purchase: OpenPurchase, bill: Bill) -> None:
    """It was tried, and a share was billed: nothing came of it, and it may be asked for again."""
    each = dict(zip(bill.ids, bill.costs))  # a share of each is rounded up: no sum can say that
    costs = [Decimal(each.get(i, 0)) / 10**6 for i in purchase.examples]
    ledger.resolve(purchase.id, "billed", cost=costs)


def _resolve(world: World, ledger: Ledger, purchase: OpenPurchase, billed: int | None) -> None:
    plan, id = world.plan, purchase.id
    if billed is None:
        ledger.resolve(id, "not-billed")
        world.happened["not billed"] += 1
        return
    cost = None if plan.says_cost == "no" else f"{billed // 10**6}.{billed % 10**6:06d}"
    if plan.money == "flat" and id % 5 == 0:
        world.given_up.add(id)  # even where nobody hears that it was written
        ledger.resolve(id, "billed", cost=cost)
        world.happened["given up"] += 1
        return
    values = [[said(e, f) for f in purchase.features] for e in purchase.examples]
    world.happened["billed"] += 1  # even where nobody hears that it was written
    cells = ((e, f) for e in purchase.examples for f in purchase.features)
    world.provider.told.update((cell, ledger.now() - _BEGINNING) for cell in cells)
    ledger.resolve(id, "billed", values, cost=cost)
