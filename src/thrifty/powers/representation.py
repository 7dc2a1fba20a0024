"""The representation: linearly independent monomials learned so far, and exact linear algebra.

The column space of exponent vectors decides whether a task is already known, so a rank that is off
by one spoils the representation for ever: nothing here rounds. Matrices go in and come out as
numpy integer arrays (``object`` where an entry may not fit 64 bits).

>>> import numpy as np
>>> F = np.array([[1, 0], [1, 2], [0, 2]])
>>> rank(F), row_basis(F), row_basis(F, prices=[9.0, 1.0, 1.0])
(2, [0, 1], [1, 2])
>>> saturated_basis(F).T.tolist()        # [0, 2, 2] is twice an integer point of the span
[[1, 1, 0], [0, 1, 1]]

Legal monomials in a span are listed exactly: one is determined by its powers on a row basis I, and
these are non-negative integers with a sum of at most d: there are C(k + d, d) to try. For each,
the other powers follow from the exact inverse of F~[I]; the legal ones are whole, non-negative,
and of degree <= d.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations

import numpy as np
from flint import fmpq, fmpq_mat, fmpz_mat
from numpy.typing import ArrayLike

from thrifty.errors import BadInput
from thrifty.typing import Json, JsonLike

#: A monomial: ((feature, power), ...) by rising feature, powers positive. () is the constant 1.
Exponents = tuple[tuple[int, int], ...]
#: features and powers that a representation may hold
_LARGEST = 2**31 - 1


def exponents(powers: Mapping[int, int] | Iterable[tuple[int, int]]) -> Exponents:
    """The monomial with these powers, zero powers dropped.

    >>> exponents({17: 1, 3: 2, 5: 0})
    ((3, 2), (17, 1))
    """
    pairs = powers.items() if isinstance(powers, Mapping) else powers
    return tuple(sorted((int(feature), int(power)) for feature, power in pairs if power))


def degree(monomial: Exponents) -> int:
    """The sum of the powers."""
    return sum(power for _feature, power in monomial)


def written(monomial: Exponents, names: Sequence[str] | None = None) -> str:
    """The monomial as people write it.

    >>> written(((3, 2), (17, 1))), written(())
    ('x3^2 * x17', '1')
    """

    def factor(feature: int, power: int) -> str:
        name = f"x{feature}" if names is None else names[feature]
        return name if power == 1 else f"{name}^{power}"

    return " * ".join(factor(*pair) for pair in monomial) or "1"


@dataclass(frozen=True)
class PowersRepresentation:
    """The paper's F~ for monomials and polynomials: a value that never changes.

    Each column is a verified monomial, and each raised the rank when it came, so the length is
    the rank and never exceeds the number of metafeatures behind the tasks. The newest is last.

    >>> known = PowersRepresentation().extended([((0, 1), (1, 1))])
    >>> print(known.extended([((0, 2), (1, 2)), ((2, 1),)]))   # the first is in the span already
    2 monomials over 3 features: x0 * x1; x2
    """

    columns: tuple[Exponents, ...] = ()
    #: only the newest of a representation: a learner gives up early, since more comes after it
    partial: bool = False
    #: how often a value of the coarsest feature repeats, of all features when they were last seen
    coarse: float = 0.0

    def __len__(self) -> int:
        return len(self.columns)

    def __iter__(self) -> Iterator[Exponents]:
        return iter(self.columns)

    def __str__(self) -> str:
        if not self.columns:
            return "nothing learned yet"
        listed = "; ".join(written(column) for column in self.columns)
        noun = "monomial" if len(self) == 1 else "monomials"
        return f"{len(self)} {noun} over {len(self.features)} features: {listed}"

    @cached_property
    def features(self) -> np.ndarray:
        """Every feature seen so far, rising: the rows of F~ that are not zero."""
        seen = {feature for column in self.columns for feature, _power in column}
        return np.array(sorted(seen), dtype=np.intp)

    @property
    def max_feature(self) -> int:
        """The largest feature that it names; -1: none."""
        return int(max(self.features, default=-1))

    @cached_property
    def matrix(self) -> np.ndarray:
        """F~ on the features seen: one row per feature, one column per monomial."""
        place = {int(feature): row for row, feature in enumerate(self.features)}
        filled = np.zeros((len(place), len(self.columns)), dtype=np.int64)
        for column, monomial in enumerate(self.columns):
            for feature, power in monomial:
                filled[place[feature], column] = power
        return filled

    @cached_property
    def lattice(self) -> np.ndarray:
        """A reduced basis of the integer points in the span, on the features seen."""
        return saturated_basis(self.matrix)

    def row_basis(self, prices: np.ndarray) -> list[int]:
        """Rows of the matrix whose powers tell all others, the cheapest for these prices."""
        return row_basis(self.matrix, prices[self.features])

    def completed(self, basis: list[int], powers: Sequence[int]) -> list[int] | None:
        """Powers of all features seen, from those of a row basis; None where they are not whole."""
        return combination(self.matrix, solve(self.matrix[basis], powers))

    def newest(self, n: int) -> PowersRepresentation:
        """The n that were learned or used last."""
        return PowersRepresentation(self.columns[-n:], n < len(self), self.coarse)

    def refreshed(self, model: Exponents | Mapping[Exponents, float]) -> PowersRepresentation:
        """Those that a monomial, or the terms of a polynomial, are products of are the newest now.

        >>> known = PowersRepresentation((((0, 1),), ((1, 1),), ((2, 1),)))
        >>> print(known.refreshed(((0, 2), (1, 1))))
        3 monomials over 3 features: x2; x0; x1
        """
        terms = list(model) if isinstance(model, Mapping) else [model]
        used = {i for term in terms for i in self._made_of(term)}
        order = sorted(range(len(self.columns)), key=lambda i: i in used)
        return PowersRepresentation(tuple(self.columns[i] for i in order), coarse=self.coarse)

    def _made_of(self, monomial: Exponents) -> set[int]:
        """Which columns it is a product of; outside their span, the last with each feature."""
        powers = dict(monomial)
        target = [powers.get(int(feature), 0) for feature in self.features]
        if len(self) and powers.keys() <= set(self.features.tolist()):
            rows = row_basis(self.matrix)
            weights = solve(self.matrix[rows], [target[row] for row in rows])
            if combination(self.matrix, weights) == target:
                return {i for i, weight in enumerate(weights) if weight}
        last = {feature: i for i, column in enumerate(self.columns) for feature, _ in column}
        return {last[feature] for feature in powers if feature in last}

    def extended(self, monomials: Iterable[Exponents], coarse: float = 0.0) -> PowersRepresentation:
        """This representation and those of ``monomials`` that raise its rank (ImproveRep)."""
        grown = PowersRepresentation(self.columns, coarse=max(self.coarse, coarse))
        for monomial in monomials:
            tried = PowersRepresentation((*grown.columns, monomial), coarse=grown.coarse)
            if rank(tried.matrix) == len(tried.columns):
                grown = tried
        return grown

    def to_dict(self) -> Json:
        """Plain lists, for JSON."""
        columns = [[list(pair) for pair in column] for column in self.columns]
        return {"columns": columns, **({"coarse": self.coarse} if self.coarse else {})}

    @classmethod
    def from_dict(cls, data: JsonLike) -> PowersRepresentation:
        """The inverse of :meth:`to_dict`; a stranger may have written it."""
        columns = tuple(_told(column) for column in data["columns"])
        coarse = float(data.get("coarse", 0.0))
        made = cls(columns, coarse=coarse)
        if not math.isfinite(coarse) or rank(made.matrix) < len(columns):
            raise BadInput("monomials of a representation are independent of each other.")
        return made


def _told(column: Sequence[Sequence[int]]) -> Exponents:
    """A monomial as it was written down: each feature once, whole powers above 0."""
    pairs = [(pair[0], pair[1]) for pair in column]
    numbers = [number for pair in pairs for number in pair]
    whole = all(type(number) is int and 0 <= number <= _LARGEST for number in numbers)
    if not whole or len({f for f, _ in pairs}) < len(pairs) or not all(p for _, p in pairs):
        raise BadInput(f"a monomial is pairs of a feature and a power above 0; got {column!r:.80}.")
    return exponents(pairs)


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
    column = fmpq_mat(len(weights), 1, [fmpq(*weight.as_integer_ratio()) for weight in weights])
    numerators, shared = (fmpq_mat(_to_flint(matrix)) * column).numer_denom()
    return [int(entry) for entry in numerators.entries()] if int(shared) == 1 else None


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


def vectors_up_to(length: int, total: int) -> np.ndarray:
    """All non-negative integer vectors of this length with a sum of at most ``total``.

    >>> vectors_up_to(2, 2).tolist()
    [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [2, 0]]
    >>> vectors_up_to(0, 2).tolist()
    [[]]
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
    # F F[I]^-1 says how the powers on the basis I spread.
    basis = fmpq_mat(_to_flint(matrix[row_basis(matrix)])).inv()
    numerators, denominator = (fmpq_mat(_to_flint(matrix)) * basis).numer_denom()
    whole, common = _to_numpy(numerators), int(denominator)
    if max_degree * int(np.abs(whole).sum(axis=1).max()) >= 2**62:
        return None
    powers = vectors_up_to(rank, max_degree) @ whole.astype(np.int64).T
    good = (powers % common == 0).all(axis=1) & (powers >= 0).all(axis=1)
    points = powers[good] // common
    return np.asarray(points[points.sum(axis=1) <= max_degree])
