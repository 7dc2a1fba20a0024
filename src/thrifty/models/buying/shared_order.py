"""The order in which tasks that share rows take them: at random, and by turns for who has least.

Half of the rows come in an order that all tasks of a lifetime have in common; every other is the
next row of the class that has been seen least, over all tasks: so rare classes are there early
whichever task they belong to, and what one task buys lies where the next one looks. (First rows in
this order against as many at random, one forest for all labels: nhanes at 5 % +.02, support2 +.01,
yeast 0, tmc2007_500 +.12; docs/models.md, Labels at once.)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from thrifty.array_types import Bools, Floats, Ints
from thrifty.models.fits.target import Target

__all__ = ["share_of_rows", "shared_order"]


def shared_order(base: Ints, targets: Sequence[Target], first: int | None = None) -> Ints:
    """The rows, by turns the next of ``base`` and the next of the class that is seen least.

    ``first``: after so many rows ``base`` alone goes on.

    >>> rare = Target(np.array([0] * 8 + [1, 1]), 2)
    >>> shared_order(np.arange(10), [rare]).tolist()
    [8, 0, 9, 1, 2, 3, 4, 5, 6, 7]
    """
    members = _members(targets)
    counts = members.mean(axis=0) / 2  # of classes seen alike the rarer goes first
    waiting = [iter(base[members[base, g]].tolist()) for g in range(members.shape[1])]
    counts[~members.any(axis=0)] = np.inf
    plain, taken = iter(base.tolist()), np.zeros(len(base), dtype=bool)
    order: list[int] = []
    limit = len(base) if first is None else min(first, len(base))
    while len(order) < limit:
        row = None
        if len(order) % 2 == 0:
            row = _next_of_least(counts, waiting, taken)
        if row is None:
            row = next((i for i in plain if not taken[i]), None)
        if row is None:
            break
        taken[row] = True
        counts += members[row]
        order.append(row)
    rest = [i for i in base.tolist() if not taken[i]]
    return np.array(order + rest, dtype=np.int64)


def _members(targets: Sequence[Target]) -> Bools:
    """(rows, classes of all tasks) which rows are of which class."""
    return np.column_stack([
        target.codes[:, None] == np.arange(target.n_codes) for target in targets
    ])  # fmt: skip


def _next_of_least(counts: Floats, waiting: list, taken: Bools) -> int | None:  # type: ignore[type-arg]
    """The next row of the class seen least that still has one; a class without is out."""
    while True:
        group = int(counts.argmin())
        if not np.isfinite(counts[group]):
            return None
        row: int | None = next((i for i in waiting[group] if not taken[i]), None)
        if row is not None:
            return row
        counts[group] = np.inf


def share_of_rows(target: Target, rows: Ints) -> Floats:
    """How many rows of the task each of these stands for, by its class; 0 without a label."""
    codes = target.codes[rows]
    ours = np.bincount(codes[codes >= 0], minlength=target.n_codes)
    weight = np.append(target.sizes / np.maximum(ours, 1), 0.0)  # -1 is the last
    return np.asarray(weight[codes], dtype=np.float64)
