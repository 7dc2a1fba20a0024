"""Money as integers: minor units inside, a currency label outside.

A minor unit is a millionth of the currency's unit: fine enough for a question put to a language
model, and 64 bits still hold nine million million units. Sums of integers are exact, so a budget is
exact too.
"""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from typing import Any

from thrifty.errors import BadInput, MixedCurrencies

__all__ = ["UNIT", "amount_text", "one_currency", "read_amount", "to_units"]

#: minor units in one unit of the currency
UNIT = 1_000_000

_WITH_LABEL = re.compile(r"^\s*([0-9.eE+-]+)\s*([A-Za-z]{1,12})?\s*$")


def read_amount(given: Any, what: str = "price") -> tuple[int, str]:
    """An amount in minor units, and its currency label ("" where none was given).

    Integers, decimals and text must be exact; a float is taken as the decimal it prints as and
    rounded to the minor unit, which may change it by a thousandth at most.

    >>> read_amount(22.78), read_amount("0.0004 USD")
    ((22780000, ''), (400, 'USD'))
    """
    label, number = "", given
    if isinstance(given, str):
        match = _WITH_LABEL.match(given)
        if match is None:
            raise BadInput(
                f"a {what} must be a number, or text such as '22.78 EUR'; got {given!r}."
            )
        number, label = match.group(1), (match.group(2) or "").upper()
    if isinstance(number, bool):
        raise BadInput(f"a {what} must be a number; got {given!r}.")
    try:
        exact = Decimal(str(number))
    except (InvalidOperation, ValueError) as error:
        raise BadInput(f"a {what} must be a number; got {given!r}.") from error
    if not exact.is_finite() or exact < 0:
        raise BadInput(f"a {what} must be a finite number, 0 or more; got {given!r}.")
    minor = int((exact * UNIT).to_integral_value())
    off = abs(exact * UNIT - minor)
    loose = isinstance(number, float) or hasattr(number, "dtype")
    if off > (exact * UNIT / 1000 if loose else 0):
        raise BadInput(
            f"a {what} may have six decimals, a millionth is the smallest unit kept; got {given!r}."
        )
    if minor >= 2**62:
        raise BadInput(f"a {what} must be below {2**62 // UNIT}; got {given!r}.")
    return minor, label


def to_units(minor: int) -> float:
    """What users see: units of the currency.

    >>> to_units(22780000)
    22.78
    """
    return float(Decimal(int(minor)) / UNIT)


def amount_text(minor: int, currency: str = "") -> str:
    """An amount as people write it.

    >>> amount_text(22780000, "EUR"), amount_text(400)
    ('22.78 EUR', '0.0004')
    """
    text = f"{Decimal(int(minor)) / UNIT:f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    whole, _, decimals = text.partition(".")
    if len(decimals) == 1:
        text = f"{whole}.{decimals}0"
    return f"{text} {currency}".strip()


def one_currency(labels: set[str], where: str) -> str:
    """The one currency among labels, "" where there is none; more than one is an error."""
    known = sorted(labels - {""})
    if len(known) > 1:
        raise MixedCurrencies(
            f"{where} must be in one currency; got {', '.join(known)}. Thrifty does not convert "
            "money: convert the amounts first."
        )
    return known[0] if known else ""
