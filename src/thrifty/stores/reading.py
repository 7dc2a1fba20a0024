"""Stores that are looked at and never written."""

from __future__ import annotations

from pathlib import Path

from thrifty.errors import StoreError
from thrifty.stores.base import Store, open_store
from thrifty.stores.postgres import PostgresStore
from thrifty.stores.sqlite import SQLiteStore

__all__ = ["open_to_read"]

#: seconds to wait for a writer
_WAIT = 5.0


def open_to_read(where: str) -> Store:
    """A store that will not be written; a file that is not there is an error, not a new store."""
    if where.startswith(("postgresql://", "postgres://")):
        return PostgresStore(where, wait=_WAIT, read_only=True)
    if "://" in where:
        return open_store(where)  # says which kinds there are
    if not Path(where).is_file():
        raise StoreError(
            f"there is no store at {where}. A lifetime makes one when it learns: "
            f"thrifty.Lifetime(..., store={where!r}), or the command thrifty learn."
        )
    return SQLiteStore(where, wait=_WAIT, read_only=True)
