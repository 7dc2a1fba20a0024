"""How often the model is wrong, row by row: its own confidence, corrected by labels seen so far.

logit rate = a + b logit(1 - confidence), for each side (the class that it answers) a correction of
its own. A guess that steers purchases; no certificate rests on it.
"""

from __future__ import annotations

import numpy as np

from thrifty.array_types import Bools, Floats, Ints

__all__ = ["ErrorRates"]

#: nobody is believed to be surer than this, or less sure
_SUREST, _LEAST_SURE = 0.002, 0.6
#: standard deviations of what is believed of a, b and a side's own correction, before any label
_PRIOR = (1.5, 0.5, 0.7)
#: and no rate is below this
_FLOOR = 1e-3
#: a step of a fit below which it ends
_NEAR = 1e-4


class ErrorRates:
    """The probability that each row's answer is wrong, as labels come in.

    Parameters
    ----------
    doubt : array of float
        what the model itself gives for being wrong
    side : array of int
        which kind of answer it is, 0, 1, ...

    >>> none = np.zeros(3, dtype=bool)
    >>> rates = ErrorRates(np.array([0.01, 0.1, 0.4]), np.zeros(3, dtype=int))
    >>> rates.given(none, none).round(2)
    array([0.01, 0.1 , 0.4 ])
    """

    def __init__(self, doubt: Floats, side: Ints) -> None:
        sides = int(side.max(initial=0)) + 1
        columns = np.zeros((len(doubt), 2 + (sides if sides > 1 else 0)))
        columns[:, 0], columns[:, 1] = 1.0, _logit(np.clip(doubt, _SUREST, _LEAST_SURE))
        if sides > 1:
            columns[np.arange(len(doubt)), 2 + side] = 1.0
        self._columns = columns
        self._centre = np.zeros(columns.shape[1])
        self._centre[1] = 1.0
        spread = np.array([*_PRIOR[:2], *([_PRIOR[2]] * (columns.shape[1] - 2))])
        self._weight = spread**-2.0
        self._point = self._centre  # where the last fit ended: the next is near

    def given(self, known: Bools, wrong: Bools) -> Floats:
        """Rates, where the labels of some rows were seen, and which of them are wrong."""
        seen = np.flatnonzero(known)
        told = wrong[seen].astype(np.float64)
        columns, centre, weight = self._columns, self._centre, self._weight
        self._point = _most_likely(columns[seen], told, centre, weight, self._point)
        fitted = self._point.copy()
        fitted[1] = max(fitted[1], 0.02)  # surer is never held for more often wrong
        return np.asarray(np.maximum(_expit(columns @ fitted), _FLOOR))


def _most_likely(
    columns: Floats, wrong: Floats, centre: Floats, weight: Floats, point: Floats
) -> Floats:
    """Logistic regression with a Gaussian prior, by Newton's steps from a point."""
    for _ in range(25):
        rate = _expit(columns @ point)
        slope = columns.T @ (rate - wrong) + weight * (point - centre)
        curve = (columns.T * (rate * (1 - rate))) @ columns + np.diag(weight)
        step = np.linalg.solve(curve, slope)
        size = float(np.abs(step).max())
        point = point - step * min(1.0, 1.0 / size if size else 1.0)
        if size < _NEAR:
            break
    return point


def _logit(p: Floats) -> Floats:
    """Written out: scipy takes a third of a second to import, which a bill would wait for."""
    return np.asarray(np.log(p / (1 - p)))


def _expit(z: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-z)))
