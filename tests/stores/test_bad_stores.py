"""Files that are no stores, disks that are full, names that are hostile, secrets."""

import logging
import os
import sqlite3
import stat

import numpy as np
import pytest

import thrifty
from tests.market import alter, seller
from thrifty import errors
from thrifty.cells import Cells, Ledger
from thrifty.stores import PostgresStore, SQLiteStore, open_store
from thrifty.testing import FakeProvider

HOSTILE = [
    "a'; DROP TABLE purchases; --", 'b" OR 1=1', "c%s ? :x", "d\n\r\t", "é☃𝔘", " ", "--", "NULL",
    "x" * 2000, "\\", "{}", "%(name)s", "$1",
]  # fmt: skip


@pytest.mark.parametrize(
    "content", [b"hello", b"PK\x03\x04" + b"\0" * 2000, b"SQLite format 3\0" + b"\xff" * 2000]
)
def test_a_file_that_is_not_a_store_is_left_alone(tmp_path, content):
    path = tmp_path / "file.db"
    path.write_bytes(content)
    with pytest.raises(errors.NotAStore, match="left as it is"):
        SQLiteStore(path)
    assert path.read_bytes() == content


def test_a_database_of_somebody_else_is_left_alone(tmp_path, postgres):
    path = tmp_path / "other.db"
    sqlite3.connect(path).execute("CREATE TABLE tasks (x)").connection.commit()
    before = path.read_bytes()
    with pytest.raises(errors.NotAStore, match="not made by Thrifty"):
        SQLiteStore(path)
    assert path.read_bytes() == before
    import psycopg

    url = postgres.new_database()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE tasks (x INT)")
    with pytest.raises(errors.NotAStore, match="not made by it"):
        PostgresStore(url)


def test_a_newer_store_is_left_alone(tmp_path):
    path = tmp_path / "new.db"
    SQLiteStore(path).close()
    alter(path, "PRAGMA user_version = 99")
    before = path.read_bytes()
    with pytest.raises(errors.StoreTooNew, match="schema 99"):
        SQLiteStore(path)
    assert path.read_bytes() == before


def test_places_that_cannot_be(tmp_path):
    with pytest.raises(errors.StoreUnwritable):
        SQLiteStore(tmp_path / "no" / "such" / "folder.db")
    with pytest.raises(errors.StoreError):
        SQLiteStore(tmp_path)  # a folder
    with pytest.raises(errors.StoreError, match="mysql://"):
        open_store("mysql://somewhere/db")
    with pytest.raises(errors.StoreError, match="no store at"):
        thrifty.Lifetime.open(tmp_path / "empty.db")


def test_files_are_for_their_owner_alone(tmp_path):
    old = os.umask(0)
    try:
        store = SQLiteStore(tmp_path / "s.db")
        store.book("x", {}, {})

        def look(pages):
            pages.move("t", 1, 1)
            return [stat.S_IMODE(p.stat().st_mode) for p in tmp_path.iterdir()]

        modes = store.book("x", {}, {}).write(look)
    finally:
        os.umask(old)
    assert modes == [0o600] * len(modes) and len(modes) == 2, "the file and its journal"


def test_a_store_that_is_only_read_refuses_to_write(tmp_path):
    path = tmp_path / "s.db"
    thrifty.Lifetime(thrifty.Trees(max_depth=3), store=path)
    store = SQLiteStore(path, read_only=True)
    life = thrifty.Lifetime.open(store)
    X = np.eye(4, dtype=np.uint8)
    with pytest.raises(errors.StoreUnwritable, match="read-only"):
        life.learn("t", X, X[:, 0])
    assert list(life) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_file_without_the_right_to_write(tmp_path):
    path = tmp_path / "s.db"
    SQLiteStore(path).close()
    path.chmod(0o400)
    with pytest.raises(errors.StoreUnwritable):
        SQLiteStore(path).book("x", {}, {})


def test_a_full_disk_loses_nothing(tmp_path):
    provider = FakeProvider()
    ids, features = [f"p{i}" for i in range(300)], [f"f{i}" for i in range(40)]
    store = SQLiteStore(tmp_path / "s.db")
    ledger = Ledger(store.book("x", {}, {}))

    def reader():
        source = provider.source(ids, features, prices=1, max_examples=20, max_features=20)
        return Cells(source, ledger=ledger, task="t")

    cells = reader()
    store._connection.execute("VACUUM")  # an upgrade leaves room
    (now,) = store._connection.execute("PRAGMA page_count").fetchone()
    store._connection.execute(f"PRAGMA max_page_count = {now + 3}").fetchall()
    with pytest.raises(errors.StoreUnwritable, match="full"):
        for start in range(0, 300, 20):
            cells.get(range(start, start + 20), range(40))
    assert 0 < provider.bill().calls < 30
    store._connection.execute("PRAGMA max_page_count = 100000").fetchall()
    again = reader()
    values = again.get(range(300), range(40))
    assert values.tolist() == [[provider.value(e, f) for f in features] for e in ids]
    assert provider.bill().twice == [], "the answer that could not be written was kept"
    assert ledger.balance().spent == 12_000.0


