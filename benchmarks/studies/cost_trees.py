"""Trees that look at prices, as the literature grew them: EG2, CS-ID3, IDX, and a plain tree.

Turney (1995), *Cost-sensitive classification: empirical evaluation of a hybrid genetic decision
tree induction algorithm*, compares these on real test prices. All four are one C4.5-like tree
(binary splits, information gain, pessimistic pruning at confidence 25 %) that differ in what they
maximise at a node, with dI the gain and C the price of the test given what the path has bought:

========  ==========================  ====================
plain     dI                          Quinlan (1986)
EG2       (2^dI - 1) / (C + 1)        Nunez (1991), w = 1
CS-ID3    dI^2 / C                    Tan and Schlimmer (1989)
IDX       dI / C                      Norton (1989)
========  ==========================  ====================

A test that is paid already costs nothing; the second of a group costs its discounted price. None of
them looks at what an error costs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from thrifty.typing import Floats, Ints

__all__ = ["RULES", "CostTree", "grow_cost_tree"]

#: what a feature costs where others are owned
PriceOf = Callable[[frozenset[int], frozenset[int]], float]

#: a price of nothing would divide by zero
_LEAST = 1e-3

RULES: dict[str, Callable[[Floats, Floats], Floats]] = {
    "plain": lambda gain, price: gain,
    "EG2": lambda gain, price: (np.exp2(gain) - 1) / (price + 1),
    "CS-ID3": lambda gain, price: gain**2 / np.maximum(price, _LEAST),
    "IDX": lambda gain, price: gain / np.maximum(price, _LEAST),
}


@dataclass(frozen=True)
class CostTree:
    """A node: a leaf where ``feature`` is -1. Rows without a value go to the larger side."""

    counts: tuple[float, ...]
    feature: int = -1
    threshold: float = 0.0
    above: Any = None
    below: Any = None

    def decide(self, X: Floats, price: PriceOf) -> tuple[Ints, Floats]:
        """(class, price of the tests asked) of each row."""
        decision = np.zeros(len(X), dtype=np.int64)
        cost = np.zeros(len(X))
        stack: list[tuple[CostTree, Ints, frozenset[int]]] = [
            (self, np.arange(len(X)), frozenset())
        ]
        while stack:
            node, rows, asked = stack.pop()
            if node.feature < 0:
                decision[rows] = int(np.argmax(node.counts))
                cost[rows] = price(frozenset(), asked)
                continue
            side = _side(X[rows, node.feature], node)
            with_this = asked | {node.feature}
            stack.append((node.above, rows[side], with_this))
            stack.append((node.below, rows[~side], with_this))
        return decision, cost


def _side(values: Floats, node: CostTree) -> NDArray[np.bool_]:
    larger = sum(node.above.counts) >= sum(node.below.counts)
    return np.where(np.isnan(values), larger, values > node.threshold)


def grow_cost_tree(
    X: Floats, y: Ints, price: PriceOf, rule: str, n_classes: int, min_leaf: int = 2
) -> CostTree:
    """Grow by one of :data:`RULES` and prune."""
    hot = np.eye(n_classes)[y]
    return _prune(_grow(X, hot, np.arange(len(X)), price, RULES[rule], frozenset(), min_leaf))


def _grow(
    X: Floats,
    hot: Floats,
    rows: Ints,
    price: PriceOf,
    score: Any,
    asked: frozenset[int],
    min_leaf: int,
) -> CostTree:
    counts = tuple(hot[rows].sum(axis=0).tolist())
    if max(counts) == sum(counts) or len(rows) < 2 * min_leaf:
        return CostTree(counts)
    splits = [_best_split(X[rows, f], hot[rows], min_leaf) for f in range(X.shape[1])]
    gain = np.array([s[0] for s in splits])
    prices = np.array(
        [0.0 if f in asked else price(asked, frozenset({f})) for f in range(X.shape[1])]
    )
    worth = np.where(gain > 1e-9, score(np.maximum(gain, 0), prices), -np.inf)
    f = int(np.argmax(worth))
    if not np.isfinite(worth[f]):
        return CostTree(counts)
    threshold = splits[f][1]
    values = X[rows, f]
    over = values > threshold
    gap = np.isnan(values)
    over[gap] = over[~gap].sum() * 2 >= (~gap).sum()
    with_this = asked | {f}
    return CostTree(
        counts,
        f,
        threshold,
        _grow(X, hot, rows[over], price, score, with_this, min_leaf),
        _grow(X, hot, rows[~over], price, score, with_this, min_leaf),
    )


def _best_split(values: Floats, hot: Floats, min_leaf: int) -> tuple[float, float]:
    """(information gain in bits, threshold) of the best binary split; gaps are left out."""
    there = ~np.isnan(values)
    values, hot = values[there], hot[there]
    order = np.argsort(values, kind="stable")
    values, below = values[order], np.cumsum(hot[order], axis=0)
    n = len(values)
    at = np.flatnonzero(values[:-1] < values[1:]) if n > 1 else np.zeros(0, dtype=np.int64)
    at = at[(at + 1 >= min_leaf) & (n - at - 1 >= min_leaf)]
    if not len(at):
        return 0.0, 0.0
    low, high = below[at], below[-1] - below[at]
    left = (_entropy(low) * (at + 1) + _entropy(high) * (n - at - 1)) / n
    i = int(np.argmin(left))
    gain = float(_entropy(below[-1][None])[0] - left[i]) * there.mean()
    return gain, float(values[at[i]] / 2 + values[at[i] + 1] / 2)


def _entropy(counts: Floats) -> Floats:
    p = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1e-12)
    return np.asarray(-(p * np.log2(np.where(p > 0, p, 1.0))).sum(axis=1))


def _pessimistic(counts: tuple[float, ...]) -> float:
    """Quinlan's upper limit on the errors of a leaf, at confidence 25 %."""
    n = sum(counts)
    wrong = n - max(counts)
    return float(n * betaincinv(wrong + 1, max(n - wrong, 1e-9), 0.75)) if n else 0.0


def _prune(tree: CostTree) -> CostTree:
    if tree.feature < 0:
        return tree
    above, below = _prune(tree.above), _prune(tree.below)
    if _pessimistic(tree.counts) <= _errors(above) + _errors(below) + 0.1:
        return CostTree(tree.counts)
    return CostTree(tree.counts, tree.feature, tree.threshold, above, below)


def _errors(tree: CostTree) -> float:
    if tree.feature < 0:
        return _pessimistic(tree.counts)
    return _errors(tree.above) + _errors(tree.below)
