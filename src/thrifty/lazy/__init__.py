"""Predictions that ask: only the cells on each example's path are bought, a level at a time."""

from thrifty.lazy.explain import Explanation, Step, explain
from thrifty.lazy.forest import Forest
from thrifty.lazy.walk import Stopping, Walked, walk

__all__ = ["Explanation", "Forest", "Step", "Stopping", "Walked", "explain", "walk"]
