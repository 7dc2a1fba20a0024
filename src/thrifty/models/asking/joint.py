"""Steps for several tasks: one order, and what each task reads along it.

Where the rows of the tasks are not known to be the same, or too few have the joint features, the
steps are a round robin of the tasks' own orders, and each task reads the longest beginning of its
own that is there. The last step is everything that some task has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from thrifty.models.asking.joint_tables import joined, together
from thrifty.models.asking.order import Price, find_joint_order
from thrifty.models.asking.prefixes import Prefixes, fit_ladders
from thrifty.models.asking.walk import Ladder
from thrifty.models.fits.folds import make_folds
from thrifty.models.table import Table
from thrifty.typing import EstimatorLike

__all__ = ["joint_ladder", "round_robin"]

#: halves of the rows, for what prefixes say of held-out rows
_FOLDS = 2


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
    whole = joined(tables)
    block = None if whole is None else together(whole)
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
