"""``Verified(epsilon, delta, certain=True)``: dropped by confidence bounds instead of beliefs.

Theorem. With probability 1 - delta over the random row order, at every node the chosen split's gain
is within epsilon * h * S / n of the best over all N features (h the entropy of the labels, n of the
S rows at the node), so that no node loses more than epsilon of the label's entropy.

Proof. Rows are looked at in an order that does not depend on their values. So at any one place that
could become a node (k features and branches above it: at most (2 N)^k places) the m rows of a class
looked at, out of n, are a random sample without replacement, and their share of ones lies within
sqrt(ln(2 / d) (1 - (m - 1) / n) / (2 m)) of the share among all n but with probability d (Hoeffding
and Serfling). d is delta divided by levels, places, features, classes and rounds. The gain is
convex in the rates for given class shares, so over the box of rates it is largest at a corner: a
rival is dropped when no corner beats the incumbent's exact gain by more than the tolerance. A rival
that cannot be dropped is bought in full, and then its gain is exact.

It needs no model of the features, and far more cells: use it where rows are many.
"""

from __future__ import annotations

import math
from itertools import product

import numpy as np

from thrifty.array_types import Floats, Ints
from thrifty.trees.verified.belief import FeatureBeliefs
from thrifty.trees.verified.value_of_looks import Looks, NodeLooks, label_entropy

__all__ = ["CertainLooks", "gain_of", "most_gain"]

#: rounds at a node at most: the sample doubles each time
_ROUNDS = 40


def _entropy(p: Floats) -> Floats:
    p = np.clip(p, 1e-300, 1.0)
    q = np.clip(1.0 - p, 1e-300, 1.0)
    return np.asarray(-(p * np.log2(p) + q * np.log2(q)))


def gain_of(rates: Floats, shares: Floats) -> Floats:
    """Mutual information of features with rates (C, F) and the label."""
    return np.asarray(_entropy(shares @ rates) - shares @ _entropy(rates))


def most_gain(ones: Ints, looked: Ints, sizes: Ints, log_term: float) -> Floats:
    """An upper bound on each feature's gain: the largest over the corners of its box of rates."""
    m = np.maximum(looked, 1)
    left = np.where(looked < sizes[:, None], 1.0 - (m - 1) / sizes[:, None], 0.0)
    wide = np.where(looked > 0, np.sqrt(log_term * left / (2 * m)), 1.0)
    rate = ones / m
    low, high = np.clip(rate - wide, 0, 1), np.clip(rate + wide, 0, 1)
    shares = sizes / sizes.sum()
    best = np.zeros(ones.shape[1])
    for corner in product((False, True), repeat=len(sizes)):
        at = np.where(np.array(corner)[:, None], high, low)
        best = np.maximum(best, gain_of(at, shares))
    return best


def drop_to_one(node: NodeLooks, tolerance: float, log_term: float) -> bool:
    """Race all features at a node; whether one is then worth splitting on."""
    here = node.sizes > 0
    sizes = node.sizes[here]
    alive = node.every
    size = node.task.first
    for _ in range(_ROUNDS):
        full = np.broadcast_to(node.sizes[:, None], node.looked.shape)
        node.buy(alive, np.minimum(full, np.maximum(node.looked, size)))
        node.ones[:, alive] = node.count(alive)
        known = node.ones[here] / np.maximum(node.looked[here], 1)
        guess = gain_of(known, sizes / sizes.sum())
        leader = int(alive[guess[alive].argmax()])
        node.buy(np.array([leader]), full)
        node.ones[:, [leader]] = node.count(np.array([leader]))
        done = (node.looked == node.sizes[:, None]).all(axis=0)
        exact = np.where(done, gain_of(node.ones[here] / sizes[:, None], sizes / sizes.sum()), -1.0)
        node.best = int(exact.argmax())
        node.incumbent = float(exact[node.best])
        rivals = alive[~done[alive]]
        ceiling = most_gain(
            node.ones[here][:, rivals], node.looked[here][:, rivals], sizes, log_term
        )
        alive = rivals[ceiling > node.incumbent + tolerance]
        if not len(alive):
            break
        size *= 2
    ones = int(node.ones[:, node.best].sum())
    return node.incumbent > 1e-12 and 0 < ones < len(node.rows)


def log_term_at(depth: int, task: Looks) -> float:
    """ln(2 / d), delta shared among levels, places of this level, features, classes and rounds."""
    N = task.cells.n_features
    events = N * task.n_classes * _ROUNDS * task.max_depth
    return math.log(2 * events / task.delta) + depth * math.log(2 * N)


class CertainLooks(Looks):
    """Looks whose every split is within the tolerance of the best, but with chance delta."""

    def choose(self, here: NodeLooks, belief: FeatureBeliefs, depth: int) -> bool:
        tolerance = self.epsilon * label_entropy(self.shares) / here.share
        here.ones = here.count(here.every)
        return drop_to_one(here, tolerance, log_term_at(depth, self))
