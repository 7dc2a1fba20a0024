"""Stores of the first schema are taken forward, once, whoever comes first."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

import thrifty
from thrifty.cells import Cells
from thrifty.errors import PurchaseInDoubt, StoreTooNew, StoreUnwritable
from thrifty.stores import PostgresStore, SQLiteStore
from thrifty.stores import migrations as steps
from thrifty.stores.migrations import LATEST, statements_of
from thrifty.stores.postgres import _SPELLING
from thrifty.testing import FakeProvider

OLD = Path(__file__).with_name("first_schema.sql")
PRICES = thrifty.PriceList(
    {"a": 1, "b": 2, "c": 0.5}, panels={"blood": (5, ["a", "b"])}, currency="EUR"
)


@pytest.fixture
def old(tmp_path):
    path = tmp_path / "old.db"
    connection = sqlite3.connect(path)
    connection.executescript(OLD.read_text())
    connection.close()
    return path


def version(path):
    return sqlite3.connect(path).execute("PRAGMA user_version").fetchone()[0]


def test_an_old_store_opens_with_everything_in_it(old):
    assert version(old) == 1
    life = thrifty.Lifetime.open(old)
    assert version(old) == LATEST > 1
    assert list(life) == ["first"]
    assert life.tasks[0].receipt.cost == 170.0
    assert (life.balance().spent, life.balance().currency) == (176.5, "EUR")
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


def test_an_old_store_goes_on_learning(old):
    life = thrifty.Lifetime.open(old)
    provider = FakeProvider()
    ids = [f"n{i}" for i in range(20)]
    source = provider.source(ids, ["a", "b", "c"], prices=PRICES)
    assert life.learn("next", source, [provider.value(e, "b") for e in ids]).route == "reused"
    assert list(thrifty.Lifetime.open(old)) == ["first", "next"]


def test_a_store_that_is_only_read_is_not_upgraded(old):
    with pytest.raises(StoreUnwritable, match="has to be upgraded"):
        SQLiteStore(old, read_only=True)
    assert version(old) == 1


def test_processes_that_open_an_old_store_together_upgrade_it_once(old):
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
    assert version(old) == LATEST


def test_a_step_that_fails_changes_nothing(old, monkeypatch):
    broken = (*steps.STEPS[:1], "CREATE TABLE extra (x {int}); CREATE TABLE extra (x {int});")
    monkeypatch.setattr(steps, "STEPS", broken)
    with pytest.raises(thrifty.errors.StoreError):
        SQLiteStore(old)
    assert version(old) == 1
    tables = sqlite3.connect(old).execute("SELECT name FROM sqlite_master").fetchall()
    assert ("extra",) not in tables


def test_an_old_postgres_store_is_taken_forward(postgres):
    import psycopg

    url = postgres.new_database()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE thrifty_meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)")
        connection.execute("INSERT INTO thrifty_meta VALUES ('schema', '1')")
        for statement in statements_of(steps.STEPS[0], _SPELLING):
            connection.execute(statement)
        connection.execute(
            "INSERT INTO lifetimes (name, family, representation) VALUES ('old', '{}', '{}')"
        )
        connection.execute(
            "INSERT INTO tasks (lifetime, position, name, route, model, receipt, token) "
            "VALUES (1, 0, 'first', 'scratch', '{}', '{}', 't')"
        )
    store = PostgresStore(url)
    (task,) = store.book("old", None, None).read(lambda p: p.tasks())
    assert (task.name, task.learned_at) == ("first", 0.0)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("UPDATE thrifty_meta SET value = '99' WHERE key = 'schema'")
    with pytest.raises(StoreTooNew, match="newer Thrifty"):
        PostgresStore(url)
