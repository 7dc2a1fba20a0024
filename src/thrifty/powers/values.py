"""Bought values, checked: what both views of a ``Cells`` door share."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from thrifty.cells import Cells
from thrifty.errors import BadInput

__all__ = ["BoughtValues"]


class BoughtValues(ABC):
    """A thin view of a ``Cells`` door that refuses values the formula cannot take."""

    #: what is needed, and what to do about a value that is not it
    needed: str
    advice: str

    def __init__(self, cells: Cells) -> None:
        self.cells = cells
        self.n_examples = int(cells.n_examples)
        self.n_features = int(cells.n_features)
        self.row_seed = int(cells.row_seed)

    @staticmethod
    @abstractmethod
    def fits(bought: np.ndarray) -> np.ndarray:
        """Which values can be taken."""

    def values(self, rows: np.ndarray, features: np.ndarray) -> np.ndarray:
        """Bought values, checked."""
        bought = np.asarray(self.cells.get(rows, features), dtype=np.float64)
        wrong = ~self.fits(bought)
        if wrong.any():
            row, column = (int(index[0]) for index in np.nonzero(wrong))
            name = self.cells.feature_names[int(features[column])]
            raise BadInput(
                f"{self.needed}, but feature {name!r} is {bought[row, column]} on example "
                f"{int(rows[row])}. {self.advice}"
            )
        return bought

    def owned_rows(self, features: np.ndarray) -> np.ndarray:
        """Rows on which all of these can be looked at for nothing."""
        return np.asarray(self.cells.owned_rows(features))
