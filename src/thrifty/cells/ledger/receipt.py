"""What one task, or one prediction, bought, reused and avoided."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

__all__ = ["Receipt"]


@dataclass(frozen=True, slots=True)
class Receipt:
    """The bill of one task.

    Attributes
    ----------
    cells : distinct cells bought
    cost : what they cost, in units of ``currency``; of a paid source also what failed or was lost
    reused_cells : cells this task looked at that an earlier task had paid for
    avoided_cells : cells that buying everything would have bought and this task did not
    max_cells_per_example : the largest number of cells bought on one example
    per_feature : cells bought, by feature name; features without a purchase are left out
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

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return {**asdict(self), "per_feature": dict(self.per_feature)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Receipt:
        """The inverse of :meth:`to_dict`."""
        return cls(**data)
