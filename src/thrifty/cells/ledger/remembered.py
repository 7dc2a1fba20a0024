"""What was paid for of arrays and frames without ids: owned for as long as the object lives."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from secrets import token_hex

from thrifty.cells.ledger.meter import Owned
from thrifty.cells.sources import Source
from thrifty.typing import TableLike

__all__ = ["RememberedTables"]


@dataclass(eq=False)
class _Entry:
    object: weakref.ref[object]
    owned: Owned
    place: str


class RememberedTables:
    """Objects that were learned from, by who they are; nothing keeps them alive.

    >>> import numpy as np
    >>> X, memory = np.eye(3, dtype=bool), RememberedTables()
    >>> first, _ = memory.of(X, Source.from_array(X))
    >>> memory.of(X, Source.from_array(X))[0] is first
    True
    >>> del X
    >>> len(memory)
    0
    """

    def __init__(self) -> None:
        self._entries: dict[int, _Entry] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def of(self, X: TableLike, source: Source) -> tuple[Owned, str]:
        """What is owned of an object, and a name for it that no other object has."""
        key = id(X)
        found = self._entries.get(key)
        if found is not None and found.object() is X:
            return found.owned, found.place
        owned, place = Owned(source.n_examples, source.n_features), f"array {token_hex(16)}"
        try:
            kept: object = X
            gone = weakref.ref(kept, lambda _: self._entries.pop(key, None))
        except TypeError:  # a list cannot be told from another one in its place
            return owned, place
        self._entries[key] = _Entry(gone, owned, place)
        return owned, place
