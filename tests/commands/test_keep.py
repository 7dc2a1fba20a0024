"""``thrifty store backup``, ``restore``, ``purge`` and ``export --cells``, on real stores."""

import csv
import re
import sqlite3
import stat
import struct
import warnings
import zlib

import numpy as np
import pytest

import thrifty
from tests.loops import paper
from tests.shell import run
from thrifty.errors import ExamplePurged, StoreError
from thrifty.testing import FakeProvider

pd = pytest.importorskip("pandas")

IDS = [f"p{i}" for i in range(40)]
NAMES = ["a", "b", "c"]
SECRET = 12345.678901


def value(example, feature):
    """Numbers; those of one patient are like no other."""
    if example == "p7":
        return SECRET + len(feature)
    return float(int(example[1:]) % 5 + ord(feature) % 3)


def clinic(store):
    """A lifetime whose cells come from a provider, and its bill."""
    provider = FakeProvider(value)
    life = thrifty.Lifetime(paper(2), store=store, budget=thrifty.Budget(10**9))

    def source(ids=IDS):
        return provider.source(
            ids, NAMES, prices=2, name="lab", kinds=dict.fromkeys(NAMES, "number")
        )

    life.learn("t", source(), [value(e, "a") > 2 for e in IDS])
    return life, provider, source


def holds(data: bytes, wanted: float) -> bool:
    """Whether a number stands in these bytes, also in what was packed with zlib."""
    number = struct.pack("<d", wanted)
    if number in data:
        return True
    for match in re.finditer(b"\\x78\\x01", data):
        try:
            if number in zlib.decompressobj().decompress(data[match.start() :], 1 << 20):
                return True
        except zlib.error:
            continue
    return False


def test_a_copy_is_whole_and_comes_back(tmp_path):
    store, copy = tmp_path / "s.db", tmp_path / "copy.db"
    life, provider, source = clinic(store)
    run("store", "backup", store, copy)
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    asked = run("store", "backup", store, copy, ok=False)
    assert "there already" in str(asked.exception)
    spent = life.balance().spent
    life.predict("t", source(["p100", "p101"]))
    assert thrifty.Lifetime.open(copy).balance().spent == spent < life.balance().spent
    life.close()
    assert "--replace" in str(run("store", "restore", copy, store, ok=False).exception)
    said = run("store", "restore", copy, store, "--replace").stderr
    assert "compare the provider's bill" in said
    again = thrifty.Lifetime.open(store)
    assert again.balance().spent == spent and list(again) == ["t"]
    before = provider.bill().cells.total()
    again.predict("t", source(IDS))
    assert provider.bill().cells.total() == before, "what the copy owns is owned"


def test_a_copy_is_made_while_others_write_and_damage_is_noticed(tmp_path):
    store = tmp_path / "s.db"
    clinic(store)[0].close()
    writing = sqlite3.connect(store, isolation_level=None)
    writing.execute("BEGIN IMMEDIATE")
    writing.execute("UPDATE lifetimes SET spent = 0")
    run("store", "backup", store, tmp_path / "copy.db")
    writing.execute("ROLLBACK")
    assert thrifty.Lifetime.open(tmp_path / "copy.db").balance().spent == 240
    (tmp_path / "no.db").write_bytes(b"nothing of ours" * 100)
    for source in ("no.db", "absent.db"):
        asked = run("store", "backup", tmp_path / source, tmp_path / "c.db", ok=False)
        assert isinstance(asked.exception, StoreError)
    assert not (tmp_path / "c.db").exists()
    assert "pg_dump" in str(run("store", "backup", "postgresql://x/y", "c", ok=False).exception)


def purged(store, place, bytes_of):
    life, provider, source = clinic(store)
    life.predict("t", source(["p100"]))
    spent, bill = life.balance().spent, life._bill_rows()
    assert holds(bytes_of(), SECRET + 1)
    life.close()
    said = run("store", "purge", place, "p7").stderr
    assert "3 features had a value of 'p7'" in said and "its bill stays" in said
    assert not holds(bytes_of(), SECRET + 1)
    again = thrifty.Lifetime.open(store)
    assert again.balance().spent == spent and again._bill_rows() == bill
    assert [what for _, what, _, _ in again.ledger.changes()] == ["purge"]
    with pytest.warns(ExamplePurged, match=r"'p7' were taken out .* bought again"):
        made = again.predict("t", source(["p7", "p8"]))
    assert made.receipt.cells == made.receipt.cells_per_row[0] > 0
    assert again.balance().spent == spent + 2 * made.receipt.cells
    assert provider.bill().cells["p7", "a"] == 2 and provider.bill().cells["p8", "a"] == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again.predict("t", source(["p7", "p8"]))
    assert "no example 'p999'" in str(run("store", "purge", place, "p999", ok=False).exception)
    again.close()


