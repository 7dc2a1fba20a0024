"""Ways in which money was once lost or a value invented. Each is here for good."""

import asyncio
import os
import signal
import threading
import time

import numpy as np
import pytest

import thrifty
from tests.crash import from_another_machine
from tests.market import seller
from thrifty import Budget, PriceList, errors
from thrifty.cells import Cells, Ledger
from thrifty.cells.ledger.book import on_point
from thrifty.stores import MemoryStore, SQLiteStore
from thrifty.testing import FakeProvider

IDS = [f"p{i}" for i in range(6)]
FEATURES = ["a", "b"]


def ledger(where=None, **options) -> Ledger:
    store = MemoryStore() if where is None else SQLiteStore(where)
    return Ledger(store.book("test", {"family": "Test"}, {}), **options)


def reader_of(fn, of, *, task="t", **options) -> Cells:
    options.setdefault("attempts", 1)
    options.setdefault("prices", 1)
    source = seller(fn, IDS, FEATURES, **options)
    return Cells(source, ledger=of, task=task)


# -- a refusal of a repetition says nothing of the first try ---------------------------------------


@pytest.mark.parametrize("repeated", ["refuse", "fail"])
def test_a_refused_repetition_stays_in_doubt_under_its_key(repeated, tmp_path):
    provider = FakeProvider(idempotent=True, faults=["error-after", repeated, "refuse"])
    of = ledger(tmp_path / "clinic.db")
    with pytest.raises(errors.PurchaseInDoubt):
        reader_of(provider, of, idempotent=True).get([0, 1], [0])
    (first,) = of.open_purchases()
    for _ in range(2):
        with pytest.raises(errors.PurchaseInDoubt):
            reader_of(provider, of, idempotent=True).get([0, 1], [0])
        (still,) = of.open_purchases()
        assert (still.id, still.key, still.status) == (first.id, first.key, "doubt")
        assert (of.balance().reserved, of.balance().spent) == (2, 0), "its money is not freed"
    reader_of(provider, of, idempotent=True).get([0, 1], [0])
    assert provider.bill().twice == []
    assert of.open_purchases() == []
    assert (of.balance().reserved, of.balance().spent) == (0, 2)


# -- nothing is read from a cell that was not answered ---------------------------------------------


def cancelled(ids, names):
    raise asyncio.CancelledError


async def cancelled_later(ids, names):
    await asyncio.sleep(0)
    raise asyncio.CancelledError


async def cancels_a_part(ids, names):
    part = asyncio.ensure_future(asyncio.sleep(5))
    part.cancel()
    await part


async def cancels_itself(ids, names):
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    await asyncio.sleep(5)


def leaves(ids, names):
    raise SystemExit(3)


async def leaves_later(ids, names):
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("fn", "error"),
    [
        (cancelled, errors.PurchaseInDoubt),
        (cancelled_later, errors.PurchaseInDoubt),
        (cancels_a_part, errors.PurchaseInDoubt),
        (cancels_itself, errors.PurchaseInDoubt),
        (leaves, SystemExit),
        (leaves_later, KeyboardInterrupt),
    ],
)
def test_a_call_that_is_cancelled_from_inside_is_in_doubt(fn, error):
    of = ledger()
    with pytest.raises(error):
        reader_of(fn, of).get([0, 1, 2], [0, 1])
    assert [p.status for p in of.open_purchases()] == ["doubt"]
    assert of.balance().reserved == 6


def test_no_tree_is_learned_from_cells_that_nobody_answered():
    life = thrifty.Lifetime(thrifty.Trees(max_depth=2), budget=thrifty.Budget(10**9))
    lab = seller(cancelled, IDS, FEATURES, prices=1)
    with pytest.raises(errors.PurchaseInDoubt):
        life.learn("t", lab, [0, 1, 0, 1, 0, 1])
    assert "t" not in life


def test_after_buying_every_cell_is_there_or_it_is_an_error(monkeypatch):
    """Whatever makes the window end early, no reader is given unanswered cells."""
    cells = reader_of(FakeProvider().ask, ledger())
    buyer = cells._account._buyer

    async def nothing(*_):
        return None

    monkeypatch.setattr(buyer, "_run", nothing)
    with pytest.raises(errors.ProviderError, match="not answered"):
        cells.get([0], [0])


# -- a live buyer is not taken for dead ------------------------------------------------------------


