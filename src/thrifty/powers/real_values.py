"""Bought values of either sign: the one place where polynomials touch cells."""

from __future__ import annotations

from typing import Any

import numpy as np

from thrifty.errors import BadInput

__all__ = ["RealValues"]


class RealValues:
    """A thin view of a ``Cells`` door that refuses what is not finite."""

    def __init__(self, cells: Any) -> None:
        self.cells = cells
        self.n_examples = int(cells.n_examples)
        self.n_features = int(cells.n_features)
        self.row_seed = int(cells.row_seed)

    def owned_rows(self, features: np.ndarray) -> np.ndarray:
        """Rows on which all of these can be looked at for nothing."""
        return np.asarray(self.cells.owned_rows(features))

    def values(self, rows: np.ndarray, features: np.ndarray) -> np.ndarray:
        """Bought values, checked."""
        bought = np.asarray(self.cells.get(rows, features), dtype=np.float64)
        wrong = ~np.isfinite(bought)
        if wrong.any():
            row, column = (int(index[0]) for index in np.nonzero(wrong))
            name = self.cells.feature_names[int(features[column])]
            raise BadInput(
                f"polynomials need finite values, but feature {name!r} is {bought[row, column]} "
                f"on example {int(rows[row])}. Leave the example or the feature out."
            )
        return bought
