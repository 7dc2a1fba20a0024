"""When is a fit believed? By the chance that a wrong model would have fitted as well.

Floats are never compared for equality. A candidate that misses no row by more than ``miss`` would
be matched by chance, by one wrong monomial on one row, with probability at most

    chance = max(2 * miss * density, grain)

where ``density`` bounds the density of log x (a wrong monomial differs by an integer combination
of logs, which is at least as spread out), and ``grain`` is the probability that two values
coincide because they are coarse: with one decimal it is 0.1, and one row proves nothing. On R
rows, with M candidates that could have been chosen, the risk is M * chance^R. Rows are bought
until the risk is below what the user allows.

A wrong monomial differs from the target by powers of some features, and may differ by any of
them: given the other values of a row, only one value of such a feature hides the difference. The
grain is therefore that of the coarsest feature that could be in play, not of the candidate's own,
and a feature of which a single coarse value was seen has a grain of 1: it proves nothing yet.
"""

from __future__ import annotations

import math

import numpy as np

__all__ = [
    "ENOUGH_ROWS",
    "HOPELESS",
    "ROUNDING",
    "coarsest",
    "grain",
    "log_density",
    "log_risk",
    "rows_needed",
]

#: What evaluating a product and its logarithm in double precision may lose, per unit of size.
ROUNDING = 4e-15

#: Where a wrong model fits a row with this chance, no number of rows is enough.
HOPELESS = 0.95

#: From so many rows on a feature that never varied is taken for a constant.
ENOUGH_ROWS = 8

#: Values with more decimals than this are as good as continuous.
FINE_DECIMALS = 9


def grain(values: np.ndarray) -> float:
    """The probability that a value of the coarsest column coincides with a given one.

    One over the levels its decimals allow, or the share of its commonest value where that is
    more: levels need not be equally likely, and one value may come again and again among fine
    ones. No values at all prove nothing.

    >>> import numpy as np
    >>> round(grain(np.array([1.1, 1.9, 2.0, 1.0])), 3)
    0.091
    >>> grain(np.array([1.123456789012, 1.7]))
    0.0
    >>> grain(np.array([[1.7], [1.7]])), grain(np.array([[1.7]]))
    (1.0, 1.0)
    """
    table = values[:, None] if values.ndim == 1 else values
    return float(_grains(table).max()) if table.size else 1.0


def coarsest(values: np.ndarray) -> float:
    """The grain of the coarsest feature that could be in a target, from rows of all of them.

    A feature that does not vary on eight rows or more cannot be told from a factor, whoever
    learns, and is left out. One that repeats itself more often than not counts as one half: a
    monomial without it is right on most rows, and no rule that buys few rows could see more.

    >>> import numpy as np
    >>> random = np.random.default_rng(0)
    >>> fine, same = random.uniform(1, 2, 20), np.full(20, 2.0)
    >>> coarsest(np.column_stack([fine, same])), coarsest(np.column_stack([fine, same])[:7])
    (0.0, 1.0)
    """
    if not values.size:
        return 0.0
    grains, varying = _grains(values), np.ptp(values, axis=0) > 0
    if len(values) < ENOUGH_ROWS or not varying.any():
        return float(grains.max())
    return min(0.5, float(grains[varying].max()))


def _grains(table: np.ndarray) -> np.ndarray:
    rising = np.sort(table, axis=0)
    spans = rising[-1] - rising[0]
    levels = np.full(rising.shape[1], np.inf)
    for decimals in range(FINE_DECIMALS, -1, -1):
        scaled = rising * 10.0**decimals
        coarse = (np.abs(scaled - np.rint(scaled)) <= 1e-15 * np.abs(scaled)).all(axis=0)
        if not coarse.any():
            break  # what is not whole in more decimals is not whole in fewer
        levels[coarse] = 1.0 + spans[coarse] * 10.0**decimals
    return np.asarray(np.maximum(1.0 / levels, _commonest(rising)))


def _commonest(rising: np.ndarray) -> np.ndarray:
    """Of each column: given a row with its commonest value, the share of the others with it."""
    again = rising[1:] == rising[:-1]
    if not again.any():
        return np.zeros(rising.shape[1])
    rows = np.arange(1, len(rising))[:, None]
    began = np.maximum.accumulate(np.where(again, 0, rows), axis=0)
    return np.asarray((rows - began).max(axis=0) / (len(rising) - 1))


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
    if chance >= HOPELESS:
        return None
    return max(1, math.ceil((log_candidates - math.log(risk)) / -math.log(chance)))
