"""The paper's own algorithms for polynomials (Sec. 3.1, App. B.3): lexicographic search.

Andoni et al. find the largest power of x_i in a polynomial R by asking whether <H_2p(x_i), R^2> >
0 for p = d, d - 1, ...: R^2 has degree 2p in x_i exactly if R has degree p, and H_2p is orthogonal
to everything lower. Two oracles answer: one knows the target and is exact, for tests; one averages
over examples, and answers yes only beyond five standard errors.

One monomial is extracted at a time: the lexicographically largest one in P - P~, feature by
feature, from squared correlations. Scratch searches all features; UseRep a row basis I of F~, and
F~ F~[I]^-1 extends the powers on I to all features; the naive baseline the features seen.

Where this differs from the paper: coefficients are those of the residual P - P~ (of P, as the text
has it, x^2 + x on [1, 2] gives 4 for 1) and are refitted by least squares on the support; the
search stops at zero residual; repeated terms are merged; more than t terms are a failure; the rows
needed on samples are predicted first, and fewer are refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np

from thrifty.attempt import Failure
from thrifty.powers.evidence import (
    Polynomial,
    SumRules,
    correlated,
    term_values,
    too_few_rows,
    used_features,
)
from thrifty.powers.laws import Laws, Orthonormal, law_of, mismatch
from thrifty.powers.representation import Exponents, PowersRepresentation, degree, exponents
from thrifty.powers.values import BoughtValues, shuffled

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


@dataclass
class SampleCorrelations:
    """Averages over bought examples."""

    reader: BoughtValues
    target: np.ndarray
    rows: np.ndarray
    bases: Bases
    smallest: float  # the smallest |coefficient| that must not be missed
    exact: Callable[..., bool]  # (terms): do these terms, refitted, give the labels?

    def __post_init__(self) -> None:
        self._values: dict[int, np.ndarray] = {}

    def _basis_values(self, feature: int) -> np.ndarray:
        if feature not in self._values:
            column = self.reader.values(self.rows, np.array([feature]))[:, 0]
            self._values[feature] = self.bases.of(feature).values(column)
        return self._values[feature]

    def _residual(self, known: Polynomial) -> np.ndarray:
        if not known:
            return self.target
        features = used_features(known)
        values = self.reader.values(self.rows, features)
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
        return float(parts.mean()) * leading(self.bases, monomial)

    def nothing_left(self, known: Polynomial) -> bool:
        return bool(known) and bool(self.exact(known))


def leading(bases: Bases, monomial: Exponents) -> float:
    """The product of the leading coefficients b_p of a monomial's factors."""
    factors = [bases.of(feature).leading[power] for feature, power in monomial]
    return float(np.prod(factors, initial=1.0))


#: Rows for the least-squares refit of a support that has been found.
REFIT_ROWS = 60


@runtime_checkable
class OwnCorrelations(Protocol):
    """Labels that know their correlations exactly, as the paper's theorem assumes."""

    def __len__(self) -> int: ...

    def __array__(self) -> np.ndarray: ...

    def correlations(self, bases: Bases) -> Correlations:
        """What the search asks, under these laws."""


Posed: TypeAlias = np.ndarray | OwnCorrelations


def lexicographically_largest(
    oracle: Correlations, features: np.ndarray, known: Polynomial, max_degree: int
) -> Exponents:
    """The lexicographically largest monomial of P - known, restricted to ``features``."""
    found: Exponents = ()
    for feature in features.tolist():
        for power in range(max_degree - degree(found), 0, -1):
            if oracle.occurs((*found, (feature, power)), known):
                found = (*found, (feature, power))
                break
    return found


def extract(
    oracle: Correlations,
    features: np.ndarray,
    complete: Callable[[Exponents], Exponents | None],
    rules: SumRules,
) -> Polynomial | Failure:
    """Extract monomials until nothing is left; ``complete`` extends powers to all features."""
    terms: Polynomial = {}
    for _round in range(2 * rules.max_terms + 1):
        if oracle.nothing_left(terms):
            return terms
        part = lexicographically_largest(oracle, features, terms, rules.max_degree)
        monomial = complete(part)
        if monomial is None or degree(monomial) > rules.max_degree:
            return Failure(
                "outside-span",
                f"the powers {dict(part)} do not extend to a legal monomial in the span",
                {"powers": dict(part)},
            )
        terms[monomial] = terms.get(monomial, 0.0) + oracle.coefficient(monomial, terms)
        if len(terms) > rules.max_terms:
            break
    return Failure(
        "too-many-terms",
        f"the labels were not explained after {len(terms)} terms; the limit is {rules.max_terms}",
        {"terms": len(terms), "max_terms": rules.max_terms},
    )