def test_a_clock_that_is_ahead_does_not_end_a_purchase_of_a_living_process(tmp_path, tools):
    """Another process with a clock ten minutes ahead: it waits, and the user cannot resolve."""
    path, begun, go_on = tmp_path / "clinic.db", tmp_path / "begun", tmp_path / "go-on"
    provider = FakeProvider(log=tmp_path / "bill.log")
    ledger(path)

    def buyer():
        def slow(ids, names):
            begun.touch()
            while not go_on.exists():
                time.sleep(0.01)
            return provider(ids, names)

        reader_of(slow, ledger(path)).get([0], [0])

    pid = tools.in_child(buyer)
    while not begun.exists():
        time.sleep(0.01)
    ahead = ledger(path, clock=lambda: time.time() + 600)
    assert ahead.open_purchases() == []
    with pytest.raises(errors.BadInput, match="being made"):
        ahead.resolve(1, "not-billed")
    go_on.touch()
    assert tools.wait_for(pid) == 0
    reader_of(provider.ask, ahead).get([0], [0])
    assert provider.bill().twice == []


def test_a_stopped_process_is_alive(tmp_path, tools):
    """SIGSTOP between intent and call; long after, it goes on, and nothing is paid twice."""
    path = tmp_path / "clinic.db"
    provider = FakeProvider(log=tmp_path / "bill.log")
    ledger(path)

    def buyer():
        on_point(lambda p: os.kill(os.getpid(), signal.SIGSTOP) if p == "before-call" else None)
        reader_of(provider.ask, ledger(path)).get([0], [0])

    pid = tools.in_child(buyer)
    os.waitpid(pid, os.WUNTRACED)
    later = ledger(path, clock=lambda: time.time() + 3600)
    assert later.open_purchases() == []
    with pytest.raises(errors.BadInput, match="being made"):
        later.resolve(1, "not-billed")
    os.kill(pid, signal.SIGCONT)
    assert tools.wait_for(pid) == 0
    assert later.balance().spent == 1


def test_the_intent_is_looked_at_again_right_before_the_call(tmp_path, monkeypatch):
    """The user resolved it meanwhile, seen from another machine: it is not called any more."""
    path, provider = tmp_path / "clinic.db", FakeProvider()
    of = ledger(path)

    def resolved_meanwhile(point):
        if point == "before-call":
            on_point(None)
            other = ledger(path, clock=lambda: time.time() + 3600)
            with from_another_machine():
                other.resolve(1, "not-billed")

    on_point(resolved_meanwhile)
    try:
        reader_of(provider.ask, of).get([0], [0])
    finally:
        on_point(None)
    assert provider.bill().calls == 1
    assert provider.bill().twice == []
    assert (of.balance().spent, of.balance().reserved) == (1, 0)


def test_a_late_answer_is_kept_and_says_so(tmp_path):
    """Resolved as not billed while the provider was at work: what it then billed is booked."""
    path, provider = tmp_path / "clinic.db", FakeProvider()

    def ask(ids, names):
        with from_another_machine():
            ledger(path).resolve(1, "not-billed")
        return provider(ids, names)

    of = ledger(path)
    with pytest.warns(UserWarning, match="late"):
        values = reader_of(ask, of).get([0], [0])
    assert values[0, 0] == provider.value("p0", "a")
    assert of.balance().spent == 1
    reader_of(provider.ask, ledger(path)).get([0], [0])
    assert provider.bill().twice == []


def test_a_late_answer_for_what_was_bought_again_is_booked_as_spent(tmp_path):
    path, provider = tmp_path / "clinic.db", FakeProvider()

    def ask(ids, names):
        with from_another_machine():
            ledger(path).resolve(1, "not-billed")
            reader_of(provider.ask, ledger(path), task="other").get([0], [0])
        return provider(ids, names)

    of = ledger(path)
    with pytest.warns(UserWarning, match="late.*is kept, and not used"):
        reader_of(ask, of).get([0], [0])
    assert of.balance().spent == 2, "both were billed, and the ledger says so"


