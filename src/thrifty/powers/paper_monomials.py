"""The paper's own algorithms for monomials (Sec. 3, App. B), one feature at a time.

For independent features the slope of log y on log x_i is g_i (Lemma deg). Scratch rounds the slope
of every feature; UseRep rounds those of a row basis I of F~, solves F~[I] w = g[I] exactly and
takes g~ = F~ w; the naive baseline rounds those of all features seen.

Where this differs from the paper: the number of rows comes from the variance of a slope, S = 4 z^2
var(log y) / var(log x_i) with z at delta / 2n (the paper's formula is 10^6 to 10^8 too large);
nothing is returned that does not reproduce labels; and g~ must be a legal monomial.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from thrifty.attempt import Failure
from thrifty.powers.evidence import coarsest, log_density
from thrifty.powers.exact_linear import combination, row_basis, solve
from thrifty.powers.failures import correlated, too_few_rows
from thrifty.powers.lattice import log_legal_points
from thrifty.powers.log_values import LogValues
from thrifty.powers.representation import Exponents, PowersRepresentation, degree, exponents
from thrifty.powers.rules import Rules
from thrifty.powers.verify import not_contradicted, verified

__all__ = ["SlopeTask", "Slopes", "from_scratch", "naive", "rows_for_slopes", "slopes", "use_rep"]

#: Rows bought to learn the variance of a feature before the number of rows is fixed.
PILOT = 30


def slopes(logs: np.ndarray, target: np.ndarray) -> np.ndarray:
    """The least-squares slope of ``target`` on each column alone, centred empirically.

    A column that does not vary carries no slope: 0.
    """
    centred = logs - logs.mean(axis=0)
    squares = np.einsum("ij,ij->j", centred, centred)
    products = centred.T @ (target - target.mean())
    safe = np.where(squares > 0, squares, 1.0)
    return np.asarray(np.where(squares > 0, products / safe, 0.0))


def rows_for_slopes(
    variance_of_target: float, variance_of_feature: float, n_slopes: int, delta: float
) -> int:
    """Rows at which ``n_slopes`` slopes are all within 1/2 with probability 1 - delta."""
    if variance_of_feature <= 0:
        return 1
    z = float(norm.isf(delta / (2 * max(n_slopes, 1))))
    return max(2, math.ceil(4 * z * z * variance_of_target / variance_of_feature))


@dataclass(frozen=True)
class SlopeTask:
    """What slopes are learned from, in which order of rows, and what counts as right."""

    door: LogValues
    target: np.ndarray
    order: np.ndarray
    rules: Rules
    delta: float


class Slopes:
    """Rounded slopes on more and more rows."""

    def __init__(self, task: SlopeTask, features: np.ndarray) -> None:
        self.door, self.target, self.order = task.door, task.target, task.order
        self.features, self.delta = features, task.delta

    def predicted_rows(self) -> int:
        """S, from the variance of the labels (free) and of the features (a small pilot)."""
        pilot = self.door.logs(self.order[: min(PILOT, len(self.order))], self.features)
        spread = pilot.var(axis=0)
        varying = spread[spread > 0]
        typical = float(np.median(varying)) if len(varying) else 0.0
        return rows_for_slopes(float(self.target.var()), typical, len(self.features), self.delta)

    def rounded(self, n_rows: int) -> np.ndarray:
        """Rounded slopes from the first ``n_rows`` rows."""
        rows = self.order[:n_rows]
        self.values = self.door.values(rows, self.features)
        self.logs = np.log(self.values)
        return np.asarray(np.rint(slopes(self.logs, self.target[rows])), dtype=np.int64)


def from_scratch(task: SlopeTask) -> Exponents | Failure:
    """Algorithm monomials-scratch on every feature, verified on every row it used."""
    order, rules = task.order, task.rules
    work = Slopes(task, np.arange(task.door.n_features))
    needed = work.predicted_rows()
    n_rows = min(needed, len(order))
    while True:
        powers = work.rounded(n_rows)
        verdict = _verified(work, powers, order[:n_rows], rules)
        if isinstance(verdict, tuple):
            return verdict
        if n_rows == len(order):
            return _why(work, verdict, needed, n_rows)
        n_rows = min(math.ceil(1.5 * n_rows), len(order))


def _verified(
    work: Slopes, powers: np.ndarray, rows: np.ndarray, rules: Rules
) -> Exponents | Failure:
    if (powers < 0).any() or powers.sum() > rules.max_degree:
        # A negative slope is noise. A sum above the limit may be noise too, or the truth.
        monomial = exponents(zip(work.features.tolist(), np.maximum(powers, 0).tolist()))
        return Failure(
            "degree-above-limit",
            f"the rounded slopes have degree {degree(monomial)}, the limit is {rules.max_degree}",
            {"degree": degree(monomial), "max_degree": rules.max_degree},
        )
    fit = rules.check(work.target[rows], work.logs @ powers.astype(np.float64))
    used = powers > 0
    density = log_density(work.logs[:, used]) if used.any() else 1.0
    believed = fit.holds and rules.believed(
        fit, log_legal_points(len(work.features), rules.max_degree), density, coarsest(work.values)
    )
    if believed and not_contradicted(
        work.door, work.target, work.features[used], powers[used].astype(np.float64), rules
    ):
        return exponents(zip(work.features.tolist(), powers.tolist()))
    return Failure("not-verified", "the rounded slopes do not reproduce the labels")


def _why(work: Slopes, verdict: Failure, needed: int, n_rows: int) -> Failure:
    if n_rows < needed:
        return too_few_rows(
            n_rows,
            needed,
            f"{n_rows} examples are too few for slopes of {len(work.features)} features: "
            f"S = {needed} is predicted",
        )
    return correlated(work.logs, work.features) or verdict


def _once_more(needed: int, available: int, known: PowersRepresentation) -> list[int]:
    """The predicted rows, then all there are: a misread slope must not pass for a new target."""
    first = min(needed, available)
    return [first] if known.partial else sorted({first, available})


def use_rep(task: SlopeTask, known: PowersRepresentation) -> Exponents | Failure:
    """Algorithm lfd-prod-mon: slopes on a cheapest row basis, an exact solve, a check."""
    if not len(known):
        return Failure("empty-representation", "nothing has been learned yet")
    rules = task.rules
    basis = row_basis(known.matrix, task.door.cells.prices[known.features])
    work = Slopes(task, known.features[basis])
    needed = work.predicted_rows()
    for n_rows in _once_more(needed, len(task.order), known):
        weights = solve(known.matrix[basis], work.rounded(n_rows).tolist())
        powers = combination(known.matrix, weights)
        if powers is not None and min(powers) >= 0 and sum(powers) <= rules.max_degree:
            monomial = exponents(zip(known.features.tolist(), powers))
            if reproduces(task.door, task.target, monomial, rules, _coarse(work, known)):
                return monomial
    if n_rows < needed:
        return too_few_rows(
            n_rows,
            needed,
            f"{n_rows} examples are too few for slopes of {len(basis)} features: S = {needed} is "
            "predicted; or the target is outside the span",
        )
    return Failure(
        "outside-span",
        f"the powers of the {len(basis)} basis features do not extend to a monomial that "
        "reproduces the labels: the target is outside the span of the known ones",
        {"rank": len(known), "rows": n_rows},
    )


def naive(task: SlopeTask, known: PowersRepresentation) -> Exponents | Failure:
    """The naive baseline: slopes of every feature seen, all other powers zero."""
    if not len(known):
        return Failure("empty-representation", "nothing has been learned yet")
    rules = task.rules
    work = Slopes(task, known.features)
    needed = work.predicted_rows()
    for n_rows in _once_more(needed, len(task.order), known):
        powers = work.rounded(n_rows)
        if (powers >= 0).all() and powers.sum() <= rules.max_degree:
            monomial = exponents(zip(known.features.tolist(), powers.tolist()))
            if reproduces(task.door, task.target, monomial, rules, _coarse(work, known)):
                return monomial
    reason = "too-few-rows" if n_rows < needed else "outside-features"
    return Failure(
        reason,
        f"slopes of the {len(known.features)} features seen, on {n_rows} examples of the {needed} "
        "predicted, do not reproduce the labels",
        {"rows": n_rows, "rows_needed": needed},
    )


def _coarse(work: Slopes, known: PowersRepresentation) -> float:
    return max(coarsest(work.values), known.coarse)


def reproduces(
    door: LogValues, target: np.ndarray, monomial: Exponents, rules: Rules, coarse: float = 0.0
) -> bool:
    """Check the labels on as many rows as it takes: one, unless values are coarse."""
    verdict, _rows = verified(door, target, monomial, rules, log_candidates=0.0, coarse=coarse)
    return verdict == "right"
