"""A table that is free to read: its cells are counted, and cost what the user says.

The other account, of a source that is paid for, is :mod:`thrifty.cells.ledger.paid`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thrifty import kernels
from thrifty.cells.ledger.allowance import limits_of, smallest
from thrifty.cells.ledger.ledger import Ledger
from thrifty.cells.ledger.meter import Meter, Owned, absent_cells
from thrifty.cells.prices.bill_lines import BillLine, Lines, lines_of_bill, lines_of_counts
from thrifty.cells.prices.money import Limits, product, refuse_too_large, to_units
from thrifty.cells.prices.price_list import PriceList, PricesLike, as_price_list, read_prices
from thrifty.cells.prices.tariff import Holdings, OwnedCells, PriceOfCells, Tariff
from thrifty.cells.sources import Source
from thrifty.typing import AnyArray

__all__ = ["FreeAccount"]


class FreeAccount:
    """Cells that are counted, with no provider behind them, and paid for within limits."""

    #: fees, orders and amounts of money; None where every column is sold by itself
    tariff: Tariff | None = None

    def __init__(
        self, source: Source, prices: PricesLike, owned: Owned | None, ledger: Ledger | None, *,
        only: NDArray[np.int64] | None, spend: float | None, is_task: bool,
    ) -> None:  # fmt: skip
        self._source, self._only = source, only
        #: whether every cell costs 1, so that the cost is the number of cells
        self.one_each = False
        budget = ledger.budget if ledger is not None else None
        limited = budget is not None or spend is not None
        if isinstance(prices, PriceList) or limited:
            self.tariff = as_price_list(prices).tariff(source.feature_names)
            self.each = self.tariff.marginal
        else:
            self.each = read_prices(prices, source.feature_names)
            self.one_each = prices is None
        follows = {} if self.tariff is None else self.tariff.follows
        self._absent = absent_cells(source.present, follows)
        self._limits, self._used = Limits(), 0
        if self.tariff is not None and limited:
            self._limits = Limits(currency=self.tariff.currency)
            if ledger is not None and budget is not None:
                self._limits = ledger.limits(self.tariff.currency)
                self._used = ledger.book.read(lambda pages: sum(pages.balance(None)) + pages.over())
            self._limits = limits_of(self._limits, spend, is_task=is_task)
        # Without a limit too: what an order costs depends on what was there before it.
        self._pays = self.tariff is not None and (limited or bool(self.tariff.parts))
        self._begin(owned)

    def _begin(self, owned: Owned | None) -> None:
        source = self._source
        self._owned_before = owned.count(self._only) if owned is not None else 0
        #: what went through, a bit per cell
        self.meter = Meter(source.n_examples, source.n_features, owned, self._absent)
        #: looks that cost something, in their order, where orders make that matter
        self.paid_looks: list[tuple[NDArray[np.int64], NDArray[np.uint64]]] = []
        self._spent, self._lines = 0, Lines()
        self._row_costs = np.zeros(source.n_examples, dtype=np.int64)

    def own(self, owned: Owned) -> None:
        """Others have paid for some of it meanwhile: what was looked at is counted again."""
        before, looks = self.meter, self.paid_looks
        self._limits, self._used = Limits(), 0  # it was within its limits when it cost more
        self._begin(owned)
        for columns, mask in looks:
            self.look(columns, mask)
        if before.everything:
            self._look_at_everything()
        for f in before.touched_features.tolist():
            self.look(np.array([f]), before.touched[f])

    def left(self) -> int | None:
        """What may still be spent, in minor units; None: no limit."""
        limits = self._limits
        return smallest(
            None if limits.total is None else limits.total - self._used - self._spent,
            None if limits.per_task is None else limits.per_task - self._spent,
        )

    def get(self, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> AnyArray:
        """Values of rows x columns."""
        self.look(columns, kernels.mask_of_rows(rows, self._source.n_examples))
        return self._source.read(rows, columns)

    def columns(self, columns: NDArray[np.int64], mask: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Boolean columns, packed; bits outside the mask are 0."""
        self.look(columns, mask)
        return self._source.columns(columns) & mask

    def look(self, columns: NDArray[np.int64], mask: NDArray[np.uint64]) -> None:
        """Pay for columns on the rows of a mask, and count them; nothing is read."""
        bill = self._pay(columns, mask)
        for filled in bill.orders if bill is not None else ():
            # what an order fills beside is owned for nothing
            rows = kernels.mask_of_rows(filled.rows, self._source.n_examples)
            self.meter.charge(filled.features, rows)
        self.meter.charge(columns, mask)

    def _pay(self, columns: NDArray[np.int64], mask: NDArray[np.uint64]) -> PriceOfCells | None:
        """Refuse a look that would cost more than is left; otherwise note what it costs."""
        tariff, limits, spent = self.tariff, self._limits, self._spent
        if tariff is None or not self._pays or self.meter.everything:
            return None
        bill = tariff.bill(columns, mask, self.holdings(columns))
        cost = bill.total()
        if not cost:
            return bill
        refuse_too_large(self._used + spent + cost, "the sum of all purchases")
        limits.check("total", cost, self._used + spent)
        limits.check("task", cost, spent)
        if limits.per_example is not None or tariff.parts:
            each = bill.per_row(len(self._row_costs))
            worst = int(np.argmax(np.where(each > 0, self._row_costs + each, -1)))
            before = int(self._row_costs[worst])
            limits.check("example", int(each[worst]), before, f" on example {worst}")
            self._row_costs += each
        self._spent += cost
        if tariff.parts:
            self.paid_looks.append((columns, mask))
            self._lines.add(lines_of_bill(bill, tariff, self._source.feature_names))
        return bill

    def tiles(self) -> NDArray[np.uint64]:
        """Every cell, all of them Boolean, in tiles."""
        self._look_at_everything()
        return self._source.tiles()

    def table(self) -> AnyArray:
        """Every cell, whatever its kind."""
        self._look_at_everything()
        return self._source.table()

    def _look_at_everything(self) -> None:
        n, N = self._source.n_examples, self._source.n_features
        if self._pays:
            self._pay(np.arange(N), kernels.mask_of_rows(np.arange(n), n))
        self.meter.charge_everything()

    def holdings(self, columns: NDArray[np.int64]) -> Holdings:
        """What is there already, as the tariff asks for it."""
        assert self.tariff is not None
        return OwnedCells(self.tariff, self.meter.had, self.meter.lacking)

    def owned_cells(self, only: NDArray[np.int64] | None) -> int:
        """How many of the cells on offer somebody else has paid for."""
        return self._owned_before

    def cost(self) -> float:
        """What was counted so far, in the unit of the prices."""
        bought, tariff = self.meter.bought_per_feature, self.tariff
        if tariff is None:
            return float(bought @ self.each)
        if tariff.parts:
            return to_units(self._spent)
        fees = sum(tariff.draws[d].fee * n for d, n in self._draws(tariff).items())
        return to_units(product(bought, tariff.own) + fees)

    def _draws(self, tariff: Tariff) -> dict[int, int]:
        """How often each was paid that is paid once per example."""
        return {d: self.meter.count_any(tariff.needing(d)) for d in range(len(tariff.draws))}

    def lines(self) -> list[BillLine]:
        """What was counted, line by line."""
        tariff = self.tariff
        if tariff is None:
            return []
        if tariff.parts:
            return self._lines.sorted()
        cells, names = self.meter.bought_per_feature, self._source.feature_names
        return Lines(lines_of_counts(tariff, names, cells, self._draws(tariff))).sorted()

    def gaps(self) -> int:
        """A table answers whatever it holds."""
        return 0

    def row_costs(self) -> NDArray[np.int64]:
        """What each example has cost, in minor units; kept where orders fill columns."""
        return self._row_costs
