"""An answer with what it really cost, and what became of cells that have no value."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thrifty.cells.prices.money import UNIT, read_amount, total
from thrifty.errors import BadInput, MalformedAnswer

__all__ = ["FAILED", "Answered", "divided"]

#: what may have become of a cell that has no value, in the words of ``ledger.resolve``
FAILED = ("not-billed", "billed", "unknown")


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
    failed : None or sequence
        what became of each example, or of each cell (examples x features): ``""`` or None where it
        was answered; ``"not-billed"``, it failed and costs nothing; ``"billed"``, it failed and
        costs ``PriceList(failed=)`` of its price; ``"unknown"``, nobody can tell, and its money
        stays reserved. What stands in ``values`` there is not read. A cell that was not billed
        takes off its own price; what its row pays once (fees, orders) is owed as long as any cell
        of the row was answered

    >>> Answered([[1, 0]], cost="0.00042 USD").in_minor_units(np.array([500])).tolist()
    [420]
    >>> Answered([[1, 0], None], failed=["", "not-billed"]).ends(2, 2).tolist()
    [[0, 0], [1, 1]]
    """

    values: object
    cost: ArrayLike | Decimal | None = None
    failed: object = None

    def ends(self, n_examples: int, n_features: int) -> NDArray[np.int8]:
        """What became of each cell: 0 where it was answered, else 1 and its place in FAILED."""
        shape = (n_examples, n_features)
        if self.failed is None:
            return np.zeros(shape, dtype=np.int8)
        try:
            said = np.asarray(self.failed, dtype=object)
        except ValueError as error:
            raise MalformedAnswer(_odd_ends(shape, "rows of different lengths")) from error
        if said.shape == (n_examples,) and not any(isinstance(s, list | tuple) for s in said):
            said = np.repeat(said[:, None], n_features, axis=1)
        if said.shape != shape:
            raise MalformedAnswer(_odd_ends(shape, f"shape {said.shape}"))
        out = np.zeros(shape, dtype=np.int8)
        for at, word in np.ndenumerate(said):
            if word is None or (isinstance(word, str) and not word):
                continue
            if not isinstance(word, str) or word not in FAILED:
                raise MalformedAnswer(_odd_ends(shape, f"{str(word)[:40]!r}"))
            out[at] = FAILED.index(word) + 1
        return out

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


def _odd_ends(shape: tuple[int, int], came: str) -> str:
    words = ", ".join(map(repr, FAILED))
    return (
        f"failed= must hold one of {words}, or '' where there is an answer, for each of "
        f"{shape[0]} examples or of {shape[0]} x {shape[1]} cells; the provider gave {came}."
    )


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
