"""Bought values of either sign: the one place where polynomials touch cells."""

from __future__ import annotations

import numpy as np

from thrifty.powers.values import BoughtValues

__all__ = ["RealValues"]


class RealValues(BoughtValues):
    """Values of any size and sign."""

    needed = "polynomials need finite values"
    advice = "Leave the example or the feature out."

    @staticmethod
    def fits(bought: np.ndarray) -> np.ndarray:
        return np.asarray(np.isfinite(bought))
