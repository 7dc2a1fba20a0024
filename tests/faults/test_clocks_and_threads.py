"""Clocks that are turned, threads that are held up, processes that may not be looked at."""

import os
import subprocess
import sys
import threading
import time

import pytest

from tests.market import ledger, seller
from thrifty import Budget, PriceList
from thrifty.cells import Ledger
from thrifty.cells.ledger import calls, owner
from thrifty.errors import ClockWentBack, ProviderError
from thrifty.protocol import Cells
from thrifty.stores import MemoryStore, SQLiteStore
from thrifty.testing import FakeProvider

IDS, NAMES = [f"p{i}" for i in range(4)], ["a", "b"]
PRICES = PriceList(2, valid_for={"a": 60.0})


@pytest.mark.parametrize("back", [-600.0, -86_400.0, -61.0])
def test_a_clock_that_is_turned_back_charges_once(back):
    turned = [1e9]
    book = ledger(clock=lambda: turned[0])
    provider = FakeProvider()
    cells = Cells(provider.source(IDS, NAMES, prices=PRICES), ledger=book, task="t")
    cells.get([0], [0])
    turned[0] += back
    for _ in range(3):
        cells.get([1, 2], [0, 1])
    assert provider.bill().twice == [] and book.balance().spent == 10.0


def test_time_goes_on_by_the_steady_clock_while_the_other_is_behind():
    turned, steady = [1e9], [0.0]
    book = Ledger(MemoryStore().book("t", {}, {}), None, lambda: turned[0], lambda: steady[0])
    assert book.now() == 1e9
    turned[0] -= 600
    steady[0] += 30
    assert book.now() == 1e9 + 30
    turned[0] += 1000
    assert book.now() == 1e9 + 400, "forward it is believed"


def test_a_clock_behind_the_store_is_refused_by_name(tmp_path):
    store, provider = SQLiteStore(tmp_path / "s.db"), FakeProvider()

    def reader(at, prices=PRICES):
        book = Ledger(store.book("test", {}, {}), clock=lambda: at)
        return Cells(provider.source(IDS, NAMES, prices=prices), ledger=book, task="t")

    reader(1e9).get([0], [0])
    with pytest.raises(ClockWentBack, match="600 seconds behind"):
        reader(1e9 - 600)
    reader(1e9 - 30).get([0], [0])  # clocks differ a little
    reader(1e9 - 600, PriceList(2)).get([0], [1])  # nothing expires: no clock is asked
    reader(1e9 + 30).get([0], [0])
    assert provider.bill().twice == []
    reader(1e9 + 61).get([0], [0])
    assert provider.bill().twice == [("p0", "a")], "what has expired is bought again"


def test_a_thread_that_is_held_up_past_its_time_never_calls(monkeypatch):
    """The thread comes to the provider's reader when nobody waits for it any more."""
    came, go_on = threading.Event(), threading.Event()
    inside = calls._Entry.go_in

    def held_up(entry):
        if not came.is_set():
            came.set()
            go_on.wait(10)
        return inside(entry)

    monkeypatch.setattr(calls._Entry, "go_in", held_up)
    provider = FakeProvider()
    book = ledger()
    cells = Cells(
        provider.source(IDS, NAMES, prices=1, timeout=0.2, attempts=3), ledger=book, task="t"
    )
    cells.get([0], [0, 1])
    go_on.set()
    time.sleep(0.3)
    assert provider.bill().calls == 1, "it was called where it was decided, once"
    assert book.balance().spent == 2.0 and book.open_purchases() == []


def test_the_door_lets_in_or_is_closed():
    entry = calls._Entry()
    assert entry.go_in() and entry.close(), "somebody had gone in"
    entry = calls._Entry()
    assert not entry.close() and not entry.go_in()


@pytest.mark.parametrize("hidden", [FileNotFoundError, PermissionError])
def test_a_living_buyer_whom_proc_hides_is_alive(monkeypatch, hidden):
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        started = owner._started(child.pid)
        name = f"{owner._machine()}/{child.pid}/{started}/abc"
        assert owner.is_alive(name) is True
        seen = owner._stat

        def hides(pid):
            if pid == child.pid:
                raise hidden(pid)
            return seen(pid)

        monkeypatch.setattr(owner, "_stat", hides)
        assert owner.is_alive(name) is True
        refused = os.kill

        def not_ours(pid, number):
            if pid == child.pid:
                raise PermissionError
            refused(pid, number)

        with monkeypatch.context() as m:
            m.setattr(os, "kill", not_ours)
            assert owner.is_alive(name) is True
    finally:
        child.kill()
        child.wait()
    assert owner.is_alive(name) is False


def test_an_async_provider_may_raise_what_it_likes():
    async def leaves(ids, names):
        raise GeneratorExit

    book = Ledger(MemoryStore().book("test", {}, {}), Budget(total=10))
    source = seller(leaves, IDS, NAMES, prices=1)
    with pytest.raises(ProviderError):
        Cells(source, ledger=book, task="t").get([0], [0])
    assert book.balance().reserved == 1.0
