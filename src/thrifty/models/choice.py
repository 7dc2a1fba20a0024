"""Which way of buying the data calls for."""

from __future__ import annotations

from thrifty.cells import Cells
from thrifty.models.policy import Policy
from thrifty.models.screening import Screening
from thrifty.models.wide import Wide
from thrifty.trees.labels import Labels

__all__ = ["policy_for"]


def policy_for(cells: Cells, labels: Labels) -> Policy:
    """Boolean features and two classes: the wide way; else that for numbers, categories, gaps."""
    return Wide() if labels.n_classes == 2 and bool(cells.boolean.all()) else Screening()
