"""What may be spent: in total, on a task, on an example."""

from __future__ import annotations

from dataclasses import dataclass

from thrifty.cells.prices.money import amount_text, one_currency, read_amount, to_units
from thrifty.errors import BudgetExceeded, MixedCurrencies
from thrifty.typing import MoneyLike

__all__ = ["Budget", "Limits"]


@dataclass(frozen=True, slots=True)
class Limits:
    """A budget in minor units, as the ledger compares it; None is no limit."""

    total: int | None = None
    per_task: int | None = None
    per_example: int | None = None
    currency: str = ""

    def check(self, scope: str, needed: int, used: int, whose: str = "") -> None:
        """Refuse what would go beyond a limit, saying what was needed and what was left."""
        limit = {"total": self.total, "task": self.per_task, "example": self.per_example}[scope]
        if limit is None or used + needed <= limit:
            return
        left = max(limit - used, 0)
        money = self.currency
        of = {"total": "in total", "task": "per task", "example": "per example"}[scope]
        raise BudgetExceeded(
            f"the next purchase needs {amount_text(needed, money)}{whose} and "
            f"{amount_text(left, money)} is left of the {amount_text(limit, money)} allowed {of} "
            f"({amount_text(used, money)} spent or reserved). Nothing of it was bought, what was "
            "bought before is kept: raise the budget and go on to pay only for the rest.",
            needed=to_units(needed),
            left=to_units(left),
            scope=scope,
        )


@dataclass(frozen=True)
class Budget:
    """Limits on spending, in the currency of the price list.

    Parameters
    ----------
    total : None, number or str
        the most this lifetime may spend
    per_task : None, number or str
        the most one task may spend
    per_example : None, number or str
        the most that may be spent on one example: over the whole lifetime where examples have ids,
        within one task where they are the rows of an array

    Amounts are numbers, or text with a currency such as ``"250 EUR"``.

    >>> Budget(total="250 EUR", per_example=20)
    Budget(total='250 EUR', per_task=None, per_example=20)
    """

    total: MoneyLike = None
    per_task: MoneyLike = None
    per_example: MoneyLike = None

    def __post_init__(self) -> None:
        self.limits("")

    def limits(self, currency: str) -> Limits:
        """The budget in minor units; refuses another currency than the price list's."""
        given = {"total": self.total, "per_task": self.per_task, "per_example": self.per_example}
        read = {k: read_amount(v, f"budget ({k})") for k, v in given.items() if v is not None}
        mine = one_currency({label for _, label in read.values()}, "a budget")
        if mine and currency and mine != currency:
            raise MixedCurrencies(
                f"the budget is in {mine} and the price list in {currency}; they must be in one "
                "currency. Thrifty does not convert money: convert one of them first."
            )
        return Limits(**{k: v for k, (v, _) in read.items()}, currency=currency or mine)
