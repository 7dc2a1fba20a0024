"""Grow a tree by asking of every purchase what it is worth.

At a node each feature has a posterior over its gain (:mod:`thrifty.kernels.judging`). Its next
batch of rows is bought only if the expected improvement over the incumbent (the best feature that
was bought in full), times the node's share of the rows, exceeds what the batch costs. A leader
is bought in full as soon as that pays: rivals then have something definite to beat.

Every class has one random row order for the whole task, so what ancestors bought is the beginning
of what a node would buy, and free. The batch goes to the class whose unknown rate leaves most of
the gain open per cell: with base rates remembered that is the rare class.

The price of a cell. Let the first look be b rows a feature, h the entropy of the labels, N the
number of features, and drop a rival when its expected improvement is at most ``price * b``. With

    price = epsilon * delta * h / (N * b)

what the N rivals together are expected to explain beyond the incumbent is at most epsilon * delta
of the label's entropy when all are dropped at their first look, as far as 32 points of a posterior
can tell. They cannot tell a probability of delta / N, so none is promised (Markov's bound would
need the exact mean). With money, N becomes what all features of an example cost, in units of the
cell (:mod:`thrifty.trees.verified.look_prices`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thrifty import kernels
from thrifty.array_types import Floats, Ints
from thrifty.cells import Door
from thrifty.trees.growing.candidates import AllFeatures
from thrifty.trees.growing.grow import Chosen, Half, Reason, grow, leaf_of, one_by_one
from thrifty.trees.tree import Leaf, Path, Split, Tree
from thrifty.trees.verified.belief import (
    FeatureBeliefs,
    belief_below,
    share_of_unlooked,
    uncertainty,
)
from thrifty.trees.verified.look_prices import look_prices

__all__ = ["RootFindings", "NodeLooks", "Looks", "first_look", "label_entropy"]

#: rows a class of the first look; one in 200 where there are more than 1,600 rows
_FIRST, _ONE_IN = 8, 200
#: how much more rows the next batch takes
_GROWTH = 2.0
#: part of the price asked for a leader's rows: if it stays ahead they are needed to route them
_ROUTING = 0.1
#: rows a leaf has at least; pruning decides which small ones stay
_LEAF = 1


def first_look(n_rows: int) -> int:
    """Rows of a class in the first look.

    >>> first_look(1500), first_look(100_000)
    (8, 500)
    """
    return max(_FIRST, -(-n_rows // _ONE_IN))


def label_entropy(shares: Floats) -> float:
    """Entropy in bits."""
    some = shares[shares > 0]
    return float(-(some * np.log2(some)).sum())


@dataclass(frozen=True)
class Terms:
    """What is promised, and how deep a tree may be."""

    epsilon: float
    delta: float
    max_depth: int


@dataclass
class RootFindings:
    """What the looks at the root found of each feature, for the representation."""

    ones: Ints
    looked: Ints
    likely: Floats


class Looks:
    """The rows, values and terms of one task; :meth:`grow` gives its tree."""

    def __init__(self, cells: Door, codes: Ints, order: Ints, terms: Terms) -> None:
        self.cells, self.codes, self.max_depth = cells, codes, terms.max_depth
        self.epsilon, self.delta = terms.epsilon, terms.delta
        self.n_classes = int(codes.max()) + 1
        self.values = np.zeros((cells.n_features, len(codes)), dtype=np.uint8)
        self.rows = order[np.argsort(codes[order], kind="stable")]
        sizes = np.bincount(codes, minlength=self.n_classes)
        self.shares = sizes / len(codes)
        self.first = first_look(len(codes))
        self.looked = np.zeros((self.n_classes, cells.n_features), dtype=np.int64)
        worth = terms.epsilon * terms.delta * label_entropy(self.shares) / self.first
        self.prices = look_prices(cells, worth)
        self.draws = kernels.rate_draws(self.n_classes)
        self.account = RootFindings(self.looked, self.looked, np.zeros(cells.n_features))

    def look(self, c: int) -> None:
        """The first look at every feature, in one class."""
        here = NodeLooks(self, self.rows, self.looked)
        to = self.looked.copy()
        to[c] = np.maximum(to[c], min(self.first, int(here.sizes[c])))
        here.buy(np.arange(self.cells.n_features), to)

    def counts(self) -> Ints:
        """Ones so far among all rows, by class and feature."""
        return NodeLooks(self, self.rows, self.looked).count(np.arange(self.cells.n_features))

    def judged(self, belief: FeatureBeliefs) -> Floats:
        """What the looks so far say of each feature at the root: see ``kernels.judge``."""
        return kernels.judge(
            self.counts(),
            self.looked,
            belief.beta,
            belief.useful,
            self.shares,
            0.0,
            0.0,
            self.draws,
        )

    def choose(self, here: NodeLooks, belief: FeatureBeliefs, depth: int) -> bool:
        """Whether some feature is worth splitting on at a node, after buying what pays."""
        return here.choose(belief)

    def grow(self, belief: FeatureBeliefs) -> Tree:
        """The one grower, with this task's looks as the choice; a node that is stuck is a leaf."""
        root = LookedAt((), NodeLooks(self, self.rows, self.looked), belief)
        everything = AllFeatures(self.cells.n_features)
        best = one_by_one(self._best)
        return grow(root, everything, best, self._stuck, max_depth=self.max_depth)

    def _best(self, place: LookedAt, features: Ints) -> Chosen[LookedAt] | None:
        here, path = place.node, place.path
        if len(here.rows) < 2 * _LEAF or not self.choose(here, place.belief, len(path)):
            return None
        if not path:
            self.account = RootFindings(here.ones, here.looked.copy(), here.likely)
        true = self.values[here.best, here.rows] == 1
        return Chosen(Split(here.best), place.below(~true, False), place.below(true, True))

    def _stuck(self, place: LookedAt, reason: Reason, half: Half) -> Leaf:
        here = place.node
        if not place.path:
            self.account = RootFindings(here.count(here.every), here.looked, here.likely)
        return leaf_of(place)


