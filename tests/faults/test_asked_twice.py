"""One purchase, asked for twice under its key: two machines whose clocks are far apart."""

import asyncio

import numpy as np
import pytest

from tests.market import seller
from thrifty import PriceList, kernels
from thrifty.cells import Ledger
from thrifty.cells.ledger.owner import Process, simulated
from thrifty.errors import ProviderError, StoreUnwritable
from thrifty.protocol import Cells
from thrifty.stores import MemoryStore

GOOD = [[1.0]]
BAD: list[object] = []


class Machine(Process):
    """A process of another machine: nobody can tell from outside whether it still runs."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def knows(self, owner: str) -> bool | None:
        return None


class Lab:
    """Honours keys, and answers what it is told: the first call late, the second at once."""

    def __init__(self, *answers: object) -> None:
        self.answers, self.billed = list(answers), []

    async def __call__(self, ids, names, idempotency_key):
        answer, late = self.answers.pop(0), not self.billed
        if idempotency_key not in self.billed:
            self.billed.append(idempotency_key)
        await asyncio.sleep(0.2 if late else 0)
        return answer


async def buys(book, lab, machine: str, ahead: float, begins: float) -> Exception | None:
    await asyncio.sleep(begins)
    source = seller(lab, ["p"], ["a"], prices=2, idempotent=True, attempts=1)
    ledger = Ledger(book, clock=lambda: 1e9 + ahead)
    with simulated(Machine(machine)):
        buyer, claims = ledger.opened(source, None, machine)
        assert claims == bool(begins), "the second takes the first for dead"
        try:
            await buyer.bought(np.array([0]), kernels.mask_of_rows(np.array([0]), 1))
        except ProviderError as error:
            return error
    return None


def two_machines(lab: Lab):
    book = MemoryStore().book("test", {}, {})

    async def both():
        return await asyncio.gather(
            buys(book, lab, "first", 0.0, 0.0), buys(book, lab, "second", 1e6, 0.05)
        )

    return book, asyncio.run(both())


def test_cells_stay_closed_after_two_malformed_answers():
    lab = Lab(BAD, BAD, GOOD)
    book, ends = two_machines(lab)
    assert all(isinstance(error, ProviderError) for error in ends)
    assert len(lab.billed) == 1, "nobody has said that they may be bought again"
    ledger = Ledger(book, clock=lambda: 2e9)
    (waiting,) = ledger.open_purchases()
    assert waiting.status == "malformed" and ledger.balance().spent == 2


def test_a_good_answer_under_the_same_key_is_used():
    lab = Lab(GOOD, BAD)
    book, (first, second) = two_machines(lab)
    assert first is None and isinstance(second, ProviderError)
    ledger = Ledger(book, clock=lambda: 2e9)
    assert ledger.open_purchases() == [] and len(lab.billed) == 1
    assert (ledger.balance().spent, ledger.balance().reserved) == (2, 0)


def test_a_value_is_as_old_as_its_answer(monkeypatch):
    """What could not be written when it came has aged by the time it can."""
    now, asked, full = [1e9], [], [False]
    store = MemoryStore()
    write = store.write

    def writes(lifetime, work):
        if full[0]:
            raise StoreUnwritable("no room")
        return write(lifetime, work)

    monkeypatch.setattr(store, "write", writes)
    ledger = Ledger(store.book("test", {}, {}), None, lambda: now[0], lambda: now[0])

    def ask(ids, names):
        asked.append(ids)
        full[0] = len(asked) == 1
        return GOOD

    def reader_of(task):
        source = seller(ask, ["p"], ["a"], prices=PriceList(2, valid_for=60.0))
        return Cells(source, ledger=ledger, task=task)

    with pytest.raises(StoreUnwritable):
        reader_of("t").get([0], [0])
    full[0] = False
    now[0] += 1000
    assert reader_of("u").get([0], [0]).tolist() == GOOD
    assert len(asked) == 2, "the first had expired"
    assert ledger.balance().spent == 4 and ledger.open_purchases() == []
