"""What everything behind a door would still cost: cells that are owned cost nothing."""

from __future__ import annotations

import numpy as np

from thrifty.cells import Cells

__all__ = ["to_pay"]


def to_pay(cells: Cells) -> float:
    """The price of all cells that are not owned.

    >>> cells = Cells(np.zeros((2, 3), dtype=bool))
    >>> _ = cells.get([0], [0, 1])
    >>> to_pay(cells)
    4.0
    """
    return cells.price_of(np.arange(cells.n_examples), np.arange(cells.n_features))
