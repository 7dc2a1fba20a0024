"""What Verified is held against on real data: one small learner per row of the table.

Each learns a tree for a task and says what it looked at. Trees are ``(feature, false, true)`` or a
leaf ``(rows, positives)``; all leaves are smoothed alike (m = 5, towards the class share).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from studies.real_sets import RealTask
from thrifty.array_types import Floats, Ints

if TYPE_CHECKING:
    from sklearn.tree._tree import Tree as SklearnTree

__all__ = [
    "FeaturesSeen",
    "GrownTree",
    "PilotLearner",
    "PlainRace",
    "Scratch",
    "leaf_probabilities",
]

Choose = Callable[[Ints], Ints]

DEPTH = 6
_M = 5.0


class GrownTree:
    """A tree and the cells it took."""

    def __init__(self, tree: SklearnTree, bought: NDArray[np.bool_]) -> None:
        self.tree, self.share = tree, float(bought.mean())

    def features(self) -> set[int]:
        out, stack = set(), [self.tree]
        while stack:
            at = stack.pop()
            if len(at) == 3:
                out.add(int(at[0]))
                stack += at[1:]
        return out


def leaf_probabilities(tree: SklearnTree, X: NDArray[np.uint8], share: float) -> Floats:
    """The smoothed share of positives at each row's leaf."""
    out = np.empty(len(X))
    stack = [(tree, np.arange(len(X)))]
    while stack:
        at, rows = stack.pop()
        if len(at) == 2:
            out[rows] = (at[1] + _M * share) / (at[0] + _M)
            continue
        true = X[rows, at[0]] == 1
        stack += [(at[1], rows[~true]), (at[2], rows[true])]
    return out


def _entropy(p: Floats) -> Floats:
    p = np.clip(p, 1e-12, 1 - 1e-12)
    return np.asarray(-(p * np.log2(p) + (1 - p) * np.log2(1 - p)))


def _gains(p1: Floats, p0: Floats, w: float) -> Floats:
    return _entropy(w * p1 + (1 - w) * p0) - w * _entropy(p1) - (1 - w) * _entropy(p0)


def _exact_gains(task: RealTask, rows: Ints, features: Ints) -> Floats:
    x, y = task.X[np.ix_(rows, features)].astype(np.float64), task.y[rows]
    return _gains(x[y == 1].mean(0), x[y == 0].mean(0), float(y.mean()))


def _grow(task: RealTask, rows: Ints, depth: int, choose: Callable[[Ints], int]) -> SklearnTree:
    positives = int(task.y[rows].sum())
    if depth == 0 or positives in (0, len(rows)):
        return (len(rows), positives)
    f = choose(rows)
    true = task.X[rows, f] == 1 if f >= 0 else np.zeros(0, bool)
    if f < 0 or true.all() or not true.any():
        return (len(rows), positives)
    below = [_grow(task, rows[side], depth - 1, choose) for side in (~true, true)]
    return (f, below[0], below[1])


class Scratch:
    """Every cell, the feature of the highest gain."""

    def learn(self, task: RealTask) -> GrownTree:
        return self._among(task, np.arange(task.X.shape[1]), np.zeros(task.X.shape, bool))

    @staticmethod
    def _among(task: RealTask, features: Ints, bought: NDArray[np.bool_]) -> GrownTree:
        """The features given, bought on every row of each node."""

        def choose(rows: Ints) -> int:
            bought[np.ix_(rows, features)] = True
            gains = _exact_gains(task, rows, features)
            best = int(gains.argmax())
            return int(features[best]) if gains[best] > 1e-9 else -1

        if not len(features):
            return GrownTree((len(task.y), int(task.y.sum())), bought)
        return GrownTree(_grow(task, np.arange(len(task.y)), DEPTH, choose), bought)


class FeaturesSeen(Scratch):
    """The first 8 tasks from scratch (not billed here), then only the features of their trees."""

    def __init__(self, warm: int = 8) -> None:
        self.seen: set[int] = set()
        self.left = warm

    def learn(self, task: RealTask) -> GrownTree:
        if self.left:
            self.left -= 1
            grown = super().learn(task)
            self.seen |= grown.features()
            return grown
        return self._among(task, np.array(sorted(self.seen)), np.zeros(task.X.shape, bool))


