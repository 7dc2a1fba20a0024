"""Points of a scorecard: each value falls into a bin, the bins' points are added up, row by row."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thrifty.kernels.jit import jit

__all__ = ["add_points"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@jit
def add_points(
    values: Floats, codes: Ints, features: Ints, coded: Ints, edges: Floats, edges_at: Ints,
    points: Floats, points_at: Ints, gaps: Ints, found: Floats,
) -> None:  # fmt: skip
    """Add to ``found`` (rows, c) the points of every row, feature after feature.

    Feature j is column ``features[j]`` of the values. Its bins begin at
    ``edges[edges_at[j]:edges_at[j + 1]]``, sorted, and their points at line ``points_at[j]`` of
    ``points``; a gap is in bin ``gaps[j]``. Where ``coded[j] >= 0`` the bins are that column of
    ``codes`` instead. A bin of -1 adds nothing.
    """
    for i in range(len(values)):
        for j in range(len(features)):
            if coded[j] >= 0:
                code = codes[i, coded[j]]
            else:
                x = values[i, features[j]]
                code = gaps[j]
                if x == x:
                    code = 0
                    for e in range(edges_at[j], edges_at[j + 1]):
                        code += int(edges[e] <= x)
            if code >= 0:
                for c in range(found.shape[1]):
                    found[i, c] += points[points_at[j] + code, c]
