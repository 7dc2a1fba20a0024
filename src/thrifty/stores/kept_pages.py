"""What a lifetime keeps beside its tasks: prefixes that were made once, interviews that go on."""

from __future__ import annotations

import json
import zlib

from thrifty.errors import StoreError
from thrifty.stores.pages import SqlPages
from thrifty.typing import Json, JsonLike
from thrifty.untrusted import readable

__all__ = ["KeptPages", "storable"]

#: bytes of JSON that a page may hold when it is unpacked; a bomb is refused
_MOST = 1 << 28


def storable(name: str) -> str:
    """A name as PostgreSQL can hold it too: without the character 0, which parts others.

    >>> storable("ward\\0p7")
    'ward\\x1fp7'
    """
    return name.replace("\0", "\x1f")


class KeptPages:
    """Pages of one lifetime by kind and name, inside one transaction; plain JSON, packed."""

    def __init__(self, pages: SqlPages) -> None:
        self._run, self._id = pages._run, pages._id

    def get(self, kind: str, name: str) -> JsonLike | None:
        """A page, or None."""
        rows = self._run(
            "SELECT block FROM kept WHERE lifetime = ? AND kind = ? AND name = ?",
            (self._id, kind, storable(name)),
        )
        if not rows:
            return None
        with readable("the store"):
            opener = zlib.decompressobj()
            text = opener.decompress(bytes(rows[0][0]), _MOST)
            if opener.unconsumed_tail:
                raise StoreError(f"{kind} {name!r} in the store is larger than it may be.")
            found: JsonLike = json.loads(text)
            return found

    def put(self, kind: str, name: str, data: Json) -> None:
        """Write a page, over one of that name."""
        block = zlib.compress(json.dumps(data).encode(), 1)
        self._run(
            "INSERT INTO kept (lifetime, kind, name, block) VALUES (?, ?, ?, ?) "
            "ON CONFLICT (lifetime, kind, name) DO UPDATE SET block = excluded.block",
            (self._id, kind, storable(name), block),
        )

    def drop(self, kind: str, name: str) -> None:
        """Take a page out."""
        self._run(
            "DELETE FROM kept WHERE lifetime = ? AND kind = ? AND name = ?",
            (self._id, kind, storable(name)),
        )
