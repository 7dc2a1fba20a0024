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
from numpy.typing import NDArray

from thrifty import kernels
from thrifty.cells import Cells
from thrifty.trees.gain import Gain
from thrifty.trees.race_bounds import Bar, ceilings

__all__ = ["Contest", "RacedNode", "Won", "winner"]

Ints = NDArray[np.int64]
Words = NDArray[np.uint64]

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

    cells: Cells
    gain: Gain
    class_masks: Words


@dataclass(frozen=True, slots=True)
class RacedNode:
    """A node's rows by class, in the order in which they are bought, and as a mask.

    ``sampled`` says how many of each class were bought for every candidate of the parent.
    """

    rows: tuple[Ints, ...]
    mask: Words
    sampled: Ints

    @property
    def totals(self) -> Ints:
        return np.array([len(rows) for rows in self.rows], dtype=np.int64)

    def split(self, won: Won) -> tuple[RacedNode, RacedNode]:
        """The false and the true child."""
        sides: tuple[list[Ints], list[Ints]] = ([], [])
        reach = np.zeros((2, len(self.rows)), dtype=np.int64)
        for c, rows in enumerate(self.rows):
            true = kernels.unpack_columns(won.column[None, :], rows)[:, 0].view(np.bool_)
            reach[1, c] = np.count_nonzero(true[: won.sampled[c]])
            sides[0].append(rows[~true])
            sides[1].append(rows[true])
        reach[0] = won.sampled - reach[1]
        return (
            RacedNode(tuple(sides[0]), self.mask & ~won.column, reach[0]),
            RacedNode(tuple(sides[1]), self.mask & won.column, reach[1]),
        )


@dataclass(frozen=True, slots=True)
class Won:
    """The winner, its values on the node's rows, and how much of every candidate was sampled."""

    feature: int
    column: Words
    sampled: Ints


def winner(contest: Contest, node: RacedNode, candidates: Ints, delta: float) -> Won | None:
    """The candidate of the highest gain (ties to the lowest index); None: all are constant.

    ``candidates`` are ascending. Wrong with probability at most ``delta`` over the order of rows.
    """
    race = _Race(contest, node, candidates, math.log(delta))
    race.run()
    return race.won()


