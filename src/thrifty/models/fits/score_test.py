"""Score tests of features in bins: how well each tells classes apart beyond a present model.

For each bin of a feature the test (Rao, 1948) of one more constant in the log-odds: with residuals
r = y - p and curvature h = p(1 - p), both out of fold, the log-likelihood rises by
(sum r)^2 / (2 sum h). Bins are eighths of the values; a gap is a bin, and so is a value that alone
makes up an eighth of the rows (a point mass, such as "the word does not occur").
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from thrifty.typing import Bools, Floats, Ints

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


class BinnedFeatures:
    """Features in bins, read into a sparse matrix once: which rows' cells are in which bin."""

    def __init__(self, codes: Ints) -> None:
        """``codes`` as :func:`bin_codes` gives them: (rows, features)."""
        rows, self._features = codes.shape
        n_bins, seen = int(codes.max(initial=0)) + 1, codes >= 0
        at = (np.arange(self._features) * n_bins + codes)[seen]
        ends = np.append(0, np.cumsum(seen.sum(axis=1)))
        made = csr_array((np.ones(len(at)), at, ends), shape=(rows, self._features * n_bins))
        self._inside = made.T.tocsr()

    def gains(self, residuals: Floats, curvature: Floats, weights: Floats) -> Floats:
        """(features, 3): the gain, what it may be by chance, and the share of rows it was seen on.

        The gain is the rise of the log-likelihood over all rows of the table, as if the feature had
        been bought on all of them; significance is judged on the rows where it was bought.
        """
        k, w = residuals.shape[1], weights[:, None]
        parts = [np.ones_like(w), w, w * residuals, w * curvature, w**2 * curvature]
        sums = np.asarray(self._inside @ np.hstack(parts)).reshape(self._features, -1, 2 + 3 * k)
        squares = sums[:, :, 2 : 2 + k] ** 2 / 2
        in_all, in_seen = (
            (squares / (sums[:, :, at : at + k] + 1e-9)).sum(axis=(1, 2))
            for at in (2 + k, 2 + 2 * k)
        )
        used, seen = (sums[:, :, 0] > 0).sum(axis=1), sums[:, :, 1].sum(axis=1)
        apart = (k - 1) / k  # residuals of all classes sum to 0: one of them is known
        dof = (used - 1) * max(k - 1, 1)
        share = seen / max(float(weights.sum()), 1e-12)
        rise = apart * in_all / np.maximum(share, 1e-12)
        out = np.column_stack([rise, apart * in_seen - (dof / 2 + FLOOR), share])
        return np.where(used[:, None] > 0, out, 0.0)


def significant(found: Floats) -> Bools:
    """Which features gain more than chance would."""
    return np.asarray(found[:, 1] > 0)
