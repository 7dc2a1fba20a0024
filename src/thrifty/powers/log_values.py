"""Logarithms of bought values: the one place where monomials touch cells."""

from __future__ import annotations

from typing import Any

import numpy as np

from thrifty.errors import BadInput

__all__ = ["LogValues"]


class LogValues:
    """A thin view of a ``Cells`` door that gives logs and refuses what has none."""

    def __init__(self, cells: Any) -> None:
        self.cells = cells
        self.n_examples = int(cells.n_examples)
        self.n_features = int(cells.n_features)
        self.row_seed = int(cells.row_seed)

    def values(self, rows: np.ndarray, features: np.ndarray) -> np.ndarray:
        """Bought values, checked: finite and positive."""
        bought = np.asarray(self.cells.get(rows, features), dtype=np.float64)
        wrong = ~(np.isfinite(bought) & (bought > 0))
        if wrong.any():
            row, column = (int(index[0]) for index in np.nonzero(wrong))
            name = self.cells.feature_names[int(features[column])]
            raise BadInput(
                f"monomials need finite values above 0, but feature {name!r} is "
                f"{bought[row, column]} on example {int(rows[row])}. Shift or scale the feature, "
                "leave it out, or learn with thrifty.Polynomials, which takes any finite value."
            )
        return bought

    def owned_rows(self, features: np.ndarray) -> np.ndarray:
        """Rows on which all of these can be looked at for nothing."""
        return np.asarray(self.cells.owned_rows(features))

    def logs(self, rows: np.ndarray, features: np.ndarray) -> np.ndarray:
        """Natural logs of :meth:`values`."""
        return np.asarray(np.log(self.values(rows, features)))
