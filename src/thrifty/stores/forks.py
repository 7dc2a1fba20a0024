"""Stores and fork: a child never meets a lock that a thread of its parent was holding.

A fork copies one thread. Were another one in a transaction at that moment, the child would find the
store's lock taken for ever, and SQLite's own notes of who holds the file would be wrong in it. So a
fork waits until no transaction is running, as Python's logging does with its locks.
"""

from __future__ import annotations

import os
import threading
from typing import Protocol
from weakref import WeakSet

__all__ = ["watch"]

#: longer than any transaction takes; a fork that finds a deadlock goes on all the same
_PATIENCE = 150.0


class Forked(Protocol):
    """What a store must have."""

    _lock: threading.RLock

    def after_fork(self) -> None:
        """In the child: leave the parent's connection alone."""


_stores: WeakSet[Forked] = WeakSet()
_held: list[threading.RLock] = []


def watch(store: Forked) -> None:
    """Mind this store at every fork from now on."""
    _stores.add(store)


def _before() -> None:
    for store in sorted(_stores, key=id):
        if store._lock.acquire(timeout=_PATIENCE):
            _held.append(store._lock)


def _in_parent() -> None:
    while _held:
        _held.pop().release()


def _in_child() -> None:
    _held.clear()
    for store in list(_stores):
        store._lock = threading.RLock()
        store.after_fork()


os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
