"""Have inputs moved? Cells that predictions asked for, held against those that were learned from.

Of every feature of a model, the cells it was learned from are laid into at most eight bins of equal
weight (categories are bins of their own) and one for gaps; a prediction counts what it is told in
the same bins. Counts are kept, never values. A feature that was asked of some rows alone says
nothing here: which rows were asked for it depends on what was told before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np

from thrifty.array_types import Bools, Floats, Ints
from thrifty.typing import AnyArray

if TYPE_CHECKING:
    from thrifty.models.table import Table

__all__ = ["HasTable", "InputBins", "InputCounts", "Moved", "bins_of", "moved_inputs"]

_BINS = 8
#: the last bin is that of gaps
_WIDTH = _BINS + 1
#: rows that are counted at once
_AT_ONCE = 8192
#: how unlikely counts must be, over all features together, and how far shares must have moved (the
#: population stability index; .1 is where its users begin to look): many rows find any trifle
_CHANCE, _FAR = 0.01, 0.1


@runtime_checkable
class HasTable(Protocol):
    """A model that keeps what it was learned from."""

    feature_names_: tuple[str, ...]
    table_: Table


@dataclass(frozen=True, slots=True)
class Moved:
    """A feature whose values are not spread as they were: how far, and how many rows say so."""

    feature: str
    distance: float
    rows: int


@dataclass(frozen=True, eq=False)
class InputBins:
    """Where the bins of each feature end, and what share of what was learned from is in each.

    ``counted`` is how many rows those shares are worth.
    """

    features: Ints
    edges: Floats
    shares: Floats
    counted: Floats

    def places(self, positions: Ints, values: Floats) -> Ints:
        """The bin of each value, (n, k); in the bins of one position each column."""
        found = np.zeros(values.shape, dtype=np.int64)
        for edge in self.edges[positions].T:  # NaN, where there are fewer, is below nothing
            found += edge < values
        return np.where(np.isnan(values), _BINS, found)


def bins_of(table: Table) -> InputBins:
    """The bins of a table, each with about as much weight as any other.

    >>> from thrifty.models.table import Table
    >>> values = np.arange(80.0)[:, None]
    >>> table = Table(np.array([3]), np.arange(80), values, np.ones((80, 1), bool), np.ones(80),
    ...               np.zeros(80))
    >>> bins_of(table).shares.round(3).tolist()
    [[0.125, 0.125, 0.125, 0.125, 0.125, 0.125, 0.125, 0.125, 0.0]]
    """
    k = len(table.features)
    edges, shares, counted = np.full((k, _BINS - 1), np.nan), np.zeros((k, _WIDTH)), np.zeros(k)
    for i in range(k):
        there = table.bought[:, i]
        values = table.values[there, i].astype(np.float64)
        weights = table.weights[there].astype(np.float64)
        known = ~np.isnan(values)
        if known.any():
            order = np.argsort(values[known], kind="stable")
            level = np.cumsum(weights[known][order]) / weights[known].sum()
            at = np.searchsorted(level, np.arange(1, _BINS) / _BINS, side="left")
            ends = np.unique(values[known][order][np.minimum(at, len(order) - 1)])
            edges[i, : len(ends)] = ends
        one = InputBins(table.features[i : i + 1], edges[i : i + 1], shares[:1], counted[:1])
        total = weights.sum()
        if total > 0:
            bins = one.places(np.zeros(1, dtype=np.int64), values[:, None])[:, 0]
            shares[i] = np.bincount(bins, weights, minlength=_WIDTH) / total
            counted[i] = total**2 / (weights**2).sum()
    return InputBins(table.features, edges, shares, counted)


class InputCounts:
    """What a prediction is told, in the bins of its model."""

    def __init__(self, bins: InputBins) -> None:
        self._bins = bins
        self._at = {f: i for i, f in enumerate(bins.features.tolist())}
        self.counts = np.zeros((len(bins.features), _WIDTH), dtype=np.int64)
        #: by row, the positions that were told: a row is counted once
        self._seen: Bools = np.zeros((0, len(bins.features)), dtype=np.bool_)

    def __call__(self, rows: Ints, features: Ints, values: AnyArray) -> None:
        """Watches a door."""
        known = [(c, self._at[f]) for c, f in enumerate(features.tolist()) if f in self._at]
        if not known or not len(rows):
            return
        columns, positions = np.array(known, dtype=np.int64).T
        self._make_room(int(rows.max()) + 1)
        _, first = np.unique(rows, return_index=True)  # a row may be asked for twice
        for start in range(0, len(first), _AT_ONCE):
            some = first[start : start + _AT_ONCE]
            told = np.asarray(values[some[:, None], columns], dtype=np.float64)
            self._count(rows[some][:, None], positions, told)

    def _make_room(self, n: int) -> None:
        if n > len(self._seen):
            more = np.zeros((max(n, 2 * len(self._seen)), self._seen.shape[1]), dtype=np.bool_)
            more[: len(self._seen)] = self._seen
            self._seen = more

    def _count(self, rows: Ints, positions: Ints, told: Floats) -> None:
        """Rows (n, 1) and the positions of their columns; what is told of them, (n, k)."""
        new = ~self._seen[rows, positions]
        self._seen[rows, positions] = True
        at = np.broadcast_to(positions, told.shape)[new] * _WIDTH
        bins = self._bins.places(positions, told)[new]
        self.counts += np.bincount(at + bins, minlength=self.counts.size).reshape(self.counts.shape)


def moved_inputs(
    names: tuple[str, ...], shares: Floats, counted: Floats, counts: Ints, rows: int
) -> tuple[Moved, ...]:
    """Features asked of all rows whose counts are not those that were learned from, farthest first.

    >>> shares, counted = np.full((1, 9), 1 / 9), np.array([900.0])
    >>> moved_inputs(("tsh",), shares, counted, np.array([[100] * 9]), 900)
    ()
    >>> moved_inputs(("tsh",), shares, counted, np.array([[300, 75, 75, 75, 75, 75, 75, 75, 75]]),
    ...              900)
    (Moved(feature='tsh', distance=0.30..., rows=900),)
    """
    from scipy.special import chdtrc  # takes long to load

    asked = np.flatnonzero((counts.sum(axis=1) == rows) & (rows > 0) & (counted > 0))
    found = []
    for i in asked.tolist():
        now = counts[i] / rows
        both = (counts[i] + shares[i] * counted[i]) / (rows + counted[i])
        there = both > 0
        apart = (now[there] - shares[i][there]) ** 2 / both[there]
        statistic = float(apart.sum()) / (1 / rows + 1 / counted[i])
        chance = float(chdtrc(max(int(there.sum()) - 1, 1), statistic))
        a, b = (now + 0.5 / rows), (shares[i] + 0.5 / counted[i])
        distance = float(((a / a.sum() - b / b.sum()) * np.log(a / a.sum() * b.sum() / b)).sum())
        if chance < _CHANCE / len(asked) and distance > _FAR:
            found.append(Moved(names[i], distance, rows))
    return tuple(sorted(found, key=lambda one: -one.distance))
