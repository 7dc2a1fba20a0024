"""In which order a task's rows are taken, and what is owned of them already.

Tasks that share rows take them for the class that has least of its due. A class's due goes with the
root of its rows, over all tasks: rare classes are there early whichever task they belong to,
without crowding out the rest. Within a class rows stand in an order that all tasks of a lifetime
have in common, so that what one task buys lies where the next one looks. (First rows in this order
against as many at random, one forest for all labels, six orders, 5 and 20 %: digits +.037 +.003,
yeast +.001 +.009, support2 -.003 +.002, tmc2007_500 +.098 +.075; every other row at random and the
rest for who has fewest: +.011 +.002, -.005 -.001, +.006 +.001, +.059 +.081. docs/models.md, Labels
at once.)

A task that buys for itself takes its classes in turn, so that any beginning of its rows is as
balanced as they allow.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from thrifty.array_types import Bools, Floats, Ints
from thrifty.cells import Cells
from thrifty.models.fits.target import Target

__all__ = [
    "free_features",
    "owned_first",
    "owns_rows",
    "round_robin",
    "rows_in_order",
    "rows_known",
    "shared_order",
    "to_pay",
]

#: of the common order of rows
_SALT = 26
#: rows of each class that are put in order at least; after them any order will do
_ROWS_EACH = 64


def free_features(cells: Cells) -> Ints:
    """Features that cost nothing on any row, and are there."""
    free = (np.asarray(cells.prices) <= 0) & ~np.asarray(cells.absent)
    return np.flatnonzero(free)


def owns_rows(cells: Cells) -> bool:
    """Whether anything behind the door is owned already."""
    return bool(cells.meter.owned.count())


def owned_first(cells: Cells, order: Ints) -> Ints:
    """Rows that are owned whole come first; a cohort's were drawn without regard to the label."""
    if not owns_rows(cells):
        return order
    return order[np.argsort(_row_costs(cells, order) > 0, kind="stable")]


def rows_known(cells: Cells, share: float) -> int:
    """How many rows are owned by this share of what a row costs, or more."""
    if not owns_rows(cells):
        return 0
    whole = float(np.asarray(cells.shared_prices).sum())
    return int((_row_costs(cells, np.arange(cells.n_examples)) <= (1 - share) * whole).sum())


def _row_costs(cells: Cells, rows: Ints) -> Floats:
    return cells.row_costs(rows, np.arange(cells.n_features))


def to_pay(cells: Cells) -> float:
    """The price of all cells that are not owned.

    >>> cells = Cells(np.zeros((2, 3), dtype=bool))
    >>> _ = cells.get([0], [0, 1])
    >>> to_pay(cells)
    4.0
    """
    return cells.price_of(np.arange(cells.n_examples), np.arange(cells.n_features))


def shared_order(base: Ints, targets: Sequence[Target], first: int | None = None) -> Ints:
    """The rows, each the next of the class that has least of its due.

    ``first``: after so many rows ``base`` alone goes on.

    >>> rare = Target(np.array([0] * 8 + [1, 1]), 2)
    >>> shared_order(np.arange(10), [rare]).tolist()
    [8, 0, 1, 9, 2, 3, 4, 5, 6, 7]
    """
    members = _members(targets)
    members = members[:, members.any(axis=0)]
    due = np.sqrt(members.sum(axis=0, dtype=np.float64))
    had = 1e-6 * due**3  # of classes that had nothing yet the rarest goes first
    waiting = [iter(base[column[base]].tolist()) for column in members.T]
    taken = np.zeros(len(base), dtype=bool)
    order: list[int] = []
    limit = len(base) if first is None else min(first, len(base))
    while len(order) < limit:
        group = int((had / due).argmin())
        if not np.isfinite(had[group]):
            break
        row = next((i for i in waiting[group] if not taken[i]), None)
        if row is None:
            had[group] = np.inf
            continue
        taken[row] = True
        had += members[row]
        order.append(row)
    rest = [i for i in base.tolist() if not taken[i]]
    return np.array(order + rest, dtype=np.int64)


def rows_in_order(cells: Cells, targets: Sequence[Target], allowance: float) -> Ints:
    """The rows as tasks on them take them: of each class those of which more is owned come first.

    So a later task's rare rows are bought though others are owned: where owned rows came first
    whatever their class, a label of 1 in 50 that came last had no more of it than chance had
    bought (tmc2007_500 at 40 %, one after another: docs/models.md, Labels at once).
    """
    row = float(np.asarray(cells.shared_prices).sum())
    whole = cells.n_examples if row <= 0 else int(4 * allowance / row)
    first = max(whole, _ROWS_EACH * sum(target.n_codes for target in targets))
    base = cells.row_order(_SALT)
    if owns_rows(cells):
        costs = cells.row_costs(base, np.arange(cells.n_features))
        base = base[np.argsort(costs, kind="stable")]
        first += int((costs < costs.max(initial=0.0)).sum())
    return shared_order(base, targets, min(first, cells.n_examples))


def _members(targets: Sequence[Target]) -> Bools:
    """(rows, classes of all tasks) which rows are of which class."""
    return np.column_stack(
        [target.codes[:, None] == np.arange(target.n_codes) for target in targets]
    )


def round_robin(
    codes: Ints, rng: np.random.Generator, others: float = 1.0, cells: Cells | None = None
) -> Ints:
    """A random order of the rows in which the classes take turns, until they run out.

    ``others``: rows of the largest class for each row of another. ``cells``: where rows of it are
    owned whole, a cohort's for instance, they are the first of their class.

    >>> codes = np.array([0, 0, 0, 0, 1, 1])
    >>> codes[round_robin(codes, np.random.default_rng(0))].tolist()
    [1, 0, 1, 0, 0, 0]
    >>> codes = np.array([0, 0, 0, 0, 1, 1, 1])
    >>> codes[round_robin(codes, np.random.default_rng(0), others=0.5)].tolist()
    [1, 0, 1, 1, 0, 0, 0]
    """
    shuffled = rng.permutation(len(codes))
    shuffled = shuffled if cells is None else owned_first(cells, shuffled)
    turn = np.zeros(len(codes))
    sizes = np.bincount(codes)
    place = np.argsort(np.argsort(sizes, kind="stable"), kind="stable")  # the rarest goes first
    for label in np.unique(codes):
        rows = shuffled[codes[shuffled] == label]
        turn[rows] = np.arange(len(rows)) + place[label] / (len(sizes) + 1)
        if place[label] == len(sizes) - 1:
            turn[rows] /= others
    return np.argsort(turn, kind="stable")
