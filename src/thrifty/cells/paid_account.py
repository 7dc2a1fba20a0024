"""An account of a source that costs: what it has answered is in the ledger, the rest is bought."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thrifty.cells.ledger.allowance import limits_of
from thrifty.cells.ledger.ledger import Ledger
from thrifty.cells.ledger.paid import PaidCells
from thrifty.cells.ledger.plan import known_cells
from thrifty.cells.prices.bill_lines import BillLine
from thrifty.cells.prices.price_list import PricesLike
from thrifty.cells.prices.tariff import Holdings, Tariff
from thrifty.cells.sources.callable import CallableSource
from thrifty.errors import BadInput
from thrifty.typing import AnyArray

__all__ = ["PaidAccount"]


class PaidAccount:
    """Cells that a provider is paid for, once, whichever task asks."""

    one_each = False
    is_paid = True

    def __init__(
        self, source: CallableSource, prices: PricesLike, ledger: Ledger | None, task: str, *,
        spend: float | None, is_task: bool, to_buy: bool,
    ) -> None:  # fmt: skip
        if ledger is None:
            raise BadInput(
                f"{source.name!r} costs, and is only read through a ledger, which pays for each "
                "cell once: learn with life.learn, predict with life.predict(task, source) or, for "
                "trees of other libraries, life.metered(model, source)."
            )
        self.paid = PaidCells(source, ledger, prices, task, to_buy=to_buy)
        limits = ledger.limits(self.tariff.currency)
        self.paid.limit(limits_of(limits, spend, is_task=is_task))
        self.each, self.meter = self.tariff.marginal, self.paid.meter

    @property
    def tariff(self) -> Tariff:
        """What the provider asks."""
        return self.paid.tariff

    def left(self) -> int | None:
        """What may still be spent, in minor units; what is reserved may not."""
        return self.paid.left()

    def get(self, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> AnyArray:
        """Values of rows x columns."""
        return self.paid.get(rows, columns)

    def columns(self, columns: NDArray[np.int64], mask: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Boolean columns, packed; bits outside the mask are 0."""
        return self.paid.columns(columns, mask)

    def tiles(self) -> NDArray[np.uint64]:
        """Every cell, all of them Boolean, in tiles."""
        return self.paid.tiles()

    def table(self) -> AnyArray:
        """Every cell, whatever its kind."""
        source = self.paid.source
        return self.paid.get(np.arange(source.n_examples), np.arange(source.n_features))

    def holdings(self, columns: NDArray[np.int64]) -> Holdings:
        """What the ledger knows of these columns and of those that orders tie to them."""
        self.paid.load(np.union1d(self.tariff.wanted(columns), self.tariff.tied))
        return known_cells(self.paid.known)

    def owned_cells(self, only: NDArray[np.int64] | None) -> int:
        """How many cells others have paid for, of the columns that were looked up."""
        looked_up = np.flatnonzero(self.paid.known.loaded)
        if only is not None:
            looked_up = np.intersect1d(looked_up, only)
        return self.paid.meter.owned.count(looked_up)

    def cost(self) -> float:
        """What this task has cost so far, earlier runs of it and late answers included."""
        return self.paid.cost

    def lines(self) -> list[BillLine]:
        """What was paid for since the door was opened, line by line."""
        return self.paid.lines.sorted()

    def gaps(self) -> int:
        """Cells that were asked for, failed again and again, and count as gaps."""
        return self.paid.gaps

    def row_costs(self) -> NDArray[np.int64]:
        """What each example has cost since the door was opened, in minor units."""
        return self.paid.row_costs
