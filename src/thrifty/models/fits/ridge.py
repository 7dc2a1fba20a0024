"""Ridge regression whose penalty is chosen by generalised cross-validation (Golub, Heath and
Wahba, 1979)."""

from __future__ import annotations

import numpy as np

from thrifty.array_types import Floats

__all__ = ["Ridge", "fit_ridge"]

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
    return Ridge(columns, weights).fit(y)


class Ridge:
    """Columns and weights of rows, taken apart once for any number of labels."""

    def __init__(self, columns: Floats, weights: Floats) -> None:
        self.share = weights / weights.sum()
        self.at = self.share @ columns
        self.root = np.sqrt(self.share * len(columns))
        X = self.root[:, None] * (columns - self.at)
        self.u, self.size, self.v = np.linalg.svd(X, full_matrices=False)
        self.width = X.shape[1]

    def fit(self, y: Floats) -> tuple[Floats, float]:
        """Coefficients and intercept for these labels."""
        size, middle = self.size, float(self.share @ y)
        z = self.root * (y - middle)
        along = self.u.T @ z
        rest = float(z @ z - along @ along)  # what no coefficient reaches
        unit = float((size**2).sum()) / max(self.width, 1)
        if unit <= 1e-12 or not len(size):
            return np.zeros(self.width), middle
        penalty = _PENALTIES[:, None] * unit / len(y) * self.width
        kept = size**2 / (size**2 + penalty)
        wrong = ((1 - kept) ** 2 @ along**2) + max(rest, 0.0)
        free = np.maximum(len(y) - 1.0 - kept.sum(axis=1), 0.5)
        best = int((wrong / free**2).argmin())
        found: Floats = self.v.T @ (size / (size**2 + penalty[best]) * along)
        return found, middle - float(self.at @ found)
