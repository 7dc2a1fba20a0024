"""What every store can do: hold lifetimes by name, each with a book of pages under one lock.

A fork copies one thread. Were another one in a transaction at that moment, the child would find the
store's lock taken for ever, and SQLite's own notes of who holds the file would be wrong in it. So a
fork waits until no transaction is running, as Python's logging does with its locks.
"""

from __future__ import annotations

import json
import os
import shlex
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias, TypeVar
from weakref import WeakSet

from thrifty.errors import LifetimeExists, StoreError, StoreUnwritable
from thrifty.stores.lifetime_pages import SqlRow
from thrifty.stores.pages import SqlPages
from thrifty.stores.settings import as_written_now
from thrifty.typing import Json
from thrifty.untrusted import readable

T = TypeVar("T")

#: seconds that whoever only reads waits for a writer
_WAIT_TO_READ = 5.0


class Store(ABC):
    """Lifetimes by name.

    A store is told apart by how it opens a transaction; what is written in it is the same.
    """

    #: what opens this store again, without a password; empty where nothing does
    place: str = ""

    @abstractmethod
    def write(self, lifetime: int, work: Callable[[SqlPages], T]) -> T:
        """Run work(pages) in one exclusive, durable transaction; 0 is no lifetime in particular."""

    @abstractmethod
    def read(self, lifetime: int, work: Callable[[SqlPages], T]) -> T:
        """Run work(pages) on one consistent state."""

    @abstractmethod
    def close(self) -> None:
        """Give back the connection; a store that is used again opens another."""

    def lifetimes(self) -> list[str]:
        """The names of the lifetimes in this store."""
        rows = self.read(0, lambda p: p._run("SELECT name FROM lifetimes ORDER BY id"))
        return [str(name) for (name,) in rows]

    def book(self, name: str, family: Json | None, representation: Json | None) -> LifetimeBook:
        """The book of a lifetime; a family makes it where it is not there yet."""

        def find(pages: SqlPages) -> SqlRow | None:
            rows = pages._run("SELECT id, family FROM lifetimes WHERE name = ?", (name,))
            return rows[0] if rows else None

        row = self.read(0, find)
        if row is None and family is not None:

            def make(pages: SqlPages) -> SqlRow | None:
                made = find(pages)  # another process may have been quicker
                if made is None:
                    pages._run(
                        "INSERT INTO lifetimes (name, family, representation) VALUES (?, ?, ?)",
                        (name, json.dumps(family), json.dumps(representation or {})),
                    )
                return find(pages)

            row = self.write(0, make)
        if row is None:
            raise self._unknown(name)
        with readable("the lifetime in the store"):
            id, stored = int(row[0]), json.loads(row[1])
        if family is not None and as_written_now(stored) != json.loads(json.dumps(family)):
            raise LifetimeExists(
                f"the store holds a lifetime named {name!r} with another family: {stored}; asked "
                f"for {family}. Open it with its own family; change it on purpose, "
                "Lifetime.open(store).change(family=...); or choose another name=. The store's "
                "cells are there for all of them."
            )
        return LifetimeBook(self, name, id)

    def _unknown(self, name: str) -> StoreError:
        there = ", ".join(map(repr, self.lifetimes()[:5])) or "none"
        return StoreError(
            f"the store holds no lifetime named {name!r}; those in it: {there}. Give a family to "
            "begin one."
        )

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Connected(Store):
    """A store with a connection, which threads share under a lock and forks leave alone."""

    #: what stands in a statement for a value
    _mark = "?"

    def __init__(self, wait: float, read_only: bool) -> None:
        self.wait, self.read_only = wait, read_only
        self._lock = threading.RLock()
        self._connection: Any = None
        self._pid = 0
        _connected.add(self)

    @staticmethod
    def _fetched(cursor: Any) -> list[SqlRow]:
        return list(cursor)

    def _pages(self, connection: Any, lifetime: int) -> SqlPages:
        def run(sql: str, parameters: Sequence[object] = ()) -> list[SqlRow]:
            return self._fetched(connection.execute(sql.replace("?", self._mark), parameters))

        def many(sql: str, rows: Iterable[Sequence[object]]) -> None:
            connection.cursor().executemany(sql.replace("?", self._mark), rows)

        return SqlPages(run, many, lifetime)

    def _in_one(
        self, connection: Any, begin: str, lifetime: int, work: Callable[[SqlPages], T]
    ) -> T:
        """Run work in one transaction."""
        connection.execute(begin)
        try:
            result = work(self._pages(connection, lifetime))
            connection.execute("COMMIT")
        except BaseException:
            with suppress(*self._errors()):
                connection.execute("ROLLBACK")
            raise
        return result

    @abstractmethod
    def _errors(self) -> tuple[type[Exception], ...]:
        """What the database raises."""

    def _refuse_to_write(self) -> None:
        if self.read_only:
            raise StoreUnwritable(f"{self!r} was opened read-only; open it for writing.")

    def close(self) -> None:
        with self._lock:
            connection, self._connection = self._connection, None
            if connection is not None and self._pid == os.getpid():
                with suppress(*self._errors()):
                    connection.close()

    def after_fork(self) -> None:
        """In a forked child the parent's connection is neither used nor closed."""
        _of_parents.append(self._connection)
        self._connection = None


