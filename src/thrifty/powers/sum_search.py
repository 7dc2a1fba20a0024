"""Learning a sparse polynomial in growing batches of rows: from known monomials, or from none."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import chain, combinations, islice
from typing import Literal

import numpy as np

from thrifty.attempt import Failure
from thrifty.powers.evidence import (
    HOPELESS,
    Polynomial,
    SumRules,
    Support,
    Verdict,
    coarsest,
    equal_features,
    rows_tell,
    term_values,
    too_few_rows,
    twins,
    used_features,
)
from thrifty.powers.pursuit import (
    PROMISING,
    best_support,
    design,
    find_terms,
    fit_columns,
    fit_together,
)
from thrifty.powers.representation import (
    PowersRepresentation,
    exponents,
    legal_points,
    vectors_up_to,
)
from thrifty.powers.values import BoughtValues, growing, shuffled

#: Sums that are tried one by one, monomials that are solved for at once, and sums fitted together.
MOST_TRIED, MOST_SOLVED, _TOGETHER = 100_000, 2_000, 5_000


def row_limit(n_features: int, rules: SumRules) -> int:
    """Rows after which more would not help: a few times what exact labels need."""
    enough = 40 + 6 * rules.max_terms * rules.max_degree * math.log(max(n_features, 2))
    return math.ceil(enough * (2 if rules.noisy else 1))


@dataclass(frozen=True)
class SumSearch:
    """One task: a reader, labels, the order in which rows are bought, what counts as a fit."""

    reader: BoughtValues
    target: np.ndarray
    order: np.ndarray
    rules: SumRules

    def reuse(self, known: PowersRepresentation) -> Polynomial | Failure:
        """A sum of legal monomials in the span of what is known, on the features seen."""
        # Legal monomials in a span that are listed at most; above it the features seen are tried
        # instead.
        most_points = 200_000
        points = legal_points(known.matrix, self.rules.max_degree, most_points)
        if points is None:
            return Failure(
                "too-many-points",
                f"the span of {len(known)} monomials holds too many of degree <= "
                f"{self.rules.max_degree} to list",
                {"rank": len(known), "at_most": most_points},
            )
        log_candidates = self.rules.max_terms * math.log(max(len(points), 2))
        first = 2 * self.rules.max_terms + 2
        limit = first + 20 if not self.rules.noisy else 20 * first
        for n_rows in growing(first, min(limit, len(self.order)), 1.25):
            values = self.reader.values(self.order[:n_rows], known.features)
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
            values = self.reader.values(self.order[:n_rows], features)
            # A constant feature is one with any coefficient: it is left out.
            varying = np.flatnonzero(np.ptp(values, axis=0) > 0)
            target = self.target[self.order[:n_rows]]
            found = find_terms(values[:, varying], target, rules) if len(varying) else None
            if found is None:
                continue
            alike = twins(values[:, varying], np.flatnonzero(found[0].any(axis=0)))
            if alike is not None:
                pair = features[varying[list(alike)]]
                one, other = self.reader.values(self.order, pair).T
                if (one == other).all():
                    return equal_features(pair, len(self.order))
                continue  # other rows tell them apart
            terms = _named(*found, features[varying])
            coarse = max(coarsest(values), coarse_elsewhere)
            verdict = self._verdict(terms, n_rows, log_candidates, coarse)
            if verdict == "right":
                return terms
            unproven = verdict == "unproven"
        proved = self._by_exhaustion(features) if n_features == self.reader.n_features else None
        return proved or self._gave_up(limit, features, unproven)

    def _by_exhaustion(self, features: np.ndarray) -> Polynomial | Failure | None:
        """The one polynomial that fits, or two that do, where all can be tried on all rows."""
        dictionary = math.comb(len(features) + self.rules.max_degree, self.rules.max_degree)
        if self.rules.noisy or dictionary > MOST_SOLVED:
            return None
        rows = self.order[: 4 * dictionary + 50]
        values = self.reader.values(rows, features)
        varying = np.flatnonzero(np.ptp(values, axis=0) > 0)
        found = only_polynomial(values[:, varying], self.target[rows], self.rules, coarsest(values))
        if found == "several":
            return Failure(
                "coarse-values",
                f"several polynomials with as few terms fit all {len(rows)} examples: nobody can "
                "tell them apart",
                {"rows": len(rows)},
            )
        if found is None:
            return None
        terms = _named(*found, features[varying])
        misses = self._missed(terms, used_features(terms), self.order)[1]
        return terms if self.rules.holds(misses) else None

    def _verdict(
        self, terms: Polynomial, n_rows: int, log_candidates: float, coarse: float
    ) -> Verdict:
        """Try the polynomial on random rows that it was not fitted on, until chance is ruled out.

        Only its own features are bought; ``coarse`` is the grain of the others. With noisy labels
        a row proves little, so at least as many rows are tried as it has been fitted on. In the
        end it must fit every row on which its cells are owned: that costs nothing.
        """
        fresh = shuffled(len(self.target), self.reader.row_seed)
        fresh = fresh[~np.isin(fresh, self.order[:n_rows])]
        if not len(fresh) or coarse >= HOPELESS:
            return "unproven"
        features, noisy = used_features(terms), self.rules.noisy
        tried, step = (min(len(fresh), max(20, n_rows)), 10) if noisy else (1, 1)
        while True:
            values, errors = self._missed(terms, features, fresh[:tried])
            if not self.rules.holds(errors):
                return "wrong"
            chance = max(coarse, coarsest(values) if len(features) else 0.0)
            sizes = np.abs(term_values(terms, features, values)).sum(axis=1)
            if self.rules.believed(errors, sizes, self.target, log_candidates, chance):
                owned = self._missed(terms, features, self.reader.owned_rows(features))[1]
                return "right" if self.rules.holds(owned) else "wrong"
            if tried == len(fresh):
                return "unproven"
            tried = min(tried + step, len(fresh))

    def _missed(
        self, terms: Polynomial, features: np.ndarray, rows: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Values of the features on these rows, and by how much the polynomial misses each."""
        values = self.reader.values(rows, features)
        return values, self.rules.errors(terms, features, values, self.target[rows])

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
            {"rows": limit, "precision": rules.precision},
        )


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