class PilotLearner(Scratch):
    """The 20 best features of a label-balanced pilot of 100 rows."""

    def learn(self, task: RealTask) -> GrownTree:
        mixed = np.random.default_rng(len(task.y)).permutation(len(task.y))
        some = np.concatenate([mixed[task.y[mixed] == c][:50] for c in (0, 1)])
        bought = np.zeros(task.X.shape, bool)
        bought[some] = True
        x, y = task.X[some].astype(np.float64), task.y[some]
        p1, p0 = ((x[y == c].sum(0) + 0.5) / ((y == c).sum() + 1) for c in (1, 0))
        best = np.argsort(-_gains(p1, p0, float(task.y.mean())))[:20]
        return self._among(task, np.sort(best), bought)


class PlainRace:
    """A race at every node over all features: loose bounds (z = 1, epsilon = 0.004).

    With a memory, features of earlier trees are bought first and rivals must beat the best of them.
    """

    def __init__(self, *, memory: bool) -> None:
        self.seen: set[int] | None = set() if memory else None

    def learn(self, task: RealTask) -> GrownTree:
        bought = np.zeros(task.X.shape, bool)
        order = np.random.default_rng(len(task.y)).permutation(len(task.y))
        rank = np.argsort(order)
        known = np.array(sorted(self.seen or ()), dtype=np.int64)

        def choose(rows: Ints) -> int:
            rows = rows[np.argsort(rank[rows])]
            return self._race(task, rows, known, bought)

        grown = GrownTree(_grow(task, np.arange(len(task.y)), DEPTH, choose), bought)
        if self.seen is not None:
            self.seen |= grown.features()
        return grown

    @staticmethod
    def _race(task: RealTask, rows: Ints, known: Ints, bought: NDArray[np.bool_]) -> int:
        y = task.y[rows]
        w, by_class = float(y.mean()), [rows[y == c] for c in (0, 1)]
        slack = 0.004 * len(task.y) / len(rows)
        best, height = -1, slack
        alive = np.arange(task.X.shape[1])
        if len(known):
            first = np.concatenate([of[:25] for of in by_class])
            bought[np.ix_(first, known)] = True
            gains, _ = _estimates(task, by_class, known, 25, w)
            best = int(known[gains.argmax()])
            bought[rows, best] = True
            height = float(_exact_gains(task, rows, np.array([best]))[0]) + slack
        size = 25
        while len(alive) and size < 2 * len(rows):
            some = np.concatenate([of[:size] for of in by_class])
            bought[np.ix_(some, alive)] = True
            gains, errors = _estimates(task, by_class, alive, size, w)
            leader = int(gains.argmax())
            top = max(height, float(gains[leader] - errors[leader]))
            if size >= max(map(len, by_class)):
                break
            stays = gains + errors > top
            stays[leader] |= best < 0
            alive, size = alive[stays], size * 2
            if len(alive) == 1:
                break
        if len(alive):
            bought[np.ix_(rows, alive)] = True
            gains = _exact_gains(task, rows, alive)
            if gains.max() + 0.0 > (height - slack if best >= 0 else 1e-9):
                best = int(alive[gains.argmax()])
        return best


def _estimates(
    task: RealTask, by_class: list[Ints], features: Ints, size: int, w: float
) -> tuple[Floats, Floats]:
    """Gains from the first rows of each class, and their standard errors (to first order)."""
    rates, variances = [], []
    for of in by_class:
        n = min(size, len(of))
        p = (task.X[np.ix_(of[:n], features)].sum(0) + 0.5) / (n + 1)
        rates.append(p)
        variances.append(p * (1 - p) / n * (1 - n / max(len(of), 1) * (n == len(of))))
    q = (1 - w) * rates[0] + w * rates[1]
    total = np.zeros(len(features))
    for share, p, variance in zip((1 - w, w), rates, variances):
        slope = share * (np.log2(p / (1 - p)) - np.log2(q / (1 - q)))
        total += slope**2 * variance
    return _gains(rates[1], rates[0], w), np.sqrt(total)
