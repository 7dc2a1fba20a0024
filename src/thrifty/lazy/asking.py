"""The one way out: what every model of a lifetime can do with a reader of new examples.

``life.predict`` opens the reader, the model asks it for the cells it needs, row by row, and
says where each row stopped. A family's estimators implement :class:`Asks`, whatever they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from thrifty.cells import Cells
from thrifty.errors import BadParameter
from thrifty.lazy.stopping import StoppingRule
from thrifty.typing import AnyArray, Json

__all__ = ["FINISHED", "Asked", "Asks", "Estimator", "no_stopping"]

#: the model asked for all that it wanted
FINISHED = "finished"


@dataclass(frozen=True, eq=False)
class Asked:
    """Answers for the rows that were asked for, in their order.

    Attributes
    ----------
    values : array
        a class or a number for each row
    probabilities : array of float or None
        (rows, classes), or None where the model gives none
    stopped : tuple of str
        why each row stopped: "finished", "sure", "worth", "spend" or "per_row"
    promise : str
        what was seen of the rule on held-out rows, "" where it promises nothing
    """

    values: AnyArray
    probabilities: NDArray[np.float64] | None
    stopped: tuple[str, ...]
    promise: str = ""


class Asks(Protocol):
    """A fitted estimator that asks for cells as it needs them."""

    feature_names_: tuple[str, ...]

    @property
    def features_(self) -> NDArray[np.int64]:
        """Indices of the features it may ask for, ascending."""

    def ask(
        self,
        cells: Cells,
        rows: NDArray[np.int64],
        *,
        stop: StoppingRule | None = None,
        spend: float | None = None,
        per_row: float | None = None,
    ) -> Asked:
        """Answer these rows through a reader.

        The reader's indices are the model's features. ``spend`` and ``per_row`` are in units of the
        prices, in total and on each row.
        """


class Estimator(Asks, Protocol):
    """What users hold of a task: a fitted scikit-learn estimator that a store can keep."""

    def to_dict(self) -> Json:
        """Everything needed to build it again, as JSON."""


def no_stopping(model: object, stop: object, spend: object, per_row: object) -> None:
    """Refuse to stop early, for models that need all their features for any answer."""
    given = {"stop": stop, "spend": spend, "per_row": per_row}
    for name, value in given.items():
        if value is not None:
            raise BadParameter(
                f"{type(model).__name__} needs all of its features for an answer and cannot stop "
                f"early: leave out {name}=. A budget still holds: Lifetime(budget=...)."
            )
