"""An answer with what it really cost, and what became of cells that have no value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thrifty.cells.prices.money import UNIT, read_amount, total
from thrifty.cells.sources.checks import one_form
from thrifty.errors import BadInput, MalformedAnswer
from thrifty.typing import Ints

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

    Raises
    ------
    thrifty.errors.MalformedAnswer
        ``cost`` or ``failed`` does not fit the call; the call counts as billed

    See Also
    --------
    thrifty.Source.from_callable : whose function returns it
    thrifty.PriceList : ``failed=``, what a failed call costs

    Examples
    --------
    >>> Answered([[1, 0]], cost="0.00042 USD").in_minor_units(np.array([500])).tolist()
    [420]
    >>> Answered([[1, 0], None], failed=["", "not-billed"]).ends(2, 2).tolist()
    [[0, 0], [1, 1]]
    """

    values: object
    cost: ArrayLike | Decimal | None = None
    failed: object = None

    def in_order(self, examples: Sequence[object], features: Sequence[str]) -> Answered:
        """With costs and failures in the order asked, where an index says whose they are."""
        try:
            cost = in_asked_order(self.cost, "costs", examples)
            failed = in_asked_order(self.failed, "failures", examples)
            if hasattr(failed, "columns"):
                failed = in_asked_order(failed.T, "failures", features).T
        except MalformedAnswer as error:
            return Answered(error)
        except Exception as error:  # an object of the provider's that fails when it is looked at
            return Answered(MalformedAnswer(f"the answer cannot be read ({_kind(error)})."))
        return Answered(self.values, cost, failed)

    def ends(self, n_examples: int, n_features: int) -> NDArray[np.int8]:
        """What became of each cell: 0 where it was answered, else 1 and its place in FAILED."""
        shape = (n_examples, n_features)
        if self.failed is None:
            return np.zeros(shape, dtype=np.int8)
        try:
            return self._ends(shape)
        except MalformedAnswer:
            raise
        except Exception as error:
            raise MalformedAnswer(
                _odd_ends(shape, f"what cannot be read ({_kind(error)})")
            ) from error

    def _ends(self, shape: tuple[int, int]) -> NDArray[np.int8]:
        n_examples, n_features = shape
        if np.ma.isMA(self.failed) and np.ma.is_masked(self.failed):
            raise MalformedAnswer(_odd_ends(shape, "a masked array"))
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

    def in_minor_units(self, reserved: Ints, currency: str = "") -> Ints | None:
        """What each example cost; one sum for all is divided like the reservation.

        ``currency`` is that of the prices; an amount in another one is no answer.
        """
        if self.cost is None:
            return None
        try:
            if isinstance(self.cost, str | Decimal) or np.ndim(self.cost) == 0:
                return divided(_minor(self.cost, currency), reserved)
            if np.ma.isMA(self.cost) and np.ma.is_masked(self.cost):
                raise BadInput("a masked cost is not a cost.")
            costs = np.asarray(self.cost, dtype=object)
            each = np.array([_minor(c, currency) for c in costs], dtype=np.int64)
        except Exception as error:
            raise MalformedAnswer(f"the provider's cost cannot be read: {_kind(error)}") from error
        if len(each) != len(reserved):
            raise MalformedAnswer(
                f"the provider gave {len(each)} costs for {len(reserved)} examples; one each, or "
                "one for all."
            )
        return each


def in_asked_order(given: Any, what: str, *asked: Sequence[object]) -> Any:
    """Something of pandas by its index, in the order asked; anything else as it is.

    ``asked``: what was asked for, by every name that it has. By position values would be those of
    others, so an index that names something else is no answer.

    >>> import pandas
    >>> in_asked_order(pandas.Series({"b": 2, "a": 1}), "costs", ["a", "b"]).tolist()
    [1, 2]
    """
    if not (hasattr(given, "iloc") and hasattr(given, "index")):
        return given
    said = [one_form(str(i)) for i in given.index]
    names = [[one_form(str(a)) for a in some] for some in asked]
    if said in names:
        return given
    same = [some for some in names if sorted(some) == sorted(said)]
    if len(same) != 1 or len(set(said)) < len(said):
        raise MalformedAnswer(
            f"the {what} came with an index that does not say whose they are: "
            f"{', '.join(map(repr, said[:3]))}, ... where {', '.join(map(repr, names[0][:3]))}, "
            "... were asked. Bring those, or, where the order is the one asked, .to_numpy()."
        )
    at = {name: i for i, name in enumerate(said)}
    return given.iloc[[at[name] for name in same[0]]]


def _kind(error: Exception) -> str:
    """What to say of an error; that of a stranger's object may not even have a text."""
    return str(error) if isinstance(error, BadInput) else type(error).__name__


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


def divided(sum_: int, reserved: Ints) -> Ints:
    """A sum in parts that are like others, to the last unit.

    >>> divided(10, np.array([1, 1, 1])).tolist()
    [4, 3, 3]
    """
    whole = max(total(reserved), 1)
    out = np.array([sum_ * int(r) // whole for r in reserved], dtype=np.int64)
    out[0] += sum_ - total(out)
    return out
