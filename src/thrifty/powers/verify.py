"""Verification of a fitted monomial on rows in a random order, a few cells a row."""

from __future__ import annotations

from typing import Literal

import numpy as np

from thrifty.powers.evidence import grain, log_density
from thrifty.powers.log_values import LogValues
from thrifty.powers.representation import Exponents
from thrifty.powers.rows import shuffled
from thrifty.powers.rules import Rules

__all__ = ["Verdict", "verified"]

#: "wrong": a row contradicts it. "unproven": every row fits, and chance could explain that.
Verdict = Literal["right", "wrong", "unproven"]


def verified(
    door: LogValues,
    target: np.ndarray,
    monomial: Exponents,
    rules: Rules,
    log_candidates: float,
    at_least: int = 1,
) -> tuple[Verdict, int]:
    """Try ``monomial`` on random rows until it is contradicted or chance is ruled out.

    ``log_candidates`` is the natural log of the number of monomials it was chosen from. Only its
    own features are bought. Returns the verdict and the number of rows it took.
    """
    order = shuffled(len(target))
    features = np.array([feature for feature, _power in monomial], dtype=np.intp)
    powers = np.array([power for _feature, power in monomial], dtype=np.float64)
    values = np.empty((0, len(features)))
    for n_rows in range(min(at_least, len(order)), len(order) + 1):
        rows = order[:n_rows]
        values = np.vstack([values, door.values(rows[len(values) :], features)])
        logs = np.log(values)
        fit = rules.check(target[rows], logs @ powers)
        if not fit.holds and (not rules.noisy or n_rows >= 20):
            return "wrong", n_rows
        coarse = grain(values) if values.size > 1 else 0.0
        density = log_density(logs) if values.size > 1 else 1.0
        if fit.holds and rules.believed(fit, log_candidates, density, coarse):
            return "right", n_rows
    return ("unproven" if fit.holds else "wrong"), len(order)
