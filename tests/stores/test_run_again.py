"""A transaction that is rolled back and run again, as after a restart of the server.

What the first run took into memory never came to be, and another process may have written in
between, under the very numbers that the first run had used.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import thrifty
from thrifty.cells import Cells
from thrifty.cells.ledger.ledger import Ledger
from thrifty.errors import PurchaseInDoubt, StoreError, TaskExists
from thrifty.stores import SQLiteStore
from thrifty.testing import FakeProvider

EXAMPLES = [f"p{i}" for i in range(30)]


class Lost(Exception):
    """The connection went away before the commit."""


class Shaky(SQLiteStore):
    """Loses the transactions whose numbers are in ``lose``; those in ``gone`` are not run again.

    ``between`` runs after each loss, when nobody holds the store.
    """

    lose: tuple[int, ...] = ()
    gone: tuple[int, ...] = ()
    between: Callable[[int], Any]
    writes = 0

    def write(self, lifetime: int, work: Callable[[Any], Any]) -> Any:
        self.writes += 1
        n = self.writes
        if n not in self.lose + self.gone:
            return super().write(lifetime, work)

        def cut(pages: Any) -> Any:
            work(pages)
            raise Lost

        with pytest.raises(Lost):
            super().write(lifetime, cut)
        self.between(n)
        if n in self.gone:
            raise StoreError("the server did not come back")
        return super().write(lifetime, work)


def reader(store: SQLiteStore, provider: FakeProvider, task: str) -> Cells:
    source = provider.source(EXAMPLES, ["a"], prices=1)
    return Cells(source, ledger=Ledger(store.book("x", {}, {})), task=task)


# Making the lifetime is write 1, opening the reader 2, the intent 3, the settlement 4; where that
# one fails the answer is kept and saved with 5.
@pytest.mark.parametrize(
    "lose, gone", [((3,), ()), ((4,), ()), ((3, 4), ()), ((), (4,)), ((5,), (4,))]
)
def test_nothing_is_bought_twice(
    tmp_path: Path, lose: tuple[int, ...], gone: tuple[int, ...]
) -> None:
    provider = FakeProvider()
    shaky = Shaky(tmp_path / "s.db")
    mine = reader(shaky, provider, "mine")
    other = reader(SQLiteStore(tmp_path / "s.db"), provider, "other")
    shaky.lose, shaky.gone = lose, gone
    shaky.between = lambda n: other.get([n, n + 10], [0])
    for _ in range(2):
        try:
            mine.get([0], [0])
        except StoreError:
            assert gone
    assert shaky.writes >= max(lose + gone), "every loss was met"
    mine.get(range(30), [0])
    assert provider.bill().twice == []
    right = [provider.value(e, "a") for e in EXAMPLES]
    assert mine.get(range(30), [0])[:, 0].tolist() == right
    bought = 30 - 2 * len(lose + gone)
    assert mine.receipt().cells == bought


class Unheard(SQLiteStore):
    """The transaction with this number is committed as the connection is lost: it is run again."""

    which = 0
    writes = 0

    def write(self, lifetime: int, work: Callable[[Any], Any]) -> Any:
        self.writes += 1
        if self.writes == self.which:
            super().write(lifetime, work)
        return super().write(lifetime, work)


@pytest.mark.parametrize("which", [3, 4])
def test_a_step_that_was_committed_unheard_goes_on_as_it_was(tmp_path: Path, which: int) -> None:
    """Its own intents are found by their keys: not waited for, nor taken for somebody's doubt."""
    provider, store = FakeProvider(), Unheard(tmp_path / "s.db")
    mine = reader(store, provider, "mine")
    store.which = which
    assert mine.get([0], [0])[0, 0] == provider.value("p0", "a")
    ledger = Ledger(store.book("x", {}, {}))
    assert store.writes >= which and ledger.open_purchases() == []
    assert provider.bill().twice == [] and ledger.balance().spent == 1


class Watched(SQLiteStore):
    """Tells when a transaction was committed, before anybody else does anything."""

    committed: Callable[[], None] = staticmethod(lambda: None)

    def write(self, lifetime: int, work: Callable[[Any], Any]) -> Any:
        done = super().write(lifetime, work)
        self.committed()
        return done


def test_a_purchase_is_never_seen_without_its_buyer(tmp_path: Path) -> None:
    """Another thread that looks between the commit and the call must not take it for dead."""
    store, provider, seen = Watched(tmp_path / "s.db"), FakeProvider(), list[int]()
    mine = reader(store, provider, "mine")
    other = Ledger(SQLiteStore(tmp_path / "s.db").book("x", {}, {}))
    store.committed = lambda: seen.append(len(other.open_purchases()))
    mine.get(range(6), [0])
    assert len(seen) >= 2 and set(seen) == {0}


class Weather(SQLiteStore):
    """Loses transactions at random, before or after the commit, run again or not."""

    def __init__(self, path: Path, chance: random.Random, between: Callable[[], None]) -> None:
        self.chance, self.between, self.calm = chance, between, True
        self.losses = 0
        super().__init__(path)

    def write(self, lifetime: int, work: Callable[[Any], Any]) -> Any:
        if self.calm or self.chance.random() > 0.3:
            return super().write(lifetime, work)
        self.losses += 1
        committed, again = self.chance.random() < 0.5, self.chance.random() < 0.7

        def cut(pages: Any) -> Any:
            work(pages)
            if not committed:
                raise Lost

        with contextlib.suppress(Lost):
            super().write(lifetime, cut)
        self.between()
        if again:
            return super().write(lifetime, work)
        raise StoreError("the server did not come back")