class _Race:
    def __init__(
        self, contest: Contest, node: RacedNode, candidates: Ints, log_delta: float
    ) -> None:
        self.cells, self.gain, self.class_masks = contest.cells, contest.gain, contest.class_masks
        self.node, self.totals, self.log_delta = node, node.totals, log_delta
        self.candidates, self.prices = candidates, contest.cells.prices[candidates]
        self.rivals = np.arange(len(candidates))
        self.counts = np.zeros((len(self.totals), len(candidates)), dtype=np.int64)
        self.sampled = np.zeros(len(self.totals), dtype=np.int64)
        self.ceilings = ceilings(self.gain, self.totals, self.prices)
        self.waiting = np.flatnonzero(self.ceilings < self.ceilings.max() / 2)
        self._keep(self.ceilings >= self.ceilings.max() / 2)
        self.shared: Ints | None = None  # the sample that every candidate was bought on
        self.incumbent: int | None = None
        self.bar = Bar(self.gain, self.totals, -math.inf, log_delta)
        self.column: Words | None = None

    def run(self) -> None:
        if len(self.candidates) == 1:
            self._promote(0)
        target = np.minimum(np.maximum(self.node.sampled, FIRST), self.totals)
        while len(self.rivals) or len(self.waiting):
            self._sample(target)
            if (self.sampled == self.totals).all():
                self._settle()
                self._admit()
                if len(self.rivals):
                    self._settle()
                return
            target = self._next_sample()
            self._promote_a_leader(int((target - self.sampled).sum()))
            if self.incumbent is not None or not len(self.rivals):
                self._admit()
            self._drop()

    def won(self) -> Won | None:
        if self.incumbent is None:
            return None
        assert self.column is not None
        shared = self.sampled if self.shared is None else self.shared
        return Won(int(self.candidates[self.incumbent]), self.column, shared)

    def _sample(self, target: Ints) -> None:
        """Buy the rivals on each class's next rows."""
        self.counts += self._count(self.candidates[self.rivals], self.sampled, target)
        self.sampled = target

    def _count(self, features: Ints, first: Ints, last: Ints) -> Ints:
        """Buy rows first..last of each class and count where the features are true: (C, k)."""
        counts = np.zeros((len(self.totals), len(features)), dtype=np.int64)
        fresh = [rows[a:b] for rows, a, b in zip(self.node.rows, first, last)]
        values = self.cells.get(np.concatenate(fresh), features)
        at = 0
        for c, rows in enumerate(fresh):
            if len(rows):
                counts[c] = values[at : at + len(rows)].sum(axis=0, dtype=np.int64)
                at += len(rows)
        return counts

    def _admit(self) -> None:
        """Let those who waited catch up, if the best they could be is as high as the bar."""
        new = self.waiting[self.ceilings[self.waiting] >= self.bar.just_below]
        self.waiting = self.waiting[:0]
        if not len(new):
            return
        counts = self._count(self.candidates[new], np.zeros_like(self.sampled), self.sampled)
        rivals = np.concatenate([self.rivals, new])
        order = np.argsort(rivals)
        self.rivals = rivals[order]
        self.prices = self.cells.prices[self.candidates[self.rivals]]
        self.counts = np.concatenate([self.counts, counts], axis=1)[:, order]

    def _next_sample(self) -> Ints:
        """Rows of each class after the next round: the smaller samples catch up."""
        least = int(self.sampled[self.sampled < self.totals].min())
        least += max(2, math.ceil(least * (GROWTH - 1)))
        return np.minimum(np.maximum(self.sampled, least), self.totals)

    def _promote_a_leader(self, rows: int) -> None:
        """Promote the leader if it stands out, or if that costs little beside the next round."""
        tables = kernels.leaning_tables(self.counts, self.sampled, self.totals, LEAD)
        estimate, low, high = np.split(self.gain(tables, self.totals, np.tile(self.prices, 3)), 3)
        leader = int(np.argmax(estimate))
        if not estimate[leader] > self.bar.height:
            return
        high[leader] = -np.inf
        stands_out = low[leader] > max(self.bar.height, high.max())
        price = self.prices[leader]
        rest = price * (self.totals - self.sampled).sum()
        if stands_out or rest * DOUBT <= rows * (self.prices.sum() - price):
            self._promote(leader)

    def _promote(self, at: int) -> None:
        """Buy a rival on every row of the node; it is the incumbent if it is the best so far."""
        i = int(self.rivals[at])
        column = self.cells.columns(self.candidates[i : i + 1], self.node.mask)
        counts = kernels.count_columns(column, self.class_masks)
        height = self.gain(counts, self.totals, self.prices[at : at + 1])[0]
        self._keep(np.arange(len(self.rivals)) != at)
        self._install(i, float(height), column[0])

    def _install(self, i: int, height: float, column: Words) -> None:
        if height == -math.inf or height < self.bar.height:
            return
        if height == self.bar.height and self.incumbent is not None and i > self.incumbent:
            return
        self.incumbent, self.column = i, column
        self.bar = Bar(self.gain, self.totals, height, self.log_delta)

    def _drop(self) -> None:
        if self.incumbent is None or not len(self.rivals):
            return
        gone = self.bar.out_of_reach(self.counts, self.sampled, self.prices)
        if gone.any():
            self._keep(~gone)
            if self.shared is None:
                self.shared = self.sampled

    def _keep(self, which: NDArray[np.bool_]) -> None:
        self.rivals, self.prices = self.rivals[which], self.prices[which]
        self.counts = self.counts[:, which]

    def _settle(self) -> None:
        """Every rival is bought on every row: its gain is exact."""
        gains = self.gain(self.counts, self.totals, self.prices)
        best = int(np.argmax(gains))
        if gains[best] > -np.inf:
            i = int(self.rivals[best])
            column = self.cells.columns(self.candidates[i : i + 1], self.node.mask)[0]
            self._install(i, float(gains[best]), column)
