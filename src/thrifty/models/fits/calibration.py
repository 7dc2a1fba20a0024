"""Probabilities that mean what they say after stopping: a slope and constants, fitted out of fold.

Platt's scaling (1999) for any number of classes: softmax(a log p + b). A prefix that is too sure of
itself would stop too early, so every prefix is scaled on rows it did not see.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from thrifty.array_types import Floats

__all__ = ["Scaling", "fit_scaling", "fit_scaling_cautiously"]


@dataclass(frozen=True, eq=False)
class Scaling:
    """p -> softmax(slope log p + shift).

    >>> Scaling(1.0, np.zeros(2))(np.array([[0.2, 0.8]])).round(6).tolist()
    [[0.2, 0.8]]
    """

    slope: float
    shift: Floats

    def __call__(self, p: Floats) -> Floats:
        z = self.slope * np.log(np.clip(p, 1e-9, 1.0)) + self.shift
        z = np.exp(z - z.max(axis=1, keepdims=True))
        return np.asarray(z / z.sum(axis=1, keepdims=True))


def fit_scaling(p: Floats, y: NDArray[np.int64], weights: Floats) -> Scaling:
    """The scaling of least weighted log-loss, drawn a little towards leaving p as it is."""
    n_classes = p.shape[1]
    logs = np.log(np.clip(p, 1e-9, 1.0))
    hot = np.eye(n_classes)[y]
    w = weights / weights.sum()
    few = 2.0 / len(y)  # the penalty, worth two rows; set by hand

    def loss(at: Floats) -> tuple[float, Floats]:
        scaled = Scaling(float(at[0]), at[1:])(p)
        off = w[:, None] * (scaled - hot)
        pull = np.r_[at[0] - 1.0, at[1:]]
        value = -float(w @ np.log(np.maximum(scaled[np.arange(len(y)), y], 1e-12)))
        slope = np.r_[float((off * logs).sum()), off.sum(axis=0)]
        return value + few * float(pull @ pull) / 2, slope + few * pull

    bounds = [(0.05, 3.0)] + [(-10.0, 10.0)] * n_classes
    found = minimize(
        loss, np.r_[1.0, np.zeros(n_classes)], jac=True, bounds=bounds, method="L-BFGS-B"
    )
    return Scaling(float(found.x[0]), found.x[1:])


def fit_scaling_cautiously(p: Floats, y: NDArray[np.int64], weights: Floats) -> Scaling:
    """The same with its slope a standard error lower: what few rows support says less.

    >>> y = np.arange(40) % 2
    >>> p = np.where(y[:, None] == [0, 1], 0.8, 0.2)
    >>> careful = fit_scaling_cautiously(p, y, np.ones(40))
    >>> bool(careful.slope < fit_scaling(p, y, np.ones(40)).slope)
    True
    """
    found = fit_scaling(p, y, weights)
    logs = np.log(np.clip(p, 1e-9, 1.0))
    scaled = found(p)
    mean = (scaled * logs).sum(axis=1, keepdims=True)
    share = weights / weights.sum()
    rows = 1.0 / float((share**2).sum())  # as many rows of equal weight say as much
    spread = float(share @ (scaled * (logs - mean) ** 2).sum(axis=1))
    error = 1.0 / np.sqrt(max(rows * spread, 1e-9) + 2.0)
    lower = max(found.slope - error, 0.05)

    def off(shift: Floats) -> Floats:
        return np.asarray(share @ (Scaling(lower, shift)(p) - np.eye(p.shape[1])[y]))

    shift = found.shift.copy()
    for _ in range(50):  # the shares of the classes stay what they are
        shift = shift - 2.0 * off(shift)
    return Scaling(lower, shift)
