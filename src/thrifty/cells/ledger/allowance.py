"""How much one task or prediction may spend: what the user said, and what the budget leaves."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from thrifty.cells.prices.budget import Limits
from thrifty.cells.prices.money import read_amount, to_units
from thrifty.errors import BadInput, MixedCurrencies

__all__ = ["limits_of", "read_spend", "smallest"]

_SHARE = re.compile(r"^\s*([0-9]{1,30}(?:\.[0-9]{0,30})?|\.[0-9]{1,30})\s*%\s*$")


def read_spend(
    given: object, currency: str, everything: Callable[[], float], what: str = "spend"
) -> float | None:
    """An amount in the unit of the prices, from a number, text with a currency, or a share.

    ``everything`` says what all there is to buy would cost; it is asked only for a share.

    >>> read_spend("300 EUR", "EUR", lambda: 0.0), read_spend("5 %", "", lambda: 40.0)
    (300.0, 2.0)
    """
    if given is None:
        return None
    share = _SHARE.match(given) if isinstance(given, str) else None
    if share is not None:
        percent = float(share.group(1))
        if not 0 <= percent <= 100:
            raise BadInput(f"{what} must be a share of 0 % to 100 %; got {given!r}.")
        return everything() * percent / 100
    try:
        minor, label = read_amount(given, what)
    except BadInput as error:
        raise BadInput(
            f"{what} must be a number in the unit of the prices, text such as '300 EUR', or a "
            f"share such as '5 %'; got {given!r}."
        ) from error
    if label and label != currency:
        unit = f"the prices are in {currency}" if currency else "the prices have no currency"
        raise MixedCurrencies(
            f"{what} is in {label} and {unit}; they must be in one currency. Thrifty does not "
            "convert money: convert it first."
        )
    return to_units(minor)


def limits_of(limits: Limits, spend: float | None, *, is_task: bool) -> Limits:
    """The budget's limits with those of one task; a prediction has no per-task limit but its own.

    >>> limits_of(Limits(per_task=5_000_000), 3.0, is_task=True).per_task
    3000000
    """
    own = None if spend is None else read_amount(spend, "spend")[0]
    before = limits.per_task if is_task else None
    return replace(limits, per_task=smallest(own, before))


def smallest(*amounts: int | None) -> int | None:
    """The smallest amount that is one; None where there is no limit at all."""
    return min((a for a in amounts if a is not None), default=None)
