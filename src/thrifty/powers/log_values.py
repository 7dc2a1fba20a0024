"""Logarithms of bought values: the one place where monomials touch cells."""

from __future__ import annotations

import numpy as np

from thrifty.powers.values import BoughtValues

__all__ = ["LogValues"]


class LogValues(BoughtValues):
    """Values above 0, and their logs."""

    needed = "monomials need finite values above 0"
    advice = (
        "Shift or scale the feature, leave it out, or learn with thrifty.Polynomials, which takes "
        "any finite value."
    )

    @staticmethod
    def fits(bought: np.ndarray) -> np.ndarray:
        return np.asarray(np.isfinite(bought) & (bought > 0))

    def logs(self, rows: np.ndarray, features: np.ndarray) -> np.ndarray:
        """Natural logs of :meth:`values`."""
        return np.asarray(np.log(self.values(rows, features)))
