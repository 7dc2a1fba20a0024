"""Correlations of a residual polynomial with products of orthonormal polynomials.

Andoni et al. find the largest power of x_i in a polynomial R by asking whether
<H_2p(x_i), R^2> > 0 for p = d, d - 1, ...: R^2 has degree 2p in x_i exactly if R has degree p, and
H_2p is orthogonal to everything lower. Two oracles answer: one knows the target and is exact, for
tests; one averages over examples, and answers yes only beyond five standard errors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from thrifty.powers.laws import Laws, law_of
from thrifty.powers.orthonormal import Orthonormal
from thrifty.powers.real_values import RealValues
from thrifty.powers.representation import Exponents
from thrifty.powers.sums import Polynomial, term_values, used_features

__all__ = ["Bases", "Correlations", "ExactCorrelations", "SampleCorrelations"]

#: An exact correlation below this, relative to the parts that make it up, is rounding.
EXACT_ZERO = 1e-11

STANDARD_ERRORS = 5.0


@dataclass
class Bases:
    """Orthonormal polynomials up to degree 2d for every feature, made when first needed."""

    laws: Laws
    max_degree: int
    made: dict[int, Orthonormal] = field(default_factory=dict)

    def of(self, feature: int) -> Orthonormal:
        """The basis of one feature; features with the same law share theirs."""
        law = law_of(self.laws, feature)
        if id(law) not in self.made:
            self.made[id(law)] = Orthonormal.of(law, 2 * self.max_degree)
        return self.made[id(law)]

    def least_signal(self, powers: Exponents) -> float:
        """How strongly a monomial with these powers shows in their test, at the least.

        prod E[H_2p(x) x^2p], times the smallest E[x^2q] that its other features can bring.
        """
        signal = 1.0
        for feature, power in powers:
            signal /= float(self.of(feature).leading[2 * power])
        basis = self.of(powers[0][0])
        left = self.max_degree - sum(power for _feature, power in powers)
        rests = [
            np.prod([basis.mean(basis.nodes ** (2 * q)) for q in parts], initial=1.0)
            for others in range(left + 1)
            for parts in partitions(others)
        ]
        return signal * float(min(rests))

    def test_moments(
        self, feature: int, tested: tuple[int, ...], others: tuple[int, ...]
    ) -> tuple[float, float]:
        """Mean and root mean square of prod H_2p x^2p prod x^2q."""
        basis = self.of(feature)
        table = basis.values(basis.nodes)
        factors = [table[2 * p] * basis.nodes ** (2 * p) for p in tested]
        factors += [basis.nodes ** (2 * q) for q in others]
        means = [basis.mean(factor) for factor in factors]
        squares = [basis.mean(factor**2) for factor in factors]
        return float(np.prod(means)), float(np.sqrt(np.prod(squares)))


def partitions(total: int, largest: int | None = None) -> Iterator[tuple[int, ...]]:
    """Ways to write ``total`` as a sum of falling positive integers.

    >>> list(partitions(3))
    [(3,), (2, 1), (1, 1, 1)]
    """
    if total == 0:
        yield ()
        return
    for first in range(min(total, largest or total), 0, -1):
        for rest in partitions(total - first, first):
            yield (first, *rest)


class Correlations(Protocol):
    """What the lexicographic search asks."""

    def occurs(self, powers: Exponents, known: Polynomial) -> bool:
        """Whether <prod H_2p(x_i), (P - known)^2> is positive."""

    def coefficient(self, monomial: Exponents, known: Polynomial) -> float:
        """The coefficient of ``monomial``, the largest one left in P - known."""

    def nothing_left(self, known: Polynomial) -> bool:
        """Whether P - known vanishes."""


def _minus(target: Polynomial, known: Polynomial) -> Polynomial:
    left = dict(target)
    for monomial, coefficient in known.items():
        left[monomial] = left.get(monomial, 0.0) - coefficient
    size = max((abs(c) for c in target.values()), default=0.0)
    return {monomial: c for monomial, c in left.items() if abs(c) > 1e-9 * size}


@dataclass
class ExactCorrelations:
    """Expectations computed from the target itself."""

    target: Polynomial
    bases: Bases

    def __post_init__(self) -> None:
        self._tables: dict[int, np.ndarray] = {}

    def _table(self, feature: int) -> np.ndarray:
        """E[H_k(x) x^n] of a feature, for every k and n up to 2d."""
        basis = self.bases.of(feature)
        if id(basis) not in self._tables:
            powers = basis.nodes ** np.arange(basis.degree + 1)[:, None]
            table = (basis.values(basis.nodes) * basis.weights) @ powers.T
            # H_k is orthogonal to lower powers; what quadrature leaves there is rounding.
            self._tables[id(basis)] = np.triu(table)
        return self._tables[id(basis)]

    def _mean(self, tests: dict[int, int], monomial: dict[int, int]) -> float:
        """E[prod H_k(x_i) * monomial]."""
        product = 1.0
        for feature in {*tests, *monomial}:
            product *= self._table(feature)[tests.get(feature, 0), monomial.get(feature, 0)]
        return product

    def occurs(self, powers: Exponents, known: Polynomial) -> bool:
        left = list(_minus(self.target, known).items())
        tests = {feature: 2 * power for feature, power in powers}
        parts = []
        for one, first in left:
            for two, second in left:
                both = dict(one)
                for feature, power in two:
                    both[feature] = both.get(feature, 0) + power
                parts.append(first * second * self._mean(tests, both))
        return sum(parts) > EXACT_ZERO * sum(map(abs, parts))

    def coefficient(self, monomial: Exponents, known: Polynomial) -> float:
        tests = dict(monomial)
        total = sum(
            coefficient * self._mean(tests, dict(other))
            for other, coefficient in _minus(self.target, known).items()
        )
        return total * _leading(self.bases, monomial)

    def nothing_left(self, known: Polynomial) -> bool:
        return not _minus(self.target, known)


@dataclass
class SampleCorrelations:
    """Averages over bought examples."""

    door: RealValues
    target: np.ndarray
    rows: np.ndarray
    bases: Bases
    smallest: float  # the smallest |coefficient| that must not be missed
    exact: Callable[..., bool]  # (terms): do these terms, refitted, give the labels?

    def __post_init__(self) -> None:
        self._values: dict[int, np.ndarray] = {}

    def _basis_values(self, feature: int) -> np.ndarray:
        if feature not in self._values:
            column = self.door.values(self.rows, np.array([feature]))[:, 0]
            self._values[feature] = self.bases.of(feature).values(column)
        return self._values[feature]

    def _residual(self, known: Polynomial) -> np.ndarray:
        if not known:
            return self.target
        features = used_features(known)
        values = self.door.values(self.rows, features)
        return np.asarray(self.target - term_values(known, features, values).sum(axis=1))

    def occurs(self, powers: Exponents, known: Polynomial) -> bool:
        parts = self._residual(known) ** 2
        for feature, power in powers:
            parts = parts * self._basis_values(feature)[2 * power]
        least = 0.5 * self.smallest**2 * self.bases.least_signal(powers)
        error = float(parts.std()) / np.sqrt(len(parts))
        return bool(float(parts.mean()) > max(STANDARD_ERRORS * error, least))

    def coefficient(self, monomial: Exponents, known: Polynomial) -> float:
        parts = self._residual(known)
        for feature, power in monomial:
            parts = parts * self._basis_values(feature)[power]
        return float(parts.mean()) * _leading(self.bases, monomial)

    def nothing_left(self, known: Polynomial) -> bool:
        return bool(known) and bool(self.exact(known))


def _leading(bases: Bases, monomial: Exponents) -> float:
    factors = [bases.of(feature).leading[power] for feature, power in monomial]
    return float(np.prod(factors, initial=1.0))
