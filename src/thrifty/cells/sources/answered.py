"""An answer with what it really cost."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thrifty.cells.prices.money import UNIT, read_amount, total
from thrifty.errors import BadInput, MalformedAnswer

__all__ = ["Answered", "divided"]


@dataclass(frozen=True, eq=False)
class Answered:
    """What a provider function may return instead of the bare table.

    Parameters
    ----------
    values : array
        rows x features, as ever; or a :class:`thrifty.errors.MalformedAnswer` that says why there
        are none, though the call was billed
    cost : None, number, str or sequence
        what the call cost in all, or one amount per example, in the currency of the prices; floats
        are rounded to the nearest millionth, decimals and text are exact. It is booked instead of
        the price that was reserved; what is above that is on the balance as ``over``

    >>> Answered([[1, 0]], cost="0.00042 USD").in_minor_units(np.array([500])).tolist()
    [420]
    """

    values: object
    cost: ArrayLike | Decimal | None = None

    def in_minor_units(
        self, reserved: NDArray[np.int64], currency: str = ""
    ) -> NDArray[np.int64] | None:
        """What each example cost; one sum for all is divided like the reservation.

        ``currency`` is that of the prices; an amount in another one is no answer.
        """
        if self.cost is None:
            return None
        try:
            if isinstance(self.cost, str | Decimal) or np.ndim(self.cost) == 0:
                return divided(_minor(self.cost, currency), reserved)
            costs = np.asarray(self.cost, dtype=object)
            each = np.array([_minor(c, currency) for c in costs], dtype=np.int64)
        except (BadInput, TypeError, ValueError, OverflowError) as error:
            raise MalformedAnswer(f"the provider's cost cannot be read: {error}") from error
        if len(each) != len(reserved):
            raise MalformedAnswer(
                f"the provider gave {len(each)} costs for {len(reserved)} examples; one each, or "
                "one for all."
            )
        return each


def _minor(given: object, currency: str) -> int:
    """A float has its last bit from nowhere: the nearest millionth is meant. Others are exact."""
    if isinstance(given, float | np.floating) and 0 <= given < 1e9:
        return round(float(given) * UNIT)
    minor, label = read_amount(given, "cost")
    if label and currency and label != currency:
        raise BadInput(f"it is in {label}, and the prices are in {currency}.")
    return minor


def divided(sum_: int, reserved: NDArray[np.int64]) -> NDArray[np.int64]:
    """A sum in parts that are like others, to the last unit.

    >>> divided(10, np.array([1, 1, 1])).tolist()
    [4, 3, 3]
    """
    whole = max(total(reserved), 1)
    out = np.array([sum_ * int(r) // whole for r in reserved], dtype=np.int64)
    out[0] += sum_ - total(out)
    return out