def rows_for_search(labels: np.ndarray, bases: Bases, feature: int, smallest: float) -> int:
    """Rows at which every test of the search is decided, predicted from free labels.

    For each way to split the degree over features that are tested (powers p) and others (powers
    q), the test statistic has the mean c^2 prod E[H_2p x^2p] prod E[x^2q] for the smallest
    coefficient c; its noise is that of this product itself and of the rest of y^2. Five
    standard errors must fit into the mean. Features are taken to share the law of ``feature``.
    """
    rest_of_labels = math.sqrt(float(np.mean(labels**4)))
    needed = 0.0
    for tested in range(1, bases.max_degree + 1):
        for parts in partitions(tested):
            for others in range(bases.max_degree - tested + 1):
                for more in partitions(others):
                    signal, own = bases.test_moments(feature, parts, more)
                    noise = own + rest_of_labels / smallest**2
                    needed = max(needed, (STANDARD_ERRORS * noise / signal) ** 2)
    return math.ceil(min(needed, 1e300))


@dataclass(frozen=True)
class LexicographicSearch:
    """One task: cells, labels, the laws of the features, and the least |coefficient| to find."""

    reader: BoughtValues
    labels: Posed
    laws: Laws
    smallest: float
    rules: SumRules

    def from_scratch(self) -> Polynomial | Failure:
        """The search over all features."""
        return self._learned(np.arange(self.reader.n_features), lambda part: part)

    def naive(self, known: PowersRepresentation) -> Polynomial | Failure:
        """The naive baseline: the search over the features seen."""
        return self._learned(known.features, lambda part: part)

    def use_rep(self, known: PowersRepresentation) -> Polynomial | Failure:
        """Algorithm lfd-poly: the search over a cheapest row basis, extended through F~."""
        basis = known.row_basis(self.reader.cells.prices)
        features = known.features[basis]

        def complete(part: Exponents) -> Exponents | None:
            powers = dict(part)
            full = known.completed(basis, [powers.get(f, 0) for f in features.tolist()])
            if full is None or min(full) < 0:
                return None
            return exponents(zip(known.features.tolist(), full))

        return self._learned(features, complete)

    def _learned(
        self, features: np.ndarray, complete: Callable[[Exponents], Exponents | None]
    ) -> Polynomial | Failure:
        oracle = self._oracle(features)
        if isinstance(oracle, Failure):
            return oracle
        terms = extract(oracle, features, complete, self.rules)
        if isinstance(terms, Failure):
            return terms
        not_right = Failure("not-verified", "the extracted terms do not reproduce the labels")
        fitted = self._refitted(terms)
        return not_right if fitted is None else fitted

    def _oracle(self, features: np.ndarray) -> Correlations | Failure:
        """The oracle for these labels, after the features were bought on every example."""
        bases, n_rows = Bases(self.laws, self.rules.max_degree), len(self.labels)
        rows = np.arange(n_rows)
        if not isinstance(self.labels, np.ndarray):
            self.reader.values(rows, features)
            return self.labels.correlations(bases)
        needed = rows_for_search(self.labels, bases, int(features[0]), self.smallest)
        if n_rows < needed:
            return too_few_rows(
                n_rows,
                needed,
                f"the lexicographic search needs about {needed:.3g} examples for this "
                f"distribution, degree <= {self.rules.max_degree} and coefficients down to "
                f"{self.smallest}; "
                f"there are {n_rows}. method='lattice' needs a few hundred",
            )
        values = self.reader.values(rows, features)
        problem = mismatch(self.laws, features, values) or correlated(values, features)
        if problem is not None:
            return problem

        def exact(terms: Polynomial) -> bool:
            return self._refitted(terms) is not None

        return SampleCorrelations(self.reader, self.labels, rows, bases, self.smallest, exact)

    def _refitted(self, terms: Polynomial) -> Polynomial | None:
        """The support with least-squares coefficients, where these give the labels of every row."""
        labels = np.asarray(self.labels)
        rows = shuffled(len(labels), self.reader.row_seed)[: max(REFIT_ROWS, 4 * len(terms))]
        features = used_features(terms)
        values = self.reader.values(rows, features)
        columns = term_values(dict.fromkeys(terms, 1.0), features, values)
        scale = np.linalg.norm(columns, axis=0)
        solved = np.linalg.lstsq(columns / scale, labels[rows], rcond=None)[0] / scale
        fitted = dict(zip(terms, solved.tolist()))
        errors = self.rules.errors(fitted, features, values, labels[rows])
        if len(rows) <= len(terms) or not self.rules.holds(errors):
            return None
        return {monomial: c for monomial, c in fitted.items() if c != 0.0}
