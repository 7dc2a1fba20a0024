"""How purchases begin and end in the ledger: functions on its pages, under the store's lock."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thrifty.cells.ledger.answers import keep_answer, read_answer
from thrifty.cells.ledger.book import Pages
from thrifty.cells.ledger.crash_points import reached
from thrifty.cells.ledger.known import Known
from thrifty.cells.ledger.purchase import CellBlock, Purchase, pack_values
from thrifty.cells.prices.budget import Limits
from thrifty.cells.prices.money import amount_text, refuse_too_large, total
from thrifty.cells.sources.answered import Answered
from thrifty.errors import BudgetExceeded, ChangedValue, CostAboveReservation, MalformedAnswer

__all__ = [
    "book_late",
    "check_budget",
    "close",
    "find_changes",
    "intend",
    "settle",
    "take_answer",
]


def check_budget(
    pages: Pages, limits: Limits, task: str, block_examples: NDArray[np.int32],
    costs: NDArray[np.int64], n_cells: int,
) -> None:  # fmt: skip
    """Refuse what would go beyond the budget."""
    needed = total(costs)
    if needed == 0:
        return
    refuse_too_large(needed + sum(pages.balance(None)), "the sum of all purchases")
    whose = f" for {n_cells} cells"
    if limits.total is not None:
        limits.check("total", needed, sum(pages.balance(None)), whose)
    if limits.per_task is not None:
        limits.check("task", needed, sum(pages.balance(task)), f"{whose} of task {task!r}")
    if limits.per_example is not None:
        used = pages.example_costs(block_examples)
        worst = int(np.argmax(np.where(costs > 0, used + costs, -1)))
        name = pages.names("example", [int(block_examples[worst])])[0]
        limits.check("example", int(costs[worst]), int(used[worst]), f" on example {name!r}")


def intend(pages: Pages, purchase: Purchase, limits: Limits) -> Purchase:
    """Write a purchase down before it is made, and reserve its money."""
    block = purchase.block
    check_budget(pages, limits, purchase.task, block.examples, block.costs, block.n_cells)
    written = pages.add(purchase.with_(reserved=block.price))
    pages.move(purchase.task, block.price, 0)
    pages.add_example_costs(block.examples, block.costs)
    reached("in-intent")
    return written


def settle(
    pages: Pages, purchase: Purchase, values: NDArray[np.float64], now: float,
    costs: NDArray[np.int64] | None = None,
) -> Purchase:  # fmt: skip
    """Values and money in the same transaction; ``costs`` where they differ from the price."""
    block = purchase.block
    paid = block.costs if costs is None else costs
    spent = total(paid)
    done = pages.finish(
        purchase.with_(
            status="settled",
            answer=pack_values(values, block.boolean),
            reserved=0,
            spent=spent,
            settled_at=now,
        )
    )
    paid_by = purchase.lifetime  # another lifetime may end it
    pages.move(purchase.task, -purchase.reserved, spent - purchase.spent, paid_by)
    counted = block.costs if purchase.reserved or block.price == purchase.spent else 0 * paid
    if (paid != counted).any():
        pages.add_example_costs(block.examples, paid - counted, paid_by)
    reached("in-settle")
    return done.with_(block=replace(block, costs=paid))


def close(
    pages: Pages, purchase: Purchase, status: str, now: float, *, share: float = 0.0,
    answer: bytes | None = None, note: str = "", paid: NDArray[np.int64] | None = None,
) -> Purchase:  # fmt: skip
    """End a purchase without values; it costs a share of its price, the rest is free again.

    ``paid`` is what it cost, where the provider said so.
    """
    costs = purchase.block.costs
    paid = _share(costs, share) if paid is None else paid
    spent = total(paid)
    held = purchase.reserved + purchase.spent
    done = pages.finish(
        purchase.with_(
            status=status, answer=answer, note=note or purchase.note, reserved=0, spent=spent,
            settled_at=now,
        )
    )  # fmt: skip
    pages.move(purchase.task, -purchase.reserved, spent - purchase.spent, purchase.lifetime)
    counted = costs if held else np.zeros_like(costs)
    if spent != held:
        pages.add_example_costs(purchase.block.examples, paid - counted, purchase.lifetime)
    reached("in-settle")
    return done


def _share(costs: NDArray[np.int64], share: float) -> NDArray[np.int64]:
    """A share of each cost, rounded up; in whole numbers, since a float has too few digits."""
    if share >= 1 or not share:
        return costs if share else np.zeros_like(costs)
    top, bottom = Fraction(str(share)).as_integer_ratio()
    return np.array([-(-int(c) * top // bottom) for c in costs], dtype=np.int64)


class Names(NamedTuple):
    """What the provider is asked for: ids, features, and the words of columns that have some."""

    examples: list[object]
    features: list[str]
    words: Mapping[int, Sequence[str]]


def take_answer(
    pages: Pages, purchase: Purchase, answer: object, names: Names,
    known: Known, now: float, *, allow_missing: bool, resolve: Callable[[int], str],
    limits: Limits | None = None,
) -> tuple[Purchase, Exception | None]:  # fmt: skip
    """Settle an answer, or keep it as malformed or changed, with the error to raise."""
    examples, features, words = names
    paid: NDArray[np.int64] | None = None
    too_much = ""
    if isinstance(answer, Answered):
        try:
            paid, too_much = _actual(pages, purchase, answer, limits or Limits())
            answer = answer.values
        except MalformedAnswer as error:
            answer = error
    boolean = purchase.block.boolean
    price = amount_text(purchase.block.price, pages.currency(""))
    what_next = (
        f" Purchase {purchase.id} ({price}) is kept, counted as spent and never used; its cells "
        f"are not bought again until you say so: {resolve(purchase.id)}."
    )
    try:
        values = read_answer(
            answer, examples, features, boolean, allow_missing=allow_missing, words=words
        )
    except MalformedAnswer as error:
        done = close(
            pages, purchase, "malformed", now, share=1.0, answer=keep_answer(answer),
            note=str(error), paid=paid,
        )  # fmt: skip
        return done, MalformedAnswer(str(error) + what_next, purchases=(purchase.id,))
    changed = find_changes(known, purchase.block, values)
    if changed is not None:
        row, column, old, new = changed
        note = (
            f"{features[column]} of example {examples[row]!r} is {old:g} in the ledger and still "
            f"valid; the provider now gave {new:g}."
        )
        kept = pack_values(values, boolean)
        done = close(
            pages, purchase, "changed", now, share=1.0, answer=kept, note=note, paid=paid
        )
        return done, ChangedValue(note + what_next, purchases=(purchase.id,))
    if too_much:
        done = settle(pages, purchase.with_(note=too_much), values, now, paid)
        return done, CostAboveReservation(too_much, purchases=(purchase.id,))
    return settle(pages, purchase, values, now, paid), None


def _actual(
    pages: Pages, purchase: Purchase, answer: Answered, limits: Limits
) -> tuple[NDArray[np.int64] | None, str]:
    """What a call really cost, and what is wrong with that, if anything.

    What is above the reservation is counted where the budget has room for it; otherwise no more
    than was reserved can be, and the message says how much is missing from the ledger.
    """
    block = purchase.block
    currency = pages.currency("")
    paid = answer.in_minor_units(block.costs, currency)
    if paid is None or total(paid) <= block.price:
        return paid, ""
    said = (
        f"the provider billed {amount_text(total(paid), currency)} for purchase {purchase.id}, for "
        f"which {amount_text(block.price, currency)} was reserved. Its values are kept and usable"
    )
    next_ = "Raise the estimate (prices, tokens, longest answer) before you learn again."
    try:
        over = np.maximum(paid - block.costs, 0)
        check_budget(pages, limits, purchase.task, block.examples, over, block.n_cells)
    except BudgetExceeded:
        short = "the budget has no room for the rest, which is not counted"
        return block.costs, f"{said}; {short}. {next_}"
    return paid, f"{said}, and all of it is counted. {next_}"


def book_late(
    pages: Pages, purchase: Purchase, answer: object, names: Names,
    known: Known, now: float, *, allow_missing: bool, free: bool,
) -> Purchase:  # fmt: skip
    """An answer that came after its purchase was resolved: it was billed, whatever was said.

    Where its cells are still free it settles them; otherwise it is kept, and counted.
    """
    examples, features, words = names
    boolean = purchase.block.boolean
    if isinstance(answer, Answered):
        answer = answer.values
    try:
        values = read_answer(
            answer, examples, features, boolean, allow_missing=allow_missing, words=words
        )
    except MalformedAnswer as error:
        kept, note = keep_answer(answer), f"late, and malformed: {error}"
        return close(pages, purchase, "late", now, share=1.0, answer=kept, note=note)
    if free and find_changes(known, purchase.block, values) is None:
        return settle(pages, purchase.with_(note=f"late: was {purchase.status}"), values, now)
    kept, note = pack_values(values, boolean), "late: its cells were bought again meanwhile"
    return close(pages, purchase, "late", now, share=1.0, answer=kept, note=note)


def find_changes(
    known: Known, block: CellBlock, values: NDArray[np.float64]
) -> tuple[int, int, float, float] | None:
    """The first cell that is known with another value: (row, column, old, new)."""
    at, rows = known.place(block)
    for j in np.flatnonzero(known.known_somewhere(at, rows)).tolist():
        f = int(at[j])
        had = known.is_known(f, rows)
        old = known.column(f, rows[had])
        new = values[had, j]
        differs = ~((old == new) | (np.isnan(old) & np.isnan(new)))
        if differs.any():
            i = int(np.flatnonzero(differs)[0])
            return int(np.flatnonzero(had)[i]), j, float(old[i]), float(new[i])
    return None
