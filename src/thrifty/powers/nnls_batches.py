"""Non-negative least squares on logs, in growing batches of rows.

log y = sum g_i log x_i with all g_i >= 0. Non-negativity alone makes the sparse answer unique long
before there are as many rows as features, so rows are bought a few at a time, the weights rounded
to integers, and the first monomial that fits every row bought is verified on random rows. No
independence of the features is needed. If even real weights cannot fit the rows, no monomial over
these features can: that is a proof, and the search stops there. Where chance cannot be ruled out
because values are coarse, rows may still prove that no other monomial fits: logs of full column
rank leave one solution, and otherwise all monomials are tried, if they are not too many.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from scipy.optimize import nnls

from thrifty.attempt import Failure
from thrifty.powers.evidence import (
    MonomialTask,
    Rules,
    coarsest,
    equal_features,
    rounding_of,
    rows_needed,
    rows_tell,
    too_few_rows,
    twins,
)
from thrifty.powers.lattice import log_legal_points
from thrifty.powers.representation import Exponents, degree, exponents, vectors_up_to, written
from thrifty.powers.values import both_ends, growing


def row_limit(n_features: int, rules: Rules) -> int:
    """Rows after which more would not help: several times what exact labels need."""
    enough = 40 + 4 * rules.max_degree * math.log(max(n_features, 2))
    return math.ceil(enough * (2 if rules.noisy else 1))


def fit_in_batches(
    task: MonomialTask, features: np.ndarray, first: int = 8, coarse_elsewhere: float = 0.0
) -> Exponents | Failure:
    """The monomial over ``features`` behind these labels, or why there is none.

    ``coarse_elsewhere`` is the grain of features that are not among these.
    """
    target, rules = task.target, task.rules
    order = both_ends(target, task.reader.row_seed)
    limit = min(len(order), row_limit(len(features), rules))
    log_candidates = log_legal_points(len(features), rules.max_degree)
    unproven = 0.0  # how coarse values were when a fit was there and chance could explain it
    for n_rows in growing(first, limit):
        rows = order[:n_rows]
        values = task.reader.values(rows, features)
        logs = np.log(values)
        weights, gap = _robust_nnls(logs, target[rows], rules)
        if gap > 0.0:
            return Failure(
                "no-powers-fit",
                f"no powers >= 0 of {len(features)} features fit {n_rows} examples: the best real "
                f"ones miss log y by {gap:.3g} in the mean square",
                {"miss": gap, "rows": n_rows, "features": len(features)},
            )
        powers = _rounded(weights, logs, target[rows])
        fit = rules.check(target[rows], logs @ powers)
        used = np.flatnonzero(powers)
        if fit and len(used):
            monomial = exponents(zip(features[used].tolist(), powers[used].astype(int).tolist()))
            coarse = max(coarsest(values), coarse_elsewhere)
            verdict, _tried = task.verified(monomial, log_candidates, coarse=coarse)
            if verdict == "right":
                return _twins(logs, used, features) or _within_degree(monomial, rules)
            unproven = coarse if verdict == "unproven" else 0.0
    if unproven > 0.0:
        everything = len(features) == task.reader.n_features
        rival = rival_monomial(logs, target[rows], powers, rules, unproven)
        if everything and isinstance(rival, np.ndarray):
            return _two_fit(n_rows, monomial, exponents(zip(features.tolist(), rival.tolist())))
        if everything and rival == "none":
            return _twins(logs, used, features) or _within_degree(monomial, rules)
        return _too_coarse(limit, unproven, log_candidates, rules)
    return _gave_up(len(order), limit, len(features), rules)


def rival_monomial(
    logs: np.ndarray, target: np.ndarray, powers: np.ndarray, rules: Rules, coarse: float
) -> np.ndarray | Literal["none", "unknown"]:
    """Another monomial that fits these rows as ``powers`` do; "none": there is a proof.

    Labels that follow no monomial must not be matched by one of them either.

    >>> rules = Rules(2, 1e-9, 1e-7)
    >>> logs = np.log([[1.0, 2], [2, 1], [2, 2], [1, 1]])
    >>> rival_monomial(logs, logs[:, 0], np.array([1, 0]), rules, 0.5)
    'none'
    """
    most_tried = 100_000  # Monomials that are tried one by one.
    n_rows, n_features = logs.shape
    n_monomials = math.comb(n_features + rules.max_degree, rules.max_degree)
    if rules.noisy or not rows_tell(n_rows, n_features, n_monomials, coarse):
        return "unknown"
    allowed = rules.allowed(rounding_of(target))
    least = np.linalg.svd(logs, compute_uv=False)[-1] if n_rows >= n_features else 0.0
    if float(least) > 2 * np.linalg.norm(allowed) + 1e-9:
        return "none"  # a step of a power moves the rows further than their precision
    if n_monomials > most_tried:
        return "unknown"
    for some in np.array_split(vectors_up_to(n_features, rules.max_degree), 20):
        fits = (np.abs(some @ logs.T - target) <= allowed).all(axis=1)
        others = some[fits & (some != powers).any(axis=1)]
        if len(others):
            return np.asarray(others[0])
    return "none"


def _robust_nnls(logs: np.ndarray, target: np.ndarray, rules: Rules) -> tuple[np.ndarray, float]:
    """Weights, and by how much no weights can fit (0 where some may).

    Least squares bounds every fit: if the best real weights miss by more, in the mean square,
    than the tolerance allows, no exponents can do better. With noise, rows that stick out get
    less weight (Huber) and no proof is attempted on them.
    """
    weights, norm = nnls(logs, target, maxiter=30 * logs.shape[1])
    if not rules.noisy:
        allowed = float(np.linalg.norm(rules.allowed(rounding_of(target))))
        gap = norm / math.sqrt(len(target)) if norm > 2.0 * allowed + 1e-10 else 0.0
        return weights, gap
    for _pass in range(3):
        errors = np.abs(target - logs @ weights)
        trust = np.sqrt(np.minimum(1.0, 2.0 * rules.precision / np.maximum(errors, 1e-300)))
        weights, _norm = nnls(logs * trust[:, None], target * trust, maxiter=30 * logs.shape[1])
    return weights, 0.0


def _rounded(weights: np.ndarray, logs: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Whole powers: fit the strong features once more without the faint ones, then round."""
    # Weights below this are never a power of 1 that noise has shrunk; the others are fitted
    # again.
    faint = 0.15
    strong = np.flatnonzero(weights > faint)
    powers = np.zeros(len(weights))
    if len(strong) and len(strong) < len(target):
        refitted, _norm = nnls(logs[:, strong], target)
        powers[strong] = np.rint(refitted)
    else:
        powers = np.rint(weights)
    return powers


