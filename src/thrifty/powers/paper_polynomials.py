"""The paper's own algorithms for polynomials (Sec. 3.1, App. B.3): lexicographic search.

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
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import DTypeLike

from thrifty.attempt import Failure
from thrifty.powers.correlations import (
    STANDARD_ERRORS,
    Bases,
    Correlations,
    ExactCorrelations,
    SampleCorrelations,
    partitions,
)
from thrifty.powers.exact_linear import combination, row_basis, solve
from thrifty.powers.failures import correlated, too_few_rows
from thrifty.powers.laws import Laws, mismatch
from thrifty.powers.real_values import RealValues
from thrifty.powers.representation import Exponents, PowersRepresentation, degree, exponents
from thrifty.powers.row_order import shuffled
from thrifty.powers.sums import Polynomial, SumRules, term_values, used_features

__all__ = [
    "KnownTarget",
    "PaperSettings",
    "extract",
    "from_scratch",
    "lexicographically_largest",
    "naive",
    "rows_for_search",
    "use_rep",
]

#: Rows for the least-squares refit of a support that has been found.
REFIT_ROWS = 60


@dataclass(frozen=True)
class KnownTarget:
    """Labels together with the polynomial behind them: exact correlations, for tests."""

    y: np.ndarray
    target: Polynomial

    def __len__(self) -> int:
        return len(self.y)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(self.y, dtype=dtype)


Posed: TypeAlias = np.ndarray | KnownTarget


@dataclass(frozen=True)
class PaperSettings:
    """What the three algorithms share."""

    laws: Laws
    smallest: float
    rules: SumRules


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


def _oracle(
    door: RealValues, labels: Posed, features: np.ndarray, settings: PaperSettings
) -> Correlations | Failure:
    """The oracle for these labels, after the features were bought on every example."""
    bases = Bases(settings.laws, settings.rules.max_degree)
    rows = np.arange(len(labels))
    if isinstance(labels, KnownTarget):
        door.values(rows, features)
        return ExactCorrelations(labels.target, bases)
    needed = rows_for_search(labels, bases, int(features[0]), settings.smallest)
    if len(labels) < needed:
        return too_few_rows(
            len(labels),
            needed,
            f"the lexicographic search needs about {needed:.3g} examples for this distribution, "
            f"degree <= {settings.rules.max_degree} and coefficients down to {settings.smallest}; "
            f"there are {len(labels)}. method='lattice' needs a few hundred",
        )
    values = door.values(rows, features)
    problem = mismatch(settings.laws, features, values) or correlated(values, features)
    if problem is not None:
        return problem

    def exact(terms: Polynomial) -> bool:
        return _refitted(door, labels, terms, settings.rules) is not None

    return SampleCorrelations(door, labels, rows, bases, settings.smallest, exact)


def _refitted(
    door: RealValues, labels: np.ndarray, terms: Polynomial, rules: SumRules
) -> Polynomial | None:
    """The support with least-squares coefficients, where these give the labels of every row."""
    rows = shuffled(len(labels), door.row_seed)[: max(REFIT_ROWS, 4 * len(terms))]
    features = used_features(terms)
    values = door.values(rows, features)
    columns = term_values(dict.fromkeys(terms, 1.0), features, values)
    scale = np.linalg.norm(columns, axis=0)
    solved = np.linalg.lstsq(columns / scale, labels[rows], rcond=None)[0] / scale
    fitted = dict(zip(terms, solved.tolist()))
    errors = rules.errors(fitted, features, values, labels[rows])
    if len(rows) <= len(terms) or not rules.holds(errors):
        return None
    return {monomial: c for monomial, c in fitted.items() if c != 0.0}


def _learned(
    door: RealValues,
    labels: Posed,
    features: np.ndarray,
    complete: Callable[[Exponents], Exponents | None],
    settings: PaperSettings,
) -> Polynomial | Failure:
    oracle = _oracle(door, labels, features, settings)
    if isinstance(oracle, Failure):
        return oracle
    terms = extract(oracle, features, complete, settings.rules)
    if isinstance(terms, Failure):
        return terms
    fitted = _refitted(door, np.asarray(labels), terms, settings.rules)
    if fitted is None:
        return Failure("not-verified", "the extracted terms do not reproduce the labels")
    return fitted


def from_scratch(door: RealValues, labels: Posed, settings: PaperSettings) -> Polynomial | Failure:
    """The search over all features."""
    return _learned(door, labels, np.arange(door.n_features), lambda part: part, settings)


def naive(
    door: RealValues, labels: Posed, known: PowersRepresentation, settings: PaperSettings
) -> Polynomial | Failure:
    """The naive baseline: the search over the features seen."""
    if not len(known):
        return Failure("empty-representation", "nothing has been learned yet")
    return _learned(door, labels, known.features, lambda part: part, settings)


def use_rep(
    door: RealValues, labels: Posed, known: PowersRepresentation, settings: PaperSettings
) -> Polynomial | Failure:
    """Algorithm lfd-poly: the search over a cheapest row basis, extended through F~."""
    if not len(known):
        return Failure("empty-representation", "nothing has been learned yet")
    basis = row_basis(known.matrix, door.cells.prices[known.features])
    features = known.features[basis]
    place = {int(feature): row for row, feature in enumerate(features)}

    def complete(part: Exponents) -> Exponents | None:
        powers = [0] * len(features)
        for feature, power in part:
            powers[place[feature]] = power
        weights = solve(known.matrix[basis], powers)
        full = combination(known.matrix, weights)
        if full is None or min(full) < 0:
            return None
        return exponents(zip(known.features.tolist(), full))

    return _learned(door, labels, features, complete, settings)
