"""Tables of several tasks as one: every task reads every cell that is there, its own or not.

Rows are the same where their examples have the same ids, or where the tasks were learned from the
same rows at once. What one task bought of a row, another may use: its label stands there too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from thrifty.array_types import Ints
from thrifty.models.table import Keys, Table

__all__ = ["joined", "together"]

#: rows of each class of each task that must have the joint features; fewer say too little. By hand
ENOUGH = 20


def joined(tables: Sequence[Table]) -> list[Table] | None:
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


def together(tables: Sequence[Table]) -> list[Table] | None:
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
            np.unique(t.labels[there], return_counts=True)[1].min(initial=10**9) >= ENOUGH
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
