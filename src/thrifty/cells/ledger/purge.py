"""Taking out the values of one example; what it cost stays on the bill."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Sequence
from typing import Protocol

from thrifty.cells.ledger.book import Pages
from thrifty.cells.ledger.compacted import (
    Facts,
    compact_all,
    forget_columns,
    read_column,
    write_column,
)
from thrifty.cells.ledger.purchase import Purchase
from thrifty.errors import BadInput

#: how the fingerprint of an id begins
_PURGED = "purged "
#: in the place of what a purchase said, which may quote a value
_NOTE = "the values of an example were taken out"


class PurgePages(Pages, Protocol):
    """What a store must be able to forget."""

    def answered(self) -> Sequence[Purchase]: ...
    def drop_known_rows(self) -> None: ...
    def drop_interviews(self, example: str) -> None: ...
    def note_purge(self, at: float, example: int) -> None: ...
    def purchases_in_store(self) -> Sequence[Purchase]: ...


def purge_example(pages: PurgePages, example: str, at: float) -> int:
    """Forget every value of an example, in every source; returns how many features had one.

    Its cells are not owned any more: whoever needs them buys them again, and is told. Purchases
    keep their lines and their money, without what was answered. Rows that a representation keeps
    (controls for later tasks) have no ids, so that all of them go: later tasks buy their own. A
    fingerprint takes the place of its id.
    """
    number = int(pages.numbers("example", [example])[0])
    if number < 0:
        raise BadInput(f"the store knows no example {example!r}.")
    compact_all(pages)
    gone = _from_columns(pages, number)
    forget_columns()
    for purchase in pages.purchases_in_store():
        said = purchase.answer is not None or purchase.note
        if said and number in purchase.block.examples.tolist():
            pages.take_answer(purchase.id, _NOTE)
    pages.drop_known_rows()
    again = sum(name.startswith(_fingerprint(example)) for name in _names(pages, pages.purged()))
    pages.rename("example", number, f"{_fingerprint(example)} {again}")
    pages.drop_interviews(example)
    pages.note_purge(at, number)
    return gone


def purged_rows(pages: Pages, examples: Sequence[str]) -> dict[int, float]:
    """Of these examples, the rows whose values were taken out of the store, and when."""
    gone: dict[int, float] = pages.purged()
    if not gone:
        return {}
    when: dict[str, float] = {}
    for number, name in zip(gone, _names(pages, gone)):
        # a store that was purged before ids were taken out has the id itself
        known = name.rpartition(" ")[0] if name.startswith(_PURGED) else name
        when[known] = max(gone[number], when.get(known, 0.0))
    names = [(_fingerprint(example), example) for example in examples]
    both = [when.get(mark, when.get(example)) for mark, example in names]
    return {row: at for row, at in enumerate(both) if at is not None}


def purged_since(
    pages: Pages, before: Collection[int], examples: Sequence[str]
) -> list[int] | None:
    """Rows of these examples that were purged since; None: nobody was purged at all."""
    new = [number for number in pages.purged() if number not in before]
    if not new:
        return None
    marks = {name.rpartition(" ")[0] for name in _names(pages, new)}
    return [row for row, example in enumerate(examples) if _fingerprint(example) in marks]


def renamed(pages: Pages, numbers: Iterable[int], examples: Sequence[str]) -> dict[int, int]:
    """Of numbers that a purge took the ids of, the rows whose they were."""
    listed = list(numbers)
    names = pages.names("example", listed)
    some = {n: name.rpartition(" ")[0] for n, name in zip(listed, names) if _PURGED in name[:7]}
    rows = {_fingerprint(example): row for row, example in enumerate(examples)} if some else {}
    return {number: rows[mark] for number, mark in some.items() if mark in rows}


def purge_again(pages: Pages, purchase: Purchase) -> None:
    """A purchase has just ended: nothing is kept of its examples that were purged meanwhile."""
    gone = set(pages.purged()) & set(purchase.block.examples.tolist())
    if not gone:
        return
    if purchase.status == "settled":  # the values of its other examples stand in columns then
        compact_all(pages)
        for number in gone:
            _from_columns(pages, number)
        forget_columns()
    pages.take_answer(purchase.id, _NOTE)


def _names(pages: Pages, numbers: Iterable[int]) -> list[str]:
    return pages.names("example", list(numbers))


def _fingerprint(example: str) -> str:
    """What stands for the id of an example that was taken out: tells it again, does not say it."""
    return _PURGED + hashlib.sha256(example.encode()).hexdigest()[:32]


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
