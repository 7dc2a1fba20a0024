"""A store that lives as long as the process: SQLite's own memory, so the very same rules."""

from __future__ import annotations

import os
import sqlite3
import threading
from pathlib import Path

from thrifty.stores.sqlite import SQLiteStore

__all__ = ["MemoryStore"]


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
