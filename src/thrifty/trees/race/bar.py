"""Which candidates cannot win any more: the exact test of the race.

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

from dataclasses import dataclass, field
from itertools import product

import numpy as np

from thrifty import kernels
from thrifty.array_types import Bools, Floats, Ints
from thrifty.trees.gains.gain import Gain

__all__ = ["Bar", "can_race", "ceilings"]

#: cells into which the counts of the smaller class are cut; more is tighter and slower
_PIECES = 64
#: corners of a box double with each class; with more classes than this entropy and Gini have bounds
#: of their own, and a user's gain is not raced
_MOST_CORNERS = 8
#: a gain of the user's own that looks at prices has a boundary for each price; with more prices
#: than this, boxes are used, which need a few more rows and far less time
_PRICES = 8
#: gains this close to the bar, relative to it, count as reaching it: other counts may give the
#: same gain in theory and differ in the last bits
_SLACK = 1e-9


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
    best[:] = -np.inf
    for corner in product((0, 1), repeat=len(present)):
        counts = np.zeros((len(totals), len(prices)), dtype=np.int64)
        counts[present] = (totals[present] * np.array(corner))[:, None]
        best = np.maximum(best, gain(counts, totals, prices))
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
        return self.height - _SLACK * max(1.0, abs(self.height))

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
        if len(different) > _PRICES:
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
        edges, least, most = self._reach[price]
        table = kernels.log_factorials(int(n.sum()) + 1)
        return kernels.ruled_out_two_classes(
            counts, sampled[present], n, edges, least, most, self.log_delta, table
        )

    def _good_enough(self, n: Ints, price: float, present: Ints) -> tuple[Ints, Ints, Ints]:
        """Cells of a_0, and in each the a_1 from which, and up to which, a rival would win."""
        cells = min(_PIECES, int(n[0]) + 1)
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
            best = self._best_corner(low, high, prices, present)
        return np.asarray(best < self.just_below)

    def _best_corner(self, low: Ints, high: Ints, prices: Floats, present: Ints) -> Floats:
        best = np.full(low.shape[1], -np.inf)
        for corner in product((low, high), repeat=len(present)):
            at = np.zeros_like(low)
            for c, side in zip(present.tolist(), corner):
                at[c] = side[c]
            best = np.maximum(best, self.gain(at, self.totals, prices))
        return best
