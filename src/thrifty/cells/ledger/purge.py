"""Taking out the values of one example; what it cost stays on the bill."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from thrifty.cells.ledger.book import Pages
from thrifty.cells.ledger.compacted import Facts, compact_all, read_column, write_column
from thrifty.cells.ledger.purchase import Purchase
from thrifty.errors import BadInput

__all__ = ["purge_example", "purged_rows"]


#: in the place of what a purchase said, which may quote a value
_NOTE = "the values of an example were taken out"


class PurgePages(Pages, Protocol):
    """What a store must be able to forget."""

    def answered(self) -> Sequence[Purchase]: ...
    def take_answer(self, id: int, note: str) -> None: ...
    def drop_known_rows(self) -> None: ...
    def note_purge(self, at: float, example: int) -> None: ...
    def purged(self) -> dict[int, float]: ...


def purge_example(pages: PurgePages, example: str, at: float) -> int:
    """Forget every value of an example, in every source; returns how many features had one.

    Its cells are not owned any more: whoever needs them buys them again, and is told. Purchases
    keep their lines and their money, without what was answered. Rows that a representation keeps
    (controls for later tasks) have no ids, so that all of them go: later tasks buy their own.
    """
    number = int(pages.numbers("example", [example])[0])
    if number < 0:
        raise BadInput(f"the store knows no example {example!r}.")
    compact_all(pages)
    gone = _from_columns(pages, number)
    for purchase in pages.answered():
        if number in purchase.block.examples.tolist():
            pages.take_answer(purchase.id, _NOTE)
    pages.drop_known_rows()
    pages.note_purge(at, number)
    return gone


def purged_rows(pages: PurgePages, examples: Sequence[str]) -> dict[int, float]:
    """Of these examples, the rows whose values were taken out of the store, and when."""
    gone: dict[int, float] = pages.purged()
    if not gone:
        return {}
    numbers = pages.numbers("example", examples).tolist()
    return {row: gone[number] for row, number in enumerate(numbers) if number in gone}


def _from_columns(pages: Pages, number: int) -> int:
    gone, changed = 0, []
    for column in pages.columns():
        if column.kind not in ("feature", "counted", "gap"):
            continue
        facts = read_column(column)
        keep = facts.examples != number
        if keep.all():
            continue
        gone += 1
        left = Facts(facts.examples[keep], facts.values[keep], facts.times[keep])
        changed.append(write_column(column.kind, column.number, column.boolean, left))
    pages.put_columns(changed)
    return gone
