"""What is believed of each feature at a node before a cell is bought there.

Beliefs are Beta distributions, written as pseudo-counts (ones, zeros) in an array (C + 1, 2, N):
one for the rate in each class if the feature is useful, and last the one rate of a useless feature;
``useful`` is the probability that it is useful.

At the root they come from earlier tasks: a base rate needs no labels, so what was seen of a feature
in one task is known in the next. Below the root they come from the parent: its rates, held the more
firmly the more of the class's rows went to this child (a child that got nearly all of them has
nearly the parent's rate).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from thrifty.array_types import Floats, Ints

__all__ = [
    "FeatureBeliefs",
    "belief_below",
    "first_belief",
    "prior_useful",
    "share_of_unlooked",
    "uncertainty",
]

#: pseudo-rows behind a useful feature's rate in a small class
_OPEN = 2.0
#: pseudo-rows that a parent's rate counts for in a child that got few of its rows
_FROM_PARENT = 4.0
#: how much of the parent's verdict a child inherits; the rest is the prior
_INHERITED = 0.9
_LEAST, _MOST = 0.005, 0.5


@dataclass(frozen=True, slots=True)
class FeatureBeliefs:
    """Pseudo-counts (C + 1, 2, N) and the probability of being useful (N,)."""

    beta: Floats
    useful: Floats


def prior_useful(n_features: int) -> float:
    """How likely a feature is to be useful before anything is known: one in 20, and fewer of many.

    >>> prior_useful(100), prior_useful(10_000)
    (0.05, 0.01)
    """
    return min(0.05, 1.0 / math.sqrt(n_features))


def first_belief(shares: Floats, rates: Floats, rows: Floats, useful: Floats) -> FeatureBeliefs:
    """At the root: ``rates`` are base rates, known as well as from ``rows`` rows each.

    A class that is nearly all rows has nearly the base rate p; a rare class of share w can have any
    rate up to p / w, so a useful feature's rate there is left open, around half of that at most.
    """
    C, N = len(shares), len(rates)
    p = np.clip(rates, 1e-4, 1 - 1e-4)
    beta = np.empty((C + 1, 2, N))
    for c, share in enumerate(shares):
        firm = np.minimum(_OPEN / max(1.0 - share, 1e-9), rows + _OPEN)
        ones, zeros = np.maximum(0.5, firm * p), np.maximum(0.5, firm * (1 - p))
        top = np.clip(np.maximum(p, 0.5 * p / share), 1e-3, 0.999)
        low = np.clip(np.maximum(1 - p, 0.5 * (1 - p) / share), 1e-3, 0.999)
        zeros = np.maximum(zeros, ones * (1 - top) / top)
        beta[c] = np.maximum(ones, zeros * (1 - low) / low), zeros
    beta[C] = np.maximum(0.02, rows * p), np.maximum(0.02, rows * (1 - p))
    return FeatureBeliefs(beta, np.clip(useful, _LEAST, _MOST))


def belief_below(
    belief: FeatureBeliefs, likely: Floats, ones: Ints, looked: Ints, kept: Floats
) -> FeatureBeliefs:
    """In a child that got the share ``kept[c]`` of class c's rows (last: of all rows)."""
    C = len(ones)
    seen = np.empty_like(belief.beta)
    seen[:C, 0], seen[:C, 1] = ones, looked - ones
    seen[C, 0], seen[C, 1] = ones.sum(0), (looked - ones).sum(0)
    after = belief.beta + seen
    rows = after.sum(axis=1)
    firm = np.minimum((_FROM_PARENT / np.maximum(1 - kept, 1e-6))[:, None], rows)
    beta = np.maximum(after / rows[:, None] * firm[:, None], 0.01)
    fresh = (1 - _INHERITED) * prior_useful(len(likely))
    useful = np.clip(_INHERITED * likely + fresh, 1e-4, 1 - 1e-4)
    return FeatureBeliefs(beta, useful)


def uncertainty(belief: FeatureBeliefs, ones: Ints, looked: Ints, shares: Floats) -> Floats:
    """(C, N): the part of the gain's variance that each class's unknown rate accounts for.

    To first order: (dG / dp_c)^2 var(p_c), with dG / dp_c = w_c (logit p_c - logit of the mean).
    """
    C = len(ones)
    a = belief.beta[:C, 0] + ones
    b = belief.beta[:C, 1] + looked - ones
    rate = a / (a + b)
    pooled = shares @ rate
    slope = shares[:, None] * (np.log2(rate / (1 - rate)) - np.log2(pooled / (1 - pooled)))
    return np.asarray(slope**2 * rate * (1 - rate) / (a + b + 1))


def share_of_unlooked(looked: Ints, step: Ints) -> Floats:
    """By how much looking at ``step`` rows instead of ``looked`` cuts a rate's variance, about."""
    return np.asarray(1.0 - (looked + 1) / (step + 1.0))
