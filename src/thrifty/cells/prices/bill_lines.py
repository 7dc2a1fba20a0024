"""A bill line by line, as a laboratory writes it: what was ordered, how often, for how much."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thrifty.cells.prices.tariff import PriceOfCells, Tariff

__all__ = ["BillLine", "Lines", "lines_of_bill", "lines_of_counts"]


@dataclass(frozen=True, slots=True)
class BillLine:
    """So many of one thing, in minor units."""

    what: str
    count: int
    amount: int


def lines_of_bill(bill: PriceOfCells, tariff: Tariff, names: Sequence[str]) -> list[BillLine]:
    """Single tests, orders, and what is paid once per example; what is free is left out."""
    lines: list[BillLine] = []
    counts = np.bitwise_count(bill.fresh).sum(axis=1, dtype=np.int64)
    for f, price, n in zip(bill.features.tolist(), bill.own.tolist(), counts.tolist()):
        lines.append(BillLine(names[f], n, n * price))
    for d, (fee, rows) in bill.fees.items():
        n = int(np.bitwise_count(rows).sum())
        lines.append(BillLine(tariff.draws[d].title, n, n * fee))
    for filled in bill.orders:
        n, part, rest = len(filled.rows), filled.part, filled.basket.price
        for o in filled.basket.offers:
            price, d = part.cover.offers[o].price, part.orders[o]
            title = tariff.draws[d].title if d >= 0 else names[part.single[o]]
            lines.append(BillLine(title, n, n * price))
            rest -= price
        begun = " and ".join(tariff.draws[d].title for d in part.begun(filled.basket))
        lines.append(BillLine(begun, n if rest else 0, n * rest))
    if bill.calls is not None:
        asked = int((bill.calls > 0).sum())
        lines.append(BillLine("calls", asked, sum(bill.calls.tolist())))
    return [line for line in lines if line.amount]


def lines_of_counts(
    tariff: Tariff, names: Sequence[str], cells: NDArray[np.int64], draws: Mapping[int, int]
) -> list[BillLine]:
    """The same from how many cells were bought and how often each draw was paid."""
    lines = [
        BillLine(names[f], int(cells[f]), int(cells[f]) * int(tariff.own[f]))
        for f in np.flatnonzero((cells > 0) & (tariff.own > 0)).tolist()
    ]
    ordered = {f for d in draws if tariff.draws[d].kind == "order" for f in tariff.draws[d].members}
    for part in tariff.parts:  # what came without an order was bought alone
        for offer, f in zip(part.cover.offers, part.single):
            if f >= 0 and f not in ordered and cells[f]:
                lines.append(BillLine(names[f], int(cells[f]), int(cells[f]) * offer.price))
    for d, n in draws.items():
        lines.append(BillLine(tariff.draws[d].title, n, n * tariff.draws[d].fee))
    return [line for line in lines if line.amount]


class Lines:
    """Lines that come purchase by purchase, one kept for each thing.

    >>> lines = Lines([BillLine("sodium", 2, 962), BillLine("draw", 1, 909)])
    >>> lines.add([BillLine("sodium", 1, 481)])
    >>> lines.sorted()
    [BillLine(what='sodium', count=3, amount=1443), BillLine(what='draw', count=1, amount=909)]
    """

    def __init__(self, lines: Iterable[BillLine] = ()) -> None:
        self._of: dict[str, tuple[int, int]] = {}
        self.add(lines)

    def add(self, lines: Iterable[BillLine]) -> None:
        """Take in more."""
        of = self._of
        for line in lines:
            count, amount = of.get(line.what, (0, 0))
            of[line.what] = (count + line.count, amount + line.amount)

    def sorted(self) -> list[BillLine]:
        """The dearest first."""
        summed = [BillLine(what, n, amount) for what, (n, amount) in self._of.items()]
        return sorted(summed, key=lambda line: (-line.amount, line.what))
