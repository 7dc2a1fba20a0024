"""Exact linear algebra over the integers and rationals, on python-flint.

The column space of exponent vectors decides whether a task is already known, so a rank that is
off by one spoils the representation for ever: nothing here rounds. Matrices go in and come out as
numpy integer arrays (``object`` where an entry may not fit 64 bits).

>>> import numpy as np
>>> F = np.array([[1, 0], [1, 2], [0, 2]])
>>> rank(F), row_basis(F), row_basis(F, prices=[9.0, 1.0, 1.0])
(2, [0, 1], [1, 2])
>>> saturated_basis(F).T.tolist()        # [0, 2, 2] is twice an integer point of the span
[[1, 1, 0], [0, 1, 1]]
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from flint import fmpq, fmpq_mat, fmpz_mat
from numpy.typing import ArrayLike

__all__ = ["combination", "lll", "rank", "row_basis", "saturated_basis", "solve"]

IntMatrix = np.ndarray


def _to_flint(matrix: ArrayLike) -> fmpz_mat:
    array = np.asarray(matrix)
    rows, columns = array.shape
    return fmpz_mat(rows, columns, [int(entry) for entry in array.ravel()])


def _to_numpy(matrix: fmpz_mat) -> IntMatrix:
    entries = np.array([int(entry) for entry in matrix.entries()], dtype=object)
    return entries.reshape(matrix.nrows(), matrix.ncols())


def rank(matrix: ArrayLike) -> int:
    """The rank over the rationals."""
    if np.asarray(matrix).size == 0:
        return 0
    return int(_to_flint(matrix).rank())


def row_basis(matrix: ArrayLike, prices: Sequence[float] | np.ndarray | None = None) -> list[int]:
    """Rows that form a basis of the row space, the cheapest such set for the given prices.

    Independent sets of rows are a matroid, so taking rows from the cheapest up, each one that
    raises the rank, gives the least total price. Those rows are the pivots of one reduced
    echelon form of the transposed, price-ordered matrix. Ties go to the lowest index.
    """
    array = np.asarray(matrix)
    if array.size == 0:
        return []
    costs = np.zeros(len(array)) if prices is None else np.asarray(prices, dtype=float)
    order = np.argsort(costs, kind="stable")
    reduced, _denominator, found = _to_flint(array[order].T).rref()
    pivots, column = [], 0
    for row in range(found):
        while int(reduced[row, column]) == 0:
            column += 1
        pivots.append(int(order[column]))
    return sorted(pivots)


def solve(matrix: ArrayLike, right: Sequence[int]) -> list[Fraction]:
    """The exact solution of a square, regular system with integer entries."""
    array = np.asarray(matrix)
    side = len(array)
    left = fmpq_mat(_to_flint(array))
    answer = left.solve(fmpq_mat(side, 1, [fmpq(int(entry)) for entry in right]))
    return [Fraction(int(entry.p), int(entry.q)) for entry in answer.entries()]


def combination(matrix: ArrayLike, weights: Sequence[Fraction]) -> list[int] | None:
    """The combination of the columns with these weights; None where it is not of whole numbers.

    >>> combination([[2, 0], [1, 3]], [Fraction(1, 2), Fraction(1, 2)])
    [1, 2]
    >>> combination([[1, 0]], [Fraction(1, 2), Fraction(0)]) is None
    True
    """
    shared = math.lcm(*(weight.denominator for weight in weights))
    scaled = [int(weight * shared) for weight in weights]
    used = [i for i, weight in enumerate(scaled) if weight]
    columns = np.asarray(matrix)[:, used].astype(object)
    sums = columns @ np.array([scaled[i] for i in used], dtype=object)
    sums = sums if used else [0] * len(columns)
    if any(entry % shared for entry in sums):
        return None
    return [int(entry // shared) for entry in sums]


def lll(rows: ArrayLike) -> IntMatrix:
    """A Lenstra-Lenstra-Lovasz reduced basis of the lattice that the rows span."""
    return _to_numpy(_to_flint(rows).lll())


def saturated_basis(matrix: ArrayLike) -> IntMatrix:
    """A reduced basis, as columns, of every integer point in the column space of ``matrix``.

    The columns of F may miss integer points of their own span: x^2 y^2 alone misses x y. With a
    unimodular U that brings F to [0; B], the last columns of the inverse of U are a basis of
    the saturated lattice, for U^-1 maps the integer lattice onto itself.
    """
    array = np.asarray(matrix)
    size = rank(array)
    if size == 0:
        return np.zeros((len(array), 0), dtype=object)
    _reduced, transform = _to_flint(array).lll(True)
    inverse = fmpq_mat(transform).inv()
    numerators, denominator = inverse.numer_denom()
    if int(denominator) != 1:
        raise ArithmeticError("the transform of a lattice reduction was not unimodular")
    return lll(_to_numpy(numerators)[:, -size:].T).T
