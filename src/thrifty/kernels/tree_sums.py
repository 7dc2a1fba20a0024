"""Scores of rows by many small trees: each row walks each tree, its leaves' values are added up."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thrifty.kernels.jit import jit

__all__ = ["sum_trees"]

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@jit
def sum_trees(
    values: Floats, roots: Ints, column: Ints, feature: Ints, threshold: Floats, left: Ints,
    right: Ints, gap_left: Bools, value: Floats, line: Ints, every: Floats, goes_left: Bools,
    found: Floats,
) -> None:  # fmt: skip
    """Add to ``found`` (rows, columns) what every tree says of every row.

    A leaf points at itself. A node with ``line[node] >= 0`` cuts categories: ``goes_left`` has a
    row for it with a column for each of ``every``, sorted, and one for gaps and strangers.
    """
    last = len(every)
    for t in range(len(roots)):
        c = column[t]
        for i in range(len(values)):
            at = roots[t]
            while left[at] != at:
                x = values[i, feature[at]]
                if line[at] >= 0:
                    place = np.searchsorted(every, x)
                    if place == last or every[place] != x:
                        place = last
                    to_left = goes_left[line[at], place]
                elif np.isnan(x):
                    to_left = gap_left[at]
                else:
                    to_left = x <= threshold[at]
                at = left[at] if to_left else right[at]
            found[i, c] += value[at]
