"""The paper's two tables as numbers, with explicit constants.

Every upper bound is the largest number of cells that the theory allows over a whole stream of m
tasks of S examples and N features; every lower bound what no learner can do without. A measured
bill can be held against both.
"""

from thrifty.bounds.from_below import lower, lower_intermediate, lower_large, lower_realizable
from thrifty.bounds.powers import monomials, polynomials, powers_features
from thrifty.bounds.related import (
    anchored_families,
    anchors,
    lists,
    lists_scratch,
    trees,
    trees_features,
    trees_per_example,
    warm_up,
    warm_up_tasks,
)
from thrifty.bounds.unrelated import (
    balanced,
    doubling,
    expansion,
    optimal_c,
    r_max,
    r_min,
    restart,
    scratch,
)

__all__ = [
    "anchored_families",
    "anchors",
    "balanced",
    "doubling",
    "expansion",
    "lists",
    "lists_scratch",
    "lower",
    "lower_intermediate",
    "lower_large",
    "lower_realizable",
    "monomials",
    "optimal_c",
    "polynomials",
    "powers_features",
    "r_max",
    "r_min",
    "restart",
    "scratch",
    "trees",
    "trees_features",
    "trees_per_example",
    "warm_up",
    "warm_up_tasks",
]
