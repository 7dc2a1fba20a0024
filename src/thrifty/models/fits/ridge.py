"""Ridge regression whose penalty is chosen by generalised cross-validation (Golub, Heath and
Wahba, 1979)."""

from __future__ import annotations

import numpy as np

from thrifty.array_types import Floats

__all__ = ["fit_ridge"]

#: penalties that are tried, for each column, in mean squares of one on a row. Coefficients that
#: together explain half of y ask for 1; less than .1 on few rows was worse than the mean alone
_PENALTIES = np.logspace(-1, 4, 26)


def fit_ridge(columns: Floats, y: Floats, weights: Floats) -> tuple[Floats, float]:
    """Coefficients and intercept.

    >>> coefficients, intercept = fit_ridge(np.arange(9.0)[:, None], 2 * np.arange(9.0) + 1,
    ...                                     np.ones(9))
    >>> bool(abs(coefficients[0] - 2) < 0.05), bool(abs(intercept - 1) < 0.1)
    (True, True)
    """
    share = weights / weights.sum()
    at, middle = share @ columns, float(share @ y)
    root = np.sqrt(share * len(y))
    X, z = root[:, None] * (columns - at), root * (y - middle)
    u, size, v = np.linalg.svd(X, full_matrices=False)
    along = u.T @ z
    rest = float(z @ z - along @ along)  # what no coefficient reaches
    unit = float((size**2).sum()) / max(X.shape[1], 1)
    if unit <= 1e-12 or not len(size):
        return np.zeros(X.shape[1]), middle
    penalty = _PENALTIES[:, None] * unit / len(y) * X.shape[1]
    kept = size**2 / (size**2 + penalty)
    wrong = ((1 - kept) ** 2 @ along**2) + max(rest, 0.0)
    free = np.maximum(len(y) - 1.0 - kept.sum(axis=1), 0.5)
    best = int((wrong / free**2).argmin())
    found: Floats = v.T @ (size / (size**2 + penalty[best]) * along)
    return found, middle - float(at @ found)
