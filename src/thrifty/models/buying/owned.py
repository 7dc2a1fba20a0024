"""What of a task is owned already, a cohort's rows or an earlier task's, and what is to pay."""

from __future__ import annotations

import numpy as np

from thrifty.array_types import Floats, Ints
from thrifty.cells import Cells

__all__ = ["owned_first", "owns_rows", "rows_known", "to_pay"]


def owns_rows(cells: Cells) -> bool:
    """Whether anything behind the door is owned already."""
    return bool(cells.meter.owned.count())


def owned_first(cells: Cells, order: Ints) -> Ints:
    """Rows that are owned whole come first; a cohort's were drawn without regard to the label."""
    if not owns_rows(cells):
        return order
    return order[np.argsort(_row_costs(cells, order) > 0, kind="stable")]


def rows_known(cells: Cells, share: float) -> int:
    """How many rows are owned by this share of what a row costs, or more."""
    if not owns_rows(cells):
        return 0
    whole = float(np.asarray(cells.shared_prices).sum())
    return int((_row_costs(cells, np.arange(cells.n_examples)) <= (1 - share) * whole).sum())


def _row_costs(cells: Cells, rows: Ints) -> Floats:
    return cells.row_costs(rows, np.arange(cells.n_features))


def to_pay(cells: Cells) -> float:
    """The price of all cells that are not owned.

    >>> cells = Cells(np.zeros((2, 3), dtype=bool))
    >>> _ = cells.get([0], [0, 1])
    >>> to_pay(cells)
    4.0
    """
    return cells.price_of(np.arange(cells.n_examples), np.arange(cells.n_features))
