"""Predictions that ask: only what each row needs is bought, all rows together, round by round.

``life.predict`` opens a reader, the model asks it for the cells it needs, and says where each row
stopped: a family's estimators implement :class:`Asks`, whatever they are. Where the budget may end
before all rows are answered, rows are served in their order, as many at a time as it pays for at
worst: the first question of all rows would pay for many beginnings and not one answer.

:class:`Asking` is the one pass. In a round every row that goes on says which features it wants
next; rows that lack the same are served by one request, and what is owned costs nothing. A row ends
where its own limit is reached, where the money of all ends (those in most doubt are served first),
or where whoever walks it says why. Trees are walked here, along the path of each row; models ask
beginnings of an order (:mod:`thrifty.models.asking.walk`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from thrifty.cells import Budget, Cells
from thrifty.cells.prices.money import to_units
from thrifty.errors import BadParameter, BudgetExceeded
from thrifty.stopping import StoppingRule, equal_posterior, probability_for_trees
from thrifty.typing import AnyArray, Bools, Floats, Ints, Json

__all__ = [
    "FINISHED", "UNANSWERED", "Asked", "Asking", "Asks", "Estimator", "Explanation", "Forest",
    "Get", "RowCost", "Step", "Stopping", "Walked", "ask_within_budget", "balanced_shares",
    "explain", "explain_cells", "join", "no_stopping", "stopping_of", "walk",
]  # fmt: skip

#: the model asked for all that it wanted; the budget ended before the row
FINISHED, UNANSWERED = "finished", "budget"


@dataclass(frozen=True, eq=False)
class Asked:
    """Answers for the rows that were asked for, in their order.

    Attributes
    ----------
    values : array
        a class or a number for each row
    probabilities : array of float or None
        (rows, classes), or None where the model gives none
    stopped : tuple of str
        why each row stopped: "finished", "sure", "worth", "spend" or "per_row"
    promise : str
        what was seen of the rule on held-out rows, "" where it promises nothing
    """

    values: AnyArray
    probabilities: Floats | None
    stopped: tuple[str, ...]
    promise: str = ""


class Asks(Protocol):
    """A fitted estimator that asks for cells as it needs them."""

    feature_names_: tuple[str, ...]

    @property
    def features_(self) -> Ints:
        """Indices of the features it may ask for, ascending."""

    def ask(
        self,
        cells: Cells,
        rows: Ints,
        *,
        stop: StoppingRule | None = None,
        spend: float | None = None,
        per_row: float | None = None,
    ) -> Asked:
        """Answer these rows through a reader.

        The reader's indices are the model's features. ``spend`` and ``per_row`` are in units of the
        prices, in total and on each row.
        """


class Estimator(Asks, Protocol):
    """What users hold of a task: a fitted scikit-learn estimator that a store can keep."""

    def to_dict(self) -> Json:
        """Everything needed to build it again, as JSON."""


def no_stopping(model: object, stop: object, spend: object, per_row: object) -> None:
    """Refuse to stop early, for models that need all their features for any answer."""
    given = {"stop": stop, "spend": spend, "per_row": per_row}
    for name, value in given.items():
        if value is not None:
            raise BadParameter(
                f"{type(model).__name__} needs all of its features for an answer and cannot stop "
                f"early: leave out {name}=. A budget still holds: Lifetime(budget=...)."
            )


def ask_within_budget(
    model: Asks,
    cells: Cells,
    rows: Ints,
    *,
    stop: StoppingRule | None = None,
    spend: float | None = None,
    per_row: float | None = None,
) -> tuple[Asked, BudgetExceeded | None]:
    """The answers, and what ended them; rows without an answer are None, numbers NaN.

    The rest is what ``model.ask`` takes.
    """

    def ask(some: Ints) -> Asked:
        return model.ask(cells, some, stop=stop, spend=spend, per_row=per_row)

    left = cells.allowance
    try:
        if spend is not None or left is None:
            return ask(rows), None
        if len(rows) * to_units(cells.price_of_an_example()) <= left:
            return ask(rows), None
    except BudgetExceeded as error:  # for one example alone, or others spend from it too
        if spend is not None:
            return _joined(model, len(rows), []), error
    ended: BudgetExceeded | None = None
    parts: list[tuple[Ints, Asked]] = []
    at, most = 0, len(rows)
    while at < len(rows):
        left = np.inf if cells.allowance is None else cells.allowance
        worst = np.cumsum(cells.row_costs(rows[at:], model.features_))
        take = max(1, min(most, int(np.searchsorted(worst, left + 1e-9, side="right"))))
        try:
            parts.append((np.arange(at, at + take), ask(rows[at : at + take])))
            at, most = at + take, 2 * most
        except BudgetExceeded as error:
            if take > 1:  # what they bought is owned: trying fewer costs nothing twice
                most = take // 2
                continue
            ended, at, most = ended or error, at + 1, 1
            if error.scope != "example":
                break
    if at < len(rows):  # rows after the end of the money that are owned already
        free = at + np.flatnonzero(cells.row_costs(rows[at:], model.features_) <= 0)
        parts += [(free, ask(rows[free]))] if len(free) else []
    return _joined(model, len(rows), parts), ended


def _joined(model: Asks, n: int, parts: Sequence[tuple[Ints, Asked]]) -> Asked:
    """Answers of some of n rows by their places; the others have none."""
    numbers = getattr(model, "classes_", None) is None
    values = np.full(n, np.nan) if numbers else np.full(n, None, dtype=object)
    if parts and sum(len(places) for places, _ in parts) == n:
        values = np.empty(n, dtype=parts[0][1].values.dtype)
    stopped, probabilities, promise = np.full(n, UNANSWERED, dtype=object), None, ""
    for places, asked in parts:
        values[places], stopped[places], promise = asked.values, asked.stopped, asked.promise
        if asked.probabilities is not None:
            if probabilities is None:
                probabilities = np.full((n, asked.probabilities.shape[1]), np.nan)
            probabilities[places] = asked.probabilities
    return Asked(values, probabilities, tuple(stopped.tolist()), promise)


#: buys and returns values, rows x features
Get = Callable[[Ints, Ints], AnyArray]
#: what features cost each row, where some are owned
RowCost = Callable[[Ints, Sequence[int]], Floats]


class Asking:
    """Rows that are asked, what is known and was paid of each, and why it ended.

    Parameters
    ----------
    get, cost_of : callable
        how values are bought, and what they cost; None: nobody counts
    features : array of int
        what may be asked; places are places among them
    spend, per_row : float or None
        the most for all rows together, and for each
    together : bool
        whether features may be sold together: what a row lacks is then bought at once

    Attributes
    ----------
    values, known : array
        (rows, features) what was asked
    cost : array of float
        what each row was charged
    why : array of str
        (tasks, rows) why each ended, "" while it goes on
    """

    def __init__(
        self, get: Get, cost_of: RowCost | None, features: Ints, n_rows: int, *, tasks: int = 1,
        spend: float | None = None, per_row: float | None = None, together: bool = False,
    ) -> None:  # fmt: skip
        self.get, self.cost_of, self.features, self.together = get, cost_of, features, together
        self.left = np.inf if spend is None else float(spend)
        self.per_row = np.inf if per_row is None else float(per_row)
        self.values = np.full((n_rows, len(features)), np.nan)
        self.known = np.zeros(self.values.shape, dtype=bool)
        self.cost = np.zeros(n_rows)
        self.why = np.full((tasks, n_rows), "", dtype="<U12")

    def end(self, rows: Ints, reason: str) -> None:
        """For every task that has not ended."""
        self.why[:, rows] = np.where(self.why[:, rows] == "", reason, self.why[:, rows])

    def price(self, rows: Ints, wanted: Bools) -> Floats:
        """What is wanted (rows, features) costs each row."""
        price = np.zeros(len(self.cost))
        if self.cost_of is not None:
            for some, places in self._alike(rows, wanted):
                price[some] += self.cost_of(some, self.features[places].tolist())
        return price[rows]

    def afford(self, rows: Ints, price: Floats, doubt: Callable[[Ints], Floats]) -> Bools:
        """Who pays: each within its own limit, those in most doubt first; the others end."""
        pays = self.cost[rows] + price <= self.per_row + 1e-9
        self.end(rows[~pays], "per_row")
        if np.isfinite(self.left):
            at = np.flatnonzero(pays)
            at = at[np.argsort(-doubt(rows[at]), kind="stable")]
            late = np.cumsum(price[at]) > self.left + 1e-9
            self.end(rows[at[late]], "spend")
            pays[at[late]] = False
        self.cost[rows[pays]] += price[pays]
        self.left -= float(price[pays].sum())
        return pays

    def buy(self, rows: Ints, wanted: Bools) -> None:
        """What rows lack of what they want is known from now on."""
        for some, places in self._alike(rows, wanted):
            self.values[np.ix_(some, places)] = self.get(some, self.features[places])
            self.known[np.ix_(some, places)] = True

    def _alike(self, rows: Ints, wanted: Bools) -> list[tuple[Ints, Ints]]:
        """Requests: rows and the places that each of them lacks.

        Rows that lack the same are one where features are sold together. Else features that the
        same rows lack are one: rows on many paths lack few features each.
        """
        lacking = wanted & ~self.known[rows]
        if not lacking.any():
            return []
        if (lacking == lacking[0]).all():
            return [(rows, np.flatnonzero(lacking[0]))]
        lines = lacking if self.together else lacking.T
        packed = np.packbits(lines, axis=1)
        _, first, which = np.unique(packed, axis=0, return_index=True, return_inverse=True)
        found = []
        for kind in np.argsort(first):
            line, same = np.flatnonzero(lines[first[kind]]), np.flatnonzero(which == kind)
            some, places = (same, line) if self.together else (line, same)
            if len(line):
                found.append((rows[some], places))
        return found


@dataclass(frozen=True, eq=False)
class Forest:
    """Node i asks for ``feature[i]`` (-1 at a leaf) and goes on to ``first`` or ``second``.

    Attributes
    ----------
    threshold : array of float
        to the first child if the value is at most this (below it where ``strict``)
    missing : array of int
        the child of an example whose value is NaN
    roots : array of int
        the first node of each tree
    strict : bool
        compare with < instead of <=
    single : bool
        values are rounded to float32 before they are compared
    zero_is_missing : array of bool or None
        nodes that treat 0 as NaN, or None
    share : array of float or None
        the share of each class among the training rows of every node, or None
    """

    feature: Ints
    threshold: Floats
    first: Ints
    second: Ints
    missing: Ints
    roots: Ints
    strict: bool = False
    single: bool = False
    zero_is_missing: Bools | None = None
    share: Floats | None = None

    def features(self) -> Ints:
        """Every feature that some node asks for, ascending."""
        asked = np.unique(self.feature)
        return asked[asked >= 0]

    def step(self, nodes: Ints, values: Floats) -> Ints:
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

    def joined(name: str, moved: bool = False) -> AnyArray:
        return np.concatenate([getattr(t, name) + moved * o for t, o in zip(trees, offsets)])

    def if_any(name: str) -> AnyArray | None:
        return (
            None
            if getattr(head, name) is None
            else np.concatenate([getattr(tree, name) for tree in trees])
        )

    places = {name: joined(name, True) for name in ("first", "second", "missing", "roots")}
    return Forest(
        feature=joined("feature"), threshold=joined("threshold"), **places, strict=head.strict,
        single=head.single, zero_is_missing=if_any("zero_is_missing"), share=if_any("share"),
    )  # fmt: skip


def balanced_shares(forest: Forest) -> Floats:
    """The class shares of every node, as if the classes had been equally common."""
    assert forest.share is not None
    return equal_posterior(forest.share, forest.share[forest.roots].mean(axis=0))


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

    def limits(self) -> list[float | None]:
        """What may be spent in total and on one example."""
        budget = self.budget
        if not isinstance(budget, Budget):
            budget = Budget(total=budget)
        if budget.per_task is not None:
            raise BadParameter(
                "a prediction is not a task: limit it with Budget(total=..., per_example=...)."
            )
        limits = budget.limits("")
        return [None if v is None else to_units(v) for v in (limits.total, limits.per_example)]


def stopping_of(stop: object, spend: float | None, per_row: float | None) -> Stopping | None:
    """What a prediction was told, for trees: they stop when sure, or when money ends."""
    if stop is None and spend is None and per_row is None:
        return None
    budget = None if spend is per_row is None else Budget(total=spend, per_example=per_row)
    return Stopping(probability_for_trees(stop), budget, balanced=True)


class Walked(Asking):
    """Examples on their paths: ``at`` (examples, trees) is a node of each tree."""

    def __init__(self, cells: Cells, forest: Forest, stopping: Stopping | None, rows: Ints) -> None:
        spend, per_row = (None, None) if stopping is None else stopping.limits()
        limited = not spend is per_row is None
        super().__init__(
            cells.get, cells.row_costs if limited else None, forest.features(), cells.n_examples,
            spend=spend, per_row=per_row, together=limited and cells.sells_together,
        )  # fmt: skip
        self._forest, self._stopping = forest, stopping
        self.at = np.tile(forest.roots, (cells.n_examples, 1))
        self._to_leaves(rows)

    @property
    def finished(self) -> Bools:
        """Whether an example is at a leaf of every tree."""
        return np.asarray((self._forest.feature[self.at] < 0).all(axis=1))

    def filled(self, rows: slice, n_features: int) -> Floats:
        """The bought values of some examples as a table; the others, which nobody asks, are 0."""
        table = np.zeros((len(self.at[rows]), n_features))
        table[:, self.features] = np.where(self.known[rows], self.values[rows], 0.0)
        return table

    def _to_leaves(self, going: Ints) -> None:
        forest = self._forest
        limit = None if self._stopping is None else self._stopping.confidence
        while True:
            going = going[~self.finished[going]]
            if limit is not None:
                sure = self._sureness(going) >= limit
                self.end(going[sure], "sure")
                going = going[~sure]
            if not len(going):
                break
            asked = forest.feature[self.at[going]]
            wanted = np.zeros((len(going), len(self.features)), dtype=bool)
            examples, trees = np.nonzero(asked >= 0)
            wanted[examples, np.searchsorted(self.features, asked[examples, trees])] = True
            if self.cost_of is not None:
                pays = self.afford(going, self.price(going, wanted), self._doubt)
                going, wanted = going[pays], wanted[pays]
            self.buy(going, wanted)
            self._move(going)
        self.end(np.arange(len(self.at)), FINISHED)

    def _move(self, rows: Ints) -> None:
        """Go down as far as the known values reach."""
        forest = self._forest
        examples, trees = np.nonzero(forest.feature[self.at[rows]] >= 0)
        examples = rows[examples]
        while len(examples):
            columns = np.searchsorted(self.features, forest.feature[self.at[examples, trees]])
            can = self.known[examples, columns]
            examples, trees, columns = examples[can], trees[can], columns[can]
            nodes = forest.step(self.at[examples, trees], self.values[examples, columns])
            self.at[examples, trees] = nodes
            inner = forest.feature[nodes] >= 0
            examples, trees = examples[inner], trees[inner]

    def _doubt(self, rows: Ints) -> Floats:
        return -self._sureness(rows)

    def _sureness(self, rows: Ints) -> Floats:
        """The share of the most common class where each stands; balanced: or with equal weights."""
        forest, at = self._forest, self.at[rows]
        if forest.share is None:
            raise BadParameter(
                "stopping early needs the class shares of the inner nodes, which Thrifty's trees "
                "and scikit-learn's classification trees and forests keep. Predict without "
                "confidence and budget."
            )
        plain = forest.share[at].mean(axis=1)
        if self._stopping is None or not self._stopping.balanced:
            return np.asarray(plain.max(axis=1))
        each, likely = np.arange(len(plain)), plain.argmax(axis=1)
        equal = balanced_shares(forest)[at].mean(axis=1)
        return np.asarray(np.minimum(plain[each, likely], equal[each, likely]))


def walk(
    cells: Cells, forest: Forest, stopping: Stopping | None = None, *, rows: Ints | None = None
) -> Walked:
    """Bring every example (or only ``rows``) to its leaves, or to where it may stop."""
    return Walked(cells, forest, stopping, np.arange(cells.n_examples) if rows is None else rows)


@dataclass(frozen=True, slots=True)
class Step:
    """One question: the feature, the limit it was compared with, the value, what it cost.

    ``threshold`` is NaN where the value was not compared but computed with; ``text`` is the
    category that the value stands for; ``served``: of several tasks those that read it.
    """

    tree: int
    feature: str
    threshold: float
    value: float
    cost: float
    text: str | None = None
    served: tuple[str, ...] | None = None

    def __str__(self) -> str:
        paid = f"paid {self.cost:g}" if self.cost else "known already"
        limit = "" if np.isnan(self.threshold) else f" (compared with {self.threshold:g})"
        gap = np.isnan(self.value)
        said = self.text if self.text is not None else "missing" if gap else f"{self.value:g}"
        whom = "" if self.served is None else f" (for {', '.join(self.served) or 'nobody'})"
        return f"{self.feature} = {said}{limit}, {paid}{whom}"


@dataclass(frozen=True, slots=True)
class Explanation:
    """The steps of one example, its answer (of several tasks a mapping), its cells, their cost."""

    example: int
    steps: tuple[Step, ...]
    answer: object
    cells: int
    cost: float

    def __str__(self) -> str:
        said = self.answer
        if isinstance(said, Mapping):
            said = ", ".join(f"{name} {answer}" for name, answer in said.items())
        head = f"example {self.example}: {said} for {self.cells} cells, cost {self.cost:g}"
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
            value = float(walked.values[example, np.searchsorted(walked.features, f)])
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
