"""Score tests of features in bins: how well each tells classes apart beyond a present model.

For each bin of a feature the test (Rao, 1948) of one more constant in the log-odds: with residuals
r = y - p and curvature h = p(1 - p), both out of fold, the log-likelihood rises by
(sum r)^2 / (2 sum h). Bins are eighths of the values; a gap is a bin, and so is a value that alone
makes up an eighth of the rows (a point mass, such as "the word does not occur").
"""

from __future__ import annotations

import numpy as np

from thrifty.array_types import Bools, Floats, Ints
from thrifty.kernels.jit import jit

__all__ = ["bin_codes", "gains", "significant"]

#: bins of a feature. Set by hand before 0.2; not measured since
BINS = 8
#: beyond what chance gives on average, dof / 2, a gain has to show this much. Set by hand before
#: 0.2; not measured since
FLOOR = 3.0


def bin_codes(values: Floats, bought: Bools, bins: int = BINS) -> Ints:
    """The bin of every cell, column by column; -1 where it was not bought.

    >>> x = np.array([[0.0], [0.0], [0.0], [1.0], [2.0], [np.nan]])
    >>> bin_codes(x, np.ones((6, 1), bool))[:, 0].tolist()
    [1, 1, 1, 2, 3, 0]
    """
    codes = np.full(values.shape, -1, dtype=np.int64)
    for j in range(values.shape[1]):
        here = bought[:, j]
        codes[here, j] = _column(values[here, j], bins)
    return codes


def _column(x: Floats, bins: int) -> Ints:
    """0 for gaps, then point masses and quantile bins in the order of the values."""
    out = np.zeros(len(x), dtype=np.int64)
    known = ~np.isnan(x)
    if not known.any():
        return out
    low, high = x[known].min(), x[known].max()
    if ((x == low) | (x == high) | ~known).all():  # most often Boolean: nothing is to be sorted
        return np.where(known, 1 + ((x == high) & (low < high)), 0)
    level, inverse, counts = np.unique(x[known], return_inverse=True, return_counts=True)
    if len(level) <= bins:
        out[known] = 1 + inverse
        return out
    heavy = counts * bins >= counts.sum()
    light = np.where(heavy, 0, counts)
    room = max(bins - int(heavy.sum()), 1)
    total = max(int(light.sum()), 1)
    part = np.minimum((np.cumsum(light) - light) * room // total, room - 1)
    starts = np.ones(len(level), dtype=bool)  # a bin starts where the part or the kind changes
    starts[1:] = heavy[1:] | heavy[:-1] | (part[1:] != part[:-1])
    out[known] = np.cumsum(starts)[inverse]
    return out


def gains(codes: Ints, residuals: Floats, curvature: Floats, weights: Floats) -> Floats:
    """(features, 3): the gain, what it may be by chance, and the share of rows it was seen on.

    The gain is the rise of the log-likelihood over all rows of the table, as if the feature had
    been bought on all of them; significance is judged on the rows where it was bought.
    """
    found = np.zeros((codes.shape[1], 4))
    n_classes = residuals.shape[1]
    _binned_scores(
        np.ascontiguousarray(codes.T),
        np.ascontiguousarray(residuals, dtype=np.float64),
        np.ascontiguousarray(curvature, dtype=np.float64),
        np.asarray(weights, dtype=np.float64),
        np.empty((int(codes.max(initial=0)) + 1, 1 + 3 * n_classes)),
        found,
    )
    apart = (n_classes - 1) / n_classes  # residuals of all classes sum to 0: one of them is known
    dof = (found[:, 2] - 1) * max(n_classes - 1, 1)
    share = found[:, 3] / max(float(weights.sum()), 1e-12)
    rise = apart * found[:, 0] / np.maximum(share, 1e-12)
    out = np.column_stack([rise, apart * found[:, 1] - (dof / 2 + FLOOR), share])
    return np.where(found[:, 2:3] > 0, out, 0.0)


def significant(found: Floats) -> Bools:
    """Which features gain more than chance would."""
    return np.asarray(found[:, 1] > 0)


@jit
def _binned_scores(
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
