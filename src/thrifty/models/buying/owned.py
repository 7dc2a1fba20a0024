"""Rows of a task that are owned already: a cohort's, or those that earlier tasks bought."""

from __future__ import annotations

import numpy as np

from thrifty.array_types import Floats, Ints
from thrifty.cells import Cells

__all__ = ["owned_first", "owns_rows", "rows_known"]


def owns_rows(cells: Cells) -> bool:
    """Whether anything behind the door is owned already."""
    return bool(cells.meter.owned.count())


def owned_first(cells: Cells, order: Ints) -> Ints:
    """Rows that are owned whole come first; a cohort's were drawn without regard to the label."""
    if not owns_rows(cells):
        return order
    return order[np.argsort(_to_pay(cells, order) > 0, kind="stable")]


def rows_known(cells: Cells, share: float) -> int:
    """How many rows are owned by this share of what a row costs, or more."""
    if not owns_rows(cells):
        return 0
    whole = float(np.asarray(cells.shared_prices).sum())
    return int((_to_pay(cells, np.arange(cells.n_examples)) <= (1 - share) * whole).sum())


def _to_pay(cells: Cells, rows: Ints) -> Floats:
    return cells.row_costs(rows, np.arange(cells.n_features))
