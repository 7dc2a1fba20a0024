"""A store in one SQLite file.

Settings that were measured, not guessed (docs/ledger.md): a rollback journal, because the SQLite
that Python brings may have a race in its write-ahead log; ``synchronous=FULL``; a journal that is
truncated, not deleted, because a deleted file can come back after a power cut; and transactions
that take the write lock when they begin.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote_from_bytes

from thrifty.errors import NotAStore, StoreBusy, StoreError, StoreUnwritable
from thrifty.stores.base import Connected
from thrifty.stores.pages import SqlPages
from thrifty.stores.schema import LATEST, bring_up, check_schema

T = TypeVar("T")

#: "Thry" in the header of the file says whose it is
APPLICATION = 0x54687279
_SPELLING = {"id": "INTEGER", "int": "INTEGER", "real": "REAL", "blob": "BLOB"}


def file_uri(path: Path, mode: str) -> str:
    """How SQLite is told of a file and how it may use it: ``ro`` or ``rw``.

    Not ``Path.as_uri``: from Python 3.14 on it loads an HTTP client, and TLS with it.

    >>> file_uri(Path("/var/a b?.db"), "ro")
    'file:///var/a%20b%3F.db?mode=ro'
    """
    return f"file://{quote_from_bytes(os.fsencode(path.absolute()))}?mode={mode}"


class SQLiteStore(Connected):
    """Lifetimes in a file, readable by its owner alone.

    Parameters
    ----------
    path : str or path
        the file; it is made if it is not there
    wait : float
        seconds to wait for other processes
    read_only : bool
        never write, not even an upgrade
    """

    def __init__(
        self, path: str | os.PathLike[str], *, wait: float = 120.0, read_only: bool = False
    ) -> None:
        super().__init__(wait, read_only)
        self.path = Path(path)
        self.place = str(self.path)
        self._begin()

    def _begin(self) -> None:
        """What cannot be opened is said at once."""
        with self._lock:
            self._open()

    def __repr__(self) -> str:
        return f"SQLiteStore({str(self.path)!r})"

    _connection: sqlite3.Connection | None

    # -- opening ------------------------------------------------------------------------------

    def _connect(self) -> sqlite3.Connection:
        """A connection with autocommit; tests bring another."""
        if not self.read_only:
            self._make_file()
        mode = "ro" if self.read_only else "rw"
        return sqlite3.connect(
            file_uri(self.path, mode),
            uri=True,
            timeout=self.wait,
            isolation_level=None,
            check_same_thread=False,
        )

    def _make_file(self) -> None:
        # Made with its rights from the first moment; SQLite's journal inherits them.
        with contextlib.suppress(FileExistsError):
            os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))

    def _open(self) -> sqlite3.Connection:
        if self._connection is not None and self._pid == os.getpid():
            return self._connection
        # A connection must not be used in a forked child: it is left alone and another opened.
        try:
            connection = self._connect()
            self._prepare(connection)
        except self._errors() as error:
            raise self._explained(error) from error
        self._connection, self._pid = connection, os.getpid()
        return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        run = connection.execute
        run("PRAGMA foreign_keys = ON")
        run("PRAGMA trusted_schema = OFF")
        if not self.read_only:
            run("PRAGMA journal_mode = TRUNCATE").fetchall()
            run("PRAGMA synchronous = FULL")
        version = self._version(connection)
        if version < LATEST and self.read_only:
            raise StoreUnwritable(
                f"{self.path} was written by an older Thrifty and has to be upgraded; open it "
                "once for writing."
            )
        if version < LATEST:
            self._upgrade(connection)

    def _version(self, connection: sqlite3.Connection) -> int:
        """Read at one moment: another process may be making the very same file."""
        connection.execute("BEGIN")
        try:
            return self._version_now(connection)
        finally:
            with contextlib.suppress(*self._errors()):
                connection.execute("ROLLBACK")

    def _version_now(self, connection: sqlite3.Connection) -> int:
        run = connection.execute
        application = run("PRAGMA application_id").fetchall()[0][0]
        version = int(run("PRAGMA user_version").fetchall()[0][0])
        made = run("SELECT type, sql FROM sqlite_master").fetchall()
        empty = not made
        if application != APPLICATION and not empty:
            raise NotAStore(
                f"{self.path} is an SQLite database that was not made by Thrifty. It was left as "
                "it is; choose another file name."
            )
        # Thrifty makes tables and indices. A view or a trigger would run a stranger's statements.
        if any(
            kind not in ("table", "index") or str(sql).upper().startswith("CREATE VIRTUAL")
            for kind, sql in made
        ):
            raise NotAStore(
                f"{self.path} holds views, triggers or virtual tables, which Thrifty never makes. "
                "It was left as it is; ask where the file comes from."
            )
        return check_schema(version, str(self.path))

    def _upgrade(self, connection: sqlite3.Connection) -> None:
        def work(pages: SqlPages) -> None:
            at = self._version_now(connection)  # another process may have done it meanwhile
            if at < LATEST:
                bring_up(pages._run, at, _SPELLING)
                connection.execute(f"PRAGMA application_id = {APPLICATION}")
                connection.execute(f"PRAGMA user_version = {LATEST}")

        self._in_one(connection, "BEGIN IMMEDIATE", 0, work)

    # -- transactions -------------------------------------------------------------------------

    def write(self, lifetime: int, work: Callable[[SqlPages], T]) -> T:
        self._refuse_to_write()
        return self._transaction("BEGIN IMMEDIATE", lifetime, work)

    def read(self, lifetime: int, work: Callable[[SqlPages], T]) -> T:
        return self._transaction("BEGIN", lifetime, work)

    def _transaction(self, begin: str, lifetime: int, work: Callable[[SqlPages], T]) -> T:
        with self._lock:
            connection = self._open()
            try:
                return self._in_one(connection, begin, lifetime, work)
            except self._errors() as error:
                raise self._explained(error) from error

    def _errors(self) -> tuple[type[Exception], ...]:
        # UnicodeError and OverflowError: text that is none, a number beyond 64 bits
        return (sqlite3.Error, OSError, UnicodeError, OverflowError)

    def _explained(self, error: Exception) -> StoreError:
        text = str(error).lower()
        if "not a database" in text or "malformed" in text or "file is encrypted" in text:
            return NotAStore(
                f"{self.path} is not a Thrifty store ({error}). It was left as it is; choose "
                "another file name, or restore a copy."
            )
        if "locked" in text or "busy" in text:
            return StoreBusy(
                f"{self.path} was in use by other processes for more than {self.wait:g} seconds; "
                "try again, or raise wait=."
            )
        if isinstance(error, OSError) or any(
            word in text for word in ("readonly", "read-only", "full", "disk i/o", "unable to open")
        ):
            return StoreUnwritable(
                f"{self.path} cannot be written ({error}). Nothing that was acknowledged is lost; "
                "make room or mend the disk, then learn again to go on."
            )
        return StoreError(f"{self.path}: {error}.")

    def shrink(self) -> None:
        """Write the file anew without what was taken out of it, its free pages included."""
        with self._lock:
            connection = self._open()
            connection.execute("PRAGMA secure_delete = ON").fetchall()
            connection.execute("VACUUM")


_MAKING = threading.Lock()
_MADE: list[sqlite3.Connection] = []


class MemoryStore(SQLiteStore):
    """Lifetimes in memory, gone with the process.

    >>> MemoryStore().lifetimes()
    []
    """

    def __init__(self) -> None:
        super().__init__(Path("memory"))
        self.place = ""

    def _begin(self) -> None:
        """Nothing is opened until it is used: most lifetimes in memory never write a line."""

    def __repr__(self) -> str:
        return "MemoryStore()"

    def _connect(self) -> sqlite3.Connection:
        made = _empty()
        with _MAKING:  # tables and indices are made once in a process, and copied from then on
            if not _MADE:
                template = _empty()
                self._prepare(template)
                _MADE.append(template)
            _MADE[0].backup(made)
        return made

    def after_fork(self) -> None:
        """Memory is copied by a fork: the child goes on with its own copy."""
        self._pid = os.getpid()

    def close(self) -> None:
        """Keep everything: closing the connection would lose it."""


def _empty() -> sqlite3.Connection:
    return sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