_connected: WeakSet[Connected] = WeakSet()
_held: list[threading.RLock] = []
#: connections of a parent process, kept so that nothing closes them in a child
_of_parents: list[object] = []


def _before_fork() -> None:
    for store in sorted(_connected, key=id):
        # longer than any transaction takes; a fork that finds a deadlock goes on all the same
        if store._lock.acquire(timeout=150.0):
            _held.append(store._lock)


def _in_parent() -> None:
    while _held:
        _held.pop().release()


def _in_child() -> None:
    _held.clear()
    for store in list(_connected):
        store._lock = threading.RLock()
        store.after_fork()


os.register_at_fork(before=_before_fork, after_in_parent=_in_parent, after_in_child=_in_child)


#: a store, or where it is: a file name, a PostgreSQL URL, None for memory
StoreLike: TypeAlias = Store | str | PathLike[str] | None


class LifetimeBook:
    """One lifetime in a store: what its ledger writes on."""

    def __init__(self, store: Store, name: str, id: int) -> None:
        self.store, self.name, self.id = store, name, id

    @property
    def place(self) -> str:
        """What the commands take to find this lifetime again; empty where it is in memory."""
        where = self.store.place
        if not where or self.name == "lifetime":
            return shlex.quote(where) if where else ""
        return f"{shlex.quote(where)} --lifetime {shlex.quote(self.name)}"

    def write(self, work: Callable[[SqlPages], T]) -> T:
        return self.store.write(self.id, work)

    def read(self, work: Callable[[SqlPages], T]) -> T:
        return self.store.read(self.id, work)

    def peek(self, work: Callable[[SqlPages], T], nothing: T) -> T:
        """What stands in it; ``nothing`` where a book in memory has not been begun."""
        return self.read(work)

    def later(self, work: Callable[[SqlPages], None]) -> None:
        """Write before anybody looks; in a store at once."""
        self.write(work)


def existing_store(where: StoreLike, *, read_only: bool = False) -> Store:
    """A store that is there; a file name that is not there is an error, not a new store."""
    address = isinstance(where, Store) or where is None or "://" in str(where)
    if not address and not Path(str(where)).is_file():
        raise StoreError(
            f"there is no store at {where}. A lifetime makes one when it learns: "
            f"thrifty.Lifetime(..., store={str(where)!r}), or the command thrifty learn."
        )
    return open_store(where, read_only=read_only)


def open_to_read(where: str) -> Store:
    """A store that is there and will not be written; it waits a little for who writes it."""
    return existing_store(where, read_only=True)


def lifetime_in(store: Store, name: str | None) -> str:
    """The lifetime of a store that was named, or the only one there is."""
    there = store.lifetimes()
    if name in there or (name is None and len(there) == 1):
        return there[0] if name is None else name
    listed = ", ".join(map(repr, there[:8])) or "none yet"
    asked = "say which with --lifetime" if name is None else f"there is no {name!r}"
    raise StoreError(f"{store!r} holds these lifetimes: {listed}; {asked}.")


def open_store(where: StoreLike, *, read_only: bool = False) -> Store:
    """A store from a file name, a PostgreSQL URL, or None (memory).

    Raises
    ------
    thrifty.errors.StoreError
        no such file where one must exist, or a file that is no store
    thrifty.errors.StoreTooNew
        a store of a later version of Thrifty

    See Also
    --------
    thrifty.Lifetime.open : the lifetime in a store
    thrifty.stores.copy_store : to another kind of store

    Examples
    --------
    >>> open_store(None)
    MemoryStore()
    """
    from thrifty.stores.postgres import PostgresStore
    from thrifty.stores.sqlite import MemoryStore, SQLiteStore

    if isinstance(where, Store):
        return where
    if where is None:
        return MemoryStore()
    text = str(where)
    made = PostgresStore if text.startswith(("postgresql://", "postgres://")) else SQLiteStore
    if "://" in text and made is SQLiteStore:
        kind = text.split("://")[0]
        raise StoreError(
            f"a store is a file name or a postgresql:// URL; got one that begins with {kind}://."
        )
    return made(text, wait=_WAIT_TO_READ, read_only=True) if read_only else made(text)
