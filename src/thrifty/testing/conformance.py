"""What every store must do, as one suite.

Subclass it in a test module, say how to open your store, and let pytest run it::

    class TestMyStore(StoreConformance):
        def new_place(self, tmp_path): return tmp_path / "store.db"
        def open(self, place): return MyStore(place)
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np

from thrifty.cells import Budget, Cells, Ledger, PriceList
from thrifty.cells.ledger.book import Column
from thrifty.cells.ledger.purchase import CellBlock, Purchase
from thrifty.errors import BadInput, BudgetExceeded, LifetimeExists, StoreError
from thrifty.stores import LifetimeBook, Store
from thrifty.stores.lifetime_pages import TaskRow
from thrifty.stores.pages import SqlPages
from thrifty.testing.provider import FakeProvider

IDS = [f"p{i}" for i in range(70)]
NAMES = ["a", "b", "c'; DROP TABLE purchases; --"]


class StoreConformance:
    """The suite for a store of your own: a class of tests for pytest to collect.

    ``place`` is whatever opens the same store again.

    See Also
    --------
    thrifty.stores.open_store : stores that pass it

    Examples
    --------
    >>> from thrifty.stores import SQLiteStore
    >>> class TestSQLite(StoreConformance):
    ...     def new_place(self, tmp_path):
    ...         return tmp_path / "store.db"
    ...     def open(self, place):
    ...         return SQLiteStore(place)
    >>> len([name for name in dir(TestSQLite) if name.startswith("test_")]) > 10
    True
    """

    #: whether a second ``open`` of the same place sees what the first one wrote
    durable = True

    def new_place(self, tmp_path: Path) -> object:
        raise NotImplementedError

    def open(self, place: object) -> Store:
        raise NotImplementedError

    def _book(self, tmp_path: Path, name: str = "test") -> LifetimeBook:
        return self.open(self.new_place(tmp_path)).book(name, {"family": "Test"}, {"n": 0})

    def _again(self, book: LifetimeBook, place: object) -> LifetimeBook:
        if not self.durable:
            return book
        book.store.close()
        return self.open(place).book(book.name, None, None)

    # -- lifetimes ----------------------------------------------------------------------------

    def test_a_lifetime_is_found_again_by_name(self, tmp_path: Path) -> None:
        place = self.new_place(tmp_path)
        store = self.open(place)
        book = store.book("clinic", {"family": "Test", "k": 1}, {"n": 0})
        store.book("other", {"family": "Test", "k": 2}, {"n": 0})
        state = self._again(book, place).read(lambda p: p.state())
        assert state.family == {"family": "Test", "k": 1}
        assert state.representation == {"n": 0}
        assert state.features is None

    def test_two_lifetimes_of_one_name_are_refused(self, tmp_path: Path) -> None:
        store = self.open(self.new_place(tmp_path))
        store.book("clinic", {"family": "Test", "k": 1}, {})
        store.book("clinic", {"family": "Test", "k": 1}, {})
        _raises(LifetimeExists, lambda: store.book("clinic", {"family": "Test", "k": 2}, {}))
        _raises(StoreError, lambda: store.book("nobody", None, None))
        assert store.lifetimes() == ["clinic"]

    def test_lifetimes_share_their_cells_and_not_their_money(self, tmp_path: Path) -> None:
        store = self.open(self.new_place(tmp_path))
        one, two = (store.book(n, {"family": n}, {}) for n in ("one", "two"))

        def begin(p: SqlPages) -> None:
            p.number("example", IDS)
            p.move("t", 5, 7)
            p.add(_purchase("k1"))

        one.write(begin)
        assert two.read(lambda p: p.balance(None)) == (0, 0)
        assert [p.key for p in two.read(lambda p: p.blocking())] == ["k1"]
        assert two.write(lambda p: p.number("example", ["p9"])).tolist() == [9]
        ended = two.read(lambda p: p.blocking())[0]
        two.write(lambda p: p.move(ended.task, -1, 1, ended.lifetime))
        assert one.read(lambda p: p.balance(ended.task)) == (-1, 1)

    def test_a_feature_belongs_to_its_source(self, tmp_path: Path) -> None:
        book = self._book(tmp_path)
        numbers = book.write(
            lambda p: [p.number("feature", ["a", "b"], s).tolist() for s in ("lab", "shop", "lab")]
        )
        assert numbers == [[0, 1], [2, 3], [0, 1]]
        assert book.read(lambda p: p.numbers("feature", ["b", "c"], "shop")).tolist() == [3, -1]
        assert book.read(lambda p: p.numbers("feature", ["a"])).tolist() == [-1]

    def test_tasks_and_representation_survive(self, tmp_path: Path) -> None:
        place = self.new_place(tmp_path)
        book = self.open(place).book("test", {"family": "Test"}, {"n": 0})
        row = TaskRow("ta'sk", "scratch", {"x": [1, 2]}, {"cells": 3}, {"reason": "r"}, "t1", 5.0)

        def both(p: SqlPages) -> None:
            p.add_task(row)
            p.put_features(NAMES, True)

        book.write(both)
        version = book.write(lambda p: p.put_representation({"n": 1}))
        again = self._again(book, place)
        assert again.read(lambda p: p.tasks()) == [row]
        assert again.read(lambda p: p.tasks(1)) == []
        assert again.read(lambda p: p.task_token("ta'sk")) == "t1"
        assert again.read(lambda p: p.task_token("nobody")) is None
        state = again.read(lambda p: p.state())
        assert (state.features, state.named) == (tuple(NAMES), True)
        assert (state.representation, state.version) == ({"n": 1}, version)

    def test_parts_of_what_is_known_survive(self, tmp_path: Path) -> None:
        place = self.new_place(tmp_path)
        store = self.open(place)
        book, other = (store.book(name, {"family": "Test"}, {}) for name in ("test", "other"))
        book.write(lambda p: p.put_known_blocks({"a 0": b"\x00\xff", "b": b"one"}, ()))
        other.write(lambda p: p.put_known_blocks({"b": b"theirs"}, ()))
        book.write(lambda p: p.put_known_blocks({"b": b"two", "c": b""}, ["a 0", "nobody"]))
        again = self._again(book, place)
        assert again.read(lambda p: p.known_blocks()) == {"b": b"two", "c": b""}
        named = {"note 1 words:rows 2": b"a feature's"}  # not rows, whatever a feature is called
        again.write(lambda p: p.put_known_blocks({"rows 3 rows:0": b"values", **named}, ()))
        other.write(lambda p: p.drop_known_rows())
        assert again.read(lambda p: p.known_blocks()) == {"b": b"two", "c": b"", **named}
        again.write(lambda p: p.drop_known_blocks())
        assert again.read(lambda p: p.known_blocks()) == {}
        assert other.read(lambda p: p.known_blocks()) == {"b": b"theirs"}

    # -- transactions -------------------------------------------------------------------------

    def test_what_raises_writes_nothing(self, tmp_path: Path) -> None:
        book = self._book(tmp_path)

        def work(pages: SqlPages) -> None:
            pages.move("t", 5, 5)
            pages.number("example", IDS)
            raise BadInput("stop")

        _raises(BadInput, lambda: book.write(work))
        assert book.read(lambda p: p.balance(None)) == (0, 0)
        assert book.write(lambda p: p.number("example", ["x"])).tolist() == [0]

    def test_a_savepoint_undoes_its_part_alone(self, tmp_path: Path) -> None:
        book = self._book(tmp_path)

        def work(pages: SqlPages) -> None:
            pages.move("t", 1, 0)
            try:
                with pages.savepoint():
                    pages.move("t", 10, 0)
                    raise BadInput("stop")
            except BadInput:
                pages.move("t", 100, 0)

        book.write(work)
        assert book.read(lambda p: p.balance(None)) == (101, 0)

    def test_writers_wait_for_each_other(self, tmp_path: Path) -> None:
        place = self.new_place(tmp_path)
        first = self.open(place).book("test", {"family": "Test"}, {})

        def add(pages: SqlPages) -> None:
            reserved, _ = pages.balance(None)  # read, then write: lost updates would show
            pages.move("t", 1, 0)
            assert pages.balance(None)[0] == reserved + 1

        def worker() -> None:
            book = self.open(place).book("test", None, None) if self.durable else first
            for _ in range(10):
                book.write(add)

        threads = [threading.Thread(target=worker) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert first.read(lambda p: p.balance("t")) == (40, 0)

    # -- pages --------------------------------------------------------------------------------

    def test_names_get_numbers_for_ever(self, tmp_path: Path) -> None:
        place = self.new_place(tmp_path)
        book = self.open(place).book("test", {"family": "Test"}, {})
        assert book.write(lambda p: p.number("feature", NAMES)).tolist() == [0, 1, 2]
        again = self._again(book, place)
        numbers = again.write(lambda p: p.number("feature", ["é☃", NAMES[2], "a"]))
        assert numbers.tolist() == [3, 2, 0]
        assert again.read(lambda p: p.names("feature", [2, 3])) == [NAMES[2], "é☃"]
        assert again.write(lambda p: p.number("draw", ["a"])).tolist() == [0]

    def test_a_purchase_comes_back_as_it_was(self, tmp_path: Path) -> None:
        place = self.new_place(tmp_path)
        book = self.open(place).book("test", {"family": "Test"}, {})
        sent = book.write(lambda p: p.add(_purchase("k1")))
        got = self._again(book, place).read(lambda p: p.purchase(sent.id))
        assert got is not None and _same(sent, got)
        assert book.read(lambda p: p.purchase(sent.id + 100)) is None
        assert [p.id for p in book.read(lambda p: p.with_keys(["k1", "k2"]))] == [sent.id]
        assert [p.id for p in book.read(lambda p: p.blocking())] == [sent.id]

    def test_settled_purchases_come_in_order(self, tmp_path: Path) -> None:
        book = self._book(tmp_path)
        sent = book.write(lambda p: [p.add(_purchase(key)) for key in ("x", "y", "z")])

        def finish(pages: SqlPages) -> None:
            for purchase in (sent[2], sent[0]):
                done = purchase.with_(status="settled", answer=b"\x00\xff", spent=3, reserved=0)
                pages.finish(done)

        book.write(finish)
        settled = book.read(lambda p: p.settled_after(0))
        assert [(p.key, p.sequence, p.answer) for p in settled] == [
            ("z", 1, b"\x00\xff"),
            ("x", 2, b"\x00\xff"),
        ]
        assert [p.key for p in book.read(lambda p: p.settled_after(1))] == ["x"]
        assert [p.key for p in book.read(lambda p: p.blocking())] == ["y"]
        book.write(lambda p: p.mark_compacted([settled[0].id]))
        assert book.read(lambda p: p.last_compacted()) == 1
        assert book.read(lambda p: p.sequences()) == (1, 2)
        assert [p.key for p in book.read(lambda p: p.settled_after(0))] == ["x"]

    def test_a_claim_changes_the_owner(self, tmp_path: Path) -> None:
        book = self._book(tmp_path)
        sent = book.write(lambda p: p.add(_purchase("k")))
        book.write(lambda p: p.finish(sent.with_(status="doubt", note="cut")))
        claimed = book.write(lambda p: p.claim(sent.id, "me/1/2/3", 9.0))
        assert (claimed.status, claimed.owner, claimed.give_up_at) == ("pending", "me/1/2/3", 9.0)

    def test_columns_are_replaced(self, tmp_path: Path) -> None:
        place = self.new_place(tmp_path)
        book = self.open(place).book("test", {"family": "Test"}, {})
        book.write(lambda p: p.put_columns([Column("feature", 1, True, b"\x00old")]))
        book.write(lambda p: p.put_columns([Column("feature", 1, False, b"new\xff")]))
        (column,) = self._again(book, place).read(lambda p: list(p.columns()))
        assert (column.number, column.boolean, column.block) == (1, False, b"new\xff")

    def test_money_adds_up(self, tmp_path: Path) -> None:
        book = self._book(tmp_path)
        large = 2**61

        def move(p: SqlPages) -> None:
            p.move("a", large, 0)
            p.move("b", 3, 4)
            p.move("b", -1, 2)

        book.write(move)
        assert book.read(lambda p: p.balance("b")) == (2, 6)
        assert book.read(lambda p: p.balance(None)) == (large + 2, 6)
        assert book.read(lambda p: p.balance("nobody")) == (0, 0)

    def test_costs_of_examples_add_up(self, tmp_path: Path) -> None:
        book = self._book(tmp_path)
        at = np.array([0, 5000, 5000, 1], dtype=np.int32)
        book.write(lambda p: p.add_example_costs(at, np.array([1, 2, 3, 2**40])))
        asked = np.array([5000, 1, 7], dtype=np.int32)
        assert book.read(lambda p: p.example_costs(asked)).tolist() == [5, 2**40, 0]

    def test_the_first_currency_stays(self, tmp_path: Path) -> None:
        book = self._book(tmp_path)
        labels = book.write(lambda p: [p.currency(c) for c in ("", "EUR", "USD", "")])
        assert labels == ["", "EUR", "EUR", "EUR"]

    # -- the ledger on top --------------------------------------------------------------------

    def test_cells_are_paid_once_and_survive(self, tmp_path: Path) -> None:
        place, provider = self.new_place(tmp_path), FakeProvider()
        book = self.open(place).book("test", {"family": "Test"}, {})
        prices = PriceList(2, currency="EUR")

        def cells(book: LifetimeBook, task: str) -> Cells:
            source = provider.source(IDS, NAMES, prices=prices)
            return Cells(source, ledger=Ledger(book), task=task)

        first = cells(book, "one").get(range(70), [0, 1])
        book.write(lambda p: Ledger(book).compact(p, "one"))
        again = self._again(book, place)
        reader = cells(again, "two")
        assert (reader.get(range(70), [0, 1]) == first).all()
        assert reader.get([3, 64], [0, 2]).tolist() == [
            [provider.value("p3", "a"), provider.value("p3", NAMES[2])],
            [provider.value("p64", "a"), provider.value("p64", NAMES[2])],
        ]
        assert provider.bill().twice == []
        assert (reader.receipt().cells, reader.receipt().cost) == (2, 4.0)
        assert Ledger(again).balance().spent == 284.0

    def test_a_budget_holds(self, tmp_path: Path) -> None:
        book = self._book(tmp_path)
        provider = FakeProvider()
        ledger = Ledger(book, Budget(total=10, per_example=2))
        cells = Cells(provider.source(IDS, NAMES, prices=1), ledger=ledger, task="t")
        cells.get([0, 1, 2, 3], [0, 1])
        for rows, features, scope in (([0], [2], "example"), ([7, 8, 9], [0], "total")):
            error = _raises(BudgetExceeded, lambda r=rows, f=features: cells.get(r, f))
            assert getattr(error, "scope", "") == scope
        cells.get([7, 8], [0])
        assert ledger.balance().spent == 10.0
        assert sum(provider.bill().cells.values()) == 10


def _raises(kind: type[Exception], act: Callable[..., object]) -> Exception:
    try:
        act()
    except kind as error:
        return error
    raise AssertionError(f"expected {kind.__name__}")


def _purchase(key: str) -> Purchase:
    block = CellBlock(
        np.array([3, 1, 2], dtype=np.int32),
        np.array([0, 7], dtype=np.int32),
        np.array([True, False]),
        np.array([4], dtype=np.int32),
        np.array([[True, False, True]]),
        np.array([2**40, 0, 5]),
    )
    owner = f"elsewhere/{os.getpid()}/0/x"
    return Purchase(key, "ta'sk", "lab", "pending", owner, 1.5, 2.5, block, reserved=7)


def _same(a: Purchase, b: Purchase) -> bool:
    plain = all(
        getattr(a, name) == getattr(b, name) for name in Purchase.__slots__ if name != "block"
    )
    blocks = zip(a.block.to_bytes(), b.block.to_bytes())
    return plain and all(x == y for x, y in blocks)
