"""The paper's own algorithms for monomials (Sec. 3, App. B), one feature at a time.

For independent features the slope of log y on log x_i is g_i (Lemma deg). Scratch rounds the slope
of every feature; UseRep rounds those of a row basis I of F~, solves F~[I] w = g[I] exactly and
takes g~ = F~ w; the naive baseline rounds those of all features seen.

Where this differs from the paper: the number of rows comes from the variance of a slope, at most
var(log y) / (S var(log x_i)), and the chances that a feature's is off by half are summed (the
paper's proof takes 10^4 times as many rows and more: :func:`thrifty.bounds.rows_for_monomial`);
nothing is returned that does not reproduce labels; and g~ must be a legal monomial.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq
from scipy.special import chdtri, stdtr

from thrifty.attempt import Failure
from thrifty.powers.evidence import MonomialTask, coarsest, correlated, log_density, too_few_rows
from thrifty.powers.lattice import log_legal_points
from thrifty.powers.representation import Exponents, PowersRepresentation, degree, exponents


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
    variance_of_target: float,
    variances_of_features: np.ndarray,
    delta: float,
    measured_on: float = math.inf,
) -> int:
    """Rows at which the slopes of these features are all within 1/2 with probability 1 - delta.

    A slope's error over its standard error, which a variance measured on few rows is part of, has
    Student's law; the chances of all features add up, those that vary least count most.

    >>> rows_for_slopes(2.0, np.ones(10), 0.1)
    54
    """
    spread = variances_of_features[variances_of_features > 0]
    if not len(spread) or variance_of_target <= 0:
        return 1
    freedom = min(measured_on - 1, 1e6)

    def missed(n_rows: float) -> float:
        within = np.sqrt(n_rows * spread / (4 * variance_of_target))
        return float(2 * stdtr(freedom, -within).sum() - delta)

    most = 4.0
    while missed(most) > 0:
        most *= 2
    return max(2, math.ceil(brentq(missed, 1e-9, most))) if missed(1e-9) > 0 else 2


def _at_most(variance: float, n_values: int, delta: float) -> float:
    """What a variance that was measured on so many values may be, with probability 1 - delta."""
    freedom = max(n_values - 1, 1)
    return variance * freedom / float(chdtri(freedom, 1 - delta))


class Slopes:
    """Rounded slopes on more and more rows."""

    def __init__(self, task: MonomialTask, features: np.ndarray, delta: float) -> None:
        self.task, self.features, self.delta = task, features, delta

    def predicted_rows(self) -> int:
        """S, from the variance of the labels (free) and of the features (a small pilot)."""
        # rows bought to learn the variance of a feature before the number of rows is fixed
        n_rows = min(30, len(self.task.order))
        pilot = self.task.reader.logs(self.task.order[:n_rows], self.features)
        # a quarter of delta for what the labels may vary more than seen, the rest for the slopes
        varies = _at_most(float(self.task.target.var()), len(self.task.target), self.delta / 4)
        spread = pilot.var(axis=0, ddof=1 if n_rows > 1 else 0)
        return rows_for_slopes(varies, spread, 0.75 * self.delta, max(n_rows, 2))

    def rounded(self, n_rows: int) -> np.ndarray:
        """Rounded slopes from the first ``n_rows`` rows."""
        rows = self.task.order[:n_rows]
        self.values = self.task.reader.values(rows, self.features)
        self.logs = np.log(self.values)
        return np.asarray(np.rint(slopes(self.logs, self.task.target[rows])), dtype=np.int64)


def from_scratch(task: MonomialTask, delta: float) -> Exponents | Failure:
    """Algorithm monomials-scratch on every feature, verified on every row it used."""
    order = task.order
    work = Slopes(task, np.arange(task.reader.n_features), delta)
    needed = work.predicted_rows()
    n_rows = min(needed, len(order))
    while True:
        powers = work.rounded(n_rows)
        verdict = _verified(work, powers, order[:n_rows])
        if isinstance(verdict, tuple):
            return verdict
        if n_rows == len(order):
            return _why(work, verdict, needed, n_rows)
        n_rows = min(math.ceil(1.5 * n_rows), len(order))


def _verified(work: Slopes, powers: np.ndarray, rows: np.ndarray) -> Exponents | Failure:
    rules = work.task.rules
    if (powers < 0).any() or powers.sum() > rules.max_degree:
        # A negative slope is noise. A sum above the limit may be noise too, or the truth.
        monomial = exponents(zip(work.features.tolist(), np.maximum(powers, 0).tolist()))
        return Failure(
            "degree-above-limit",
            f"the rounded slopes have degree {degree(monomial)}, the limit is {rules.max_degree}",
            {"degree": degree(monomial), "max_degree": rules.max_degree},
        )
    fit = rules.check(work.task.target[rows], work.logs @ powers.astype(np.float64))
    used = powers > 0
    density = log_density(work.logs[:, used]) if used.any() else 1.0
    believed = fit is not None and rules.believed(
        fit, log_legal_points(len(work.features), rules.max_degree), density, coarsest(work.values)
    )
    if believed and not work.task.contradicted(
        work.features[used], powers[used].astype(np.float64)
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


def use_rep(task: MonomialTask, known: PowersRepresentation, delta: float) -> Exponents | Failure:
    """Algorithm lfd-prod-mon: slopes on a cheapest row basis, an exact solve, a check."""
    basis = known.row_basis(task.reader.cells.prices)
    return _from_slopes(
        task, known, delta, known.features[basis], lambda powers: known.completed(basis, powers)
    )


def naive(task: MonomialTask, known: PowersRepresentation, delta: float) -> Exponents | Failure:
    """The naive baseline: slopes of every feature seen, all other powers zero."""
    return _from_slopes(task, known, delta, known.features, list)


def _from_slopes(
    task: MonomialTask,
    known: PowersRepresentation,
    delta: float,
    features: np.ndarray,
    complete: Callable[[list[int]], list[int] | None],
) -> Exponents | Failure:
    """The monomial that rounded slopes of these features lead to, completed to all features seen.

    On the predicted rows, then on all there are: a misread slope must not pass for a new target.
    One row verifies it, unless values are coarse.
    """
    work, rules = Slopes(task, features, delta), task.rules
    needed = work.predicted_rows()
    first, available = min(needed, len(task.order)), len(task.order)
    for n_rows in [first] if known.partial else sorted({first, available}):
        powers = complete(work.rounded(n_rows).tolist())
        if powers is None or min(powers) < 0 or sum(powers) > rules.max_degree:
            continue
        monomial = exponents(zip(known.features.tolist(), powers))
        coarse = max(coarsest(work.values), known.coarse)
        if task.verified(monomial, 0.0, coarse=coarse)[0] == "right":
            return monomial
    told = f"slopes of {len(features)} features on {n_rows} examples"
    if n_rows < needed:
        message = (
            f"{told} are too few, S = {needed} is predicted; or the target is outside the span"
        )
        return too_few_rows(n_rows, needed, message)
    return Failure(
        "outside-span",
        f"{told} do not lead to a monomial that reproduces the labels: the target is outside the "
        "span of the known ones",
        {"rank": len(known), "rows": n_rows},
    )
