"""What a provider says a call cost: what of it is counted as spent, and what is owed beyond that.

What was reserved and spent never exceeds a budget. A provider that bills more than was reserved, or
more than one example may cost, is owed the rest: it stands on the balance as ``over``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thrifty.cells.ledger.book import Pages
from thrifty.cells.ledger.purchase import Purchase
from thrifty.cells.prices.budget import Limits
from thrifty.cells.prices.money import amount_text, total
from thrifty.cells.sources.answered import Answered, divided
from thrifty.errors import MalformedAnswer

__all__ = ["Billed", "billed_within", "read_cost"]


@dataclass(frozen=True, slots=True, eq=False)
class Billed:
    """What each example counts as spent, and what is owed beside, in minor units."""

    counted: NDArray[np.int64]
    over: int = 0


def read_cost(
    pages: Pages, purchase: Purchase, answer: object, limits: Limits
) -> tuple[object, Billed | None, str]:
    """(the answer itself, what it really cost, what is wrong with that); None: as listed."""
    if not isinstance(answer, Answered):
        return answer, None, ""
    currency = pages.currency("")
    try:
        paid = answer.in_minor_units(purchase.block.costs, currency)
    except MalformedAnswer as error:
        return error, None, ""
    if paid is None:
        return answer.values, None, ""
    billed = billed_within(pages, purchase, paid, limits)
    if not billed.over:
        return answer.values, billed, ""
    what = "" if total(paid) > purchase.block.price else " more than one example may cost"
    return (
        answer.values,
        billed,
        (
            f"the provider billed {amount_text(total(paid), currency)} for purchase {purchase.id}, "
            f"for which {amount_text(purchase.block.price, currency)} was reserved{what}. Its "
            f"values are kept and usable; {amount_text(billed.over, currency)} is owed beyond that "
            "and not counted as spent: balance().over. Raise the estimate (prices, tokens, longest "
            "answer) before you learn again."
        ),
    )


def billed_within(
    pages: Pages, purchase: Purchase, paid: NDArray[np.int64], limits: Limits
) -> Billed:
    """As much of a bill as was reserved or there is room for; the rest is over."""
    held, price = purchase.reserved + purchase.spent, purchase.block.price
    counted = paid
    if limits.per_example is not None:
        used = pages.example_costs(purchase.block.examples) - purchase.counted
        counted = np.minimum(paid, np.maximum(limits.per_example - used, 0))
    most = price
    if held < price:
        for limit, used_now in (
            (limits.total, sum(pages.balance(None)) + pages.over() - purchase.over),
            (limits.per_task, sum(pages.balance(purchase.task))),
        ):
            if limit is not None:
                most = min(most, held + max(limit - used_now, 0))
    if total(counted) > most:
        counted = divided(most, counted if total(paid) <= price else purchase.block.costs)
    return Billed(counted, total(paid) - total(counted))
