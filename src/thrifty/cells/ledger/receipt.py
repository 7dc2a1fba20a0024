"""What one task, or one prediction, bought, reused and avoided."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields

import numpy as np
from numpy.typing import NDArray

from thrifty.html import facts_html, table_html
from thrifty.typing import Json, JsonLike
from thrifty.untrusted import readable

__all__ = ["PredictionReceipt", "Receipt"]


@dataclass(frozen=True, slots=True)
class Receipt:
    """The bill of one task.

    Attributes
    ----------
    cells : int
        distinct cells bought
    cost : float
        what they cost, in units of ``currency``; of a paid source also what failed or was lost
    reused_cells : int
        cells this task looked at that an earlier task had paid for
    avoided_cells : int
        everything there was to buy, less what was bought: the cells of this task's examples and
        features that nobody owned before it, and that it did not buy either. (Of more than 2,000
        features of a paid source, what is owned of those it never asked for is not looked up, and
        counts as avoided)
    max_cells_per_example : int
        the largest number of cells bought on one example
    per_feature : mapping
        cells bought, by feature name; features without a purchase are left out. Read from a store
        it holds the 10,000 features with most cells where the list of all is long
    promise : str
        what the learner promises of new examples, "" where it promises nothing
    lines : tuple of tuple
        (what, how often, amount), the dearest first, where orders, fees or calls are paid for
    gaps : int
        cells that were asked for, failed again and again and count as gaps (``on_failure="gap"``);
        in none of the other counts
    """

    cells: int
    cost: float
    reused_cells: int
    avoided_cells: int
    max_cells_per_example: int
    n_examples: int
    n_features: int
    per_feature: Mapping[str, int] = field(default_factory=dict, repr=False)
    currency: str = ""
    promise: str = ""
    lines: tuple[tuple[str, int, float], ...] = field(default=(), repr=False)
    gaps: int = 0

    def itemised(self) -> str:
        """The bill as a laboratory writes it.

        >>> print(Receipt(2, 13.9, 0, 0, 1, 1, 2, currency="USD",
        ...               lines=(("blood draw", 1, 9.09), ("Na", 1, 4.81))).itemised())
            1 x blood draw                  9.09
            1 x Na                          4.81
                                           13.90 USD
        """
        rows = [f"{n:>5} x {what:<20} {amount:>11,.2f}" for what, n, amount in self.lines]
        return "\n".join([*rows, f"{'':28} {self.cost:>11,.2f} {self.currency}".rstrip()])

    def _repr_html_(self) -> str:
        """For notebooks."""
        unit = f" ({self.currency})" if self.currency else ""
        facts = {
            "cells bought": self.cells,
            f"cost{unit}": self.cost,
            "known before": self.reused_cells,
            "not bought": self.avoided_cells,
            "most on one example": self.max_cells_per_example,
            "gaps": self.gaps or None,
            "examples": self.n_examples,
            "promise": self.promise or None,
        }
        found = facts_html("receipt", facts)
        if self.lines:
            found += table_html(["ordered", "times", f"amount{unit}"], self.lines)
        return found

    def to_dict(self) -> Json:
        """Plain data, for JSON."""
        # Not asdict: it copies every number of every feature, once per task.
        held = {one.name: getattr(self, one.name) for one in fields(self)}
        return {**held, "per_feature": dict(self.per_feature)}

    @classmethod
    def from_dict(cls, data: JsonLike) -> Receipt:
        """The inverse of :meth:`to_dict`."""
        with readable("a receipt"):
            lines = tuple((str(w), int(n), float(a)) for w, n, a in data.get("lines", ()))
            return cls(**{**data, "lines": lines})


@dataclass(frozen=True, slots=True)
class PredictionReceipt(Receipt):
    """The bill of one prediction run, in all and for each row."""

    cells_per_row: NDArray[np.int64] = field(
        default_factory=lambda: np.zeros(0, dtype=np.int64), repr=False, compare=False
    )
    cost_per_row: NDArray[np.float64] = field(
        default_factory=lambda: np.zeros(0), repr=False, compare=False
    )
    #: features that the model asks for, that were lacking or retired, and cost nothing
    lacking: tuple[str, ...] = ()

    def to_dict(self) -> Json:
        """Plain data, for JSON."""
        return {
            **Receipt.to_dict(self),
            "cells_per_row": self.cells_per_row.tolist(),
            "cost_per_row": self.cost_per_row.tolist(),
            **({"lacking": list(self.lacking)} if self.lacking else {}),
        }
