"""Tables of bought cells, as fits and orders of questions take them."""

from typing import Any

import numpy as np

from thrifty.models.table import Table


def table_of(X: np.ndarray, y: np.ndarray, bought: np.ndarray | None = None, **more: Any) -> Table:
    """A table of all rows and features; every cell is bought unless the test says otherwise."""
    n, k = X.shape
    bought = np.ones((n, k), dtype=bool) if bought is None else bought
    return Table(np.arange(k), np.arange(n), X, bought, more.pop("weights", np.ones(n)), y, **more)
