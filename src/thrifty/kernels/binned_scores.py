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
    codes: Ints, residuals: Floats, curvature: Floats, weights: Floats, n_bins: int, out: Floats
) -> None:
    """Into ``out`` (features, 4): rise, chance, bins that are used, weight of the rows seen.

    ``codes`` are (features, rows), -1 where a cell was not bought; ``residuals`` and ``curvature``
    (rows, classes).
    """
    n_classes = residuals.shape[1]
    for j in range(len(codes)):
        up = np.zeros((n_classes, n_bins))
        down, noise = np.zeros((n_classes, n_bins)), np.zeros((n_classes, n_bins))
        used = np.zeros(n_bins, np.int64)
        for i in range(codes.shape[1]):
            b = codes[j, i]
            if b < 0:
                continue
            w = weights[i]
            used[b] = 1
            out[j, 3] += w
            for k in range(n_classes):
                up[k, b] += w * residuals[i, k]
                down[k, b] += w * curvature[i, k]
                noise[k, b] += w * w * curvature[i, k]
        for b in range(n_bins):
            out[j, 2] += used[b]
            for k in range(n_classes):
                if used[b]:
                    out[j, 0] += up[k, b] * up[k, b] / (down[k, b] + 1e-9) / 2
                    out[j, 1] += up[k, b] * up[k, b] / (noise[k, b] + 1e-9) / 2
