"""The one door to values.

A learner asks for ``(rows, features)`` and gets values; the door charges each distinct cell once,
however often and in whatever shape it is asked for. A learner never sees the source behind it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty import kernels
from thrifty.cells.meter import Meter, Owned
from thrifty.cells.receipt import Receipt
from thrifty.cells.sources import Source, as_source
from thrifty.errors import BadInput

__all__ = ["Cells"]


class Cells:
    """The cells of one task.

    >>> cells = Cells(np.array([[0, 1], [1, 1], [1, 0]], dtype=bool))
    >>> cells.get([0, 2], [1]).tolist()
    [[True], [False]]
    >>> _ = cells.get([0, 1], [1])                      # example 0 was paid for already
    >>> cells.receipt().cells
    3
    """

    def __init__(
        self,
        source: Any,
        prices: NDArray[np.float64] | None = None,
        owned: Owned | None = None,
    ) -> None:
        self._source: Source = as_source(source)
        n = self._source.n_features
        self.prices = np.ones(n) if prices is None else prices
        self._owned_before = owned.count() if owned is not None else 0
        self.meter = Meter(self._source.n_examples, n, owned)

    @property
    def n_examples(self) -> int:
        return self._source.n_examples

    @property
    def n_features(self) -> int:
        return self._source.n_features

    @property
    def feature_names(self) -> tuple[str, ...]:
        return self._source.feature_names

    @property
    def boolean(self) -> NDArray[np.bool_]:
        """Which features are Boolean; the others are real-valued."""
        return self._source.boolean

    def get(self, rows: Any, features: Any) -> NDArray[Any]:
        """Values of rows x features, shape (len(rows), len(features))."""
        at = self._indices(rows, self.n_examples, "row")
        which = self._indices(features, self.n_features, "feature")
        self.meter.charge(which, kernels.mask_of_rows(at, self.n_examples))
        return self._source.read(at, which)

    def columns(self, features: NDArray[np.int64], mask: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Boolean features on the rows of a mask, packed over the examples: (k, W).

        Bits outside the mask are 0: what was not paid for is not shown.
        """
        self.meter.charge(features, mask)
        return self._source.columns(features) & mask

    def everything(self) -> NDArray[np.uint64]:
        """Buy every cell; all features, which must be Boolean, in tiles."""
        self.meter.charge_everything()
        return self._source.tiles()

    def receipt(self) -> Receipt:
        """What has been bought through this door so far."""
        bought = self.meter.bought_per_feature
        cells = int(bought.sum())
        some = np.flatnonzero(bought)
        whole = self.n_examples * self.n_features - self._owned_before
        return Receipt(
            cells=cells,
            cost=float(bought @ self.prices),
            reused_cells=int(self.meter.reused_per_feature.sum()),
            avoided_cells=whole - cells,
            max_cells_per_example=self.meter.max_per_example(),
            n_examples=self.n_examples,
            n_features=self.n_features,
            per_feature={self.feature_names[f]: int(bought[f]) for f in some.tolist()},
        )

    @staticmethod
    def _indices(given: Any, n: int, what: str) -> NDArray[np.int64]:
        at = np.atleast_1d(np.asarray(given, dtype=np.int64))
        if len(at) and (at.min() < 0 or at.max() >= n):
            raise BadInput(
                f"{what} indices must lie in 0..{n - 1}; got {int(at.min())}..{int(at.max())}."
            )
        return at
