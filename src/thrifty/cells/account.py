"""What stands behind a door: an account that reads cells and counts, or pays for, each once."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from thrifty import kernels
from thrifty.cells.ledger.allowance import Purse, limits_of
from thrifty.cells.ledger.ledger import Ledger
from thrifty.cells.ledger.meter import Meter, Owned, absent_cells
from thrifty.cells.prices.bill_lines import BillLine, Lines, lines_of_counts
from thrifty.cells.prices.money import Limits, product, to_units
from thrifty.cells.prices.price_list import PriceList, PricesLike, as_price_list, read_prices
from thrifty.cells.prices.tariff import Holdings, OwnedCells, PriceOfCells, Tariff
from thrifty.cells.sources import Source
from thrifty.typing import AnyArray

__all__ = ["Account", "FreeAccount"]


class Account(Protocol):
    """Cells of a source by its own columns, and what they have cost; free to read, or paid for.

    See Also
    --------
    thrifty.cells.account.FreeAccount : of a table, counted in memory.
    thrifty.cells.ledger.paid.PaidAccount : of a source that costs, kept in a ledger.
    """

    #: what went through the door, a bit per cell
    meter: Meter
    #: what a cell of each column costs, where nothing is bought yet
    each: NDArray[np.float64]
    #: whether every cell costs 1, so that the cost is the number of cells
    one_each: bool
    #: whether a provider is paid, who may bill otherwise than listed
    is_paid: bool

    @property
    def tariff(self) -> Tariff | None:
        """Fees, orders and amounts of money; None where every column is sold by itself."""

    def left(self) -> int | None:
        """What may still be spent, in minor units; None: no limit."""

    def get(self, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> AnyArray:
        """Values of rows x columns."""

    def columns(self, columns: NDArray[np.int64], mask: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Boolean columns on the rows of a mask, packed."""

    def tiles(self) -> NDArray[np.uint64]:
        """Every cell, all of them Boolean, in tiles."""

    def table(self) -> AnyArray:
        """Every cell, whatever its kind."""

    def holdings(self, columns: NDArray[np.int64]) -> Holdings:
        """What is there already of these columns and of those tied to them."""

    def owned_cells(self, only: NDArray[np.int64] | None) -> int:
        """How many cells somebody else has paid for; of these columns, None: of all."""

    def cost(self) -> float:
        """What was spent so far, in the unit of the prices."""

    def lines(self) -> list[BillLine]:
        """What was paid for, line by line."""

    def gaps(self) -> int:
        """Cells that were asked for, failed again and again, and count as gaps."""

    def row_costs(self) -> NDArray[np.int64]:
        """What each example has cost, in minor units; kept where orders fill columns."""


class FreeAccount:
    """Cells that are counted and cost what the user says, with no provider behind them."""

    is_paid = False

    def __init__(
        self, source: Source, prices: PricesLike, owned: Owned | None, ledger: Ledger | None, *,
        only: NDArray[np.int64] | None, spend: float | None, is_task: bool,
    ) -> None:  # fmt: skip
        self._source = source
        self.tariff: Tariff | None = None
        self.one_each = False
        budget = ledger.budget if ledger is not None else None
        limited = budget is not None or spend is not None
        if isinstance(prices, PriceList) or limited:
            self.tariff = as_price_list(prices).tariff(source.feature_names)
            self.each = self.tariff.marginal
        else:
            self.each = read_prices(prices, source.feature_names)
            self.one_each = prices is None
        self._owned_before = owned.count(only) if owned is not None else 0
        follows = {} if self.tariff is None else self.tariff.follows
        self._absent = absent_cells(source.present, follows)
        self._only = only
        self.meter = Meter(source.n_examples, source.n_features, owned, self._absent)
        self._purse: Purse | None = None
        #: looks that cost something, in their order, where orders make that matter
        self.paid_looks: list[tuple[NDArray[np.int64], NDArray[np.uint64]]] = []
        if self.tariff is not None and (limited or self.tariff.parts):
            # Without a limit too: what an order costs depends on what was there before it.
            self._purse = self._opened(self.tariff, ledger, spend, is_task, limited=limited)

    def _opened(
        self,
        tariff: Tariff,
        ledger: Ledger | None,
        spend: float | None,
        is_task: bool,
        *,
        limited: bool,
    ) -> Purse:
        used, limits = 0, Limits(currency=tariff.currency) if limited else Limits()
        if ledger is not None and ledger.budget is not None:
            used = ledger.book.read(lambda pages: sum(pages.balance(None)) + pages.over())
            limits = ledger.limits(tariff.currency)
        if limited:
            limits = limits_of(limits, spend, is_task=is_task)
        return Purse(limits, tariff, self.meter, used, self._source.feature_names)

    def own(self, owned: Owned) -> None:
        """Others have paid for some of it meanwhile: what was looked at is counted again."""
        source, before, looks = self._source, self.meter, self.paid_looks
        self._owned_before = owned.count(self._only)
        self.meter, self.paid_looks = (
            Meter(source.n_examples, source.n_features, owned, self._absent),
            [],
        )
        if self._purse is not None:  # it was within its limits when it cost more
            tariff = self._purse.tariff
            self._purse = Purse(Limits(), tariff, self.meter, 0, source.feature_names)
        for columns, mask in looks:
            self.look(columns, mask)
        if before.everything:
            self._look_at_everything()
        for f in before.touched_features.tolist():
            self.look(np.array([f]), before.touched[f])

    def left(self) -> int | None:
        """What may still be spent, in minor units."""
        return None if self._purse is None else self._purse.left()

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
        if self._purse is None:
            return None
        before = self._purse.spent
        bill = self._purse.pay(columns, mask)
        if self._purse.tariff.parts and self._purse.spent != before:
            self.paid_looks.append((columns, mask))
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
        if self._purse is not None:
            n = self._source.n_examples
            all_rows = kernels.mask_of_rows(np.arange(n), n)
            self._pay(np.arange(self._source.n_features), all_rows)
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
        bought = self.meter.bought_per_feature
        if self.tariff is None:
            return float(bought @ self.each)
        if self.tariff.parts and self._purse is not None:
            return to_units(self._purse.spent)
        minor = product(bought, self.tariff.own)
        for d, draw in enumerate(self.tariff.draws):
            minor += draw.fee * self.meter.count_any(self.tariff.needing(d))
        return to_units(minor)

    def lines(self) -> list[BillLine]:
        """What was counted, line by line."""
        tariff = self.tariff
        if tariff is None:
            return []
        if tariff.parts and self._purse is not None:
            return self._purse.lines.sorted()
        draws = {d: self.meter.count_any(tariff.needing(d)) for d in range(len(tariff.draws))}
        cells = self.meter.bought_per_feature
        return Lines(lines_of_counts(tariff, self._source.feature_names, cells, draws)).sorted()

    def gaps(self) -> int:
        """A table answers whatever it holds."""
        return 0

    def row_costs(self) -> NDArray[np.int64]:
        """What each example has cost, in minor units."""
        assert self._purse is not None
        return self._purse.row_costs
