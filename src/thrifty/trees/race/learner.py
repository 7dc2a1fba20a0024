"""``Race()``: the trees of Algorithm 2 and of scratch for a fraction of the cells."""

from __future__ import annotations

from dataclasses import dataclass, replace

from thrifty.attempt import Attempt, Expected, Failed, Failure, Found
from thrifty.cells import Door
from thrifty.errors import BadParameter
from thrifty.labels.classes import Labels
from thrifty.trees.gains.gain import gain_named
from thrifty.trees.growing.candidates import Suggested
from thrifty.trees.growing.from_all import scratch_tree
from thrifty.trees.growing.stuck import consistent_within
from thrifty.trees.paper.learner import reuse_every_row
from thrifty.trees.paper.over_metafeatures import OverMetafeatures, path_cells
from thrifty.trees.race.bar import can_race
from thrifty.trees.race.by_races import race_all_features, race_metafeatures
from thrifty.trees.race.node import Contest
from thrifty.trees.representation import Metafeatures
from thrifty.trees.tree import Node, Tree

__all__ = ["Race", "check_can_race", "expected_by_races", "reuse_by_races", "scratch_by_races"]

#: a raced task costs about this many times its paths (docs/racing.md)
_RACED = 1.2


def check_can_race(learner: OverMetafeatures) -> None:
    """Refuse what a race cannot promise to keep."""
    name = type(learner).__name__
    if gain_named(learner.gain).raced is None:
        raise BadParameter(
            f"{name}() needs a gain that grows as the classes' rates part, as entropy, gini, eg2, "
            f"cs-id3 and idx do; got {learner.gain!r}. Use thrifty.Paper() with it."
        )
    if learner.match == "stored":
        raise BadParameter(
            f"{name}() fits thresholds anew, so match must be 'feature' or 'threshold'; got "
            "'stored'. Use thrifty.Paper(match='stored')."
        )


def reuse_by_races(
    learner: OverMetafeatures, known: Metafeatures, cells: Door, labels: Labels, max_depth: int
) -> Attempt[Tree]:
    """Races at every node; where they fail, every candidate on every row after all.

    So a task fails only if it would have failed without racing, and a race can never cost the
    guarantees of the paper, only cells.
    """
    suggested = Suggested(known, by_feature=learner.match == "feature")
    contest = Contest(cells, gain_named(learner.gain))
    tree = race_metafeatures(
        suggested, contest, labels, max_depth=max_depth, max_nodes=learner.max_nodes
    )
    if tree is not None:
        return Found("reused", tree)
    if known.partial:  # more is tried after it, and compared in full if all of it fails
        return Failed(Failure("portion-failed", "no tree of a part of the metafeatures fits"))
    return reuse_every_row(learner, known, cells, labels, max_depth)


def expected_by_races(paper: Expected, known: Metafeatures) -> Expected:
    """What the paper's way would cost, less what races save."""
    trees = [tree for tree in known if isinstance(tree, Node)]
    likely = _RACED * path_cells(trees) if trees else None
    return replace(paper, reused=likely, buys_everything=False)


def scratch_by_races(
    learner: OverMetafeatures, cells: Door, labels: Labels, max_depth: int
) -> Tree:
    """Races over all features; every cell where there are too many classes, or rows are alike."""
    gain = gain_named(learner.gain)
    tree = None
    if can_race(gain, labels.n_classes):
        tree = race_all_features(cells, labels, gain, max_depth=max_depth)
    if tree is not None:
        return tree
    stuck = consistent_within(max_depth)
    return scratch_tree(cells, labels, gain, max_depth=max_depth, stuck=stuck)


@dataclass(frozen=True, kw_only=True, repr=False)
class Race(OverMetafeatures):
    """The tree of :class:`~thrifty.Paper` for few cells: candidates are dropped on samples.

    The winner alone is bought on every row. With probability 0.999 the tree is the paper's; it is
    always a consistent one (the theorem is in :mod:`thrifty.trees.race.by_races`).

    Parameters
    ----------
    gain : str or callable
        "entropy", "gini", the price-aware "eg2", "cs-id3" and "idx", or a function (counts, totals,
        prices) -> gains that grows as the classes' rates part.
    improve : str or callable
        As for :class:`~thrifty.Paper`.
    match : str
        "feature" or "threshold"; see :mod:`thrifty.trees.paper.use_rep`.
    max_nodes, warm_up, missing : int or None, WarmUp or int, str
        As for :class:`~thrifty.Paper`.

    Examples
    --------
    >>> import thrifty
    >>> thrifty.Trees(max_depth=3) == thrifty.Trees(max_depth=3, learner=Race())
    True
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        check_can_race(self)

    def expected_cells(self, known: Metafeatures, cells: Door, max_depth: int) -> Expected:
        """A raced task buys little but its paths."""
        return expected_by_races(super().expected_cells(known, cells, max_depth), known)

    def reuse(
        self, known: Metafeatures, cells: Door, labels: Labels, max_depth: int
    ) -> Attempt[Tree]:
        """Algorithm 2 with races."""
        return reuse_by_races(self, known, cells, labels, max_depth)

    def scratch(self, cells: Door, labels: Labels, max_depth: int) -> Tree:
        """Scratch with races."""
        return scratch_by_races(self, cells, labels, max_depth)
