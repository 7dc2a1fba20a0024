"""What is fitted on a bought table, as far as the rest of the room looks into it.

Values are those of the table's features, in their order, NaN for gaps. Thrifty's own models and a
user's estimator, wrapped, are both of these.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from thrifty.typing import AnyArray

__all__ = ["FittedClasses", "FittedNumbers"]


class FittedClasses(Protocol):
    """A classifier over class codes."""

    @property
    def classes_(self) -> AnyArray: ...
    def predict_proba(self, values: NDArray[np.float64]) -> NDArray[np.float64]: ...


class FittedNumbers(Protocol):
    """A regressor."""

    def predict(self, values: NDArray[np.float64]) -> AnyArray: ...
