"""``Race()``: the trees of Algorithm 2 and of scratch for a fraction of the cells.

Theorem. Rows are bought in a uniformly random order, drawn before anything is seen. With
probability at least 1 - delta the raced tree is the tree of :class:`~thrifty.trees.Paper`.

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

from dataclasses import dataclass, replace
from typing import NoReturn

import numpy as np

from thrifty.attempt import Attempt, Expected, Failed, Failure, Found
from thrifty.cells import Cells
from thrifty.errors import BadParameter
from thrifty.labels import Labels
from thrifty.trees.gains import Gain, gain_named
from thrifty.trees.growing import (
    AllFeatures,
    Candidates,
    Chosen,
    Half,
    OnStuck,
    PathPrices,
    Reason,
    Suggested,
    grow,
    one_by_one,
    too_deep,
)
from thrifty.trees.paper import Paper, path_cells
from thrifty.trees.race_node import NodeRace, RacedNode, RealNodeRace, can_race
from thrifty.trees.representation import Metafeatures
from thrifty.trees.tree import Node, Tree
from thrifty.typing import Floats, Ints

#: how often a raced tree may differ from the tree of Paper()
DELTA = 0.001


def shuffled(cells: Cells, labels: Labels) -> RacedNode:
    """All rows in random order."""
    order = cells.row_order(20_221)  # a salt of its own
    codes = labels.codes[order]
    rows = tuple(order[codes == c] for c in range(labels.n_classes))
    return RacedNode((), rows, np.zeros(labels.n_classes, dtype=np.int64))


def race_all_features(
    cells: Cells, labels: Labels, gain: Gain, *, max_depth: int | None = None
) -> Tree | None:
    """Scratch with races; None where rows of different labels agree on every feature.

    The first impure node at ``max_depth`` ends it: nothing more is bought then.
    """

    def stuck(place: RacedNode, reason: Reason, half: Half) -> NoReturn:
        if max_depth is not None and reason == "too-deep":
            raise too_deep(max_depth, place.totals, labels)
        raise _Lost

    everything = AllFeatures(cells.n_features, not_again=True)
    return race_tree(cells, gain, labels, everything, stuck, max_depth)


class _Lost(Exception):
    """No winner at some node; never leaves this file."""


def _lose(place: RacedNode, reason: Reason, half: Half) -> NoReturn:
    raise _Lost


def race_tree(
    cells: Cells,
    gain: Gain,
    labels: Labels,
    candidates: Candidates,
    on_stuck: OnStuck[RacedNode],
    max_depth: int | None,
    max_nodes: int | None = None,
) -> Tree | None:
    """A tree grown by races at its nodes; None where there is no winner at one of them."""
    kind = NodeRace if cells.boolean.all() else RealNodeRace
    raced = 0

    def best(place: RacedNode, features: Ints, costs: Floats) -> Chosen[RacedNode] | None:
        nonlocal raced
        raced += 1
        return kind(cells, gain, place, features, DELTA / (raced * (raced + 1)), costs).won()

    prices, choose = PathPrices.of(cells, gain), one_by_one(best)
    root = shuffled(cells, labels)
    try:
        return grow(root, candidates, choose, prices, on_stuck, max_depth, max_nodes)
    except _Lost:
        return None


@dataclass(frozen=True, kw_only=True, repr=False)
class Race(Paper):
    """The tree of :class:`~thrifty.trees.Paper` for few cells: candidates are dropped on samples.

    The winner alone is bought on every row. With probability 0.999 the tree is the paper's; it is
    always a consistent one (the theorem is in :mod:`thrifty.trees.race`).

    Parameters
    ----------
    gain : str or callable
        "entropy", "gini", the price-aware "eg2", "cs-id3" and "idx", or a function (counts, totals,
        prices) -> gains that grows as the classes' rates part.
    improve : str or callable
        As for :class:`~thrifty.trees.Paper`.
    match : str
        "feature" or "threshold"; see :mod:`thrifty.trees.use_rep`.
    max_nodes, warm_up, missing : int or None, WarmUp or int, str
        As for :class:`~thrifty.trees.Paper`.

    Raises
    ------
    thrifty.errors.BadParameter
        what a race cannot decide: ``gain-ratio``

    See Also
    --------
    thrifty.trees.Paper : every candidate on every row
    thrifty.trees.Tested : not even every row

    Examples
    --------
    >>> import thrifty
    >>> thrifty.Trees(max_depth=3) == thrifty.Trees(max_depth=3, learner=Race())
    True
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if gain_named(self.gain).raced is None:
            raise BadParameter(
                f"{type(self).__name__}() needs a gain that grows as the classes' rates part, as "
                f"entropy, gini, eg2, cs-id3 and idx do; got {self.gain!r}. Use "
                "thrifty.trees.Paper() with it."
            )

    def expected_cells(self, known: Metafeatures, cells: Cells, max_depth: int) -> Expected:
        """What the paper's way would cost, less what races save: little but the task's paths."""
        raced = 1.2  # a raced task costs about this many times its paths (docs/racing.md)
        paper = super().expected_cells(known, cells, max_depth)
        trees = [tree for tree in known if isinstance(tree, Node)]
        likely = raced * path_cells(trees) if trees else None
        return replace(paper, reused=likely, buys_everything=False)

    def reuse(
        self, known: Metafeatures, cells: Cells, labels: Labels, max_depth: int
    ) -> Attempt[Tree]:
        """Races at every node; where they fail, every candidate on every row after all.

        So a task fails only if it would have failed without racing, and a race can never cost the
        guarantees of the paper, only cells.
        """
        gain = gain_named(self.gain)
        suggested = Suggested(known, by_feature=self.match == "feature")
        tree = race_tree(cells, gain, labels, suggested, _lose, max_depth, self.max_nodes)
        if tree is not None:
            return Found("reused", tree)
        if known.partial:  # more is tried after it, and compared in full if all of it fails
            return Failed(Failure("portion-failed", "no tree of a part of the metafeatures fits"))
        return super().reuse(known, cells, labels, max_depth)

    def scratch(self, cells: Cells, labels: Labels, max_depth: int) -> Tree:
        """Races over all features; every cell where classes are too many, or rows are alike."""
        gain, tree = gain_named(self.gain), None
        if can_race(gain, labels.n_classes):
            tree = race_all_features(cells, labels, gain, max_depth=max_depth)
        return super().scratch(cells, labels, max_depth) if tree is None else tree
