"""The store in memory as a disk that crashes and fails: before a write, after it, or in between."""

from __future__ import annotations

import random
import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from thrifty.cells.ledger.owner import Process
from thrifty.errors import StoreUnwritable
from thrifty.stores.pages import SqlPages
from thrifty.stores.sqlite import MemoryStore

T = TypeVar("T")


class Crashed(BaseException):
    """The process is dead; nothing of what follows happens."""


class SimulatedProcess(Process):
    """A buying process: its name, whether it lives, and what it can tell of others."""

    def __init__(self, name: str, others: dict[str, SimulatedProcess], *, foreign: bool) -> None:
        super().__init__()
        self.name, self.others, self.foreign = name, others, foreign
        self.dead = False
        others[name] = self

    def knows(self, owner: str) -> bool | None:
        other = self.others.get(owner)
        return None if self.foreign or other is None else not other.dead


#: connections of histories that are over: their tables are made, and their statements read
_IDLE: list[sqlite3.Connection] = []
#: more than there are; reading them anew takes a fifth of a history
_STATEMENTS = 512


class _Emptied(MemoryStore):
    """A store in memory that is as new, in the tables of one that is needed no more."""

    def _connect(self) -> sqlite3.Connection:
        self._again = bool(_IDLE)
        if self._again:
            return _IDLE.pop()
        return sqlite3.connect(
            ":memory:", isolation_level=None, check_same_thread=False, cached_statements=_STATEMENTS
        )

    def _prepare(self, connection: sqlite3.Connection) -> None:
        if not self._again:
            super()._prepare(connection)
            return
        # No PRAGMA here: it would make SQLite read every statement anew.
        connection.execute("BEGIN")
        new = _new_rows()
        for table in reversed(new):  # those that refer to others were made after them
            connection.execute(f"DELETE FROM {table}")
        for table, rows in new.items():
            for row in rows:
                marks = ", ".join("?" * len(row))
                connection.execute(f"INSERT INTO {table} VALUES ({marks})", row)
        connection.execute("COMMIT")

    def give_back(self) -> None:
        """The history is over: another may have the connection."""
        if self._connection is not None:
            _IDLE.append(self._connection)
        self._connection = None


@lru_cache(maxsize=1)
def _new_rows() -> dict[str, list[tuple[object, ...]]]:
    """What a store holds before anything has happened, table by table."""
    run = MemoryStore()._open().execute
    made = run("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY rowid").fetchall()
    return {table: run(f"SELECT * FROM {table}").fetchall() for (table,) in made}


class SimulatedDisk(_Emptied):
    """Each write may be the last thing that its process does, fail, or be done twice over."""

    def __init__(self, chance: random.Random, often: float) -> None:
        super().__init__()
        self.path, self.place = Path("simulated"), ""
        self.chance, self.often = chance, often
        self.who: Callable[[], SimulatedProcess | None] = lambda: None
        self.happened: Counter[str] = Counter()
        self.at_commit: Callable[[SqlPages], None] | None = None
        #: what others do right before a write
        self.between: Callable[[], None] | None = None

    def write(self, lifetime: int, work: Callable[[SqlPages], T]) -> T:
        who = self.who()
        if who is not None and who.dead:
            raise Crashed
        if self.between is not None:
            self.between()
        at = 1.0 if who is None else self.chance.random() / max(self.often, 1e-9)
        fault = next((name for limit, name in _FAULTS if at < limit), "")
        if fault:
            self.happened[fault] += 1
        if fault == "crash before":
            self._die(who)
        if fault in ("crash in the middle", "fails", "done again"):
            self._undone(lifetime, work)
        if fault == "crash in the middle":
            self._die(who)
        if fault == "fails":
            raise StoreUnwritable("the simulated disk is full")
        done = super().write(lifetime, self._looked_at(work))
        if fault == "crash after":
            self._die(who)
        if fault == "not heard of":  # committed, and the connection was lost: it is run again
            return super().write(lifetime, self._looked_at(work))
        return done

    def _looked_at(self, work: Callable[[SqlPages], T]) -> Callable[[SqlPages], T]:
        """The judge sees what is about to be committed."""
        if self.at_commit is None:
            return work
        look = self.at_commit

        def looked_at(pages: SqlPages) -> T:
            done = work(pages)
            look(pages)
            return done

        return looked_at

    def read(self, lifetime: int, work: Callable[[SqlPages], T]) -> T:
        who = self.who()
        if who is not None and who.dead:
            raise Crashed
        return super().read(lifetime, work)

    def _undone(self, lifetime: int, work: Callable[[SqlPages], T]) -> None:
        class Undone(Exception):
            pass

        def half(pages: SqlPages) -> None:
            work(pages)
            raise Undone

        with suppress(Undone):
            super().write(lifetime, half)

    @staticmethod
    def _die(who: SimulatedProcess | None) -> None:
        assert who is not None
        who.dead = True
        who.forget()
        raise Crashed


_FAULTS = (
    (0.012, "crash before"),
    (0.024, "crash in the middle"),
    (0.036, "crash after"),
    (0.046, "fails"),
    (0.056, "done again"),
    (0.066, "not heard of"),
)
