"""A transaction that is rolled back and run again, as after a restart of the server.

What the first run took into memory never came to be, and another process may have written in
between, under the very numbers that the first run had used.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from thrifty.cells import Cells
from thrifty.cells.ledger import Ledger
from thrifty.errors import StoreError
from thrifty.stores import SQLiteStore
from thrifty.testing import FakeProvider

EXAMPLES = [f"p{i}" for i in range(30)]


class Lost(Exception):
    """The connection went away before the commit."""


class Shaky(SQLiteStore):
    """Loses the transactions whose numbers are in ``lose``; those in ``gone`` are not run again.

    ``between`` runs after each loss, when nobody holds the store.
    """

    lose: tuple[int, ...] = ()
    gone: tuple[int, ...] = ()
    between: Callable[[int], Any]
    writes = 0

    def write(self, lifetime: int, work: Callable[[Any], Any]) -> Any:
        self.writes += 1
        n = self.writes
        if n not in self.lose + self.gone:
            return super().write(lifetime, work)

        def cut(pages: Any) -> Any:
            work(pages)
            raise Lost

        with pytest.raises(Lost):
            super().write(lifetime, cut)
        self.between(n)
        if n in self.gone:
            raise StoreError("the server did not come back")
        return super().write(lifetime, work)


def door(store: SQLiteStore, provider: FakeProvider, task: str) -> Cells:
    source = provider.source(EXAMPLES, ["a"], prices=1)
    return Cells(source, ledger=Ledger(store.book("x", {}, {})), task=task)


# Making the lifetime is write 1, opening the door 2, the intent 3, the settlement 4; where that one
# fails the answer is kept and saved with 5.
@pytest.mark.parametrize(
    "lose, gone", [((3,), ()), ((4,), ()), ((3, 4), ()), ((), (4,)), ((5,), (4,))]
)
def test_nothing_is_bought_twice(
    tmp_path: Path, lose: tuple[int, ...], gone: tuple[int, ...]
) -> None:
    provider = FakeProvider()
    shaky = Shaky(tmp_path / "s.db")
    mine = door(shaky, provider, "mine")
    other = door(SQLiteStore(tmp_path / "s.db"), provider, "other")
    shaky.lose, shaky.gone = lose, gone
    shaky.between = lambda n: other.get([n, n + 10], [0])
    for _ in range(2):
        try:
            mine.get([0], [0])
        except StoreError:
            assert gone
    assert shaky.writes >= max(lose + gone), "every loss was met"
    mine.get(range(30), [0])
    assert provider.bill().twice == []
    right = [provider.value(e, "a") for e in EXAMPLES]
    assert mine.get(range(30), [0])[:, 0].tolist() == right
    bought = 30 - 2 * len(lose + gone)
    assert mine.receipt().cells == bought
