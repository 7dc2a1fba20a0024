"""Steps for several tasks: one order, and what each task reads along it.

Where the rows of the tasks are not known to be the same, or too few have the joint features, the
steps are a round robin of the tasks' own orders, and each task reads the longest beginning of its
own that is there. The last step is everything that some task has.

Rows are the same where their examples have the same ids, or where the tasks were learned from the
same rows at once. What one task bought of a row, another may use: its label stands there too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from thrifty.models.asking.order import Price, find_joint_order
from thrifty.models.asking.prefixes import Prefixes, fit_ladders
from thrifty.models.asking.walk import Ladder
from thrifty.models.fits.folds import make_folds
from thrifty.models.table import Keys, Table
from thrifty.typing import EstimatorLike, Ints

#: halves of the rows, for what prefixes say of held-out rows
_FOLDS = 2
#: rows of each class of each task that must have the joint features; fewer say too little. By hand
_ENOUGH = 20


def joint_ladder(
    tables: Sequence[Table],
    own: Callable[[], Sequence[Prefixes]],
    weights: Sequence[float],
    price: Price,
    orders: Sequence[Sequence[int]],
    estimators: Sequence[EstimatorLike | None],
    seed: int,
) -> Ladder:
    """Order and prefixes for several tasks, from the tables that were bought for learning.

    ``own`` makes the prefixes of each task alone: what a round robin is made of, and the whole
    model where a task has features that the others' rows do not. Elsewhere they are never made.
    """
    whole = _joined(tables)
    block = None if whole is None else _together(whole)
    if block is None or block[0].width < 2:
        return round_robin(own())
    order = find_joint_order(block, weights, price, orders, seed=seed)
    # rows that are the same are in the same half for every task
    halves = [make_folds(t.n_rows, _FOLDS, seed, None, t.groups) for t in block]
    parted = []
    for i in range(_FOLDS):
        out = [np.flatnonzero(half == i) for half in halves]
        rest = [
            t.of_rows(np.flatnonzero(half != i)).weighing_as(t) for t, half in zip(block, halves)
        ]
        parted.append((out, find_joint_order(rest, weights, price, orders, seed=seed)))
    ladder = Ladder(*fit_ladders(block, order, price, estimators, parted, seed=seed))
    every = {int(f) for table in tables for f in table.features}
    return ladder if every <= set(ladder.features[-1]) else _with_everything(ladder, own())


def round_robin(own: Sequence[Prefixes]) -> Ladder:
    """Each task's next step in turn; a task reads the longest beginning of its own that is there.

    What one task asks serves another only where it is in its order too.
    """
    asked: list[int] = []
    steps: list[tuple[int, ...]] = [()]
    for k in range(1, max(len(one) for one in own)):
        for one in own:
            new = [f for f in one.parts[min(k, len(one) - 1)].features if f not in set(asked)]
            if new:
                asked += new
                steps.append(tuple(asked))
    tasks = []
    for one in own:
        which = [_longest(one, set(step)) for step in steps]
        parts = tuple(one.parts[k] for k in which)
        tasks.append(replace(one, parts=parts, seen=one.seen[which]))
    return Ladder(tuple(steps), tuple(tasks), False)


def _longest(one: Prefixes, there: set[int]) -> int:
    return max(k for k, part in enumerate(one.parts) if k == 0 or there.issuperset(part.features))


def _with_everything(ladder: Ladder, own: Sequence[Prefixes]) -> Ladder:
    """With a last step: all that some task has, where the joint features are not all of it."""
    last = list(ladder.features[-1])
    more = dict.fromkeys(f for one in own for f in one.parts[-1].features if f not in set(last))
    if not more:
        return ladder
    tasks = []
    for one, alone in zip(ladder.tasks, own):
        # the rows that judged the two are not the same: the last of the joint ones stand in
        keeps = set(alone.parts[-1].features) <= set(last)
        part = one.parts[-1] if keeps else alone.parts[-1]
        seen = np.concatenate([one.seen, one.seen[-1:]])
        tasks.append(replace(one, parts=(*one.parts, part), seen=seen))
    return Ladder((*ladder.features, (*last, *more)), tuple(tasks))


def _joined(tables: Sequence[Table]) -> list[Table] | None:
    """Each task's table over the features of all; None where rows are not known to be the same."""
    keys = _keys(tables)
    if keys is None:
        return None
    features = np.array(sorted({f for t in tables for f in t.features.tolist()}), dtype=np.int64)
    every = np.unique(np.concatenate([k[k != 0] for k in keys]))
    values = np.full((len(every), len(features)), np.nan)
    bought = np.zeros(values.shape, dtype=bool)
    sizes = {}
    for table, key in zip(tables, keys):
        known = key != 0
        rows = np.searchsorted(every, key[known])
        for j, f in enumerate(table.features.tolist()):
            column = int(np.searchsorted(features, f))
            here = table.bought[known, j]
            values[rows[here], column] = table.values[known, j][here]
            bought[rows[here], column] = True
            sizes[f] = table.categories[j] if table.categories else 0
    told = tuple(sizes[f] for f in features.tolist())
    out = []
    for table, key in zip(tables, keys):
        own = np.flatnonzero(key != 0)
        at = np.searchsorted(every, key[own])
        part = table.of_rows(own)
        out.append(
            replace(
                part,
                features=features,
                values=values[at],
                bought=bought[at],
                background=None,
                first=0,
                categories=told if any(told) else (),
                keys=key[own],
            ).weighing_as(table)
        )
    return out


def _together(tables: Sequence[Table]) -> list[Table] | None:
    """What was bought together for all of them: the same features, no holes; None: too little.

    Features join in the order of how often they were bought; of the blocks that so come about, the
    one with the most cells over all tasks whose classes all have rows enough in it.
    """
    bought = np.concatenate([t.bought for t in tables])
    order = np.argsort(-bought.sum(axis=0), kind="stable")
    best: tuple[int, Ints] | None = None
    for j in range(1, len(order) + 1):
        some = order[:j]
        complete = [t.bought[:, some].all(axis=1) for t in tables]
        enough = all(
            np.unique(t.labels[there], return_counts=True)[1].min(initial=10**9) >= _ENOUGH
            and len(np.unique(t.labels[there])) == len(np.unique(t.labels))
            for t, there in zip(tables, complete)
        )
        if not enough:
            break
        cells = j * sum(int(there.sum()) for there in complete)
        if best is None or cells >= best[0]:
            best = cells, np.sort(some)
    if best is None:
        return None
    return [
        t.of_features(best[1])
        .of_rows(np.flatnonzero(t.bought[:, best[1]].all(axis=1)))
        .weighing_as(t)
        for t in tables
    ]


def _keys(tables: Sequence[Table]) -> list[Keys] | None:
    found = [t.keys for t in tables if t.keys is not None]
    if len(found) == len(tables):
        return found
    first = tables[0]
    for other in tables[1:]:
        if len(first.rows) != len(other.rows) or (first.rows != other.rows).any():
            return None
        common, ours, theirs = np.intersect1d(first.features, other.features, return_indices=True)
        if not len(common) or not np.array_equal(
            first.values[:, ours], other.values[:, theirs], equal_nan=True
        ):
            return None
    numbers = (first.rows + 1).astype(np.uint64)
    return [numbers] * len(tables)
