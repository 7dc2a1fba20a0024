"""Stores: where lifetimes live. ``open_store`` picks one by a file name or a URL."""

from thrifty.stores.base import LifetimeBook, Store, existing_store, open_store
from thrifty.stores.in_memory import MemoryStore
from thrifty.stores.postgres import PostgresStore
from thrifty.stores.sqlite import SQLiteStore

__all__ = [
    "LifetimeBook",
    "MemoryStore",
    "PostgresStore",
    "SQLiteStore",
    "Store",
    "existing_store",
    "open_store",
]
