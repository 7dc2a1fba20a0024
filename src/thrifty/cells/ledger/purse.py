"""A budget over a source that is free to read: counted before each look, in memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from thrifty.cells.ledger.allowance import smallest
from thrifty.cells.ledger.meter import Meter
from thrifty.cells.prices.bill_lines import Lines, lines_of_bill
from thrifty.cells.prices.budget import Limits
from thrifty.cells.prices.money import refuse_too_large
from thrifty.cells.prices.tariff import OwnedCells, PriceOfCells, Tariff

__all__ = ["Purse"]


class Purse:
    """What one task may still spend on cells that are counted, not bought from a provider.

    ``used`` is what the lifetime had spent or reserved when the task began.
    """

    def __init__(
        self, limits: Limits, tariff: Tariff, meter: Meter, used: int = 0, names: Sequence[str] = ()
    ) -> None:
        self.limits, self.tariff, self._meter, self.names = limits, tariff, meter, names
        self.used, self.spent = used, 0
        self.holdings = OwnedCells(tariff, meter.had)
        #: what each example has cost, kept where a limit or the list makes it needed
        self.row_costs = np.zeros(meter.n_examples, dtype=np.int64)
        #: what was paid for, where orders make that more than a count of cells
        self.lines = Lines()

    def left(self) -> int | None:
        """What may still be spent, in minor units."""
        limits = self.limits
        return smallest(
            None if limits.total is None else limits.total - self.used - self.spent,
            None if limits.per_task is None else limits.per_task - self.spent,
        )

    def pay(self, features: NDArray[np.int64], mask: NDArray[np.uint64]) -> PriceOfCells | None:
        """Refuse a look that would cost more than is left; otherwise note what it costs."""
        if self._meter.everything:
            return None
        bill = self.tariff.bill(features, mask, self.holdings)
        cost = bill.total()
        if not cost:
            return bill
        refuse_too_large(self.used + self.spent + cost, "the sum of all purchases")
        self.limits.check("total", cost, self.used + self.spent)
        self.limits.check("task", cost, self.spent)
        if self.limits.per_example is not None or self.tariff.parts:
            each = bill.per_row(len(self.row_costs))
            worst = int(np.argmax(np.where(each > 0, self.row_costs + each, -1)))
            before = int(self.row_costs[worst])
            self.limits.check("example", int(each[worst]), before, f" on example {worst}")
            self.row_costs += each
        self.spent += cost
        if self.tariff.parts:
            more = lines_of_bill(bill, self.tariff, self.names)
            self.lines.add(more)
        return bill
