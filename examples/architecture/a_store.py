"""A store of your own: SQLite that also counts its transactions. The rest is what every store does.

``thrifty.testing.StoreConformance`` is the suite for a store that is written from the ground up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import thrifty
from thrifty.stores import SQLiteStore


class CountingStore(SQLiteStore):
    """How often it was read and written."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.times: Counter[str] = Counter()

    def write(self, lifetime: int, work: Callable[[Any], Any]) -> Any:
        """One exclusive, durable transaction."""
        self.times["write"] += 1
        return super().write(lifetime, work)

    def read(self, lifetime: int, work: Callable[[Any], Any]) -> Any:
        """One consistent state."""
        self.times["read"] += 1
        return super().read(lifetime, work)


def main(folder: Path) -> tuple[CountingStore, thrifty.Lifetime]:
    """A lifetime in it, opened again."""
    store = CountingStore(folder / "counted.db")
    life = thrifty.Lifetime(thrifty.Trees(max_depth=2), store=store)
    life.learn("and", [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 0, 1])
    print(dict(store.times))
    return store, thrifty.Lifetime.open(store)


if __name__ == "__main__":
    main(Path())
