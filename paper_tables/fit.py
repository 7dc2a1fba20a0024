"""Least squares with intervals: the constants of a bill, and slopes on log axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

__all__ = ["Coefficient", "PowerFit", "fit_form", "fit_slope"]


@dataclass(frozen=True)
class Coefficient:
    """A value with its interval of 95 %."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3g} [{self.low:.3g}, {self.high:.3g}]"


@dataclass(frozen=True)
class PowerFit:
    """Coefficients by the name of their term, and the share of the variance they explain."""

    coefficients: Mapping[str, Coefficient]
    r_squared: float
    n: int


def fit_form(terms: Sequence[Mapping[str, float]], bills: Sequence[float]) -> PowerFit:
    """bill = a term_1 + b term_2 + ..., without a constant.

    R^2 is against the mean of the bills, as if there were a constant: the stricter reading.

    >>> fit = fit_form([{"KN": 1, "mK": 2}, {"KN": 2, "mK": 1}, {"KN": 3, "mK": 5}], [4, 5, 11])
    >>> round(fit.coefficients["KN"].value, 6), round(fit.r_squared, 6)
    (2.0, 1.0)
    """
    names = list(terms[0])
    design = np.array([[row[name] for name in names] for row in terms], dtype=np.float64)
    target = np.asarray(bills, dtype=np.float64)
    values, spread = _solve(design, target)
    residual = target - design @ values
    total = target - target.mean()
    r_squared = 1.0 - float(residual @ residual) / max(float(total @ total), 1e-300)
    free = len(target) - len(names)
    found = {name: _interval(v, s, free) for name, v, s in zip(names, values, spread)}
    return PowerFit(found, r_squared, len(target))


def fit_slope(x: Sequence[float], y: Sequence[float]) -> Coefficient:
    """The slope of log y on log x.

    >>> print(fit_slope([1, 2, 4, 8], [3, 6, 12, 24]))
    1 [1, 1]
    """
    design = np.column_stack([np.log(np.asarray(x, dtype=np.float64)), np.ones(len(x))])
    values, spread = _solve(design, np.log(np.asarray(y, dtype=np.float64)))
    return _interval(float(values[0]), float(spread[0]), len(x) - 2)


def _solve(
    design: NDArray[np.float64], target: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Coefficients and their standard errors."""
    scale = np.abs(design).max(axis=0)
    scaled = design / scale
    values, *_ = np.linalg.lstsq(scaled, target, rcond=None)
    residual = target - scaled @ values
    free = max(len(target) - design.shape[1], 1)
    covariance = np.linalg.pinv(scaled.T @ scaled) * float(residual @ residual) / free
    return values / scale, np.sqrt(np.diag(covariance)) / scale


def _interval(value: float, spread: float, free: int) -> Coefficient:
    width = float(stats.t.ppf(0.975, free)) * float(spread) if free > 0 else float("inf")
    return Coefficient(float(value), float(value) - width, float(value) + width)
