"""Sources that are called: batches, concurrency, rates, ids, and the readers over them."""

import threading
import time

import anyio
import numpy as np
import pytest

import thrifty
from tests.crash import Crash, crash_at
from tests.loops import AMPLE
from tests.market import ledger, seller
from thrifty import Source
from thrifty.cells import Ledger
from thrifty.errors import BadInput, BadParameter, StoreError
from thrifty.protocol import Cells
from thrifty.stores import SQLiteStore
from thrifty.testing import FakeProvider

IDS = [f"p{i}" for i in range(130)]
FEATURES = [f"f{i}" for i in range(9)]


def truth(provider, ids=IDS, features=FEATURES):
    return np.array([[provider.value(e, f) for f in features] for e in ids])


def test_a_paid_reader_gives_what_an_array_gives():
    """get, columns and everything, bit for bit, and the same receipt."""
    provider = FakeProvider()
    table = truth(provider)
    paid = Cells(provider.source(IDS, FEATURES, prices=1), ledger=ledger(), task="t")
    free = Cells(Source.from_array(table.astype(bool)))
    mask = thrifty.kernels.mask_of_rows(np.arange(3, 120, 2), 130)
    features = np.array([8, 0, 3])
    assert (paid.columns(features, mask) == free.columns(features, mask)).all()
    assert (paid.get([5, 1, 5], [2, 8]) == free.get([5, 1, 5], [2, 8])).all()
    a, b = paid.receipt(), free.receipt()
    assert (a.cells, a.cost, a.max_cells_per_example) == (b.cells, b.cost, b.max_cells_per_example)
    assert (paid.everything() == free.everything()).all()
    assert paid.receipt().cells == 130 * 9
    assert provider.bill().twice == []


def test_a_family_learns_the_same_tree_from_a_provider():
    for task in thrifty.streams.trees(4, 30, 2, 200, 3, random_state=3):
        X = np.asarray(task.X)
        provider = FakeProvider(lambda e, f, X=X: int(X[int(e), int(f[1:])]))
        source = provider.source(range(200), [f"x{i}" for i in range(30)], prices=1)
        paid = thrifty.Lifetime(thrifty.Trees(max_depth=3), budget=AMPLE).learn("t", source, task.y)
        free = thrifty.Lifetime(thrifty.Trees(max_depth=3)).learn("t", X, task.y)
        assert paid.model.tree_ == free.model.tree_
        assert paid.receipt.cells == free.receipt.cells == sum(provider.bill().cells.values())


def test_real_values_come_back_to_the_last_bit(tmp_path):
    values = {(e, f): np.random.default_rng(len(e + f)).normal() * 1e-3 for e in IDS for f in "ab"}
    provider = FakeProvider(lambda e, f: values[e, f])
    book = SQLiteStore(tmp_path / "s.db").book("x", {}, {})
    for task in ("one", "two"):
        source = provider.source(IDS, ["a", "b"], prices=1, boolean=False)
        cells = Cells(source, ledger=Ledger(book), task=task)
        got = cells.get(range(130), [0, 1])
        assert got.tolist() == [[values[e, "a"], values[e, "b"]] for e in IDS]
        book.write(lambda pages, task=task: Ledger(book).compact(pages, task))
    assert provider.bill().calls == 1


def test_missing_values_are_values_where_they_are_allowed():
    provider = FakeProvider(lambda e, f: float("nan") if e == "p1" else 1.5)
    source = provider.source(IDS[:3], ["a"], prices=1, boolean=False, allow_missing=True)
    cells = Cells(source, ledger=ledger())
    assert np.isnan(cells.get([1], [0])).all()
    cells.get([0, 1, 2], [0])
    assert provider.bill().twice == []


def test_batches_have_the_size_the_provider_takes():
    sizes = []

    def ask(ids, names):
        sizes.append((len(ids), len(names)))
        return np.zeros((len(ids), len(names)))

    source = seller(ask, IDS, FEATURES, prices=1, max_examples=50, max_features=4, max_cells=120)
    Cells(source, ledger=ledger()).everything()
    assert sum(a * b for a, b in sizes) == 130 * 9
    assert all(a <= 50 and b <= 4 and a * b <= 120 for a, b in sizes)


@pytest.mark.parametrize("later", [False, True], ids=["plain", "async"])
def test_calls_run_at_once_and_no_more_than_allowed(later):
    now, most, lock = 0, 0, threading.Lock()

    def ask(ids, names):
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        time.sleep(0.02)
        with lock:
            now -= 1
        return np.zeros((len(ids), len(names)))

    async def ask_later(ids, names):
        return await anyio.to_thread.run_sync(ask, ids, names)

    fn = ask_later if later else ask
    source = seller(fn, IDS, FEATURES, prices=1, max_examples=10, concurrency=4)
    book = ledger()
    Cells(source, ledger=book).everything()
    assert 2 <= most <= 4
    assert book.balance().reserved == 0.0


