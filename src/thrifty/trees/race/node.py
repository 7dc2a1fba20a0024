"""The race at one node: a sample of every candidate, every row of one.

Rows come in one random order for the whole task, so what an ancestor bought is the beginning of
what a child would buy, and free. In each round the sample grows in every class alike; labels are
free, and the known class sizes turn the class-conditional counts into gains. Once a candidate
stands out, or once buying it costs little beside another round, it becomes the *incumbent* and is
bought on every row (the winner must be, to route the examples); from then on rivals are dropped
against its exact gain. A rival that cannot be dropped is bought to the end, and then its gain is
exact too.

Where the gain looks at prices, a dear candidate may be unable to win whatever its values are. Such
candidates wait until there is an incumbent, and most are then dropped before a cell is bought.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from thrifty import kernels
from thrifty.array_types import Bools, Floats, Ints
from thrifty.cells import Door
from thrifty.trees.gains.gain import Gain
from thrifty.trees.race.bar import Bar, ceilings
from thrifty.trees.tree import Split
from thrifty.typing import AnyArray

__all__ = ["Contest", "NodeRace", "RacedNode", "Won"]

#: rows of each class in the first round
FIRST = 6
#: by how much a sample grows from round to round
GROWTH = 1.3
#: a leader stands out when it is this many standard errors ahead (each of the two rates)
LEAD = 0.5
#: how likely a leader that does not stand out is taken to lose
DOUBT = 0.5


@dataclass(frozen=True, slots=True)
class Contest:
    """What stays the same at every node of a task."""

    cells: Door
    gain: Gain


@dataclass(frozen=True, slots=True)
class Won:
    """The winner's split, where it is true, and how much of every candidate was sampled."""

    split: Split
    sides: tuple[Bools, ...]
    sampled: Ints


@dataclass(frozen=True, slots=True)
class RacedNode:
    """A node's rows by class, in the order in which they are bought.

    ``sampled`` says how many of each class were bought for every candidate of the parent.
    """

    rows: tuple[Ints, ...]
    sampled: Ints

    @property
    def totals(self) -> Ints:
        return np.array([len(rows) for rows in self.rows], dtype=np.int64)

    def split(self, won: Won) -> tuple[RacedNode, RacedNode]:
        """The false and the true child."""
        true_sampled = np.array(
            [np.count_nonzero(side[:m]) for side, m in zip(won.sides, won.sampled)], dtype=np.int64
        )
        return (
            RacedNode(
                tuple(rows[~side] for rows, side in zip(self.rows, won.sides)),
                won.sampled - true_sampled,
            ),
            RacedNode(tuple(rows[side] for rows, side in zip(self.rows, won.sides)), true_sampled),
        )


class NodeRace:
    """One node's race over Boolean candidates, which are ascending.

    ``won()`` is the candidate of the highest gain, ties to the lowest index, or None where all are
    constant; wrong with probability at most ``delta`` over the order of rows. ``costs`` is what
    every feature costs at the node.
    """

    def __init__(
        self, contest: Contest, node: RacedNode, candidates: Ints, delta: float, costs: Floats
    ) -> None:
        self.cells, self.gain = contest.cells, contest.gain
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

    def won(self) -> Won | None:
        self._run()
        if self.split is None:
            return None
        return Won(self.split, self.sides, self.sampled if self.shared is None else self.shared)

    def _run(self) -> None:
        if len(self.candidates) == 1:
            self._promote(0)
        target = np.minimum(np.maximum(self.node.sampled, FIRST), self.totals)
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
        least = int(self.sampled[self.sampled < self.totals].min())
        least += max(2, math.ceil(least * (GROWTH - 1)))
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
        if not self.cells.sells_together:
            price = self.prices[leader]
            rest = price * (self.totals - self.sampled).sum()
            rows = int((target - self.sampled).sum())
            return bool(rest * DOUBT <= rows * (self.prices.sum() - price))
        features, price_of = self.candidates[self.rivals], self.cells.price_of
        others = np.arange(len(features)) != leader
        rest = price_of(self._rows(self.sampled, self.totals), features[[leader]])
        return bool(rest * DOUBT <= price_of(self._rows(self.sampled, target), features[others]))

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
        tables = kernels.leaning_tables(self.counts, self.sampled, self.totals, LEAD)
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
        gains = self.gain(self.counts, self.totals, self.prices)
        best = int(np.argmax(gains))
        if gains[best] > -np.inf:
            i = int(self.rivals[best])
            self._install(i, *self._in_full(int(self.candidates[i])))
