"""What counts as a fit: the limits a user states once, and the test every candidate passes."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from thrifty.powers.evidence import ROUNDING, log_risk

__all__ = ["Fit", "Rules"]

#: A stated precision above this is noise: errors are then random, and a few labels may be spoilt.
NOISY = 1e-7

#: With noisy labels, this share of the rows may lie outside the tolerance.
SPOILT = 0.05


@dataclass(frozen=True, slots=True)
class Fit:
    """How a candidate did on some rows."""

    holds: bool
    miss: float  # the largest error of a row that counts as fitted
    rows: int  # rows that count as fitted
    log_choices: float  # natural log of the ways to leave spoilt rows out


@dataclass(frozen=True, slots=True)
class Rules:
    """Largest degree, precision of the labels (relative, one standard error), allowed risk."""

    max_degree: int
    precision: float
    risk: float

    @property
    def noisy(self) -> bool:
        """Whether label errors are noise to be averaged rather than rounding."""
        return self.precision > NOISY

    def tolerance(self, logs_of_labels: np.ndarray) -> np.ndarray:
        """The largest error allowed on each row, in the log of the label."""
        widths = 5.0 if self.noisy else 1.0
        rounding = ROUNDING * (1.0 + np.abs(logs_of_labels))
        return np.asarray(widths * self.precision + rounding)

    def check(self, target: np.ndarray, predicted: np.ndarray) -> Fit:
        """Compare predicted with given logs of labels."""
        errors = np.abs(target - predicted)
        good = errors <= self.tolerance(target)
        spoilt = int(np.count_nonzero(~good))
        allowed = int(SPOILT * len(target)) if self.noisy else 0
        fitted = errors[good]
        floor = ROUNDING * (1.0 + float(np.abs(target).max(initial=0.0)))
        miss = max(float(fitted.max(initial=0.0)), floor)
        holds = spoilt <= allowed and len(fitted) > 0
        if holds and self.noisy:
            # A wrong neighbour may stay inside five standard errors, but not with this average.
            slack = 1.0 + 3.0 / math.sqrt(2.0 * len(fitted))
            holds = float(np.sqrt(np.mean(fitted**2))) <= self.precision * slack
        ways = math.log(math.comb(len(target), spoilt)) if spoilt else 0.0
        return Fit(bool(holds), miss, len(fitted), ways)

    def believed(self, fit: Fit, log_candidates: float, density: float, coarse: float) -> bool:
        """Whether chance could not have produced this fit."""
        log_all = log_candidates + fit.log_choices
        return log_risk(fit.miss, fit.rows, log_all, density, coarse) <= math.log(self.risk)
