"""Moving house: everything arrives, counted and hashed, or nothing does."""

import sqlite3
import subprocess
import sys
import threading
import time
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest

import thrifty
from tests.market import seller
from tests.shell import run
from thrifty.errors import BadInput, StoreBusy, StoreError
from thrifty.stores import MemoryStore, SQLiteStore, copy_store, copying, open_store
from thrifty.testing import FakeProvider

NAMES = ["a", "b", "c", "d"]


def value(example, feature):
    return float((int(example[1:]) * (ord(feature) - 90)) % 11)


def lab(ids, provider=None):
    return (provider or FakeProvider(value)).source(
        ids, NAMES, prices=2, name="lab", kinds=dict.fromkeys(NAMES, "number")
    )


IDS = [f"p{i}" for i in range(60)]


def clinic(store):
    """A lifetime with tasks, versions, answers, outcomes, a retired feature and a doubt."""
    store.write_bytes(_clinic())
    return thrifty.Lifetime.open(store)


@cache
def _clinic():
    """The file of its store, learned once for all tests."""
    with TemporaryDirectory() as folder:
        made_in(Path(folder) / "a.db").close()
        return (Path(folder) / "a.db").read_bytes()


def made_in(store):
    life = thrifty.Lifetime(store=store, random_state=0, budget=thrifty.Budget(total=5000))
    y = [value(e, "b") > 5 for e in IDS]
    life.learn("high", lab(IDS[:40]), y[:40])
    life["high"].update(lab(IDS[40:]), y[40:])
    life.learn("low", lab(IDS[:40]), [not v for v in y[:40]], spend=60)
    life.predict("high", lab(["p101", "p102"]))
    life["high"].outcomes(["p101", "p102"], [True, False])
    life.retire("d")
    with pytest.raises(thrifty.errors.PurchaseInDoubt):
        life.learn("again", lab(["p200", *IDS[:9]], FakeProvider(value, faults=["lost"])), y[:10])
    return life


def everything(life):
    """All that a user can see of it."""
    return (
        life.balance(), life._bill_rows(), list(life), life.family.to_dict(), life.budget,
        life["high"].versions, life["high"].monitor(), life.representation.to_dict(),
        [p.id for p in life.ledger.open_purchases()], life._state.row_seed,
        life["high"].model.to_dict(), life["low"].model.to_dict(),
    )  # fmt: skip


def test_there_and_back_again(tmp_path, postgres):
    first, url, last = tmp_path / "a.db", postgres.new_database(), tmp_path / "b.db"
    life = clinic(first)
    there, back = copy_store(first, url), copy_store(url, last)
    assert there.digests == back.digests and there.tables == back.tables
    assert there.tables["outcomes"] == 1 and there.tables["versions"] == 2
    assert there.lifetimes == ("lifetime",)
    before = everything(life)
    for place in (url, last):
        assert repr(everything(thrifty.Lifetime.open(place))) == repr(before)


def test_life_goes_on_in_the_copy_and_pays_nothing_twice(tmp_path, postgres):
    url = postgres.new_database()
    clinic(tmp_path / "a.db")
    copy_store(tmp_path / "a.db", url)
    life = thrifty.Lifetime.open(url)
    spent, provider = life.balance().spent, FakeProvider(value)
    y = [value(e, "a") > 4 for e in IDS[:40]]
    made = life.learn("third", lab(IDS[:40], provider), y, spend=40)
    assert life.balance().spent - spent == made.receipt.cost == 2 * made.receipt.cells
    assert made.receipt.reused_cells > 0 and provider.bill().twice == []
    assert life.predict("high", lab(["p101"], provider)).receipt.cost == 0


def test_a_store_that_holds_something_is_refused(tmp_path):
    clinic(tmp_path / "a.db")
    thrifty.Lifetime(store=tmp_path / "b.db").learn("t", [[0], [1]] * 4, [0, 1] * 4)
    before = (tmp_path / "b.db").read_bytes()
    with pytest.raises(BadInput, match="holds something already"):
        copy_store(tmp_path / "a.db", tmp_path / "b.db")
    assert (tmp_path / "b.db").read_bytes() == before


def test_onto_itself_and_from_nowhere(tmp_path):
    clinic(tmp_path / "a.db")
    (tmp_path / "x").mkdir()
    with pytest.raises(BadInput, match="onto itself"):
        copy_store(tmp_path / "a.db", tmp_path / "x" / ".." / "a.db")
    with pytest.raises(StoreError, match="no store"):
        copy_store(tmp_path / "none.db", tmp_path / "b.db")
    assert not (tmp_path / "none.db").exists() and not (tmp_path / "b.db").exists()
    (tmp_path / "other.db").write_bytes(b"no database at all, whatever its name says" * 9)
    with pytest.raises(StoreError):
        copy_store(tmp_path / "a.db", tmp_path / "other.db")


