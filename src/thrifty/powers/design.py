"""Values of many monomials on many rows, for features of either sign."""

from __future__ import annotations

import numpy as np

__all__ = ["design"]


def design(values: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Column j holds monomial ``points[j]`` on every row of ``values``.

    >>> import numpy as np
    >>> design(np.array([[2.0, -3.0]]), np.array([[0, 0], [1, 0], [2, 1]])).tolist()
    [[1.0, 2.0, -12.0]]
    """
    table = np.ones((len(points), len(values)))
    for column in range(values.shape[1]):
        powers = points[:, column]
        used = np.flatnonzero(powers)
        if len(used):
            # One column of powers per distinct exponent; gathering them is cheaper than pow.
            raised = values[:, column] ** np.arange(int(powers.max()) + 1)[:, None]
            table[used] *= raised[powers[used]]
    return table.T
