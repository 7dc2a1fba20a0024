"""The one door to values.

A learner asks for ``(rows, features)`` and gets values; the door charges each distinct cell once,
however often and in whatever shape it is asked for. A learner never sees the source behind it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thrifty import kernels
from thrifty.cells.billed_door import BilledDoor
from thrifty.cells.sources.row_keys import row_keys
from thrifty.typing import AnyArray

__all__ = ["Cells"]


class Cells(BilledDoor):
    """The cells of one task.

    >>> cells = Cells(np.array([[0, 1], [1, 1], [1, 0]], dtype=bool))
    >>> cells.get([0, 2], [1]).tolist()
    [[True], [False]]
    >>> _ = cells.get([0, 1], [1])                      # example 0 was paid for already
    >>> cells.receipt().cells
    3
    """

    #: of the order in which learners take rows; 0: the same for everybody
    row_seed: int = 0

    def row_order(self, salt: int) -> NDArray[np.int64]:
        """All rows in an order that data cannot be laid out against: the seed is a lifetime's own.

        Tasks of one lifetime with as many rows have the same order, and share what they bought.
        """
        seed = [salt, self.row_seed] if self.row_seed else salt
        return np.random.default_rng(seed).permutation(self.n_examples)

    def get(self, rows: ArrayLike, features: ArrayLike) -> AnyArray:
        """Values of rows x features, shape (len(rows), len(features))."""
        at = self._indices(rows, self.n_examples, "row")
        which = self._indices(features, self._source.n_features, "feature")
        if self._paid is not None:
            return self._paid.get(at, which)
        self._look(which, kernels.mask_of_rows(at, self.n_examples))
        return self._source.read(at, which)

    def columns(self, features: NDArray[np.int64], mask: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Boolean features on the rows of a mask, packed over the examples: (k, W).

        Bits outside the mask are 0: what was not paid for is not shown.
        """
        if self._paid is not None:
            return self._paid.columns(features, mask)
        self._look(features, mask)
        return self._source.columns(features) & mask

    def _look(self, features: NDArray[np.int64], mask: NDArray[np.uint64]) -> None:
        bill = self._purse.pay(features, mask) if self._purse is not None else None
        for filled in bill.orders if bill is not None else ():
            # what an order fills beside is owned for nothing
            rows = kernels.mask_of_rows(filled.rows, self.n_examples)
            self.meter.charge(filled.features, rows)
        self.meter.charge(features, mask)

    def everything(self) -> NDArray[np.uint64]:
        """Buy every cell; all features, which must be Boolean, in tiles."""
        if self._paid is not None:
            return self._paid.tiles()
        self._look_at_everything()
        return self._source.tiles()

    def table(self) -> AnyArray:
        """Buy every cell; all values (S, N), whatever their kind. Not to be written to."""
        if self._paid is not None:
            return self._paid.get(np.arange(self.n_examples), np.arange(self._source.n_features))
        self._look_at_everything()
        return self._source.table()

    def _look_at_everything(self) -> None:
        if self._purse is not None:
            all_rows = kernels.mask_of_rows(np.arange(self.n_examples), self.n_examples)
            self._purse.pay(np.arange(self._source.n_features), all_rows)
        self.meter.charge_everything()

    def row_keys(self) -> NDArray[np.uint64]:
        """Which examples these are, for whoever must know them again; shows no value."""
        if self._keys is None:
            self._keys = row_keys(self._source)
        return self._keys
