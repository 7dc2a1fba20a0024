"""Learning a sparse polynomial in growing batches of rows: from known monomials, or from none."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from thrifty.attempt import Failure
from thrifty.powers.beam import Support
from thrifty.powers.design import design
from thrifty.powers.evidence import coarsest
from thrifty.powers.failures import correlation_between, too_few_rows
from thrifty.powers.legal_points import legal_points
from thrifty.powers.pursuit import best_support, find_terms
from thrifty.powers.real_values import RealValues
from thrifty.powers.representation import PowersRepresentation, exponents
from thrifty.powers.row_order import growing, shuffled
from thrifty.powers.sums import Polynomial, SumRules, Verdict

__all__ = ["SumSearch", "row_limit"]

#: Legal monomials in a span that are listed at most; above it the features seen are tried instead.
MOST_POINTS = 200_000


def row_limit(n_features: int, rules: SumRules) -> int:
    """Rows after which more would not help: a few times what exact labels need."""
    enough = 40 + 6 * rules.max_terms * rules.max_degree * math.log(max(n_features, 2))
    return math.ceil(enough * (2 if rules.noisy else 1))


@dataclass(frozen=True)
class SumSearch:
    """One task: a door, labels, the order in which rows are bought, what counts as a fit."""

    door: RealValues
    target: np.ndarray
    order: np.ndarray
    rules: SumRules

    def reuse(self, known: PowersRepresentation) -> Polynomial | Failure:
        """A sum of legal monomials in the span of what is known, on the features seen."""
        if not len(known):
            return Failure("empty-representation", "nothing has been learned yet")
        points = legal_points(known.matrix, self.rules.max_degree, MOST_POINTS)
        if points is None:
            return Failure(
                "too-many-points",
                f"the span of {len(known)} monomials holds too many of degree <= "
                f"{self.rules.max_degree} to list",
                {"rank": len(known), "at_most": MOST_POINTS},
            )
        log_candidates = self.rules.max_terms * math.log(max(len(points), 2))
        first = 2 * self.rules.max_terms + 2
        limit = first + 20 if not self.rules.noisy else 20 * first
        for n_rows in growing(first, min(limit, len(self.order)), 1.25):
            values = self._buy(n_rows, known.features)
            columns = design(values, points)
            support = best_support(columns, self.target[self.order[:n_rows]], self.rules)
            if support is None:
                continue
            fitted = fit_support(columns, points, support)
            if isinstance(fitted, Failure):
                return fitted
            terms = _named(*fitted, known.features)
            coarse = max(coarsest(values), known.coarse)
            if self._verdict(terms, n_rows, log_candidates, coarse) == "right":
                return terms
        return Failure(
            "outside-span",
            f"no sum of at most {self.rules.max_terms} of the {len(points)} legal monomials in the "
            f"span of the {len(known)} known ones fits {n_rows} examples",
            {"rank": len(known), "points": len(points), "rows": n_rows},
        )

    def over(
        self, features: np.ndarray, first: int, coarse_elsewhere: float = 0.0
    ) -> Polynomial | Failure:
        """A sum of any monomials over ``features``; others have the grain ``coarse_elsewhere``."""
        rules, n_features = self.rules, len(features)
        # A few rows are kept back: what was fitted on all of them could not be verified.
        limit = max(1, min(len(self.order) - rules.max_terms - 4, row_limit(n_features, rules)))
        dictionary = math.comb(n_features + rules.max_degree, rules.max_degree)
        log_candidates = rules.max_terms * math.log(dictionary)
        unproven = False
        for n_rows in growing(first, limit, 1.35):
            values = self._buy(n_rows, features)
            # A constant feature is one with any coefficient: it is left out.
            varying = np.flatnonzero(np.ptp(values, axis=0) > 0)
            target = self.target[self.order[:n_rows]]
            found = find_terms(values[:, varying], target, rules) if len(varying) else None
            if found is None:
                continue
            problem = twins(values[:, varying], np.flatnonzero(found[0].any(axis=0)))
            if problem is not None:
                return _equal_features(features[varying[list(problem)]], n_rows)
            terms = _named(*found, features[varying])
            coarse = max(coarsest(values), coarse_elsewhere)
            verdict = self._verdict(terms, n_rows, log_candidates, coarse)
            if verdict == "right":
                return terms
            unproven = verdict == "unproven"
        return self._gave_up(limit, features, unproven)

    def _buy(self, n_rows: int, features: np.ndarray) -> np.ndarray:
        return self.door.values(self.order[:n_rows], features)

    def _verdict(
        self, terms: Polynomial, n_rows: int, log_candidates: float, coarse: float
    ) -> Verdict:
        fitted = self.order[:n_rows]
        return self.rules.verified(self.door, self.target, terms, fitted, log_candidates, coarse)

    def _gave_up(self, limit: int, features: np.ndarray, unproven: bool) -> Failure:
        rules, n_rows, n_features = self.rules, len(self.order), len(features)
        needed = row_limit(n_features, rules)
        if unproven:
            return Failure(
                "too-few-rows-to-verify",
                f"a polynomial fits all {n_rows} examples, but too few are left to verify it on",
                {"rows": n_rows, "rows_needed": limit + 10},
            )
        if n_rows < needed:
            return too_few_rows(
                n_rows,
                needed,
                f"{n_rows} examples do not lead to a polynomial of degree <= {rules.max_degree} "
                f"with at most {rules.max_terms} terms over {n_features} features; up to {needed} "
                "may be needed",
            )
        return Failure(
            "no-polynomial-found",
            f"{limit} of {n_rows} examples do not lead to a polynomial of degree <= "
            f"{rules.max_degree} with at most {rules.max_terms} terms within a precision of "
            f"{rules.precision:.2g}",
            {"rows": limit, "precision": rules.precision, **self._looks(features, limit)},
        )

    def _looks(self, features: np.ndarray, limit: int) -> dict[str, float]:
        """What may have been in the way: correlated features, coarse values."""
        # Of the rows bought, only those that labels did not choose show true correlations.
        random_rows = shuffled(len(self.order), self.door.row_seed)[: limit // 4]
        values = self.door.values(random_rows, features)
        largest, allowed, _pair = correlation_between(values)
        return {
            "correlation": largest,
            "correlation_by_chance": allowed,
            "coincidence": coarsest(values),
        }


def twins(values: np.ndarray, used: np.ndarray) -> tuple[int, int] | None:
    """A used column and another one that is equal to it, where there is one."""
    for column in used.tolist():
        equal = np.flatnonzero((values == values[:, [column]]).all(axis=0))
        if len(equal) > 1:
            return int(equal[0]), int(equal[1])
    return None


def fit_support(
    columns: np.ndarray, points: np.ndarray, support: Support
) -> tuple[np.ndarray, Support] | Failure:
    """The points of a support, where no other point takes the same values on these rows.

    Among powers of the same features (x and x^3 of a feature that is 0 or 1) the lowest degree
    stands for all; a point over other features makes the choice a guess, which is a failure.
    """
    units = columns / np.maximum(np.linalg.norm(columns, axis=0), 1e-300)
    chosen, coefficients = [], support.coefficients.copy()
    for place, column in enumerate(support.columns):
        alike = np.flatnonzero(np.abs(units[:, column] @ units) > 1.0 - 1e-10)
        kinds = {tuple(np.flatnonzero(points[other]).tolist()) for other in alike}
        if len(kinds) > 1:
            return Failure(
                "equal-features",
                f"several known monomials take the same values on {len(columns)} examples: some of "
                "the features are equal to each other, or constant, in this task",
                {"rows": len(columns)},
            )
        best = int(alike[np.argmin(points[alike].sum(axis=1))])
        ratio = (columns[:, column] @ columns[:, best]) / (columns[:, best] @ columns[:, best])
        coefficients[place] *= ratio
        chosen.append(best)
    return points[chosen], Support(tuple(chosen), coefficients, support.rss)


def _equal_features(pair: np.ndarray, n_rows: int) -> Failure:
    first, second = (int(feature) for feature in pair)
    return Failure(
        "equal-features",
        f"features {first} and {second} are equal on the {n_rows} examples bought, so nobody can "
        "tell which of them is in the polynomial. Leave one out",
        {"features": (first, second)},
    )


def _named(points: np.ndarray, support: Support, features: np.ndarray) -> Polynomial:
    return {
        exponents(zip(features.tolist(), point.tolist())): float(coefficient)
        for point, coefficient in zip(points, support.coefficients)
    }
