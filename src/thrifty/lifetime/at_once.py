"""Several tasks on the same rows at once: one door, one table, a bill that they share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol, runtime_checkable

from thrifty.attempt import Found
from thrifty.cells import Cells, Receipt
from thrifty.labels.partly import PartlyLabelled

__all__ = ["LearnsTogether", "in_shares", "shared_receipts"]


@runtime_checkable
class LearnsTogether(Protocol):
    """A family that learns several tasks on the same rows from one table."""

    def learn_together(
        self, representation: object, cells: Cells, tasks: Sequence[PartlyLabelled]
    ) -> Sequence[Found[object]]: ...

    def learn_again(
        self, cells: Cells, tasks: Sequence[PartlyLabelled], models: Sequence[object]
    ) -> Sequence[object | None]:
        """Models of earlier tasks on all that is known now; None where the old one stays."""


def in_shares(amount: int, n: int) -> list[int]:
    """n whole numbers as alike as can be, with this sum.

    >>> in_shares(8, 3)
    [3, 3, 2]
    """
    return [amount // n + (i < amount % n) for i in range(n)]


def shared_receipts(receipt: Receipt, n: int) -> list[Receipt]:
    """What n tasks paid together, as the bill of each: cells, money and lines sum to the whole.

    >>> both = shared_receipts(Receipt(5, 2.5, 0, 3, 2, 4, 2, {"a": 3, "b": 2}), 2)
    >>> [one.cells for one in both], sum(one.cost for one in both), both[0].per_feature
    ([3, 2], 2.5, {'a': 2, 'b': 1})
    """
    costs = _money(receipt.cost, n)
    counts = {name: in_shares(count, n) for name, count in receipt.per_feature.items()}
    cells = in_shares(receipt.cells, n)
    reused, avoided = in_shares(receipt.reused_cells, n), in_shares(receipt.avoided_cells, n)
    lines = [(what, in_shares(count, n), _money(sum_, n)) for what, count, sum_ in receipt.lines]
    return [
        replace(
            receipt,
            cells=cells[i],
            cost=costs[i],
            reused_cells=reused[i],
            avoided_cells=avoided[i],
            per_feature={name: parts[i] for name, parts in counts.items() if parts[i]},
            lines=tuple((what, c[i], sums[i]) for what, c, sums in lines if c[i] or sums[i]),
        )
        for i in range(n)
    ]


def _money(amount: float, n: int) -> list[float]:
    """An amount in n parts of whole millionths, the smallest that is counted."""
    return [part / 1e6 for part in in_shares(round(amount * 1e6), n)]
