"""Verification of a fitted monomial on rows in a random order, a few cells a row."""

from __future__ import annotations

from typing import Literal

import numpy as np

from thrifty.powers.evidence import HOPELESS, coarsest, log_density
from thrifty.powers.log_values import LogValues
from thrifty.powers.representation import Exponents
from thrifty.powers.row_order import shuffled
from thrifty.powers.rules import Rules

__all__ = ["Verdict", "not_contradicted", "verified"]

#: "wrong": a row contradicts it. "unproven": every row fits, and chance could explain that.
Verdict = Literal["right", "wrong", "unproven"]


def verified(
    door: LogValues,
    target: np.ndarray,
    monomial: Exponents,
    rules: Rules,
    log_candidates: float,
    at_least: int = 1,
    coarse: float = 0.0,
) -> tuple[Verdict, int]:
    """Try ``monomial`` on random rows until it is contradicted or chance is ruled out.

    ``log_candidates`` is the natural log of the number of monomials it was chosen from, ``coarse``
    the grain of the other features that may be in the target. Only its own features are bought.
    Whatever can be checked for nothing is: a constant on every label, any other monomial on all
    rows whose cells are owned. Returns the verdict and the number of rows it took.
    """
    order = shuffled(len(target), door.row_seed)
    if not monomial:
        constant = rules.check(target, np.zeros(len(target))).holds
        return ("right" if constant else "wrong"), min(at_least, len(order))
    if coarse >= HOPELESS:
        return "unproven", min(at_least, len(order))
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
        density = log_density(logs) if values.size > 1 else 1.0
        chance = max(coarse, coarsest(values))
        if fit.holds and rules.believed(fit, log_candidates, density, chance):
            owned = not_contradicted(door, target, features, powers, rules)
            return ("right" if owned else "wrong"), n_rows
    return ("unproven" if fit.holds else "wrong"), len(order)


def not_contradicted(
    door: LogValues, target: np.ndarray, features: np.ndarray, powers: np.ndarray, rules: Rules
) -> bool:
    """Whether the monomial fits every row on which its cells are owned: that costs nothing."""
    rows = door.owned_rows(features)
    return rules.check(target[rows], door.logs(rows, features) @ powers).holds