def _named(points: np.ndarray, support: Support, features: np.ndarray) -> Polynomial:
    return {
        exponents(zip(features.tolist(), point.tolist())): float(coefficient)
        for point, coefficient in zip(points, support.coefficients)
    }


def only_polynomial(
    values: np.ndarray, target: np.ndarray, rules: SumRules, coarse: float
) -> tuple[np.ndarray, Support] | Literal["several"] | None:
    """The one polynomial within the limits that fits these rows; None: none, or too many to try.

    Of several with as few terms, those over the same features count as one, the lowest powers
    standing for all: x and x^3 of a feature that is 0 or 1 are the same.
    """
    n_rows, n_features = values.shape
    n_columns = math.comb(n_features + rules.max_degree, rules.max_degree)
    n_sums = sum(math.comb(n_columns, k) for k in range(rules.max_terms + 1))
    tell = rows_tell(n_rows, n_features, n_sums, coarse, rules.max_terms)
    if rules.noisy or not tell or n_columns > MOST_SOLVED:
        return None
    points = vectors_up_to(n_features, rules.max_degree)
    columns = design(values, points)
    scales = np.linalg.norm(columns, axis=0)
    if n_rows >= n_columns + rules.max_terms + 4:
        rest = np.linalg.lstsq(columns / np.where(scales > 0, scales, 1.0), target, rcond=None)
        if rest[2] == n_columns:
            sizes = np.abs(rest[0])
            strong = np.flatnonzero(sizes > 1e-8 * sizes.max(initial=0.0))
            fits = [fit_columns(columns, target, tuple(strong.tolist()))]
            return _chosen(fits if len(strong) <= rules.max_terms else [], points, target, rules)
    if n_sums > MOST_TRIED:
        return None
    for size in range(1, rules.max_terms + 1):
        found = _chosen(_fits(columns, target, size), points, target, rules)
        if found is not None:
            return found
    return None


def _fits(columns: np.ndarray, target: np.ndarray, size: int) -> list[Support]:
    """Every support of this size that leaves nearly nothing, fitted properly."""
    every = combinations(range(columns.shape[1]), size)
    near = PROMISING * float(target @ target)
    batches = iter(lambda: list(islice(every, _TOGETHER)), [])
    promising = chain.from_iterable(
        (one for one in fit_together(columns, target, some) if one.rss <= near) for some in batches
    )
    return [fit_columns(columns, target, one.columns) for one in promising]


def _chosen(
    fits: list[Support], points: np.ndarray, target: np.ndarray, rules: SumRules
) -> tuple[np.ndarray, Support] | Literal["several"] | None:
    exact = [one for one in fits if one.rss <= rules.floor(len(target)) * float(target @ target)]
    if not exact:
        return None
    kinds = {
        tuple(sorted(tuple(np.flatnonzero(points[c]).tolist()) for c in one.columns))
        for one in exact
    }
    if len(kinds) > 1:
        return "several"
    best = min(exact, key=lambda one: int(points[list(one.columns)].sum()))
    return points[list(best.columns)], best