def test_the_rate_limit_holds_across_purchases():
    times = []

    def ask(ids, names):
        times.append(time.monotonic())
        return np.zeros((len(ids), len(names)))

    source = seller(ask, IDS, FEATURES, prices=1, max_examples=1, per_second=20)
    cells = Cells(source, ledger=ledger())
    for start in range(0, 30, 10):  # three purchases of ten calls each
        cells.get(range(start, start + 10), [0])
    in_a_second = [sum(1 for t in times if s <= t < s + 0.95) for s in times]
    assert max(in_a_second) <= 41, "a full bucket, and what leaks in meanwhile"
    assert times[-1] - times[0] >= 0.4, "thirty calls do not fit into one bucket of twenty"


def test_inside_a_running_event_loop():
    """A notebook has one."""
    provider = FakeProvider()

    async def cell():
        return Cells(provider.source(IDS, FEATURES, prices=1), ledger=ledger()).get([0], [0])

    assert anyio.run(cell).tolist() == [[provider.value("p0", "f0")]]


def test_integers_and_text_name_the_same_example():
    provider, book = FakeProvider(), ledger()
    Cells(provider.source([7, 8], ["a"], prices=1), ledger=book).get([0, 1], [0])
    Cells(provider.source(["8", "9"], ["a"], prices=1), ledger=book).get([0], [0])
    assert provider.bill().calls == 1


def test_a_provider_gets_ids_as_the_user_wrote_them():
    seen = []

    def ask(ids, names):
        seen.extend(ids)
        return [[0] for _ in ids]

    source = seller(ask, np.array([7, 8]), ["a"], prices=1)
    Cells(source, ledger=ledger()).get([0, 1], [0])
    assert seen == [7, 8] and all(type(i) is int for i in seen)


def test_a_source_that_costs_is_not_read_outside_a_lifetime():
    provider = FakeProvider()
    source = provider.source(IDS, FEATURES, prices=1)
    with pytest.raises(BadInput, match=r"life\.predict"):
        Cells(source)
    with pytest.raises(BadInput, match=r"life\.metered"):
        thrifty.metered(thrifty.TreeClassifier().fit([[0] * 9, [1] * 9], [0, 1]), source)
    assert provider.bill().calls == 0


def test_there_is_no_way_around_the_ledger():
    source = FakeProvider().source(IDS, FEATURES, prices=1)
    for look in (lambda: source.read([0], [0]), lambda: source.columns([0]), source.tiles):
        with pytest.raises(BadInput, match="through a ledger"):
            look()


def test_what_a_claim_brings_is_not_bought_again(tmp_path):
    """A purchase becomes claimable while a request for the same cells is waiting for it."""
    provider = FakeProvider(idempotent=True)
    store = SQLiteStore(tmp_path / "s.db")
    source = provider.source(IDS[:4], ["a"], prices=1)
    reader = Cells(source, ledger=Ledger(store.book("x", {}, {})), task="mine")
    with pytest.raises((Crash, BaseExceptionGroup)), crash_at("after-call"):
        other = Ledger(SQLiteStore(tmp_path / "s.db").book("x", {}, {}))
        other.book.store.write = _dies_after(other.book.store.write, 2)
        Cells(source, ledger=other, task="other").get(range(2), [0])
    reader.get(
        range(4), [0]
    )  # this reader was open before, so the claim comes in the middle of buying
    assert provider.bill().twice == []
    assert reader.receipt().cells == 2, "the other task's purchase stays its own"


def _dies_after(write, times):
    """A store that works for a while: the process it belonged to is dead then."""

    def limited(*arguments):
        nonlocal times
        times -= 1
        if times < 0:
            raise StoreError("the process is dead")
        return write(*arguments)

    return limited


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"examples": []}, BadInput),
        ({"features": []}, BadInput),
        ({"examples": ["p", "p"]}, BadInput),
        ({"examples": [1, "1"]}, BadInput),
        ({"examples": [1.5]}, BadInput),
        ({"examples": [None]}, BadInput),
        ({"features": ["a", "a"]}, BadInput),
        ({"boolean": ["z"]}, BadInput),
        ({"idempotent": True}, BadInput),
        ({"max_examples": 0}, BadParameter),
        ({"concurrency": 0}, BadParameter),
        ({"per_second": -1}, BadParameter),
        ({"timeout": float("inf")}, BadParameter),
        ({"attempts": 1.5}, BadParameter),
    ],
)
def test_a_source_that_cannot_be(options, error):
    with pytest.raises(error):
        Source.from_callable(
            lambda ids, names: None, **{"examples": ["p"], "features": ["a"], **options}
        )


def test_a_provider_that_is_no_function():
    with pytest.raises(BadInput, match="must be a function"):
        seller(3, ["p"], ["a"])