@dataclass(slots=True)
class LookedAt:
    """A node, what was looked at there, and what is believed of it."""

    path: Path
    node: NodeLooks
    belief: FeatureBeliefs

    @property
    def totals(self) -> Ints:
        return self.node.sizes

    def below(self, side: NDArray[np.bool_], branch: bool) -> LookedAt:
        """The node of the rows on one side of the split."""
        here = self.node
        node = NodeLooks(here.task, here.rows[side], here.passed_on(side))
        return LookedAt((*self.path, branch), node, here.belief_for(self.belief, side))


class NodeLooks:
    """The purchases at one node."""

    def __init__(self, task: Looks, rows: Ints, looked: Ints) -> None:
        self.task, self.rows, self.looked = task, rows, looked
        codes = task.codes[rows]
        self.sizes = np.bincount(codes, minlength=task.n_classes)
        self.starts = np.searchsorted(codes, np.arange(task.n_classes))
        self.shares = self.sizes / len(rows)
        self.share = len(rows) / len(task.codes)
        self.every = np.arange(looked.shape[1])
        self.best, self.incumbent = -1, 0.0
        self.likely = np.zeros(looked.shape[1])
        self.ones = np.zeros_like(looked)

    def choose(self, belief: FeatureBeliefs) -> bool:
        """Buy what pays; whether some feature then is worth splitting on."""
        task = self.task
        if self.share * label_entropy(self.shares) <= task.prices.least:
            return False
        self.belief = belief
        self.ones = self.count(self.every)
        self.verdict = np.zeros((3, len(self.every)))
        self._judge(self.every)
        while True:
            full = (self.looked == self.sizes[:, None]).all(axis=0)
            self._take_incumbent(full)
            leader = self._leader(full)
            if leader >= 0:
                self._buy_and_judge(
                    np.array([leader]), np.broadcast_to(self.sizes[:, None], self.looked.shape)
                )
                continue
            worth_it, to = self._worth_buying(full)
            if not len(worth_it):
                break
            self._buy_and_judge(worth_it, to)
        if self.best >= 0:
            self._judge(self.every)  # against the last incumbent, for the children's beliefs
        self.likely = self.verdict[0]
        return self.best >= 0

    def _judge(self, which: Ints) -> None:
        floor = self.task.prices.least / self.share
        self.verdict[:, which] = kernels.judge(
            self.ones[:, which],
            self.looked[:, which],
            self.belief.beta[:, :, which],
            self.belief.useful[which],
            self.shares,
            self.incumbent,
            floor,
            self.task.draws,
        )

    def _take_incumbent(self, full: NDArray[np.bool_]) -> None:
        """The best of those bought in full, if it leaves enough rows on both sides."""
        mean = self.verdict[1]
        known = np.flatnonzero(full & (mean > self.incumbent))
        for f in known[np.argsort(-mean[known], kind="stable")].tolist():
            ones = int(self.ones[:, f].sum())
            if min(ones, len(self.rows) - ones) >= _LEAF:
                self.best, self.incumbent = f, float(mean[f])
                self._judge(np.flatnonzero(~full & (mean > 0)))
                return

    def _leader(self, full: NDArray[np.bool_]) -> int:
        """A feature that is expected to beat the incumbent and worth all its remaining rows."""
        full_size = np.broadcast_to(self.sizes[:, None], self.looked.shape)
        cost = _ROUTING * self.task.prices.cost(self, full_size)
        ahead = ~full & (self.verdict[1] > self.incumbent)
        f = int(np.where(ahead, self.verdict[1] * self.share - cost, -np.inf).argmax())
        looked = self.looked[:, f] >= np.minimum(self.sizes, self.task.first)
        pays = self.verdict[2, f] * self.share > cost[f]
        return f if ahead[f] and looked.any() and pays else -1

    def _worth_buying(self, full: NDArray[np.bool_]) -> tuple[Ints, Ints]:
        """Features whose next batch pays, and up to which row of each class it goes."""
        step = np.maximum(self.task.first, np.ceil(self.looked * _GROWTH).astype(np.int64))
        step = np.minimum(self.sizes[:, None], step)
        cells = step - self.looked
        open_ = uncertainty(self.belief, self.ones, self.looked, self.shares)
        open_ = open_ * share_of_unlooked(self.looked, step) / np.maximum(cells, 1)
        c = np.where(cells > 0, open_, -1.0).argmax(axis=0)
        to = self.looked.copy()
        to[c, self.every] = step[c, self.every]
        worth = np.where(full, 0.0, self.verdict[2] * self.share)
        return self.task.prices.worth_looking(self, to, worth), to

    def _buy_and_judge(self, which: Ints, to: Ints) -> None:
        self.buy(which, to)
        self.ones[:, which] = self.count(which)
        self._judge(which)

    def buy(self, which: Ints, to: Ints) -> None:
        """Look at features up to row ``to[c, f]`` of each class, in as few requests as it takes."""
        bought: list[Ints] = []
        for c, start in enumerate(self.starts.tolist()):
            spans = np.stack([self.looked[c, which], to[c, which]])
            for low, high in np.unique(spans, axis=1).T.tolist():
                if high <= low:
                    continue
                features = which[(spans[0] == low) & (spans[1] == high)]
                rows = self.rows[start + low : start + high]
                values = self.task.cells.get(rows, features)
                bought.append(rows)
                self.task.values[np.ix_(features, rows)] = values.T
        self.task.prices.bought(bought)
        self.looked[:, which] = np.maximum(self.looked[:, which], to[:, which])

    def count(self, which: Ints) -> Ints:
        return kernels.count_ones(which, self.task.values, self.rows, self.starts, self.looked)

    def passed_on(self, side: NDArray[np.bool_]) -> Ints:
        """How many of a child's rows were looked at here."""
        out = np.empty_like(self.looked)
        for c, (start, size) in enumerate(zip(self.starts.tolist(), self.sizes.tolist())):
            before = np.concatenate([[0], np.cumsum(side[start : start + size])])
            out[c] = before[self.looked[c]]
        return out

    def belief_for(self, belief: FeatureBeliefs, side: NDArray[np.bool_]) -> FeatureBeliefs:
        there = np.bincount(self.task.codes[self.rows[side]], minlength=self.task.n_classes)
        kept = np.append(there / np.maximum(self.sizes, 1), side.mean())
        return belief_below(belief, self.likely, self.ones, self.looked, kept)