class Till:
    """One task's reader, on a connection of its own."""

    def __init__(self, shop: Shop, task: str) -> None:
        self.task, self.asking = task, list[int]()
        self.store = Weather(shop.path, shop.chance, shop.ask)
        self.ledger = Ledger(self.store.book("x", {}, {}))
        source = shop.provider.source(
            EXAMPLES, ["a", "b"], prices=1, max_examples=2, concurrency=shop.chance.choice((1, 3))
        )
        self.reader = Cells(source, ledger=self.ledger, task=task)

    def ask(self, rows: list[int], features: list[int]) -> None:
        self.asking, self.store.calm = rows, False
        try:
            self.reader.get(rows, features)
        except (StoreError, PurchaseInDoubt):
            pass  # what a user would see; asked for again later
        finally:
            self.asking, self.store.calm = [], True


class Shop:
    """Several tills on one store; while one is cut off, another asks for rows of its own."""

    def __init__(self, path: Path, seed: int, idempotent: bool) -> None:
        self.path, self.chance = path, random.Random(seed)
        self.provider = FakeProvider(idempotent=idempotent)
        self.tills = [Till(self, f"t{i}") for i in range(3)]

    def ask(self) -> None:
        # A row that somebody is asking for would be waited for, and he cannot go on meanwhile.
        taken = {row for till in self.tills for row in till.asking}
        free = [row for row in range(len(EXAMPLES)) if row not in taken]
        idle = [till for till in self.tills if not till.asking]
        if idle and free:
            rows = self.chance.sample(free, min(len(free), self.chance.randint(1, 5)))
            self.chance.choice(idle).ask(rows, self.chance.choice(([0], [1], [0, 1])))

    def finish(self, task: str) -> None:
        """The oldest task ends: its purchases become columns, and another begins."""
        ended = self.tills.pop(0)
        ended.ledger.book.write(lambda pages: ended.ledger.compact(pages, ended.task))
        self.tills.append(Till(self, task))


def settle_doubts(ledger: Ledger, provider: FakeProvider) -> None:
    """What a user does: hold the list of doubts against the provider's bill."""
    ledger.save_unsaved()
    for purchase in ledger.open_purchases():
        cells = [(e, f) for e in purchase.examples for f in purchase.features]
        billed = {cell in provider.bill().cells for cell in cells}
        assert len(billed) == 1, "a call is billed as a whole"
        if billed == {True}:
            values = [[provider.value(e, f) for f in purchase.features] for e in purchase.examples]
            ledger.resolve(purchase.id, "billed", values)
        else:
            ledger.resolve(purchase.id, "not-billed")


# make faults goes through all of them
SEEDS = [*range(4), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(4, 24))]


@pytest.mark.parametrize("idempotent", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_in_any_weather(tmp_path: Path, seed: int, idempotent: bool) -> None:
    shop = Shop(tmp_path / "s.db", seed, idempotent)
    for step in range(25):
        shop.ask()
        if step % 8 == 7:
            shop.finish(f"after {step}")
    ledger = Ledger(SQLiteStore(tmp_path / "s.db").book("x", {}, {}))
    bill = shop.provider.bill()
    assert bill.twice == []
    settle_doubts(ledger, shop.provider)
    balance = ledger.balance()
    assert (balance.reserved, balance.spent) == (0, sum(bill.cells.values()))


@pytest.mark.parametrize("seed", SEEDS)
def test_tasks_are_written_once_in_any_weather(tmp_path: Path, seed: int) -> None:
    """Whole tasks: model, representation, bill and columns, while another lifetime learns too."""
    chance, provider, path = random.Random(seed), FakeProvider(), tmp_path / "s.db"
    features = ["a", "b", "c"]
    waiting = [f"task {i}" for i in range(8)]
    busy = list[thrifty.Lifetime]()

    def learn() -> None:
        idle = [life for life in lives if life not in busy]
        if not waiting or not idle:
            return
        life, name = chance.choice(idle), waiting.pop(chance.randrange(len(waiting)))
        number = int(name.split()[1])
        rows = [f"p{number}-{i}" for i in range(12)]  # rows of its own: nobody has to wait
        y = [provider.value(row, features[number % 3]) for row in rows]
        busy.append(life)
        try:
            life.learn(name, provider.source(rows, features, prices=1, max_examples=5), y)
        except (StoreError, PurchaseInDoubt):
            waiting.append(name)
        except TaskExists:
            pass  # it was written when the connection was lost
        finally:
            busy.remove(life)

    stores = [Weather(path, chance, learn) for _ in range(2)]
    family = thrifty.Trees(max_depth=2)
    ample = thrifty.Budget(10**9)
    lives = [thrifty.Lifetime(family, store=s, name="x", budget=ample) for s in stores]
    for store in stores:
        store.calm = False
    while waiting:
        learn()
        for store in stores:
            store.calm = True
        settle_doubts(lives[0].ledger, provider)
        for store in stores:
            store.calm = False
    for store in stores:
        store.calm = True
    for life in lives:
        life._refresh()
        assert sorted(life) == [f"task {i}" for i in range(8)]
        assert [tree.split.feature for tree in life.representation] == [
            tree.split.feature for tree in lives[0].representation
        ]
    bill = provider.bill()
    assert bill.twice == []
    assert lives[0].balance().reserved == 0
    assert lives[0].balance().spent == sum(bill.cells.values())
    assert lives[0].balance().spent == sum(task.receipt.cost for task in lives[0].tasks)
