"""Stores of 0.2 open with everything in them; older ones are refused and left as they are."""

import os
import sqlite3
from pathlib import Path

import pytest

import thrifty
from tests.market import alter
from thrifty.cells import Cells
from thrifty.errors import PurchaseInDoubt, StoreError, StoreTooNew, StoreUnwritable
from thrifty.stores import PostgresStore, SQLiteStore, schema
from thrifty.stores.schema import LATEST, OLDEST
from thrifty.testing import FakeProvider

WRITTEN = Path(__file__).with_name("store_0_2.sql")
PRICES = thrifty.PriceList(
    {"a": 1, "b": 2, "c": 0.5}, fees={"blood": (5, ["a", "b"])}, currency="EUR"
)
FURTHER = "CREATE TABLE further (x {int});"


@pytest.fixture
def old(tmp_path):
    path = tmp_path / "old.db"
    connection = sqlite3.connect(path)
    connection.executescript(WRITTEN.read_text())
    connection.close()
    return path


@pytest.fixture
def a_step_later(monkeypatch):
    """A schema with one step more, as the next version may have."""
    monkeypatch.setattr(schema, "STEPS", (*schema.STEPS, FURTHER))
    for place in ("schema", "sqlite", "postgres"):
        monkeypatch.setattr(f"thrifty.stores.{place}.LATEST", LATEST + 1)


def version(path):
    return sqlite3.connect(path).execute("PRAGMA user_version").fetchone()[0]


def tables(path):
    return {name for (name,) in sqlite3.connect(path).execute("SELECT name FROM sqlite_master")}


def test_a_store_of_0_2_opens_with_everything_in_it(old):
    assert version(old) == OLDEST
    life = thrifty.Lifetime.open(old)
    assert version(old) == LATEST and "predictions_by_account" in tables(old)
    assert list(life) == ["first"]
    assert life.tasks[0].receipt.cost == 170.0
    balance = life.balance()
    assert (balance.spent, balance.reserved, balance.currency) == (204.5, 17.0, "EUR")
    assert life.bill()["cost"].sum() == 204.5
    provider = FakeProvider()
    ids = [f"p{i}" for i in range(20)]
    source = provider.source([*ids, "r1"], ["a", "b", "c"], prices=PRICES)
    cells = Cells(source, ledger=life.ledger, task="new")
    values = cells.get(range(20), [0, 1, 2])
    assert values.tolist() == [[provider.value(e, f) for f in "abc"] for e in ids]
    cells.get([20], [0, 2])
    assert provider.bill().calls == 0, "all of it was paid for before"
    doubts = life.ledger.open_purchases()
    assert [(p.id, p.status, p.examples) for p in doubts] == [(2, "doubt", ("q1", "q2"))]
    with pytest.raises(PurchaseInDoubt):
        other = provider.source(["q1", "q2"], ["a", "b", "c"], prices=PRICES)
        Cells(other, ledger=life.ledger, task="new").get([0], [2])
    life.ledger.resolve(2, "not-billed")
    assert life.balance().reserved == 0.0


def test_a_task_that_0_2_screened_was_bought(old):
    alter(old, "UPDATE tasks SET route = 'screened'")
    with thrifty.Lifetime.open(old) as life:
        assert life.tasks[0].route == "bought"
        assert life.bill()["route"].tolist()[0] == "bought"
        said = life["first"].show()
    assert said.startswith("first: bought\n") and " of 60 values for 170 EUR" in said


def test_it_goes_on_learning(old):
    life = thrifty.Lifetime.open(old)
    provider = FakeProvider()
    ids = [f"n{i}" for i in range(20)]
    source = provider.source(ids, ["a", "b", "c"], prices=PRICES)
    assert life.learn("next", source, [provider.value(e, "b") for e in ids]).route == "reused"
    assert list(thrifty.Lifetime.open(old)) == ["first", "next"]


def test_a_new_store_has_the_tables_of_one_that_was_brought_up(old, tmp_path):
    thrifty.Lifetime(thrifty.Trees(), store=tmp_path / "new.db").close()
    thrifty.Lifetime.open(old).close()

    def columns(path):
        connection = sqlite3.connect(path)
        names = sorted(name for name in tables(path) if not name.startswith("sqlite_"))
        return {n: connection.execute(f"PRAGMA table_info({n})").fetchall() for n in names}

    assert columns(tmp_path / "new.db") == columns(old)


@pytest.mark.parametrize("read_only", [False, True])
def test_an_older_store_is_refused_with_what_to_do(old, read_only):
    alter(old, "PRAGMA user_version = 7")
    before = old.read_bytes()
    with pytest.raises(StoreError, match=r"before Thrifty 0\.2 .*thrifty==0\.2"):
        SQLiteStore(old, read_only=read_only)
    assert old.read_bytes() == before


def test_processes_that_open_an_old_store_together_bring_it_up_once(old, a_step_later):
    pids = []
    for _ in range(4):
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                code = 0 if list(thrifty.Lifetime.open(old)) == ["first"] else 2
            finally:
                os._exit(code)
        pids.append(pid)
    assert [os.waitstatus_to_exitcode(os.waitpid(p, 0)[1]) for p in pids] == [0] * 4
    assert version(old) == LATEST + 1 and "further" in tables(old)


def test_a_store_that_is_only_read_is_not_brought_up(old, a_step_later):
    with pytest.raises(StoreUnwritable, match="has to be upgraded"):
        SQLiteStore(old, read_only=True)
    assert version(old) == OLDEST


def test_a_step_that_fails_changes_nothing(old, a_step_later, monkeypatch):
    monkeypatch.setattr(schema, "STEPS", (FURTHER + FURTHER,))
    with pytest.raises(StoreError):
        SQLiteStore(old)
    assert version(old) == OLDEST and "further" not in tables(old)


def test_in_postgres_older_and_newer_ones_are_refused_and_steps_are_taken(postgres, request):
    import psycopg

    url = postgres.new_database()
    PostgresStore(url).close()

    def say(number):
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("UPDATE thrifty_meta SET value = %s", (str(number),))

    say(99)
    with pytest.raises(StoreTooNew, match="newer Thrifty"):
        PostgresStore(url)
    for read_only in (False, True):
        say(7)
        with pytest.raises(StoreError, match=r"before Thrifty 0\.2"):
            PostgresStore(url, read_only=read_only)
    say(OLDEST)
    request.getfixturevalue("a_step_later")
    PostgresStore(url).close()
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT COUNT(*) FROM further").fetchone() == (0,)