def test_a_store_in_use_for_too_long_says_so(tmp_path):
    path = tmp_path / "s.db"
    SQLiteStore(path).book("x", {}, {})
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(errors.StoreBusy, match="in use by other processes"):
        SQLiteStore(path, wait=0.1).book("x", None, None).write(lambda p: p.move("t", 1, 1))
    holder.execute("ROLLBACK")


def test_two_lifetimes_of_one_name(tmp_path):
    path = tmp_path / "s.db"
    thrifty.Lifetime(thrifty.Trees(max_depth=3), store=path)
    thrifty.Lifetime(thrifty.Trees(max_depth=3), store=path)
    with pytest.raises(errors.LifetimeExists, match="another family"):
        thrifty.Lifetime(thrifty.Trees(max_depth=4), store=path)
    thrifty.Lifetime(thrifty.Trees(max_depth=4), store=path, name="other")


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_hostile_names_are_only_names(tmp_path, request, kind):
    if kind == "sqlite":
        where = tmp_path / "s.db"
    else:
        where = request.getfixturevalue("postgres").new_database()
    provider = FakeProvider()
    examples = [*HOSTILE, "plain"]
    y = [provider.value(e, HOSTILE[0]) for e in examples]
    for i, name in enumerate(HOSTILE):
        family = thrifty.Trees(max_depth=9, learner=thrifty.trees.Paper())
        life = thrifty.Lifetime(family, store=where, name=name, budget=thrifty.Budget(10**9))
        source = provider.source(examples, HOSTILE, prices=1, name=name)
        life.learn(name, source, y)
        assert list(thrifty.Lifetime.open(where, name=name)) == [name]
        assert provider.bill().calls == i + 1


def test_names_that_no_store_can_hold_are_refused_before_anything_is_bought(tmp_path):
    provider = FakeProvider()
    for bad in ("nul\x00", "lone\ud800"):
        for examples, features in ((["p", bad], ["a", "b"]), (["p", "q"], ["a", bad])):
            with pytest.raises(errors.BadInput, match="text that can be stored"):
                provider.source(examples, features, prices=1)
    assert provider.bill().calls == 0


def test_no_secret_in_the_ledger_or_a_log(tmp_path, caplog):
    caplog.set_level(logging.DEBUG)
    secret = "hunter2hunter2"

    def leaky(ids, names):
        raise RuntimeError(f"POST https://me:{secret}@lab/?api_key={secret} failed")

    path = tmp_path / "s.db"
    source = seller(leaky, ["p"], ["a"], prices=1)
    ledger = Ledger(SQLiteStore(path).book("x", {}, {}))
    with pytest.raises(errors.PurchaseInDoubt) as caught:
        Cells(source, ledger=ledger).get([0], [0])

    def rude(ids, names):
        return {"error": f"bad token={secret}", "authorization": f"Bearer {secret}"}

    again = seller(rude, ["q"], ["a"], prices=1)
    with pytest.raises(thrifty.errors.MalformedAnswer) as refused:
        Cells(again, ledger=ledger).get([0], [0])
    with pytest.raises(errors.StoreError) as unreachable:
        PostgresStore(f"postgresql://me:{secret}@127.0.0.1:1/db", wait=0.1)
    seen = [str(e.value) + repr(e.value) for e in (caught, refused, unreachable)]
    seen += [str(p) for p in ledger.open_purchases()] + [caplog.text]
    assert not any(secret in text for text in seen)
    assert secret.encode() not in path.read_bytes()


def test_a_damaged_block_is_an_error_and_not_a_value(tmp_path):
    path, provider = tmp_path / "s.db", FakeProvider()
    source = provider.source(["p", "q"], ["a"], prices=1)
    store = SQLiteStore(path)
    ledger = Ledger(store.book("x", {}, {}))
    Cells(source, ledger=ledger, task="t").get([0, 1], [0])
    ledger.book.write(lambda p: ledger.compact(p, "t"))
    store._connection.execute("UPDATE cell_blocks SET block = x'0011'")
    with pytest.raises(errors.StoreError, match="cannot be read"):
        Cells(source, ledger=ledger, task="u").get([0], [0])
    assert provider.bill().calls == 1
