"""Learning a sparse polynomial in growing batches of rows: from known monomials, or from none."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from thrifty.attempt import Failure
from thrifty.powers.beam import Support
from thrifty.powers.design import design
from thrifty.powers.legal_points import legal_points
from thrifty.powers.pursuit import best_support, find_terms
from thrifty.powers.real_values import RealValues
from thrifty.powers.representation import PowersRepresentation, exponents
from thrifty.powers.rows import growing
from thrifty.powers.sums import Polynomial, SumRules

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
            support = best_support(
                design(values, points), self.target[self.order[:n_rows]], self.rules
            )
            if support is None:
                continue
            terms = _named(points[list(support.columns)], support, known.features)
            if self._right(terms, n_rows, log_candidates):
                return terms
        return Failure(
            "outside-span",
            f"no sum of at most {self.rules.max_terms} of the {len(points)} legal monomials in the "
            f"span of the {len(known)} known ones fits {n_rows} examples",
            {"rank": len(known), "points": len(points), "rows": n_rows},
        )

    def over(self, features: np.ndarray, first: int) -> Polynomial | Failure:
        """A sum of any monomials over ``features``."""
        rules, n_features = self.rules, len(features)
        limit = min(len(self.order), row_limit(n_features, rules))
        dictionary = math.comb(n_features + rules.max_degree, rules.max_degree)
        log_candidates = rules.max_terms * math.log(dictionary)
        unproven = False
        for n_rows in growing(first, limit, 1.35):
            values = self._buy(n_rows, features)
            found = find_terms(values, self.target[self.order[:n_rows]], rules)
            if found is not None:
                terms = _named(*found, features)
                verdict = rules.verified(
                    self.door, self.target, terms, self.order[:n_rows], log_candidates
                )
                if verdict == "right":
                    return terms
                unproven = verdict == "unproven"
        return self._gave_up(limit, n_features, unproven)

    def _buy(self, n_rows: int, features: np.ndarray) -> np.ndarray:
        return self.door.values(self.order[:n_rows], features)

    def _right(self, terms: Polynomial, n_rows: int, log_candidates: float) -> bool:
        fitted = self.order[:n_rows]
        verdict = self.rules.verified(self.door, self.target, terms, fitted, log_candidates)
        return verdict == "right"

    def _gave_up(self, limit: int, n_features: int, unproven: bool) -> Failure:
        rules, n_rows = self.rules, len(self.order)
        needed = row_limit(n_features, rules)
        if unproven:
            return Failure(
                "too-few-rows-to-verify",
                f"a polynomial fits all {n_rows} examples, but too few are left to verify it on",
                {"rows": n_rows, "rows_needed": limit + 10},
            )
        if n_rows < needed:
            return Failure(
                "too-few-rows",
                f"{n_rows} examples do not lead to a polynomial of degree <= {rules.max_degree} "
                f"with at most {rules.max_terms} terms over {n_features} features; up to {needed} "
                "may be needed",
                {"rows": n_rows, "rows_needed": needed},
            )
        return Failure(
            "no-polynomial-found",
            f"{limit} of {n_rows} examples do not lead to a polynomial of degree <= "
            f"{rules.max_degree} with at most {rules.max_terms} terms within a precision of "
            f"{rules.precision:.2g}",
            {"rows": limit, "precision": rules.precision},
        )


def _named(points: np.ndarray, support: Support, features: np.ndarray) -> Polynomial:
    return {
        exponents(zip(features.tolist(), point.tolist())): float(coefficient)
        for point, coefficient in zip(points, support.coefficients)
    }
