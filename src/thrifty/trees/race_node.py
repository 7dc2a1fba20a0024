"""The race at one node: a sample of every candidate, every row of one.

Rows come in one random order for the whole task, so what an ancestor bought is the beginning of
what a child would buy, and free. In each round the sample grows in every class alike; labels are
free, and the known class sizes turn the class-conditional counts into gains. Once a candidate
stands out, or once buying it costs little beside another round, it becomes the *incumbent* and is
bought on every row (the winner must be, to route the examples); from then on rivals are dropped
against its exact gain. A rival that cannot be dropped is bought to the end, and then its gain is
exact too.

Where the gain looks at prices, an expensive candidate may be unable to win whatever its values are.
Such candidates wait until there is an incumbent, and most are then dropped before a cell is bought.

Real-valued features, wholly or in part (:class:`RealNodeRace`). A real-valued candidate is as many
Boolean ones as it has cuts. The n rows of a node allow at most n - 1 cuts of a feature, and where
values are missing each may send those rows either way, so there are fewer than 2 n Boolean features
in all, and a table is ruled out with delta / 2 n. Which thresholds they have need not be known:
between two neighbouring values of the sample all cuts look the same, so the own cuts of the sample,
and the two outside its range, stand for every cut.

Which candidates cannot win any more: the exact test of the race.

An *incumbent* is bought on every row of the node, so its gain g is known exactly. A rival has been
seen on a sample, m_c of the n_c rows of class c. It is dropped when every table of true counts
(a_0, ..., a_{C-1}) that would give it a gain of g or more is ruled out by the sample, see
:mod:`thrifty.kernels.race`. Only the true winner's table must never be ruled out, so a node errs
with probability at most its delta, however many candidates it has and however often it looks.

A gain of counts is taken to be quasi-convex in the class counts and smallest where all classes
have the same rate, as entropy and Gini gains are, and any increasing function of them at a given
price. Its largest value over a box of counts is then at a corner.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from thrifty import kernels
from thrifty.cells import Cells
from thrifty.trees.columns import split_of
from thrifty.trees.gains import Gain, highest
from thrifty.trees.growing import Chosen
from thrifty.trees.thresholds import block_cuts, choose, true_side
from thrifty.trees.tree import Path, Split
from thrifty.typing import AnyArray, Bools, Floats, Ints

#: corners of a box double with each class; with more classes than this entropy and Gini have bounds
#: of their own, and a user's gain is not raced
_MOST_CORNERS = 8


def can_race(gain: Gain, n_classes: int) -> bool:
    """Whether anything can be dropped early."""
    return n_classes <= _MOST_CORNERS or gain.at_most is not None


def ceilings(gain: Gain, totals: Ints, prices: Floats) -> Floats:
    """The best gain imaginable at each price: the best corner of all tables of counts.

    Differs between candidates where the gain looks at prices; then some can be dropped unseen.
    """
    present = np.flatnonzero(totals)
    best = np.full(len(prices), np.inf)
    if not gain.by_price or len(present) > _MOST_CORNERS or prices.min() == prices.max():
        return best
    every = np.repeat(totals[:, None], len(prices), axis=1)
    return best_corner(gain, np.zeros_like(every), every, totals, prices)


def best_corner(gain: Gain, low: Ints, high: Ints, totals: Ints, prices: Floats) -> Floats:
    """The best gain at the corners of the boxes of counts between ``low`` and ``high`` (C, k)."""
    present = np.flatnonzero(totals).tolist()
    best = np.full(low.shape[1], -np.inf)
    for corner in product((low, high), repeat=len(present)):
        at = np.zeros_like(low)
        for c, side in zip(present, corner):
            at[c] = side[c]
        best = np.maximum(best, gain(at, totals, prices))
    return best


@dataclass(frozen=True, slots=True)
class Bar:
    """The gain to beat at a node, and the test whether a rival still can."""

    gain: Gain
    totals: Ints
    height: float
    log_delta: float
    _reach: dict[float, tuple[Ints, Ints, Ints]] = field(default_factory=dict, repr=False)

    @property
    def just_below(self) -> float:
        """A gain that surely does not reach the bar lies below this."""
        # gains this close to the bar, relative to it, count as reaching it: other counts may give
        # the same gain in theory and differ in the last bits
        slack = 1e-9
        return self.height - slack * max(1.0, abs(self.height))

    def out_of_reach(self, counts: Ints, sampled: Ints, prices: Floats) -> Bools:
        """counts (C, k) of the true rows among ``sampled`` (C,) rows: which rivals cannot win."""
        present = np.flatnonzero(self.totals)
        if not can_race(self.gain, len(present)):
            return np.zeros(counts.shape[1], dtype=np.bool_)
        if len(present) > 2:
            return self._by_boxes(counts, sampled, prices, present)
        # the smaller class first: its counts are cut into cells, the other's are not
        if self.totals[present[0]] > self.totals[present[1]]:
            present = present[::-1]
        if self.gain.raced == "kernel":
            return self._two_classes(counts[present], sampled, 1.0, present)
        different = np.unique(prices)
        # a gain of the user's own that looks at prices has a boundary for each price; with more
        # prices boxes are used, which need a few more rows and far less time
        if len(different) > 8:
            return self._by_boxes(counts, sampled, prices, present)
        out = np.empty(counts.shape[1], dtype=np.bool_)
        for price in different.tolist():
            same = np.flatnonzero(prices == price)
            out[same] = self._two_classes(counts[np.ix_(present, same)], sampled, price, present)
        return out

    def _two_classes(self, counts: Ints, sampled: Ints, price: float, present: Ints) -> Bools:
        n = self.totals[present]
        if price not in self._reach:
            self._reach[price] = self._good_enough(n, price, present)
        table = kernels.log_factorials(int(n.sum()) + 1)
        return kernels.ruled_out_two_classes(
            counts, sampled[present], n, self._reach[price], self.log_delta, table
        )

    def _good_enough(self, n: Ints, price: float, present: Ints) -> tuple[Ints, Ints, Ints]:
        """Cells of a_0, and in each the a_1 from which, and up to which, a rival would win."""
        # cells into which the counts of the smaller class are cut; more is tighter and slower
        pieces = 64
        cells = min(pieces, int(n[0]) + 1)
        edges = np.arange(cells + 1) * (int(n[0]) + 1) // cells
        if self.gain.raced == "kernel":
            table = kernels.xlogx_table(int(n.sum()))
            by_gini = self.gain.kernel == kernels.GINI
            return edges, *kernels.good_enough(n, edges, self.just_below, by_gini, table)
        return edges, *self._good_enough_by_calls(n, edges, price, present)

    def _good_enough_by_calls(
        self, n: Ints, edges: Ints, price: float, present: Ints
    ) -> tuple[Ints, Ints]:
        """:func:`thrifty.kernels.good_enough` for a user's own gain."""
        J = len(edges) - 1
        first, last = edges[:-1], edges[1:] - 1
        low = np.concatenate([-(-first * n[1] // n[0]) - 1, np.full(J, -1)])
        high = np.concatenate([np.full(J, n[1] + 1), last * n[1] // n[0] + 1])
        rising = np.arange(2 * J) < J
        counts = np.zeros((len(self.totals), 2 * J), dtype=np.int64)
        counts[present[0]] = np.concatenate([first, last])
        prices = np.full(2 * J, price)
        while (high - low > 1).any():
            middle = np.clip((low + high) // 2, 0, n[1])
            counts[present[1]] = middle
            gains = self.gain(counts, self.totals, prices)
            down = (gains >= self.just_below) == rising
            searching = high - low > 1
            high = np.where(searching & down, middle, high)
            low = np.where(searching & ~down, middle, low)
        return high[:J], low[J:]

    def _by_boxes(self, counts: Ints, sampled: Ints, prices: Floats, present: Ints) -> Bools:
        """An interval for each class (delta split between them): the best gain in that box."""
        table = kernels.log_factorials(int(self.totals.max()) + 1)
        log_delta = self.log_delta - np.log(len(present))
        low, high = np.zeros_like(counts), np.zeros_like(counts)
        for c in present.tolist():
            found = kernels.count_interval(int(sampled[c]), int(self.totals[c]), log_delta, table)
            low[c], high[c] = found[:, counts[c]]
        if len(present) > _MOST_CORNERS and self.gain.at_most is not None:
            best = self.gain.at_most(low[present], high[present], self.totals[present])
        else:
            best = best_corner(self.gain, low, high, self.totals, prices)
        return np.asarray(best < self.just_below)


#: a leader stands out when it is this many standard errors ahead (each of the two rates)
LEAD = 0.5


@dataclass(frozen=True, slots=True)
class RacedNode:
    """A node's rows by class, in the order in which they are bought.

    ``sampled`` says how many of each class were bought for every candidate of the parent.
    """

    path: Path
    rows: tuple[Ints, ...]
    sampled: Ints

    @property
    def totals(self) -> Ints:
        return np.array([len(rows) for rows in self.rows], dtype=np.int64)

    def parted(self, split: Split, sides: tuple[Bools, ...], bought: Ints) -> Chosen[RacedNode]:
        """The nodes below a split that is true where ``sides`` say.

        ``bought``: how many rows of each class every candidate was bought on.
        """
        n_true = np.array(
            [np.count_nonzero(side[:m]) for side, m in zip(sides, bought)], dtype=np.int64
        )
        false = tuple(rows[~side] for rows, side in zip(self.rows, sides))
        true = tuple(rows[side] for rows, side in zip(self.rows, sides))
        return Chosen(
            split,
            RacedNode((*self.path, False), false, bought - n_true),
            RacedNode((*self.path, True), true, n_true),
        )


class NodeRace:
    """One node's race over Boolean candidates, which are ascending.

    ``won()`` is the candidate of the highest gain, ties to the lowest index, or None where all are
    constant; wrong with probability at most ``delta`` over the order of rows. ``costs`` is what
    every feature costs at the node.
    """

    def __init__(
        self,
        cells: Cells,
        gain: Gain,
        node: RacedNode,
        candidates: Ints,
        delta: float,
        costs: Floats,
    ) -> None:
        self.cells, self.gain = cells, gain
        self.node, self.totals, self.log_delta = node, node.totals, math.log(delta)
        self.candidates, self.costs = candidates, costs
        prices = costs[candidates]
        self.ceilings = ceilings(self.gain, self.totals, prices)
        waits = self.ceilings < self.ceilings.max() / 2
        self.rivals, self.waiting = np.flatnonzero(~waits), np.flatnonzero(waits)
        self.prices = prices[~waits]
        self.sampled = np.zeros(len(self.totals), dtype=np.int64)
        self.shared: Ints | None = None  # the sample that every candidate was bought on
        self.incumbent: int | None = None
        self.bar = Bar(self.gain, self.totals, -math.inf, self.log_delta)
        self.split: Split | None = None
        self.sides: tuple[Bools, ...] = ()
        self._open()

    def won(self) -> Chosen[RacedNode] | None:
        self._run()
        if self.split is None:
            return None
        bought = self.sampled if self.shared is None else self.shared
        return self.node.parted(self.split, self.sides, bought)

    def _run(self) -> None:
        first = 6  # rows of each class in the first round
        if len(self.candidates) == 1:
            self._promote(0)
        target = np.minimum(np.maximum(self.node.sampled, first), self.totals)
        while len(self.rivals) or len(self.waiting):
            self._sample(target)
            if (self.sampled == self.totals).all():
                self._compare_in_full()
                self._admit()
                if len(self.rivals):
                    self._compare_in_full()
                return
            target = self._next_sample()
            self._promote_a_leader(target)
            if self.incumbent is not None or not len(self.rivals):
                self._admit()
            self._drop()

    def _next_sample(self) -> Ints:
        """Rows of each class after the next round: the smaller samples catch up."""
        growth = 1.3  # by how much a sample grows from round to round
        least = int(self.sampled[self.sampled < self.totals].min())
        least += max(2, math.ceil(least * (growth - 1)))
        return np.minimum(np.maximum(self.sampled, least), self.totals)

    def _admit(self) -> None:
        """Let those who waited catch up, if the best they could be is as high as the bar."""
        new = self.waiting[self.ceilings[self.waiting] >= self.bar.just_below]
        self.waiting = self.waiting[:0]
        if len(new):
            rivals = np.concatenate([self.rivals, new])
            order = np.argsort(rivals)
            self._join(new, order)
            self.rivals = rivals[order]
            self.prices = self.costs[self.candidates[self.rivals]]

    def _promote_a_leader(self, target: Ints) -> None:
        """Promote the leader if it stands out, or if that costs little beside the next round."""
        estimate, low, high = self._estimates()
        leader = int(np.argmax(estimate))
        if not estimate[leader] > self.bar.height:
            return
        high[leader] = -np.inf
        stands_out = low[leader] > max(self.bar.height, high.max())
        if stands_out or self._costs_little(leader, target):
            self._promote(leader)

    def _costs_little(self, leader: int, target: Ints) -> bool:
        """Whether the rest of the leader costs little beside a round of all the others."""
        doubt = 0.5  # how likely a leader that does not stand out is taken to lose
        if not self.cells.sells_together:
            price = self.prices[leader]
            rest = price * (self.totals - self.sampled).sum()
            rows = int((target - self.sampled).sum())
            return bool(rest * doubt <= rows * (self.prices.sum() - price))
        features, price_of = self.candidates[self.rivals], self.cells.price_of
        others = np.arange(len(features)) != leader
        rest = price_of(self._rows(self.sampled, self.totals), features[[leader]])
        return bool(rest * doubt <= price_of(self._rows(self.sampled, target), features[others]))

    def _rows(self, first: Ints, last: Ints) -> Ints:
        return np.concatenate([rows[a:b] for rows, a, b in zip(self.node.rows, first, last)])

    def _promote(self, at: int) -> None:
        """Buy a rival on every row of the node; it is the incumbent if it is the best so far."""
        i = int(self.rivals[at])
        self._keep(np.arange(len(self.rivals)) != at)
        self._install(i, *self._in_full(int(self.candidates[i])))

    def _install(self, i: int, height: float, split: Split, sides: tuple[Bools, ...]) -> None:
        if height == -math.inf or height < self.bar.height:
            return
        if height == self.bar.height and self.incumbent is not None and i > self.incumbent:
            return
        self.incumbent, self.split, self.sides = i, split, sides
        self.bar = Bar(self.gain, self.totals, height, self.log_delta)

    def _drop(self) -> None:
        if self.incumbent is None or not len(self.rivals):
            return
        gone = self._out_of_reach()
        if gone.any():
            self._keep(~gone)
            if self.shared is None:
                self.shared = self.sampled

    def _read(self, candidates: Ints, first: Ints, last: Ints) -> tuple[AnyArray, Ints]:
        """Buy rows first..last of each class; the values, and the classes of their rows."""
        values = self.cells.get(self._rows(first, last), self.candidates[candidates])
        return values, np.repeat(np.arange(len(self.totals)), last - first)

    # What follows knows that values are Booleans; races over real values differ here alone.

    def _open(self) -> None:
        self.counts = np.zeros((len(self.totals), len(self.rivals)), dtype=np.int64)

    def _sample(self, target: Ints) -> None:
        """Buy the rivals on each class's next rows."""
        self.counts += self._count(self.rivals, self.sampled, target)
        self.sampled = target

    def _count(self, candidates: Ints, first: Ints, last: Ints) -> Ints:
        values, _ = self._read(candidates, first, last)
        counts = np.zeros((len(self.totals), len(candidates)), dtype=np.int64)
        at = 0
        for c, size in enumerate((last - first).tolist()):
            if size:
                counts[c] = values[at : at + size].sum(axis=0, dtype=np.int64)
                at += size
        return counts

    def _join(self, new: Ints, order: Ints) -> None:
        counts = self._count(new, np.zeros_like(self.sampled), self.sampled)
        self.counts = np.concatenate([self.counts, counts], axis=1)[:, order]

    def _keep(self, which: Bools) -> None:
        self.rivals, self.prices = self.rivals[which], self.prices[which]
        self.counts = self.counts[:, which]

    def _estimates(self) -> tuple[Floats, Floats, Floats]:
        """Gains as the sample has them, and with all rates a little closer, and further apart."""
        counts = np.ascontiguousarray(self.counts)  # one layout: kernels are compiled once
        tables = kernels.leaning_tables(counts, self.sampled, self.totals, LEAD)
        gains = self.gain(tables, self.totals, np.concatenate([self.prices] * 3))
        k = len(self.prices)
        return gains[:k], gains[k : 2 * k], gains[2 * k :]

    def _out_of_reach(self) -> Bools:
        return self.bar.out_of_reach(self.counts, self.sampled, self.prices)

    def _in_full(self, feature: int) -> tuple[float, Split, tuple[Bools, ...]]:
        """Buy a feature on every row of the node: its gain, its split, where it is true."""
        mask = kernels.mask_of_rows(np.concatenate(self.node.rows), self.cells.n_examples)
        column = self.cells.columns(np.array([feature]), mask)
        sides = tuple(
            kernels.unpack_columns(column, rows)[:, 0].view(np.bool_) for rows in self.node.rows
        )
        counts = np.array([[np.count_nonzero(side)] for side in sides])
        height = self.gain(counts, self.totals, self.costs[[feature]])[0]
        return float(height), Split(feature), sides

    def _compare_in_full(self) -> None:
        """Every rival is bought on every row: its gain is exact."""
        best = highest(self.gain(self._true_counts(), self.totals, self.prices))
        if best is not None:
            i = int(self.rivals[best])
            self._install(i, *self._in_full(int(self.candidates[i])))

    def _true_counts(self) -> Ints:
        """Of every rival, bought on every row: class counts of the side of its best cut."""
        return self.counts


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
        scaled = kernels.leaning_tables(flat, self.sampled, self.totals, 0.0)[:, : cuts * k].copy()
        gains = self.gain(scaled, self.totals, np.tile(self.prices, cuts)).reshape(cuts, k)
        best = tables[:, np.argmax(gains, axis=0), np.arange(k)]
        leaning = kernels.leaning_tables(
            np.ascontiguousarray(best), self.sampled, self.totals, LEAD
        )
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
        cuts = block_cuts(values, codes, self.totals, price, self.gain)
        height = float(self.gain(cuts[0], self.totals, price)[0])
        found = choose(cuts, self.totals, price, self.gain, lambda i: values[:, i])
        if found is None:
            return -math.inf, Split(feature), ()
        side = true_side(values[:, 0], found[1])
        sides = tuple(np.split(side, np.cumsum(self.totals)[:-1]))
        return height, split_of(feature, found[1], self.cells.boolean), sides

    def _true_counts(self) -> Ints:
        values, codes = self.values, self.codes
        return block_cuts(values, codes, self.totals, self.prices, self.gain)[0]
