"""The race at a node where features are real-valued, wholly or in part.

A real-valued candidate is as many Boolean ones as it has cuts. The n rows of a node allow at most
n - 1 cuts of a feature, and where values are missing each may send those rows either way, so there
are fewer than 2 n Boolean features in all, and a table is ruled out with delta / 2 n. Which
thresholds they have need not be known: between two neighbouring values of the sample all cuts look
the same, so the own cuts of the sample, and the two outside its range, stand for every cut.
"""

from __future__ import annotations

import math

import numpy as np

from thrifty import kernels
from thrifty.array_types import Bools, Floats, Ints
from thrifty.trees.gains.cuts import block_columns, choose, true_side
from thrifty.trees.growing.columns import split_of
from thrifty.trees.race.bar import Bar
from thrifty.trees.race.node import LEAD, NodeRace
from thrifty.trees.tree import Split

__all__ = ["RealNodeRace", "tables_of_cuts"]


def tables_of_cuts(values: Floats, codes: Ints, n_classes: int, missing_true: bool) -> Ints:
    """Class counts of the true side of every cut of a sample: (C, m + 1, k).

    Cut i has i values below it; where that would part equal values it repeats the first cut, which
    has all rows on its true side. Rows without a value (NaN) go to the side that is said.

    >>> tables_of_cuts(np.array([[3.0], [1.0]]), np.array([0, 1]), 2, True)[:, :, 0].tolist()
    [[1, 1, 0], [1, 0, 0]]
    """
    m, k = values.shape
    order = np.argsort(values, axis=0, kind="stable")  # NaN last
    ordered = np.take_along_axis(values, order, axis=0)
    known = (~np.isnan(values)).sum(axis=0)
    classes = codes[order]
    out = np.empty((n_classes, m + 1, k), dtype=np.int64)
    steps = np.arange(m + 1)[:, None]
    parts = np.zeros((m + 1, k), dtype=np.bool_)
    parts[1:m] = ordered[:-1] == ordered[1:]
    parts |= steps > known  # beyond the last value there is nothing to cut
    gaps = np.isnan(values)
    for c in range(n_classes):
        below = np.zeros((m + 1, k), dtype=np.int64)
        np.cumsum(classes == c, axis=0, out=below[1:])
        lacking = (gaps & (codes == c)[:, None]).sum(axis=0)
        total = np.count_nonzero(codes == c)
        true = total - below - (0 if missing_true else lacking)
        out[c] = np.where(parts, true[0], true)
    return out


class RealNodeRace(NodeRace):
    """As :class:`NodeRace`; a candidate is judged by its best cut."""

    def _open(self) -> None:
        self.boolean = self.cells.boolean[self.candidates]
        self.values = np.empty((0, len(self.rivals)))
        self.codes = np.empty(0, dtype=np.int64)
        self.known_tables: dict[bool, Ints] = {}

    def _sample(self, target: Ints) -> None:
        values, codes = self._read(self.rivals, self.sampled, target)
        self.values = np.concatenate([self.values, values.astype(np.float64)])
        self.codes = np.concatenate([self.codes, codes])
        self.sampled = target
        self.known_tables.clear()

    def _join(self, new: Ints, order: Ints) -> None:
        # The sample's rows were read round by round, so they are sorted by class only in parts.
        values, codes = self._read(new, np.zeros_like(self.sampled), self.sampled)
        rank = np.empty(len(codes), dtype=np.int64)
        rank[np.argsort(self.codes, kind="stable")] = np.argsort(codes, kind="stable")
        joined = np.concatenate([self.values, values[rank].astype(np.float64)], axis=1)
        self.values = joined[:, order]
        self.known_tables.clear()

    def _keep(self, which: Bools) -> None:
        self.rivals, self.prices = self.rivals[which], self.prices[which]
        self.values = self.values[:, which]
        for way, tables in self.known_tables.items():
            self.known_tables[way] = tables[:, :, which]

    def _tables(self, missing_true: bool) -> Ints:
        """(C, m + 1, k): the cuts of every rival; a Boolean one has a single cut."""
        if missing_true in self.known_tables:
            return self.known_tables[missing_true]
        tables = tables_of_cuts(self.values, self.codes, len(self.totals), missing_true)
        for i in np.flatnonzero(self.boolean[self.rivals]).tolist():
            ones = self.codes[self.values[:, i] >= 0.5]
            tables[:, :, i] = np.bincount(ones, minlength=len(self.totals))[:, None]
        self.known_tables[missing_true] = tables
        return tables

    def _estimates(self) -> tuple[Floats, Floats, Floats]:
        tables = self._tables(missing_true=True)
        C, cuts, k = tables.shape
        flat = tables.reshape(C, cuts * k)
        scaled = kernels.leaning_tables(flat, self.sampled, self.totals, 0.0)[:, : cuts * k]
        gains = self.gain(scaled, self.totals, np.tile(self.prices, cuts)).reshape(cuts, k)
        best = tables[:, np.argmax(gains, axis=0), np.arange(k)]
        leaning = kernels.leaning_tables(best, self.sampled, self.totals, LEAD)
        gains = self.gain(leaning, self.totals, np.concatenate([self.prices] * 3))
        return gains[:k], gains[k : 2 * k], gains[2 * k :]

    def _out_of_reach(self) -> Bools:
        n = int(self.totals.sum())
        real = Bar(self.gain, self.totals, self.bar.height, self.log_delta - math.log(2 * n))
        gone = np.ones(len(self.rivals), dtype=np.bool_)
        ways = (True, False) if np.isnan(self.values).any() else (True,)
        boolean = self.boolean[self.rivals]
        for missing_true in ways:
            tables = self._tables(missing_true)
            for bar, which in ((self.bar, boolean), (real, ~boolean)):
                some = np.flatnonzero(which & gone)
                part = tables[:, : 1 if bar is self.bar else None, some]
                C, cuts, k = part.shape
                out = bar.out_of_reach(
                    part.reshape(C, cuts * k), self.sampled, np.tile(self.prices[some], cuts)
                )
                gone[some] &= out.reshape(cuts, k).all(axis=0)
        return gone

    def _in_full(self, feature: int) -> tuple[float, Split, tuple[Bools, ...]]:
        rows = np.concatenate(self.node.rows)
        codes = np.repeat(np.arange(len(self.totals)), self.totals)
        values = self.cells.get(rows, [feature]).astype(np.float64)
        price = self.costs[[feature]]
        columns = block_columns(values, codes, self.totals, price, self.gain)
        height = float(self.gain(columns.counts, self.totals, price)[0])
        choice = choose(columns, self.totals, price, self.gain, lambda i: values[:, i])
        if choice is None:
            return -math.inf, Split(feature), ()
        side = true_side(values[:, 0], choice.threshold)
        sides = tuple(np.split(side, np.cumsum(self.totals)[:-1]))
        return height, split_of(feature, choice.threshold, self.cells.boolean), sides

    def _compare_in_full(self) -> None:
        columns = block_columns(self.values, self.codes, self.totals, self.prices, self.gain)
        gains = self.gain(columns.counts, self.totals, self.prices)
        best = int(np.argmax(gains))
        if gains[best] > -np.inf:
            i = int(self.rivals[best])
            self._install(i, *self._in_full(int(self.candidates[i])))
