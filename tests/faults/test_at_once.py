"""Threads, forks and processes that come at the same moment: once each of these went wrong."""

import os
import threading
import time

import pytest

import thrifty
from thrifty.cells import Cells, Ledger
from thrifty.stores import MemoryStore, PostgresStore, SQLiteStore
from thrifty.testing import FakeProvider

IDS = [f"p{i}" for i in range(12)]
FEATURES = ["a", "b", "c"]


def test_a_receipt_counts_what_its_own_task_bought(tmp_path):
    """What another task bought and finished meanwhile is reused, however it becomes known."""
    provider = FakeProvider()
    book = SQLiteStore(tmp_path / "clinic.db").book("x", {}, {})

    def reader(task):
        return Cells(provider.source(IDS, FEATURES, prices=1), ledger=Ledger(book), task=task)

    mine, other = reader("mine"), reader("other")
    other.get(range(6), [0, 1])
    book.write(lambda pages: Ledger(book).compact(pages, "other"))
    mine.get(range(12), [0, 1])
    receipt = mine.receipt()
    assert (receipt.cells, receipt.reused_cells) == (12, 12)
    assert (receipt.cost, sum(receipt.per_feature.values())) == (12.0, 12)
    assert provider.bill().twice == []


def test_receipts_of_threads_add_up_to_the_bill():
    """Eight tasks in threads over the same cells: together they bought each cell once."""
    provider = FakeProvider(delay=0.002)
    life = thrifty.Lifetime(thrifty.Trees(max_depth=3), budget=thrifty.Budget(10**9))
    source = [
        provider.source(IDS, FEATURES, prices=1, name="lab", max_examples=3) for _ in range(8)
    ]
    labels = [[provider.value(e, FEATURES[t % 3]) for e in IDS] for t in range(8)]
    errors = []

    def work(t):
        try:
            life.learn(f"t{t}", source[t], labels[t])
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(t,)) for t in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    billed = sum(provider.bill().cells.values())
    assert sum(task.receipt.cells for task in life.tasks) == billed
    assert provider.bill().twice == []


def test_a_fork_while_a_thread_is_in_a_transaction(tmp_path, tools):
    store = SQLiteStore(tmp_path / "clinic.db")
    book = store.book("x", {}, {})
    inside, stop = threading.Event(), threading.Event()

    def busy():
        def slowly(pages):
            inside.set()
            time.sleep(0.05)
            pages.move("t", 1, 0)

        while not stop.is_set():
            book.write(slowly)

    thread = threading.Thread(target=busy)
    thread.start()
    inside.wait()
    pids = [
        tools.in_child(lambda: book.write(lambda pages: pages.move("c", 1, 0))) for _ in range(5)
    ]
    stop.set()
    thread.join()
    until, ends = time.monotonic() + 60, {}
    while len(ends) < 5 and time.monotonic() < until:
        for pid in set(pids) - set(ends):
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                ends[pid] = os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    for pid in set(pids) - set(ends):
        os.kill(pid, 9)
    assert list(ends.values()) == [0] * 5, "a child hangs"
    assert book.read(lambda pages: pages.balance("c")) == (5, 0)


def test_a_forked_child_keeps_its_copy_of_a_store_in_memory(tools):
    book = MemoryStore().book("x", {}, {})
    book.write(lambda pages: pages.move("t", 7, 0))
    assert (
        tools.wait_for(
            tools.in_child(lambda: 0 if book.read(lambda p: p.balance("t")) == (7, 0) else 1)
        )
        == 0
    )


@pytest.mark.parametrize("rounds", [3, pytest.param(60, marks=pytest.mark.slow)])
@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_several_processes_make_one_store(store, rounds, tools, fast_path, request):
    for n in range(rounds):
        if store == "sqlite":
            where = str(fast_path / f"{n}.db")
        else:
            where = request.getfixturevalue("postgres").new_database()
        ends, start = os.pipe()  # when its last end is closed, all of them go on at once

        def opens(where=where, ends=ends, start=start):
            os.close(start)
            os.read(ends, 1)
            thrifty.Lifetime(thrifty.Trees(max_depth=3), store=where, budget=thrifty.Budget(10**9))

        pids = [tools.in_child(opens) for _ in range(6)]
        os.close(start)
        os.close(ends)
        assert [tools.wait_for(pid) for pid in pids] == [0] * 6


@pytest.mark.parametrize("level", ["repeatable read", "serializable"])
def test_a_server_with_another_default_isolation(level, postgres, tools, fast_path):
    """Free cells, so no budget would catch it: none may be bought twice, no raw error."""
    import psycopg

    where = postgres.new_database()
    with psycopg.connect(where, autocommit=True) as connection:
        name = connection.execute("SELECT current_database()").fetchone()[0]
        connection.execute(f"ALTER DATABASE {name} SET default_transaction_isolation = '{level}'")
        connection.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    try:
        clinic = tools.Clinic(fast_path, where, "plain", n_examples=30)
        clinic.price = 0

        def learns():
            clinic.learn(clinic.open(), f"t{os.getpid()}", delay=0.002)

        pids = [tools.in_child(learns) for _ in range(4)]
        assert [tools.wait_for(pid) for pid in pids] == [0] * 4
        assert clinic.provider().bill().twice == []
    finally:
        with psycopg.connect(where, autocommit=True) as connection:
            connection.execute("SET default_transaction_read_only = off")
            connection.execute(f"ALTER DATABASE {name} RESET ALL")


def test_opening_waits_for_a_server_that_restarts(postgres):
    where = postgres.new_database()
    PostgresStore(where).book("x", {}, {})
    restart = threading.Thread(target=postgres.restart)
    restart.start()
    opened = 0
    while restart.is_alive() or opened < 5:
        PostgresStore(where).lifetimes()
        opened += 1
        time.sleep(0.02)
    restart.join()
