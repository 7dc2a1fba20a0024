"""Predictions that ask: only the cells on each example's path are bought, a level at a time."""

from thrifty.lazy.asking import FINISHED, Asked, Asks, Estimator, no_stopping
from thrifty.lazy.explain import Explanation, Step, explain, explain_cells
from thrifty.lazy.forest import Forest
from thrifty.lazy.stopping import StoppingRule, Sure, Worth
from thrifty.lazy.walk import Stopping, Walked, balanced_shares, stopping_of, walk
from thrifty.lazy.within_budget import UNANSWERED, ask_within_budget

__all__ = [
    "FINISHED",
    "UNANSWERED",
    "Asked",
    "Asks",
    "Estimator",
    "Explanation",
    "Forest",
    "StoppingRule",
    "Step",
    "Stopping",
    "Sure",
    "Walked",
    "Worth",
    "ask_within_budget",
    "balanced_shares",
    "explain",
    "explain_cells",
    "no_stopping",
    "stopping_of",
    "walk",
]
