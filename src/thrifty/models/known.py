"""What is known of the rows of one or more tasks, read as one table; nothing is bought here.

Cells that are free, owned or bought already are read for nothing. Rows of which enough is known
make a table with holes, for all tasks, whose features stand in the order of what they tell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from thrifty.array_types import Bools, Floats, Ints
from thrifty.cells import Cells
from thrifty.errors import BadInput
from thrifty.models.acquisition import score_features
from thrifty.models.fits.target import Target
from thrifty.models.table import Table

__all__ = ["Known", "read_cells", "read_known", "what_is_known"]

#: features that a model may have
_MOST = 300
#: of the features that are known at all, what must be known of a row for it to be in the table, and
#: how many are enough in any case: of a wide table few are bought on most rows
_KNOWN, _ENOUGH = 0.25, 25
#: rows on which a feature must be known to count as known at all
_SEEN = 8


@dataclass(frozen=True, eq=False)
class Known:
    """What is known of the rows, for all tasks: rows x features with holes."""

    features: Ints
    rows: Ints
    values: Floats
    bought: Bools

    def table(self, target: Target) -> Table:
        """One task's part: the rows that have its label."""
        known = np.flatnonzero(target.known[self.rows])
        at = self.rows[known]
        values = np.where(self.bought, self.values, np.nan)[known]
        labels = target.labels_of(at)
        return Table(self.features, at, values, self.bought[known], target.stands_for(at), labels)


def what_is_known(cells: Cells) -> Bools:
    """(rows, features) which cells are owned, free, or bought already."""
    every = np.arange(cells.n_features)
    known = cells.margins(np.arange(cells.n_examples), every) <= 0
    known[:, np.asarray(cells.absent)] = False
    return np.asarray(known)


def read_known(cells: Cells, targets: Sequence[Target]) -> Known:
    """All that is known of the rows, as one table of the features that tell most."""
    known = what_is_known(cells)
    rows, features = _in_the_table(known, targets, np.asarray(cells.shared_prices) > 0)
    bought = known[np.ix_(rows, features)]
    values = read_cells(cells, rows, features, bought)
    ours = [target.of_rows(rows) for target in targets]
    told = score_features(np.where(bought, values, np.nan), ours)
    best = np.argsort(-told, kind="stable")[:_MOST]
    return Known(features[best], rows, values[:, best], bought[:, best])


def read_cells(cells: Cells, rows: Ints, features: Ints, bought: Bools) -> Floats:
    """The cells that are known, NaN elsewhere."""
    values = np.full(bought.shape, np.nan)
    for mask, columns in _alike(bought):
        at = np.ix_(np.flatnonzero(mask), columns)
        values[at] = cells.get(rows[mask], features[columns])
    return values


def _in_the_table(known: Bools, targets: Sequence[Target], paid: Bools) -> tuple[Ints, Ints]:
    """Rows of which enough is known, and the features that are known on some of them."""
    labelled = np.any([target.known for target in targets], axis=0)
    known = known & labelled[:, None]
    seen = known.sum(axis=0) >= min(_SEEN, max(int(known.sum(axis=0).max(initial=0)), 1))
    enough = min(_KNOWN * int(seen.sum()), _ENOUGH)
    rows = np.flatnonzero(known[:, seen].sum(axis=1) >= max(enough, 1))
    if all(target.numbers is not None for target in targets) and known[:, paid].any():
        rows = np.flatnonzero(known[:, paid].any(axis=1))
    if not all(target.is_told_by(rows) for target in targets):
        rows = np.flatnonzero(known.any(axis=1))
    features = np.flatnonzero(known[rows].sum(axis=0) >= 1)
    if not len(rows) or not all(target.is_told_by(rows) for target in targets):
        raise BadInput(
            "nothing is known of enough rows of every class, and nothing may be spent on them: say "
            "a larger spend=, or bring rows whose cells are free or owned."
        )
    return rows, features


def _alike(bought: Bools) -> list[tuple[Bools, Ints]]:
    """Columns that are known on the same rows, together."""
    packed = np.packbits(bought, axis=0)
    _, which = np.unique(packed, axis=1, return_inverse=True)
    which = which.reshape(-1)
    groups = [np.flatnonzero(which == g) for g in range(int(which.max(initial=-1)) + 1)]
    return [(bought[:, columns[0]], columns) for columns in groups if bought[:, columns[0]].any()]
