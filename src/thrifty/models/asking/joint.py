"""One pass of a row for several tasks: joint prefixes, and rows in rounds along them.

At each step every task that has not stopped answers from all cells that are there. A task stops on
a row by its own rule, and keeps that answer; the row ends when all tasks have stopped. Where the
rows of the tasks are not known to be the same, or too few have the joint features, the steps are a
round robin of the tasks' own orders, and each task reads the longest beginning of its own that is
there. The last step is everything that some task has, answered by each task's whole model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from thrifty.array_types import Floats, Ints
from thrifty.lazy.asking import FINISHED
from thrifty.models.asking.joint_order import find_joint_order
from thrifty.models.asking.joint_tables import joined, same_rows, together
from thrifty.models.asking.order import Price
from thrifty.models.asking.plan import Hope
from thrifty.models.asking.prefixes import Prefix, Prefixes, fit_lengths, scaled
from thrifty.models.table import Table
from thrifty.stopping import StoppingRule, Sure, entropy
from thrifty.typing import AnyArray, EstimatorLike

__all__ = ["JointAnswers", "JointPrefixes", "ask_jointly", "joint_prefixes", "round_robin"]

#: joint prefixes have so many steps; fewer lengths than alone, since every task is fitted at each
SIZES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)
#: halves of the rows, for what prefixes say of held-out rows
FOLDS = 2


@dataclass(frozen=True, eq=False)
class JointPrefixes:
    """Steps of all tasks together; ``tasks[t].parts[k]`` is what task t reads at step k.

    ``features[k]``: all that was asked by step k, in order.
    """

    features: tuple[tuple[int, ...], ...]
    tasks: tuple[Prefixes, ...]
    is_joint: bool


@dataclass(frozen=True, eq=False)
class JointAnswers:
    """Of each task: (rows, classes) probabilities, why each row stopped, the step that it read."""

    p: tuple[Floats, ...]
    why: tuple[NDArray[np.str_], ...]
    at: tuple[Ints, ...]


def joint_prefixes(
    tables: Sequence[Table],
    own: Callable[[], Sequence[Prefixes]],
    weights: Sequence[float],
    price: Price,
    orders: Sequence[Sequence[int]],
    estimators: Sequence[EstimatorLike | None],
    seed: int,
) -> JointPrefixes:
    """Order and prefixes for several tasks, from the tables that were bought for learning.

    ``own`` makes the prefixes of each task alone: what a round robin is made of, and the whole
    model where a task has features that the others' rows do not. Elsewhere they are never made.
    """
    whole = joined(tables)
    block = None if whole is None else together(whole)
    if block is None or block[0].width < 2:
        return round_robin(own())
    order = find_joint_order(block, weights, price, orders, seed=seed)
    halves = _halves(block, seed)
    without = [
        find_joint_order(
            [t.of_rows(np.flatnonzero(half != i)).weighing_as(t) for t, half in zip(block, halves)],
            weights,
            price,
            orders,
            compared=1,
            seed=seed,
        )
        for i in range(FOLDS)
    ]
    sizes = [s for s in SIZES if s < len(order.steps) - 1] + [len(order.steps) - 1]
    fits = []
    for table, half, estimator in zip(block, halves, estimators):
        parted = [(np.flatnonzero(half == i), without[i]) for i in range(FOLDS)]
        fits.append(fit_lengths(table, order, estimator, seed=seed, sizes=sizes, parted=parted))
    made = [scaled(one, price) for one in fits]
    steps = [part.features for part in made[0].parts]
    joint = JointPrefixes(tuple(steps), tuple(made), True)
    every = {int(f) for table in tables for f in table.features}
    return joint if every <= set(steps[-1]) else _with_everything(joint, own())


def _halves(tables: Sequence[Table], seed: int) -> list[Ints]:
    """Halves by example for each task; class by class, so that both have all of them.

    Where the rows are the same, the halves are too: by all labels of a row at once.
    """
    if not same_rows(tables):
        return [_half(table, table.labels, seed) for table in tables]
    codes = np.column_stack([np.unique(t.labels, return_inverse=True)[1] for t in tables])
    every = np.unique(codes, axis=0, return_inverse=True)[1].reshape(-1)
    return [_half(tables[0], every, seed)] * len(tables)


def _half(table: Table, labels: AnyArray, seed: int) -> Ints:
    assert table.keys is not None
    mixed = (table.keys ^ np.uint64(seed * 2654435761 + 97)) * np.uint64(0x9E3779B97F4A7C15)
    # one class after another, every second row: where classes are many each has a few alone
    drawn = np.lexsort((mixed, labels))
    fold = np.zeros(table.n_rows, dtype=np.int64)
    fold[drawn] = np.arange(table.n_rows) % FOLDS
    return fold


def round_robin(own: Sequence[Prefixes]) -> JointPrefixes:
    """Each task's next step in turn; a task reads the longest beginning of its own that is there.

    What one task asks serves another only where it is in its order too.
    """
    asked: list[int] = []
    steps: list[tuple[int, ...]] = [()]
    at = [0] * len(own)
    while any(k < len(one) - 1 for k, one in zip(at, own)):
        for t, one in enumerate(own):
            if at[t] < len(one) - 1:
                at[t] += 1
                new = [f for f in one.parts[at[t]].features if f not in set(asked)]
                if new:
                    asked += new
                    steps.append(tuple(asked))
    tasks = []
    for one in own:
        which = [_longest(one, set(step)) for step in steps]
        parts = tuple(one.parts[k] for k in which)
        tasks.append(replace(one, parts=parts, seen=one.seen[which]))
    return JointPrefixes(tuple(steps), tuple(tasks), False)


def _longest(one: Prefixes, there: set[int]) -> int:
    return max(k for k, part in enumerate(one.parts) if k == 0 or there.issuperset(part.features))


def _with_everything(joint: JointPrefixes, own: Sequence[Prefixes]) -> JointPrefixes:
    """With a last step: all that some task has, where the joint features are not all of it."""
    last = list(joint.features[-1])
    more = [f for one in own for f in one.parts[-1].features if f not in set(last)]
    more = list(dict.fromkeys(more))
    if not more:
        return joint
    tasks = []
    for one, alone in zip(joint.tasks, own):
        # the rows that judged the two are not the same: the last of the joint ones stand in
        part: Prefix = alone.parts[-1]
        keeps = set(part.features) <= set(last)
        tasks.append(
            replace(
                one,
                parts=(*one.parts, one.parts[-1] if keeps else part),
                seen=np.concatenate([one.seen, one.seen[-1:]]),
            )
        )
    return JointPrefixes((*joint.features, tuple(last + more)), tuple(tasks), True)


def ask_jointly(
    joint: JointPrefixes,
    get: Callable[[Ints, Ints], AnyArray],
    price: Callable[[Ints, Sequence[int]], Floats],
    n_rows: int,
    *,
    stops: Sequence[StoppingRule | None],
    weights: Sequence[float],
    spend: float | None = None,
    per_row: float | None = None,
) -> JointAnswers:
    """Walk all rows through the steps, as far as some task needs it and money reaches.

    Parameters
    ----------
    get : callable
        ``get(rows, features)`` buys and returns values
    price : callable
        ``price(rows, features)``: what these cost each row where some are owned
    stops : sequence of StoppingRule or None
        each task's rule; None: it reads all that is asked
    """
    return _Walk(joint, get, price, n_rows, stops, weights, spend, per_row).run()


class _Walk:
    def __init__(
        self,
        joint: JointPrefixes,
        get: Callable[[Ints, Ints], AnyArray],
        price: Callable[[Ints, Sequence[int]], Floats],
        n_rows: int,
        stops: Sequence[StoppingRule | None],
        weights: Sequence[float],
        spend: float | None,
        per_row: float | None,
    ) -> None:
        self.joint, self.get, self.price, self.stops = joint, get, price, stops
        self.weights = weights
        self.left = np.inf if spend is None else float(spend)
        self.per_row = np.inf if per_row is None else float(per_row)
        every = joint.features[-1]
        self.place = {f: j for j, f in enumerate(every)}
        self.values = np.full((n_rows, len(every)), np.nan)
        self.cost = np.zeros(n_rows)
        self.whole = price(np.arange(n_rows), every)
        self.p = [np.repeat(t.shares[None, :], n_rows, axis=0) for t in joint.tasks]
        self.why = [np.full(n_rows, "", dtype="<U12") for _ in joint.tasks]
        self.at = [np.full(n_rows, -1) for _ in joint.tasks]
        self.hopes = [
            Hope(task.seen, task.shares, rule) if isinstance(rule, Sure) and rule.give_up else None
            for task, rule in zip(joint.tasks, stops)
        ]

    def run(self) -> JointAnswers:
        going = np.arange(len(self.cost))
        for k in range(len(self.joint.features)):
            going = self._afford(going, k)
            if not len(going):
                break
            self._buy(going, k)
            going = self._decide(going, k)
        return JointAnswers(tuple(self.p), tuple(self.why), tuple(self.at))

    def _new(self, k: int) -> list[int]:
        have = len(self.joint.features[k - 1]) if k else 0
        return list(self.joint.features[k][have:])

    def _afford(self, rows: Ints, k: int) -> Ints:
        new = self._new(k)
        step = self.price(rows, new) if new else np.zeros(len(rows))
        within = self.cost[rows] + step <= np.minimum(self.per_row, self.whole[rows]) + 1e-9
        self._end(rows[~within & (self.cost[rows] + step <= self.per_row + 1e-9)], FINISHED)
        self._end(rows[~within], "per_row")
        rows, step = rows[within], step[within]
        if np.isfinite(self.left):
            doubt = np.argsort(-self._doubt(rows), kind="stable")
            fits = np.zeros(len(rows), dtype=bool)
            fits[doubt] = np.cumsum(step[doubt]) <= self.left + 1e-9
            self._end(rows[~fits], "spend")
            rows, step = rows[fits], step[fits]
            self.left -= float(step.sum())
        self.cost[rows] += step
        return rows

    def _doubt(self, rows: Ints) -> Floats:
        """Entropy summed over the tasks that still ask: whom further money serves first."""
        total = np.zeros(len(rows))
        for p, why, weight in zip(self.p, self.why, self.weights):
            total += weight * entropy(p[rows]) * (why[rows] == "")
        return total

    def _end(self, rows: Ints, reason: str) -> None:
        for why in self.why:
            why[rows[why[rows] == ""]] = reason

    def _buy(self, rows: Ints, k: int) -> None:
        new = self._new(k)
        if new:
            columns = np.array([self.place[f] for f in new], dtype=np.int64)
            self.values[np.ix_(rows, columns)] = self.get(rows, np.array(new, dtype=np.int64))
        for t, task in enumerate(self.joint.tasks):
            asks = rows[self.why[t][rows] == ""]
            part = task.parts[k]
            at = np.array([self.place[f] for f in part.features], dtype=np.int64)
            if len(asks):
                self.p[t][asks] = part.probabilities(self.values[np.ix_(asks, at)], task.shares)
                self.at[t][asks] = k

    def _decide(self, rows: Ints, k: int) -> Ints:
        """Rows on which some task goes on; what costs nothing further is read before."""
        if k + 1 == len(self.joint.features):
            self._end(rows, FINISHED)
            return rows[:0]
        new = self._new(k + 1)
        costs = self.price(rows, new) > 0 if new else np.zeros(len(rows), dtype=bool)
        going = np.zeros(len(rows), dtype=bool)
        for t, (task, rule) in enumerate(zip(self.joint.tasks, self.stops)):
            asks = self.why[t][rows] == ""
            done = np.zeros(len(rows), dtype=bool)
            if rule is not None:
                done = asks & costs & rule.stops(self.p[t][rows], task.shares)
                self.why[t][rows[done]] = rule.reason
            hope = self.hopes[t]
            if hope is not None and k < len(task.seen):
                lost = asks & costs & ~done & hope.is_lost(k, self.p[t][rows])
                self.why[t][rows[lost]] = "hopeless"
                done |= lost
            going |= asks & ~done
        return rows[going]
