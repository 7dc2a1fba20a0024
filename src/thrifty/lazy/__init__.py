"""Predictions that ask: only the cells on each example's path are bought, a level at a time."""

from thrifty.lazy.asking import (
    FINISHED,
    UNANSWERED,
    Asked,
    Asks,
    Estimator,
    ask_within_budget,
    no_stopping,
)
from thrifty.lazy.walk import (
    Explanation,
    Forest,
    Step,
    Stopping,
    Walked,
    balanced_shares,
    explain,
    explain_cells,
    stopping_of,
    walk,
)

__all__ = [
    "FINISHED",
    "UNANSWERED",
    "Asked",
    "Asks",
    "Estimator",
    "Explanation",
    "Forest",
    "Step",
    "Stopping",
    "Walked",
    "ask_within_budget",
    "balanced_shares",
    "explain",
    "explain_cells",
    "no_stopping",
    "stopping_of",
    "walk",
]
