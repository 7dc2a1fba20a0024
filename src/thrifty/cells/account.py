"""What stands behind a door: an account that reads cells and counts, or pays for, each once."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from thrifty.cells.ledger.meter import Meter
from thrifty.cells.prices.bill_lines import BillLine
from thrifty.cells.prices.tariff import Holdings, Tariff
from thrifty.typing import AnyArray

__all__ = ["Account"]


class Account(Protocol):
    """Cells of a source by its own columns, and what they have cost; free to read, or paid for.

    See Also
    --------
    thrifty.cells.free_account.FreeAccount : of a table, counted in memory.
    thrifty.cells.paid_account.PaidAccount : of a source that costs, kept in a ledger.
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
