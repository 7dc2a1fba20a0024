"""Labels together with the polynomial behind them: exact correlations, as the theorems assume."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike

from thrifty.powers.evidence import Polynomial
from thrifty.powers.paper_polynomials import Bases, leading
from thrifty.powers.representation import Exponents

__all__ = ["ExactCorrelations", "KnownTarget"]

#: An exact correlation below this, relative to the parts that make it up, is rounding.
EXACT_ZERO = 1e-11


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
        return total * leading(self.bases, monomial)

    def nothing_left(self, known: Polynomial) -> bool:
        return not _minus(self.target, known)


@dataclass(frozen=True)
class KnownTarget:
    """Labels together with the polynomial behind them: exact correlations, for tests."""

    y: np.ndarray
    target: Polynomial

    def __len__(self) -> int:
        return len(self.y)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(self.y, dtype=dtype)

    def correlations(self, bases: Bases) -> ExactCorrelations:
        """Exact ones, computed from the target."""
        return ExactCorrelations(self.target, bases)