def test_purged_values_are_gone_from_the_file(tmp_path):
    store = tmp_path / "s.db"

    def bytes_of():
        return b"".join(path.read_bytes() for path in tmp_path.iterdir())

    purged(store, store, bytes_of)


def test_purged_values_are_gone_from_postgres(postgres):
    import psycopg

    url = postgres.new_database()

    def bytes_of():
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("CHECKPOINT")
            parts = []
            for table in ("cell_blocks", "purchases"):
                name = (
                    "SELECT pg_relation_filepath(%s), reltoastrelid FROM pg_class "
                    "WHERE relname = %s"
                )
                path, toast = connection.execute(name, (table, table)).fetchone()
                parts.append(path)
                if toast:
                    more = "SELECT pg_relation_filepath(%s::regclass)"
                    parts.append(connection.execute(more, (toast,)).fetchone()[0])
            read = "SELECT pg_read_binary_file(%s)"
            return b"".join(bytes(connection.execute(read, (p,)).fetchone()[0]) for p in parts)

    purged(url, url, bytes_of)


def test_an_answer_that_waits_for_its_user_is_purged_too(tmp_path):
    store = tmp_path / "s.db"
    provider = FakeProvider(value, faults=[[[SECRET, 1.0]]])
    life = thrifty.Lifetime(thrifty.Trees(max_depth=2), store=store, budget=thrifty.Budget(10**9))
    source = provider.source(["p7", "p8"], ["a"], prices=1, attempts=1, kinds={"a": "number"})
    with pytest.raises(thrifty.errors.ProviderError):
        life.learn("t", source, [0, 1])
    life.close()
    run("store", "purge", store, "p7")
    left = sqlite3.connect(store).execute("SELECT answer FROM purchases").fetchall()
    assert all(answer is None for (answer,) in left)
    assert not holds(store.read_bytes(), SECRET)


def test_cells_of_providers_and_of_tables_are_exported_with_who_bought_them(tmp_path):
    store, out = tmp_path / "s.db", tmp_path / "cells.csv"
    life, _, source = clinic(store)
    life.predict("t", source(["p100"]))
    frame = pd.DataFrame(np.random.default_rng(0).integers(0, 2, (30, 4)), columns=list("wxyz"))

    def table(n):
        ids = [f"r{i}" for i in range(n)]
        return thrifty.Source.from_frame(frame[:n], examples=ids, name="ward")

    other = thrifty.Lifetime(paper(2), store=store, name="ward")
    other.learn("first", table(20), frame["w"][:20].to_numpy())
    other.learn("second", table(30), (frame["x"] & frame["y"]).to_numpy())
    other.forget("first")
    run("store", "export", store, "--cells", "--out", out)
    rows = list(csv.DictReader(out.open()))
    spent = life.balance().spent / 2 + other.balance().spent
    assert len(rows) == spent
    who = {(row["source"], row["example"], row["feature"]): row for row in rows}
    assert len(who) == len(rows)
    asked = who["lab", "p3", "b"]
    assert (asked["lifetime"], asked["task"]) == ("lifetime", "t")
    assert float(asked["value"]) == value("p3", "b") and asked["bought_at"].startswith("20")
    predicted = [row for row in rows if row["example"] == "p100"]
    assert predicted and all(row["task"].startswith("t (prediction") for row in predicted)
    # whoever looked first has bought it, also where the task is forgotten since
    assert who["ward", "r3", "w"]["task"] == "first (forgotten 1)"
    assert who["ward", "r25", "x"]["task"] == "second"
    assert {row["lifetime"] for row in rows if row["source"] == "ward"} == {"ward"}
    assert float(who["ward", "r3", "w"]["value"]) == frame["w"][3]