def _twins(logs: np.ndarray, used: np.ndarray, features: np.ndarray) -> Failure | None:
    """A failure where a feature of the monomial has an equal: nobody can tell which it is."""
    constant = used[np.ptp(logs[:, used], axis=0) == 0.0]
    if len(constant):
        feature = int(features[constant[0]])
        return Failure(
            "constant-features",
            f"feature {feature} is constant on the {len(logs)} examples bought, so its power "
            "cannot be told from a constant factor",
            {"feature": feature},
        )
    alike = twins(logs, used)
    return None if alike is None else equal_features(features[list(alike)], len(logs))


def _within_degree(monomial: Exponents, rules: Rules) -> Exponents | Failure:
    if degree(monomial) <= rules.max_degree:
        return monomial
    return Failure(
        "degree-above-limit",
        f"the labels are {written(monomial)}, of degree {degree(monomial)}, above the limit of "
        f"{rules.max_degree}",
        {"degree": degree(monomial), "max_degree": rules.max_degree},
    )


def _two_fit(n_rows: int, first: Exponents, second: Exponents) -> Failure:
    return Failure(
        "coarse-values",
        f"{written(first)} and {written(second)} take the same values on all {n_rows} examples: "
        "nobody can tell them apart",
        {"rows": n_rows, "both": (dict(first), dict(second))},
    )


def _too_coarse(n_rows: int, coarse: float, log_candidates: float, rules: Rules) -> Failure:
    needed = rows_needed(0.0, log_candidates, 1.0, coarse, rules.risk)
    return Failure(
        "coarse-values",
        f"a monomial fits {n_rows} examples, but values are so coarse that two coincide with "
        f"probability {coarse:.2g}: others may fit as well, or labels that follow none",
        {"rows": n_rows, "coincidence": coarse, "rows_needed": needed},
    )


def _gave_up(n_rows: int, limit: int, n_features: int, rules: Rules) -> Failure:
    needed = row_limit(n_features, rules)
    if n_rows < needed:
        return too_few_rows(
            n_rows,
            needed,
            f"{n_rows} examples do not single out one monomial of degree <= {rules.max_degree} "
            f"over {n_features} features; up to {needed} may be needed",
        )
    return Failure(
        "no-monomial-found",
        f"{limit} of {n_rows} examples do not lead to a monomial of degree <= "
        f"{rules.max_degree} within a precision of {rules.precision:.2g}",
        {"rows": limit, "precision": rules.precision},
    )
