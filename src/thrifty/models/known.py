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
from thrifty.models.fits.forest_for_all import ForestForAll
from thrifty.models.fits.target import Target
from thrifty.models.table import Table

__all__ = ["OneTable", "correlations", "read_cells", "read_known", "what_is_known"]

#: trees of the forest that ranks features; set by hand
_TREES = 60
#: features that a model may have
_MOST = 300
#: of the features that are known at all, what must be known of a row for it to be in the table, and
#: how many are enough in any case: of a wide table few are bought on most rows
_KNOWN, _ENOUGH = 0.25, 25
#: rows on which a feature must be known to count as known at all
_SEEN = 8
#: values further from the mean than so many spreads count as that far
_FAR = 4.0
#: features of the last step are known on so many of the rows of the one that is known on most
_OFTEN = 0.75


@dataclass(frozen=True, eq=False)
class OneTable:
    """What is known of the rows, for all tasks: rows x features with holes.

    ``middles``: what stands in for a cell that was not bought; ``importances``: how much each
    feature told, summed over the tasks.
    """

    features: Ints
    rows: Ints
    values: Floats
    bought: Bools
    middles: Floats
    importances: Floats

    def filled(self) -> Floats:
        """The values, with the middle where a cell was not bought; NaN for gaps."""
        return np.where(self.bought, self.values, self.middles)

    def first(self, n: int) -> OneTable:
        """With the features alone that told most."""
        return self._of(np.arange(min(n, len(self.features))))

    def often_known(self, paid: Bools) -> OneTable:
        """With the features alone of the last step of buying, and what is free.

        Those of the steps before are known on fewer rows. ``paid``: which features cost something.
        """
        often = self.bought.sum(axis=0)
        most = often[paid] if paid.any() else often
        return self._of(np.flatnonzero(often >= _OFTEN * most.max(initial=0)))

    def _of(self, which: Ints) -> OneTable:
        return OneTable(
            self.features[which],
            self.rows,
            self.values[:, which],
            self.bought[:, which],
            self.middles[which],
            self.importances[which],
        )

    def table(self, target: Target) -> Table:
        """One task's part: the rows that have its label."""
        known = np.flatnonzero(target.known[self.rows])
        at = self.rows[known]
        return Table(
            self.features,
            at,
            np.where(self.bought, self.values, np.nan)[known],
            self.bought[known],
            target.stands_for(at),
            target.labels_of(at),
            self.middles,
        )


def what_is_known(cells: Cells) -> Bools:
    """(rows, features) which cells are owned, free, or bought already."""
    every = np.arange(cells.n_features)
    known = cells.margins(np.arange(cells.n_examples), every) <= 0
    known[:, np.asarray(cells.absent)] = False
    return np.asarray(known)


def read_known(
    cells: Cells, targets: Sequence[Target], beside: Sequence[Target] = (), most: int = _MOST
) -> OneTable:
    """All that is known of the rows, as one table of at most so many features, for nothing."""
    known = what_is_known(cells)
    rows, features = _in_the_table(known, targets, np.asarray(cells.shared_prices) > 0)
    bought = known[np.ix_(rows, features)]
    values, middles = read_cells(cells, rows, features, bought)
    named = cells.categories
    filled = np.where(bought, values, middles)
    categories = np.array([f in named for f in features.tolist()], dtype=bool)
    every = [*targets, *(target for target in beside if target.is_told_by(rows))]
    ours = [target.of_rows(rows) for target in every]
    told = ForestForAll(
        filled, [t.of_present_classes() for t in ours], np.ones(len(rows)), categories, 0, _TREES
    ).importances
    numbers = [target for target in ours if target.numbers is not None]
    if numbers:
        alone = np.where(categories, 0.0, correlations(values, numbers))
        told = told / max(told.sum(), 1e-300) + alone / max(alone.sum(), 1e-300)
    best = np.argsort(-told, kind="stable")[:most]
    return OneTable(
        features[best], rows, values[:, best], bought[:, best], middles[best], told[best]
    )


def correlations(values: Floats, targets: Sequence[Target]) -> Floats:
    """How much each column explains of each target by itself, less chance, summed over targets."""
    there = ~np.isnan(values)
    n = np.maximum(there.sum(axis=0), 1)
    known = np.where(there, values, 0.0)
    apart = np.where(there, known - known.sum(axis=0) / n, 0.0)
    with np.errstate(over="ignore"):  # huge ones have a huge spread
        spread = np.sqrt((apart**2).sum(axis=0) / n)
    apart = np.clip(apart / np.where(spread > 0, spread, 1.0), -_FAR, _FAR)
    told = np.zeros(values.shape[1])
    for target in targets:
        assert target.numbers is not None
        y = np.where(target.known, target.numbers, np.mean(target.numbers[target.known]))
        y = y - y.mean()
        told += (apart.T @ (y / max(float(y.std()), 1e-300)) / n) ** 2 - 1 / n
    return np.maximum(told, 0.0)


def read_cells(cells: Cells, rows: Ints, features: Ints, bought: Bools) -> tuple[Floats, Floats]:
    """The cells that are known, NaN elsewhere; and the middle of each feature."""
    values = np.full(bought.shape, np.nan)
    for mask, columns in _alike(bought):
        at = np.ix_(np.flatnonzero(mask), columns)
        values[at] = cells.get(rows[mask], features[columns])
    named = cells.categories
    middles = [
        _middle(values[bought[:, j], j], f in named) for j, f in enumerate(features.tolist())
    ]
    return values, np.array(middles, dtype=np.float64)


def _in_the_table(known: Bools, targets: Sequence[Target], paid: Bools) -> tuple[Ints, Ints]:
    """Rows of which enough is known, and the features that are known on some of them.

    Where all labels are numbers, rows of which anything is known that is paid for: their models
    need no more than few features (see :func:`_narrower`).
    """
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


def _middle(column: Floats, category: bool) -> float:
    """The median of a number, the commonest of a category; NaN where all are gaps."""
    there = column[~np.isnan(column)]
    if not len(there):
        return float("nan")
    if category:
        distinct, counts = np.unique(there, return_counts=True)
        return float(distinct[counts.argmax()])
    return float(np.quantile(there, 0.5, method="nearest"))
