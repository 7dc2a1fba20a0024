"""Growing a tree by races, from the metafeatures' suggestions or from all features.

Theorem. Rows are bought in a uniformly random order, drawn before anything is seen. With
probability at least 1 - delta the raced tree is the tree of :class:`~thrifty.Paper`.

Proof. Let T be that tree and u_1, u_2, ... its internal nodes, depth first; T does not depend on
the order of rows. Restricted to u_i and one class the order is uniform again, so for the winner at
u_i the ratio of :mod:`thrifty.kernels.race` rules out its true counts at some prefix of the order
with probability at most delta_i = delta / (i (i + 1)), whichever prefixes are looked at; the sum of
all delta_i is delta. If that happens at no node, induction over i shows that the raced tree has the
split of T at u_i: the incumbent's gain is exact and at most the winner's, so the winner is never
dropped, and among what was bought on every row the highest gain wins, ties to the lowest index.

Whatever happens, each split is bought on every row of its node and leaves are pure, so a raced tree
is consistent: only *which* consistent tree is a matter of probability.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from thrifty.array_types import Ints
from thrifty.cells import Door
from thrifty.labels.classes import Labels
from thrifty.trees.gains.gain import Gain
from thrifty.trees.growing.candidates import AllFeatures, Suggested
from thrifty.trees.growing.grow import Candidates, Chosen, Half, OnStuck, Reason, grow, one_by_one
from thrifty.trees.growing.path_prices import path_prices
from thrifty.trees.growing.stuck import too_deep
from thrifty.trees.race.node import Contest, NodeRace, RacedNode
from thrifty.trees.race.real_node import RealNodeRace
from thrifty.trees.tree import Path, Tree

__all__ = ["DELTA", "race_all_features", "race_metafeatures", "shuffled"]

#: how often a raced tree may differ from the tree of Paper()
DELTA = 0.001
_SEED = 20_221


def shuffled(cells: Door, labels: Labels) -> RacedNode:
    """All rows in random order."""
    order = cells.row_order(_SEED)
    codes = labels.codes[order]
    rows = tuple(order[codes == c] for c in range(labels.n_classes))
    return RacedNode(rows, np.zeros(labels.n_classes, dtype=np.int64))


def race_metafeatures(
    suggested: Suggested, contest: Contest, labels: Labels, *, max_depth: int, max_nodes: int | None
) -> Tree | None:
    """Algorithm 2 with races; None where it fails."""
    return _race(contest, labels, suggested, _lose, max_depth=max_depth, max_nodes=max_nodes)


def race_all_features(
    cells: Door, labels: Labels, gain: Gain, *, max_depth: int | None = None
) -> Tree | None:
    """Scratch with races; None where rows of different labels agree on every feature.

    The first impure node at ``max_depth`` ends it: nothing more is bought then.
    """

    def stuck(place: RacedPlace, reason: Reason, half: Half) -> NoReturn:
        if max_depth is not None and reason == "too-deep":
            raise too_deep(max_depth, place.totals, labels)
        raise _Lost

    everything = AllFeatures(cells.n_features, not_again=True)
    return _race(Contest(cells, gain), labels, everything, stuck, max_depth=max_depth)


class _Lost(Exception):
    """No winner at some node; never leaves this file."""


def _lose(place: RacedPlace, reason: Reason, half: Half) -> NoReturn:
    raise _Lost


@dataclass(slots=True)
class RacedPlace:
    """A node and its rows in the order in which they are bought."""

    path: Path
    node: RacedNode

    @property
    def totals(self) -> Ints:
        return self.node.totals


def _race(
    contest: Contest,
    labels: Labels,
    candidates: Candidates,
    on_stuck: OnStuck[RacedPlace],
    *,
    max_depth: int | None,
    max_nodes: int | None = None,
) -> Tree | None:
    kind = NodeRace if contest.cells.boolean.all() else RealNodeRace
    prices = path_prices(contest.cells, contest.gain)
    raced = 0

    def best(place: RacedPlace, features: Ints) -> Chosen[RacedPlace] | None:
        nonlocal raced
        raced += 1
        delta, costs = DELTA / (raced * (raced + 1)), prices.at(place.path)
        won = kind(contest, place.node, features, delta, costs).won()
        if won is None:
            return None
        prices.follow(place.path, won.split)
        false, true = place.node.split(won)
        below = zip((False, True), (false, true))
        return Chosen(won.split, *(RacedPlace((*place.path, at), node) for at, node in below))

    try:
        return grow(
            RacedPlace((), shuffled(contest.cells, labels)),
            candidates,
            one_by_one(best),
            on_stuck,
            max_depth=max_depth,
            max_nodes=max_nodes,
        )
    except _Lost:
        return None
