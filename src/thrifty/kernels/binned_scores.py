"""Score tests of many binned features at once: what each adds to what a model says already."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thrifty.kernels.jit import jit

__all__ = ["binned_scores"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@jit
def binned_scores(
    codes: Ints, residuals: Floats, curvature: Floats, weights: Floats, sums: Floats, out: Floats
) -> None:
    """Into ``out`` (features, 4): rise, chance, bins that are used, weight of the rows seen.

    ``codes`` are (features, rows), -1 where a cell was not bought; ``residuals`` and ``curvature``
    (rows, classes). ``sums`` (bins, 1 + 3 classes) is overwritten: numba compiles loops over arrays
    that are there already in a third of the time.
    """
    n_bins, n_classes = len(sums), residuals.shape[1]
    for j in range(len(codes)):
        for b in range(n_bins):
            for k in range(1 + 3 * n_classes):
                sums[b, k] = 0.0
        for i in range(codes.shape[1]):
            b = codes[j, i]
            if b < 0:
                continue
            w = weights[i]
            sums[b, 0] = 1.0
            out[j, 3] += w
            for k in range(n_classes):
                sums[b, 1 + 3 * k] += w * residuals[i, k]
                sums[b, 2 + 3 * k] += w * curvature[i, k]
                sums[b, 3 + 3 * k] += w * w * curvature[i, k]
        for b in range(n_bins):
            out[j, 2] += sums[b, 0]
            if sums[b, 0] > 0:
                for k in range(n_classes):
                    up = sums[b, 1 + 3 * k]
                    out[j, 0] += up * up / (sums[b, 2 + 3 * k] + 1e-9) / 2
                    out[j, 1] += up * up / (sums[b, 3 + 3 * k] + 1e-9) / 2
