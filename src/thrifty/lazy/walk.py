"""Walking down the trees, a level at a time, buying what the next level asks.

All examples move together. In one round every example asks, in every tree where it has not
reached a leaf, for the feature of its node; examples that ask for the same features are served by
one request. So an example pays exactly for the distinct features on its paths, in about as many
requests as the trees are deep. What was walked tells the path of one example: what was asked, what
came, what it cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from thrifty.cells import Budget, Cells
from thrifty.cells.prices.money import to_units
from thrifty.errors import BadParameter
from thrifty.lazy.asking import FINISHED
from thrifty.stopping import probability_for_trees
from thrifty.typing import Ints


@dataclass(frozen=True, eq=False)
class Forest:
    """Node i asks for ``feature[i]`` (-1 at a leaf) and goes on to ``first`` or ``second``.

    Attributes
    ----------
    threshold : array of float
        to the first child if the value is at most this (below it where ``strict``)
    missing : array of int
        the child of an example whose value is NaN
    zero_is_missing : array of bool or None
        nodes that treat 0 as NaN, or None
    roots : array of int
        the first node of each tree
    strict : bool
        compare with < instead of <=
    single : bool
        values are rounded to float32 before they are compared
    share : array of float or None
        the share of each class among the training rows of every node, or None
    """

    feature: NDArray[np.int64]
    threshold: NDArray[np.float64]
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    missing: NDArray[np.int64]
    roots: NDArray[np.int64]
    strict: bool = False
    single: bool = False
    zero_is_missing: NDArray[np.bool_] | None = None
    share: NDArray[np.float64] | None = None

    def features(self) -> NDArray[np.int64]:
        """Every feature that some node asks for, ascending."""
        asked = np.unique(self.feature)
        return asked[asked >= 0]

    def step(self, nodes: NDArray[np.int64], values: NDArray[np.float64]) -> NDArray[np.int64]:
        """Where examples that stand at these nodes with these values go."""
        if self.single:
            values = values.astype(np.float32).astype(np.float64)
        lost = np.isnan(values)
        if self.zero_is_missing is not None:
            # LightGBM's idea of zero
            lost |= self.zero_is_missing[nodes] & (np.abs(values) <= 1e-35)
        limits = self.threshold[nodes]
        to_first = values < limits if self.strict else values <= limits
        found = np.where(to_first, self.first[nodes], self.second[nodes])
        return np.where(lost, self.missing[nodes], found)


def join(trees: list[Forest]) -> Forest:
    """Several trees as one forest; their nodes are renumbered one after the other."""
    sizes = [len(tree.feature) for tree in trees]
    offsets = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
    head = trees[0]

    def moved(name: str) -> NDArray[np.int64]:
        return np.concatenate([getattr(t, name) + o for t, o in zip(trees, offsets)])

    zero = None
    if head.zero_is_missing is not None:
        parts = [t.zero_is_missing for t in trees if t.zero_is_missing is not None]
        zero = np.concatenate(parts)
    share = None
    if head.share is not None:
        share = np.concatenate([t.share for t in trees if t.share is not None])
    return Forest(
        feature=np.concatenate([t.feature for t in trees]),
        threshold=np.concatenate([t.threshold for t in trees]),
        first=moved("first"),
        second=moved("second"),
        missing=moved("missing"),
        roots=moved("roots"),
        strict=head.strict,
        single=head.single,
        zero_is_missing=zero,
        share=share,
    )


@dataclass(frozen=True)
class Stopping:
    """When an answer is good enough before its leaf is reached.

    Parameters
    ----------
    confidence : float or None
        stop once the most common class has this share among the training rows of the example's node
        (averaged over the trees)
    balanced : bool
        that class must have this share with the classes weighted equally, too, however common each
        is
    budget : Budget, float or None
        spend no more than this: ``Budget(total=..., per_example=...)`` or a number (total). The
        least certain examples are served first
    """

    confidence: float | None = None
    budget: Budget | float | None = None
    balanced: bool = False

    def __post_init__(self) -> None:
        sure = self.confidence
        if sure is not None and not (isinstance(sure, int | float) and 0 < sure <= 1):
            raise BadParameter(f"confidence must be a number above 0, at most 1; got {sure!r}.")
        self.limits()

    def limits(self) -> tuple[float, float]:
        """What may be spent in total and on one example, infinite where nothing is said."""
        budget = self.budget
        if budget is None:
            return np.inf, np.inf
        if not isinstance(budget, Budget):
            budget = Budget(total=budget)
        if budget.per_task is not None:
            raise BadParameter(
                "a prediction is not a task: limit it with Budget(total=..., per_example=...)."
            )
        limits = budget.limits("")
        each = (limits.total, limits.per_example)
        total, per_example = (np.inf if v is None else to_units(v) for v in each)
        return total, per_example


@dataclass(eq=False)
class Walked:
    """Where every example stands, and the values that brought it there.

    ``at`` (examples, trees) is a node of each tree; ``finished`` says whether all are leaves.
    ``values`` and ``known`` (examples, k) belong to ``features``, those the forest may ask;
    ``why`` says for each example why it stopped.
    """

    at: Ints
    finished: NDArray[np.bool_]
    features: Ints
    values: NDArray[np.float64]
    known: NDArray[np.bool_]
    why: list[str] = field(default_factory=list)

    def cells_per_example(self) -> Ints:
        """How many features each example was asked for."""
        return np.asarray(self.known.sum(axis=1, dtype=np.int64))

    def value(self, example: int, feature: int) -> float:
        """A value that was bought."""
        return float(self.values[example, np.searchsorted(self.features, feature)])

    def filled(self, rows: slice, n_features: int) -> NDArray[np.float64]:
        """The bought values of some examples as a table; the others, which nobody asks, are 0."""
        table = np.zeros((len(self.at[rows]), n_features))
        table[:, self.features] = self.values[rows]
        return table


def stopping_of(stop: object, spend: float | None, per_row: float | None) -> Stopping | None:
    """What a prediction was told, for trees: they stop when sure, or when money ends."""
    if stop is None and spend is None and per_row is None:
        return None
    probability = probability_for_trees(stop)
    budget = None
    if spend is not None or per_row is not None:
        budget = Budget(total=spend, per_example=per_row)
    return Stopping(probability, budget, balanced=True)


def walk(
    cells: Cells, forest: Forest, stopping: Stopping | None = None, *, rows: Ints | None = None
) -> Walked:
    """Bring every example (or only ``rows``) to its leaves, or to where it may stop."""
    n = cells.n_examples
    features = forest.features()
    shape = (n, len(features))
    at = np.tile(forest.roots, (n, 1))
    going = np.ones(n, dtype=np.bool_)
    if rows is not None:
        going[:] = False
        going[rows] = True
    walked = Walked(at, ~going, features, np.zeros(shape), np.zeros(shape, dtype=np.bool_))
    walked.why = [FINISHED] * n
    allowance = _Allowance(cells, stopping, walked.why) if stopping is not None else None
    while True:
        if stopping is not None and stopping.confidence is not None:
            sure = _sureness(forest, at, stopping.balanced) >= stopping.confidence
            inner = (forest.feature[at] >= 0).any(axis=1)
            for i in np.flatnonzero(sure & going & inner).tolist():
                walked.why[i] = "sure"
            going &= ~sure
        requests = _requests(forest, walked, going)
        if not requests:
            break
        for which, columns in requests:
            if allowance is not None:
                which = allowance.afford(which, features[columns], forest, at, going)
            if len(which):
                block = cells.get(which, features[columns])
                walked.values[np.ix_(which, columns)] = block
                walked.known[np.ix_(which, columns)] = True
        _move(forest, walked)
    walked.finished |= (forest.feature[at] < 0).all(axis=1)
    return walked


def _requests(forest: Forest, walked: Walked, going: NDArray[np.bool_]) -> list[tuple[Ints, Ints]]:
    """What has to be bought: groups of examples that miss the same columns, and those columns."""
    asked = forest.feature[walked.at]
    examples, trees = np.nonzero((asked >= 0) & going[:, None])
    wanted = np.zeros_like(walked.known)
    wanted[examples, np.searchsorted(walked.features, asked[examples, trees])] = True
    wanted &= ~walked.known
    groups: dict[bytes, list[int]] = {}
    for column in np.flatnonzero(wanted.any(axis=0)).tolist():
        groups.setdefault(np.packbits(wanted[:, column]).tobytes(), []).append(column)
    return [
        (np.flatnonzero(wanted[:, columns[0]]), np.array(columns)) for columns in groups.values()
    ]


def _move(forest: Forest, walked: Walked) -> None:
    """Go down as far as the known values reach."""
    at = walked.at
    asked = forest.feature[at]
    examples, trees = np.nonzero(asked >= 0)
    while len(examples):
        columns = np.searchsorted(walked.features, forest.feature[at[examples, trees]])
        can = walked.known[examples, columns]
        examples, trees, columns = examples[can], trees[can], columns[can]
        nodes = forest.step(at[examples, trees], walked.values[examples, columns])
        at[examples, trees] = nodes
        inner = forest.feature[nodes] >= 0
        examples, trees = examples[inner], trees[inner]


def _sureness(forest: Forest, at: Ints, balanced: bool = False) -> NDArray[np.float64]:
    """The share of the most common class where each example stands.

    ``balanced``: or its share with classes weighted equally, whichever is less.
    """
    if forest.share is None:
        raise BadParameter(
            "stopping early needs the class shares of the inner nodes, which Thrifty's trees and "
            "scikit-learn's classification trees and forests keep. Predict without confidence and "
            "budget."
        )
    plain = forest.share[at].mean(axis=1)
    if not balanced:
        return np.asarray(plain.max(axis=1))
    each, likely = np.arange(len(plain)), plain.argmax(axis=1)
    equal = balanced_shares(forest)[at].mean(axis=1)
    return np.asarray(np.minimum(plain[each, likely], equal[each, likely]))


def balanced_shares(forest: Forest) -> NDArray[np.float64]:
    """The class shares of every node, as if the classes had been equally common."""
    assert forest.share is not None
    share = forest.share / np.maximum(forest.share[forest.roots].mean(axis=0), 1e-12)
    return np.asarray(share / share.sum(axis=1, keepdims=True))


class _Allowance:
    """What a prediction may still spend; what is owned costs nothing."""

    def __init__(self, cells: Cells, stopping: Stopping, why: list[str]) -> None:
        self.cells, self.why = cells, why
        self.total, self.per_example = stopping.limits()
        self.spent = 0.0
        self.each = np.zeros(cells.n_examples)

    def afford(
        self, rows: Ints, features: Ints, forest: Forest, at: Ints, going: NDArray[np.bool_]
    ) -> Ints:
        """The examples that can be served, the least certain first; the others stop here."""
        if np.isinf(self.total) and np.isinf(self.per_example):
            return rows
        order = np.argsort(_sureness(forest, at[rows]), kind="stable")
        rows = rows[order]
        costs = self.cells.row_costs(rows, features)
        can = going[rows] & (self.each[rows] + costs <= self.per_example + 1e-9)
        self._stop(rows[~can], going, "per_row")
        rows, costs = rows[can], costs[can]
        within = self.spent + np.cumsum(costs) <= self.total + 1e-9
        self._stop(rows[~within], going, "spend")
        rows, costs = rows[within], costs[within]
        self.spent += float(costs.sum())
        self.each[rows] += costs
        return np.sort(rows)

    def _stop(self, rows: Ints, going: NDArray[np.bool_], why: str) -> None:
        for i in rows[going[rows]].tolist():
            self.why[i] = why
        going[rows] = False


@dataclass(frozen=True, slots=True)
class Step:
    """One question: the feature, the limit it was compared with, the value, what it cost.

    ``threshold`` is NaN where the value was not compared but computed with; ``text`` is the
    category that the value stands for.
    """

    tree: int
    feature: str
    threshold: float
    value: float
    cost: float
    text: str | None = None

    def __str__(self) -> str:
        paid = f"paid {self.cost:g}" if self.cost else "known already"
        limit = "" if np.isnan(self.threshold) else f" (compared with {self.threshold:g})"
        gap = np.isnan(self.value)
        said = self.text if self.text is not None else "missing" if gap else f"{self.value:g}"
        return f"{self.feature} = {said}{limit}, {paid}"


@dataclass(frozen=True, slots=True)
class Explanation:
    """The steps of one example, its answer, its cells and their cost."""

    example: int
    steps: tuple[Step, ...]
    answer: object
    cells: int
    cost: float

    def __str__(self) -> str:
        head = f"example {self.example}: {self.answer} for {self.cells} cells, cost {self.cost:g}"
        several = len({step.tree for step in self.steps}) > 1
        lines = [f"  tree {s.tree}: {s}" if several else f"  {s}" for s in self.steps]
        return "\n".join([head, *lines])


def explain(
    forest: Forest, walked: Walked, example: int, answer: object, cells: Cells
) -> Explanation:
    """Walk one example again over the values it has; each feature is paid at its first use."""
    path: list[tuple[int, int, float, float]] = []
    for tree, root in enumerate(forest.roots.tolist()):
        node = root
        while node != walked.at[example, tree]:
            f = int(forest.feature[node])
            value = walked.value(example, f)
            path.append((tree, f, float(forest.threshold[node]), value))
            node = int(forest.step(np.array([node]), np.array([value]))[0])
    return _explained(example, path, answer, cells)


def explain_cells(
    cells: Cells, example: int, features: Sequence[int], answer: object
) -> Explanation:
    """What one example was asked for, where the model computes with all of it at once."""
    values = cells.get([example], list(features))[0] if len(features) else np.zeros(0)
    path = [(0, f, float("nan"), float(v)) for f, v in zip(features, values)]
    return _explained(example, path, answer, cells)


def _explained(
    example: int, path: Sequence[tuple[int, int, float, float]], answer: object, cells: Cells
) -> Explanation:
    asked = list(dict.fromkeys(f for _, f, _, _ in path))
    costs = dict(zip(asked, cells.paid_on(example, asked)))
    names, words = cells.feature_names, cells.categories
    steps = [
        Step(tree, names[f], limit, value, costs.pop(f, 0.0), _text(words.get(f), value))
        for tree, f, limit, value in path
    ]
    total = float(sum(step.cost for step in steps))
    return Explanation(example, tuple(steps), answer, len(asked), total)


def _text(words: Sequence[str] | None, value: float) -> str | None:
    """The category at a place of the list.

    >>> _text(["never", "daily"], 0.0), _text(["never", "daily"], 2.0)
    ('never', None)
    """
    if words is None or np.isnan(value) or not 0 <= value < len(words):
        return None
    return str(words[int(value)])