def test_an_empty_store_may_be_copied_to(tmp_path):
    clinic(tmp_path / "a.db")
    SQLiteStore(tmp_path / "b.db").close()
    assert copy_store(tmp_path / "a.db", tmp_path / "b.db").rows > 20


def test_a_purchase_that_is_being_made_is_waited_for(tmp_path):
    life = clinic(tmp_path / "a.db")
    asked, answer = threading.Event(), threading.Event()

    def slow(ids, names):
        asked.set()
        assert answer.wait(30)
        return np.zeros((len(ids), len(names)))

    source = seller(slow, ["q1", "q2"], ["a"], name="slow", prices=1, boolean=False)
    buying = threading.Thread(
        target=lambda: life.ledger.open(source, 1, "t").buy(np.array([0]), np.array([3], "u8"))
    )
    buying.start()
    try:
        assert asked.wait(30)
        with pytest.raises(StoreBusy, match="being made"):
            copy_store(tmp_path / "a.db", tmp_path / "b.db")
        assert not (tmp_path / "b.db").exists()
    finally:
        answer.set()
        buying.join()
    copy_store(tmp_path / "a.db", tmp_path / "b.db")


def test_others_wait_until_the_copy_is_made(tmp_path, monkeypatch):
    """A writer of another process is held up; what it writes is in the old store alone."""
    life = clinic(tmp_path / "a.db")
    code = (
        "import thrifty, sys; life = thrifty.Lifetime.open(sys.argv[1]); print('ready', flush=True)"
        "; input(); life.retire('c'); print('done', flush=True)"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "a.db")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert other.stdout.readline().strip() == "ready"
    slowly = copying.CopiedTable.batches
    begun = []

    def batches(table, pages):
        if not begun:
            begun.append(1)
            other.stdin.write("\n")
            other.stdin.flush()
            time.sleep(0.5)
        return slowly(table, pages)

    monkeypatch.setattr(copying.CopiedTable, "batches", batches)
    copy_store(tmp_path / "a.db", tmp_path / "b.db")
    assert other.stdout.readline().strip() == "done"
    other.communicate(timeout=60)
    assert thrifty.Lifetime.open(tmp_path / "b.db")._state.settings.retired == ("d",)
    life._refresh()
    assert set(thrifty.Lifetime.open(tmp_path / "a.db")._state.settings.retired) == {"c", "d"}


@pytest.mark.parametrize("spoil", ["lost", "changed"])
def test_what_arrives_otherwise_is_not_kept(tmp_path, monkeypatch, spoil):
    clinic(tmp_path / "a.db")
    right = copying.CopiedTable.batches

    def wrong(table, pages):
        for rows in right(table, pages):
            new = pages._run("PRAGMA database_list")[0][2].endswith("b.db")
            if table.name == "accounts" and new:
                rows = rows[1:] if spoil == "lost" else [(*rows[0][:-1], 7), *rows[1:]]
            yield rows

    monkeypatch.setattr(copying.CopiedTable, "batches", wrong)
    with pytest.raises(StoreError, match="accounts has"):
        copy_store(tmp_path / "a.db", tmp_path / "b.db")
    assert not (tmp_path / "b.db").exists()


def test_every_table_is_copied():
    """A table that a later step adds is part of the copy by itself."""
    made = MemoryStore().read(
        0, lambda p: p._run("SELECT name FROM sqlite_master WHERE type = 'table'")
    )
    assert {name for (name,) in made} == {table.name for table in copying._schema()}


def test_the_command_says_what_was_copied(tmp_path, postgres):
    clinic(tmp_path / "a.db")
    url = postgres.new_database()
    asked = run("store", "copy", tmp_path / "a.db", url)
    assert "counted and hashed on both sides" in asked.output
    assert "Go on in the new store alone" in asked.output
    assert '"lifetimes"' in run("store", "copy", url, tmp_path / "c.db", "--json").output
    held = sqlite3.connect(tmp_path / "c.db").execute("SELECT COUNT(*) FROM tasks").fetchone()
    assert held == (2,)


def test_a_backup_to_a_server_says_what_to_do(tmp_path):
    clinic(tmp_path / "a.db")
    url = "postgresql://me:secret@server/clinic"
    asked = run("store", "backup", tmp_path / "a.db", url, ok=False)
    assert isinstance(asked.exception, BadInput) and "thrifty store copy" in str(asked.exception)
    assert "secret" not in str(asked.exception)
    assert open_store(None).lifetimes() == []


def test_an_interview_goes_on_in_postgresql(tmp_path, postgres):
    life = clinic(tmp_path / "a.db")
    first = life.ask("high", id="p900")
    asked = first.next.feature
    first.tell(3.0)
    life.close()
    url = postgres.new_database()
    copy_store(tmp_path / "a.db", url)
    again = thrifty.Lifetime.open(url).ask("high", id="p900")
    assert again.next is None or again.next.feature != asked
    assert thrifty.Lifetime.open(url).ask("high", id="p901").next.feature == asked
