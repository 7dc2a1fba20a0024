"""A store is looked at, never written; what cannot be read is said clearly."""

import sqlite3
from pathlib import Path

import numpy as np
import pytest

import thrifty
from tests.loops import one_by_one
from tests.shell import run
from thrifty.errors import StoreBusy, StoreError, StoreUnwritable
from thrifty.report import read_store, view_of
from thrifty.report.view import Reader
from thrifty.stores import base

X = np.array([[0, 0, 1], [0, 1, 0], [1, 0, 0], [1, 1, 1]], dtype=bool)


def learn(path: Path | str, *names: str, lifetime: str = "lifetime") -> thrifty.Lifetime:
    life = thrifty.Lifetime(thrifty.Trees(max_depth=3), store=str(path), name=lifetime)
    for name in names:
        life.learn(name, X, [0, 1, 1, 1])
    return life


@pytest.fixture(params=["sqlite", "postgres"])
def place(request, tmp_path: Path) -> str:
    """A file, or a schema of a real server."""
    if request.param == "sqlite":
        return str(tmp_path / "lifetime.db")
    return request.getfixturevalue("postgres").new_database()


def test_a_store_and_memory_show_the_same(place: str, stream, life) -> None:
    one_by_one(stream, life.family, store=place)
    seen, known = read_store(place), view_of(life, "lifetime")
    assert seen.tasks == known.tasks and seen.ledger == known.ledger
    assert seen.metafeature_texts == known.metafeature_texts
    assert (seen.title, seen.feature_names) == ("lifetime", known.feature_names)


def test_a_second_look_sees_what_was_learned_since(place: str) -> None:
    life = learn(place, "first")
    reader = Reader(place)
    assert [t.name for t in reader.look().tasks] == ["first"]
    life.learn("second", X, [1, 0, 0, 0])
    assert [t.name for t in reader.look().tasks] == ["first", "second"]


def test_looking_does_not_write(tmp_path: Path) -> None:
    learn(tmp_path / "a.db", "first")
    before = (tmp_path / "a.db").read_bytes()
    read_store(str(tmp_path / "a.db"))
    assert (tmp_path / "a.db").read_bytes() == before
    assert [p.name for p in tmp_path.iterdir() if p.stat().st_size] == ["a.db"]


def test_a_store_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"there is no store at .*missing\.db"):
        read_store(str(tmp_path / "missing.db"))
    assert not list(tmp_path.iterdir())


def test_a_locked_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    learn(tmp_path / "a.db", "first")
    monkeypatch.setattr(base, "_WAIT_TO_READ", 0.1)
    lock = sqlite3.connect(tmp_path / "a.db", isolation_level=None)
    lock.execute("BEGIN EXCLUSIVE")
    with pytest.raises(StoreBusy, match="in use by other processes"):
        read_store(str(tmp_path / "a.db"))
    lock.close()


def test_several_lifetimes_in_one_store(tmp_path: Path) -> None:
    learn(tmp_path / "a.db", "first", lifetime="north")
    learn(tmp_path / "a.db", "other", lifetime="south")
    with pytest.raises(StoreError, match="'north', 'south'; say which with --lifetime"):
        read_store(str(tmp_path / "a.db"))
    with pytest.raises(StoreError, match="there is no 'west'"):
        read_store(str(tmp_path / "a.db"), "west")
    assert read_store(str(tmp_path / "a.db"), "south").tasks[0].name == "other"


def test_the_report_command(place: str, tmp_path: Path) -> None:
    learn(place, "<b>first</b>")
    out, pictures = tmp_path / "deep" / "down" / "report.html", tmp_path / "pictures"
    assert "1 task," in run("report", place, "-o", out, "--pictures", pictures).output
    page = out.read_text(encoding="utf-8")
    assert "first" in page and "<b>first" not in page
    assert (pictures / "bill.png").stat().st_size > 5000


class TestPostgres:
    """The same looks at a real server."""

    @pytest.fixture
    def url(self, postgres) -> str:
        return postgres.new_database()

    def test_nothing_can_be_written(self, url: str) -> None:
        learn(url, "first")
        store = base.open_to_read(url)
        with pytest.raises(StoreUnwritable, match="opened read-only"):
            store.write(0, lambda pages: None)
        # nor where the guard above is gone: the server itself refuses
        store.read_only = False
        with pytest.raises(StoreUnwritable, match="read-only transaction"):
            store.write(0, lambda pages: pages._run("DELETE FROM lifetimes"))
        assert [t.name for t in read_store(url).tasks] == ["first"]

    def test_an_empty_database_is_not_made_a_store(self, url: str) -> None:
        with pytest.raises(StoreError, match="there is no store in PostgresStore"):
            read_store(url)
        with pytest.raises(StoreError, match="there is no store in PostgresStore"):
            read_store(url)

    def test_no_message_tells_the_password(self, url: str) -> None:
        learn(url, "first")
        scheme, _, rest = url.partition("://")
        user, _at, host = rest.rpartition("@")
        secret = f"{scheme}://{user.partition(':')[0] or 'postgres'}:hush-hush@{host}"
        with pytest.raises(StoreError, match="there is no 'other'") as told:
            read_store(secret, "other")
        assert "hush-hush" not in str(told.value)
