"""Every legal monomial in a span, listed exactly.

A monomial in the span is determined by its powers on a row basis I, and these are non-negative
integers with a sum of at most d: there are C(k + d, d) to try. For each, the other powers follow
from the exact inverse of F~[I]; the legal ones are whole, non-negative, and of degree <= d.
"""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np

from thrifty.powers.exact_linear import row_basis, solve

__all__ = ["legal_points", "vectors_up_to"]


def vectors_up_to(length: int, total: int) -> np.ndarray:
    """All non-negative integer vectors of this length with a sum of at most ``total``.

    >>> vectors_up_to(2, 2).tolist()
    [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [2, 0]]
    """
    if length == 0:
        return np.zeros((1, 0), dtype=np.int64)
    # Stars and bars: the positions of the bars determine the gaps between them.
    bars = np.array(list(combinations(range(length + total), length)), dtype=np.int64)
    bars = bars.reshape(-1, length)
    return np.diff(bars, axis=1, prepend=-1) - 1


def legal_points(matrix: np.ndarray, max_degree: int, at_most: int) -> np.ndarray | None:
    """Legal monomials in the column space, one per row; None where there are too many to try.

    >>> import numpy as np
    >>> legal_points(np.array([[1, 0], [1, 2]]), 2, at_most=100).tolist()
    [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [2, 0]]
    >>> legal_points(np.array([[2], [2]]), 4, at_most=100).tolist()
    [[0, 0], [1, 1], [2, 2]]
    """
    rank = matrix.shape[1]
    if math.comb(rank + max_degree, max_degree) > at_most:
        return None
    basis = row_basis(matrix)
    # Column j of the inverse of F~[I], times F~, says how power j of the basis spreads.
    columns = [solve(matrix[basis], np.eye(rank, dtype=int)[j].tolist()) for j in range(rank)]
    spread = [
        [sum(int(entry) * weight for entry, weight in zip(row, column)) for column in columns]
        for row in matrix
    ]
    common = math.lcm(*(fraction.denominator for row in spread for fraction in row))
    whole = np.array([[int(fraction * common) for fraction in row] for row in spread], dtype=object)
    if max_degree * int(np.abs(whole).sum(axis=1).max()) >= 2**62:
        return None
    powers = vectors_up_to(rank, max_degree) @ whole.astype(np.int64).T
    good = (powers % common == 0).all(axis=1) & (powers >= 0).all(axis=1)
    points = powers[good] // common
    return np.asarray(points[points.sum(axis=1) <= max_degree])
