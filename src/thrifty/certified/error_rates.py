"""How often the model is wrong, row by row: its own confidence, corrected by labels seen so far.

logit rate = a + b logit(1 - confidence), for each side (the class that it answers) a correction of
its own. A guess that steers purchases; no certificate rests on it.
"""

from __future__ import annotations

import numpy as np

from thrifty.array_types import Bools, Floats, Ints

__all__ = ["error_rates"]

#: nobody is believed to be surer than this, or less sure
_SUREST, _LEAST_SURE = 0.002, 0.6
#: standard deviations of what is believed of a, b and a side's own correction, before any label
_PRIOR = (1.5, 0.5, 0.7)
#: and no rate is below this
_FLOOR = 1e-3


def error_rates(doubt: Floats, side: Ints, known: Bools, wrong: Bools) -> Floats:
    """The probability that each row's answer is wrong.

    Parameters
    ----------
    doubt : array of float
        what the model itself gives for being wrong
    side : array of int
        which kind of answer it is, 0, 1, ...
    known, wrong : array of bool
        rows whose label was seen, and which of them are wrong

    >>> none = np.zeros(3, dtype=bool)
    >>> error_rates(np.array([0.01, 0.1, 0.4]), np.zeros(3, dtype=int), none, none).round(2)
    array([0.01, 0.1 , 0.4 ])
    """
    score = _logit(np.clip(doubt, _SUREST, _LEAST_SURE))
    sides = int(side.max(initial=0)) + 1
    seen = np.flatnonzero(known)
    columns = np.zeros((len(doubt), 2 + (sides if sides > 1 else 0)))
    columns[:, 0], columns[:, 1] = 1.0, score
    if sides > 1:
        columns[np.arange(len(doubt)), 2 + side] = 1.0
    centre = np.zeros(columns.shape[1])
    centre[1] = 1.0
    spread = np.array([*_PRIOR[:2], *([_PRIOR[2]] * (columns.shape[1] - 2))])
    fitted = _most_likely(columns[seen], wrong[seen].astype(np.float64), centre, spread**-2.0)
    fitted[1] = max(fitted[1], 0.02)  # surer is never held for more often wrong
    return np.asarray(np.maximum(_expit(columns @ fitted), _FLOOR))


def _most_likely(columns: Floats, wrong: Floats, centre: Floats, weight: Floats) -> Floats:
    """Logistic regression with a Gaussian prior, by Newton's steps."""
    point = centre.copy()
    for _ in range(25):
        rate = _expit(columns @ point)
        slope = columns.T @ (rate - wrong) + weight * (point - centre)
        curve = (columns.T * (rate * (1 - rate))) @ columns + np.diag(weight)
        step = np.linalg.solve(curve, slope)
        size = float(np.abs(step).max())
        point = point - step * min(1.0, 1.0 / size if size else 1.0)
        if size < 1e-6:
            break
    return point


def _logit(p: Floats) -> Floats:
    """Written out: scipy takes a third of a second to import, which a bill would wait for."""
    return np.asarray(np.log(p / (1 - p)))


def _expit(z: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-z)))
