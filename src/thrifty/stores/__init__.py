"""Stores: where lifetimes live.

``open_store`` picks one by a file name or a URL; ``copy_store`` moves one to another place.
"""

from thrifty.stores.base import LifetimeBook, Store, existing_store, open_store
from thrifty.stores.copying import Copied, copy_store
from thrifty.stores.postgres import PostgresStore
from thrifty.stores.sqlite import MemoryStore, SQLiteStore

__all__ = [
    "Copied",
    "LifetimeBook",
    "MemoryStore",
    "PostgresStore",
    "SQLiteStore",
    "Store",
    "copy_store",
    "existing_store",
    "open_store",
]