def test_waiting_for_the_rate_is_part_of_the_lease(tmp_path, monkeypatch):
    """Seen from another machine, a buyer who waits for his turn renews what he intends."""
    path, now = tmp_path / "clinic.db", [1000.0]
    provider = FakeProvider()
    of = ledger(path, clock=lambda: now[0])

    def long_wait(point):
        if point == "before-call":
            now[0] += 3600

    on_point(long_wait)
    try:
        reader_of(provider.ask, of, timeout=30).get([0], [0])
    finally:
        on_point(None)
    (bought,) = of.book.read(lambda pages: pages.purchases())
    assert bought.give_up_at > 1000 + 3600 + 30


# -- one answer that cannot be converted does not stop the others ----------------------------------


class Hostile:
    def __array__(self, *_, **__):
        raise RuntimeError("no")

    def __repr__(self):
        raise RuntimeError("no")


class HostileFrame:
    columns, index = ["a"], ["p0"]

    def to_numpy(self):
        raise RuntimeError("no")


@pytest.mark.parametrize("answer", [Hostile(), HostileFrame(), [[Hostile()]]])
def test_an_answer_that_cannot_be_converted_is_malformed(answer, tmp_path):
    of = ledger(tmp_path / "clinic.db")
    with pytest.raises(errors.MalformedAnswer):
        reader_of(lambda ids, names: answer, of).get([0], [0])
    assert [p.status for p in of.open_purchases()] == ["malformed"]
    provider = FakeProvider()
    reader_of(provider.ask, ledger(tmp_path / "another.db")).get([0], [0])
    reader_of(provider.ask, of).get([1], [0])


# -- money at any size ----------------------------------------------------------------------------


def test_a_budget_does_not_wrap(tmp_path):
    """1,000,000 IRR a cell: eight of them in one call once passed a budget of 1,000."""
    provider = FakeProvider()
    ids = range(40_000)
    for price in ("1000000 IRR", "400000000000 IRR", "4000000000000 IRR"):
        of = ledger(budget=Budget(total="1000 IRR"))
        lab = provider.source(ids, ["a", "b", "c"], prices=PriceList(price), name="lab")
        with pytest.raises((errors.BudgetExceeded, errors.BadInput)):
            Cells(lab, ledger=of, task="t").get(ids, [0, 1, 2])
    assert provider.bill().calls == 0


@pytest.mark.parametrize("shape", [(40_000, 1), (1, 200)])
def test_sums_beyond_the_largest_amount_are_refused_without_a_budget(shape):
    provider = FakeProvider()
    n, k = shape
    names = [f"f{i}" for i in range(k)]
    lab = provider.source(range(n), names, prices="4000000000000 IRR", name="lab")
    with pytest.raises(errors.ThriftyError, match="too large"):
        Cells(lab, ledger=ledger(), task="t").get(range(n), range(k))
    assert provider.bill().calls == 0


@pytest.mark.parametrize("calls", [1, 30])
def test_large_amounts_are_booked_to_the_last_unit(calls):
    provider = FakeProvider()
    lab = provider.source(
        range(30), ["a"], prices="100000000000.000001 IRR", name="lab", max_examples=30 // calls
    )
    of = ledger()
    Cells(lab, ledger=of, task="t").get(range(30), [0])
    assert of.book.read(lambda pages: pages.balance(None)) == (0, 30 * 100000000000000001)


def test_a_budget_over_an_array_does_not_wrap():
    X = np.zeros((50_000, 4), dtype=bool)
    life = thrifty.Lifetime(
        thrifty.Trees(max_depth=2), prices="400000000000 IRR", budget=Budget(total="1000 IRR")
    )
    with pytest.raises((errors.BudgetExceeded, errors.BadInput)):
        life.learn("t", X, np.arange(50_000) % 2)


# -- concurrency ----------------------------------------------------------------------------------


def test_repeating_doubts_minds_the_concurrency():
    of = ledger()
    plain = FakeProvider(faults=["error"] * 6)
    for i in range(6):
        with pytest.raises(errors.PurchaseInDoubt):
            reader_of(plain.ask, of).get([i], [0])
    provider, lock = FakeProvider(idempotent=True), threading.Lock()
    at_once = most = 0

    def counting(ids, names, idempotency_key):
        nonlocal at_once, most
        with lock:
            at_once += 1
            most = max(most, at_once)
        time.sleep(0.02)
        with lock:
            at_once -= 1
        return provider(ids, names, idempotency_key)

    reader_of(counting, of, idempotent=True, concurrency=2).get([0], [0])
    assert of.open_purchases() == []
    assert (provider.bill().calls, most) == (6, 2)
