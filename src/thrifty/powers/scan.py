"""Which product of features does a residual follow? All of them, scanned by matrix products.

Every monomial of degree <= d is a product a * b of one of degree <= d // 2 and one of degree
<= d - d // 2, so the correlations of a residual with all of them are the entries of one matrix
product (A * r)^T B. At 100 features and degree 4 that is 5,151 x 5,151 entries for 4.6 million
monomials, in a fraction of a second.
"""

from __future__ import annotations

import math
from itertools import combinations_with_replacement

import numpy as np

__all__ = ["Scan", "entries"]


def entries(n_features: int, max_degree: int) -> int:
    """How many products a scan compares."""
    low, high = max_degree // 2, max_degree - max_degree // 2
    return math.comb(n_features + low, low) * math.comb(n_features + high, high)


class Scan:
    """All monomials up to a degree on the rows of ``columns`` (standardised features)."""

    def __init__(self, columns: np.ndarray, max_degree: int) -> None:
        low, high = max_degree // 2, max_degree - max_degree // 2
        self._left, self._left_names = _monomials(columns, low)
        self._right, self._right_names = _monomials(columns, high)
        sums = self._left.T @ self._right
        squares = (self._left**2).T @ (self._right**2)
        # The squared length of each product after its mean is taken out; constants never win.
        sums *= sums
        sums /= np.float32(len(columns))
        spread = squares - sums
        spread[spread <= 1e-4 * squares] = np.inf
        self._spread = spread

    def best(self, residual: np.ndarray, count: int) -> list[tuple[int, ...]]:
        """The monomials most correlated with ``residual``, each as its features with repeats."""
        weighted = self._left * residual[:, None].astype(np.float32)
        gains = weighted.T @ self._right
        gains *= gains
        gains /= self._spread
        # The best of each row first: a full sort of millions of entries would cost more.
        leaders = np.argsort(-gains.max(axis=1), kind="stable")[: 4 * count + 4]
        found: dict[tuple[int, ...], float] = {}
        for row in leaders.tolist():
            for column in np.argpartition(-gains[row], min(count, gains.shape[1] - 1))[:count]:
                name = tuple(sorted(self._left_names[row] + self._right_names[int(column)]))
                found[name] = max(found.get(name, 0.0), float(gains[row, column]))
        ranked = sorted(found, key=lambda name: -found[name])
        return [name for name in ranked if name][:count]


def _monomials(columns: np.ndarray, max_degree: int) -> tuple[np.ndarray, list[tuple[int, ...]]]:
    """Monomials up to a degree, as float32 columns, and their features with repeats."""
    n_features = columns.shape[1]
    names: list[tuple[int, ...]] = [()]
    blocks = [np.ones((len(columns), 1), dtype=np.float32)]
    for size in range(1, max_degree + 1):
        chosen = list(combinations_with_replacement(range(n_features), size))
        at = np.array(chosen, dtype=np.intp)
        block = columns[:, at[:, 0]].astype(np.float32)
        for position in range(1, size):
            block *= columns[:, at[:, position]]
        names += chosen
        blocks.append(block)
    return np.hstack(blocks), names
