"""Stores: where lifetimes live. ``open_store`` picks one by a file name or a URL."""

from thrifty.cells.ledger.ledger import Ledger, use_ledgers_of
from thrifty.stores.base import LifetimeBook, Store, open_store
from thrifty.stores.memory import MemoryStore
from thrifty.stores.postgres import PostgresStore
from thrifty.stores.sqlite import SQLiteStore

__all__ = ["LifetimeBook", "MemoryStore", "PostgresStore", "SQLiteStore", "Store", "open_store"]


def _ledger_in_memory() -> Ledger:
    return Ledger(MemoryStore().book("memory", {}, {}))


use_ledgers_of(_ledger_in_memory)
