"""Monomials as values, and the representation: linearly independent ones learned so far."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from thrifty.powers.exact_linear import combination, rank, row_basis, saturated_basis, solve
from thrifty.typing import Json, JsonLike

__all__ = ["Exponents", "PowersRepresentation", "degree", "exponents", "written"]

#: A monomial: ((feature, power), ...) by rising feature, powers positive. () is the constant 1.
Exponents = tuple[tuple[int, int], ...]


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
        """The inverse of :meth:`to_dict`."""
        columns = (exponents((pair[0], pair[1]) for pair in column) for column in data["columns"])
        return cls(tuple(columns), coarse=float(data.get("coarse", 0.0)))
