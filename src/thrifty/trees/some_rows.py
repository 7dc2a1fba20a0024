"""A door to some of a task's rows: a learner behind it works as if the task had no others."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty import kernels
from thrifty.cells import Cells
from thrifty.trees.labels import Labels

__all__ = ["SomeRows", "some_labels"]


class SomeRows(Cells):
    """The cells of the given rows, numbered 0, 1, ... here; the task's own door charges for them.

    >>> cells = Cells(np.array([[0, 1], [1, 1], [1, 0]], dtype=bool))
    >>> SomeRows(cells, np.array([2, 0])).get([0], [0, 1]).tolist()
    [[True, False]]
    >>> cells.receipt().cells
    2
    """

    def __init__(self, cells: Cells, rows: NDArray[np.int64]) -> None:
        self._cells, self._rows = cells, rows
        self.prices, self.meter = cells.prices, cells.meter

    @property
    def n_examples(self) -> int:
        return len(self._rows)

    @property
    def n_features(self) -> int:
        return self._cells.n_features

    @property
    def feature_names(self) -> tuple[str, ...]:
        return self._cells.feature_names

    @property
    def boolean(self) -> NDArray[np.bool_]:
        return self._cells.boolean

    def get(self, rows: Any, features: Any) -> NDArray[Any]:
        return self._cells.get(self._rows[np.asarray(rows)], features)

    def columns(self, features: NDArray[np.int64], mask: NDArray[np.uint64]) -> NDArray[np.uint64]:
        at = kernels.rows_of_mask(mask)
        out = np.zeros((len(features), len(mask)), dtype=np.uint64)
        for i, values in enumerate(self.get(at, features).T):
            out[i] = kernels.mask_of_rows(at[values != 0], self.n_examples)
        return out

    def everything(self) -> NDArray[np.uint64]:
        table = self.get(np.arange(self.n_examples), np.arange(self.n_features))
        return kernels.pack_tiles((table != 0).view(np.uint8))


def some_labels(labels: Labels, rows: NDArray[np.int64]) -> Labels:
    """The labels of the given rows; classes keep their codes."""
    return Labels(labels.codes[rows], labels.classes)
