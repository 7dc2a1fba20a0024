"""Free features first, on every row; then whole rows of the others, where that may help.

What is free is known of all rows and makes the lower rung of a model; what is paid for corrects it
on the rows that were bought (:mod:`thrifty.models.fits.rungs`), taken in the order that tasks on
the same rows share. Nothing is bought where the money is not enough for a correction.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from thrifty.array_types import Bools, Ints
from thrifty.cells import Cells
from thrifty.models.fits.target import Target
from thrifty.models.known import read_cells, what_is_known
from thrifty.models.purses.purse import Purse, free_features, rows_in_order
from thrifty.models.table import Table

__all__ = ["buy_rungs", "free_tables"]

#: rows of each class of every task without which nothing is bought
_FEWEST = 6


def buy_rungs(cells: Cells, targets: Sequence[Target], allowance: float) -> list[Table]:
    """A table for each target: free features on all its rows, all others on some.

    >>> import thrifty
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 3))
    >>> cells = Cells(X, thrifty.PriceList({"x0": 0, "x1": 1, "x2": 1}))
    >>> (table,) = buy_rungs(cells, [Target((X[:, 1] > 0).astype(int), 2)], 40.0)
    >>> table.bought.sum(axis=0).tolist(), cells.receipt().cost
    ([100, 20, 20], 40.0)
    """
    free = free_features(cells)
    paid = np.setdiff1d(np.arange(cells.n_features), np.append(free, np.flatnonzero(cells.absent)))
    purse = Purse(cells, rows_in_order(cells, targets, allowance), allowance)
    if _enough(targets, purse.order[: purse.most_rows(paid)]):
        purse.further(paid, 0)
    known = what_is_known(cells)
    whole = np.zeros(len(known), dtype=bool)
    if len(paid):
        whole = np.asarray(known[:, paid].all(axis=1), dtype=bool)
    return [_table(cells, target, free, paid, whole) for target in targets]


def free_tables(cells: Cells, targets: Sequence[Target]) -> list[Table]:
    """A table for each target of what is free, on all its rows."""
    none = np.zeros(cells.n_examples, dtype=bool)
    free = free_features(cells)
    return [_table(cells, target, free, free[:0], none) for target in targets]


def _enough(targets: Sequence[Target], rows: Ints) -> bool:
    for target in targets:
        codes = target.codes[rows]
        ours = np.bincount(codes[codes >= 0], minlength=target.n_codes)
        if (ours < np.minimum(target.sizes, _FEWEST)).any():
            return False
    return True


def _table(cells: Cells, target: Target, free: Ints, paid: Ints, whole: Bools) -> Table:
    rows = np.flatnonzero(target.known)
    some = whole[rows]
    features = np.append(free, paid) if some.any() else free
    bought = np.ones((len(rows), len(features)), dtype=bool)
    bought[:, len(free) :] = some[:, None]
    values, middles = read_cells(cells, rows, features, bought)
    weights, labels = target.stands_for(rows), target.labels_of(rows)
    return Table(features, rows, values, bought, weights, labels, middles, rungs=True)
