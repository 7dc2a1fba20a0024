"""When is a fit believed? By the chance that a wrong model would have fitted as well.

Floats are never compared for equality. A candidate that misses no row by more than ``miss`` would
be matched by chance, by one wrong monomial on one row, with probability at most

    chance = max(2 * miss * density, grain)

where ``density`` bounds the density of log x (a wrong monomial differs by an integer combination
of logs, which is at least as spread out), and ``grain`` is the probability that two values
coincide because they are coarse: with one decimal it is 0.1, and one row proves nothing. On R
rows, with M candidates that could have been chosen, the risk is M * chance^R. Rows are bought
until the risk is below what the user allows.
"""

from __future__ import annotations

import math

import numpy as np

__all__ = ["ROUNDING", "grain", "log_density", "log_risk", "rows_needed"]

#: What evaluating a product and its logarithm in double precision may lose, per unit of size.
ROUNDING = 4e-15

#: Values with more decimals than this are as good as continuous.
FINE_DECIMALS = 9


def grain(values: np.ndarray) -> float:
    """The probability that two values coincide for being coarse: one over the levels they have.

    >>> import numpy as np
    >>> round(grain(np.array([1.1, 1.9, 2.0, 1.0])), 3)
    0.091
    >>> grain(np.array([1.123456789012, 1.7]))
    0.0
    """
    flat = np.unique(values)
    span = float(flat[-1] - flat[0]) if len(flat) else 0.0
    if span == 0.0:
        return 1.0
    for decimals in range(FINE_DECIMALS + 1):
        scaled = flat * 10.0**decimals
        if np.all(np.abs(scaled - np.rint(scaled)) <= 1e-15 * np.abs(scaled)):
            return 1.0 / (1.0 + span * 10.0**decimals)
    return 0.0


def log_density(logs: np.ndarray) -> float:
    """A bound on the density of one log feature: that of a uniform law with its spread.

    With several rows the least spread feature decides; from a single row only the spread across
    the features is known.
    """
    spread = logs.std(axis=0).min() if len(logs) >= 8 else logs.std()
    return 1.0 / (math.sqrt(12.0) * max(float(spread), 1e-12))


def log_risk(
    miss: float, n_rows: int, log_candidates: float, density: float, coarse: float
) -> float:
    """The natural log of M * chance^R."""
    chance = min(1.0, max(2.0 * miss * density, coarse, 1e-300))
    return log_candidates + n_rows * math.log(chance)


def rows_needed(
    miss: float, log_candidates: float, density: float, coarse: float, risk: float
) -> int | None:
    """Rows at which the risk is small enough, or None where no number of rows is enough."""
    chance = min(1.0, max(2.0 * miss * density, coarse, 1e-300))
    if chance >= 0.95:
        return None
    return max(1, math.ceil((log_candidates - math.log(risk)) / -math.log(chance)))
