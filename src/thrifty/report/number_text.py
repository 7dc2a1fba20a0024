"""Numbers as people write them."""

from __future__ import annotations

import re

__all__ = ["amount", "as_counted", "counted", "share", "short"]


def amount(number: float) -> str:
    """A number with as many decimals as it needs, thousands apart.

    >>> amount(1386000), amount(22.5), amount(0.2), amount(0.00041), amount(0.0)
    ('1,386,000', '22.50', '0.20', '0.00041', '0')
    """
    if number == int(number):
        return f"{int(number):,}"
    whole_cents = abs(number) >= 1 or round(number, 2) == number
    return f"{number:,.2f}" if whole_cents else f"{number:.2g}"


def share(part: float, whole: float) -> str:
    """A part of a whole in per cent.

    >>> share(1, 8), share(1, 3000), share(0, 0)
    ('12.5 %', '0.033 %', '0 %')
    """
    if not part or not whole:
        return "0 %"
    percent = 100 * part / whole
    return f"{percent:.1f} %" if percent >= 1 else f"{percent:.2g} %"


def counted(number: int, one: str, many: str = "") -> str:
    """``1 task``, ``2 tasks``."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def as_counted(name: str) -> list[tuple[str, int]]:
    """A key that sorts names with numbers as people count.

    >>> sorted(["item 10", "item 9", "age"], key=as_counted)
    ['age', 'item 9', 'item 10']
    """
    parts = re.findall(r"(\D*)(\d{0,18})", name)
    return [(words, int(digits or -1)) for words, digits in parts]


def short(number: float) -> str:
    """A number for the tick of an axis.

    >>> short(1500), short(120000), short(1500000), short(0.25), short(2000000000)
    ('1,500', '120,000', '1.5 M', '0.25', '2,000 M')
    """
    if abs(number) >= 1e6:
        return f"{number / 1e6:,.4g} M" if abs(number) < 1e9 else f"{number / 1e6:,.0f} M"
    return f"{number:,.0f}" if number == int(number) else f"{number:.3g}"
