"""UseRep, Algorithm 2: learn a tree from metafeatures, buying only what they suggest.

At a node only the splits *induced* there are bought and compared
(:class:`~thrifty.trees.growing.Suggested`).

Guarantee: when the scratch tree lies in DT(Pref(F~)), it is the tree returned; at most
2 (|F~| + d) cells are bought on one example (paper, Theorem 2 and Lemmas 1 and 2).

Where features are real-valued, wholly or in part, each (feature, threshold) is a variable. One cell
buys every threshold of its feature on that example, so what is bought at a node is the features
induced there. Two ways to lay a metafeature over the growing tree, and what each promises:

``match="threshold"``
    Splits agree if feature and threshold do. The threshold of the chosen feature is fitted to the
    rows of the node: same cells, never a worse gain. If the scratch tree lies in DT(Pref(F~)), it
    is the tree returned; at most 2 (|F~| + d) cells on one example.
``match="feature"``, the default
    Splits agree if their features do; thresholds are always fitted. If the scratch tree, its
    thresholds dropped, lies in DT(Pref(F~)) with thresholds dropped, it is the tree returned,
    thresholds included. So thresholds may drift from task to task. The bound on cells holds as
    long as no feature recurs on a path; where one recurs r times, it is 2 (r |F~| + d).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NoReturn

from thrifty.attempt import Attempt, Failed, Failure, Found
from thrifty.cells import Cells
from thrifty.labels import Labels
from thrifty.trees.columns import BooleanColumns, CandidateColumns, RowColumns
from thrifty.trees.gains import Gain
from thrifty.trees.growing import Half, P, PathPrices, Place, Reason, Suggested, grow, one_by_one
from thrifty.trees.tree import Path, Tree

MATCH = ("feature", "threshold")


@dataclass(frozen=True, slots=True)
class Grown:
    """The unfinished tree of a failed attempt, and the position at which it failed.

    ``at_a_bound`` says that the node there would have been too deep or one too many: nothing was
    tried at it, so it is no difference from any tree.
    """

    tree: Tree
    failed_at: Path
    at_a_bound: bool = False


class _Stopped(Exception):
    """Growing stopped at a node; never leaves this file."""

    def __init__(self, failed: Failed) -> None:
        self.failed = failed


def use_rep(
    metafeatures: Iterable[Tree],
    cells: Cells,
    labels: Labels,
    gain: Gain,
    *,
    max_depth: int,
    max_nodes: int | None,
    match: str = "feature",
) -> Attempt[Tree]:
    """Grow a tree depth first, false branch first; fail where the metafeatures do not reach."""
    boolean = bool(cells.boolean.all())
    candidates = Suggested(metafeatures, by_feature=boolean or match == "feature")
    prices, stop = PathPrices.of(cells, gain), _stop(boolean, max_depth, max_nodes)

    def grown_on(columns: CandidateColumns[P]) -> Tree:
        root, choose = columns.root(), one_by_one(columns.best)
        return grow(root, candidates, choose, prices, stop, max_depth, max_nodes)

    try:
        if boolean:
            return Found("reused", grown_on(BooleanColumns(cells, labels, gain)))
        return Found("reused", grown_on(RowColumns(cells, labels, gain)))
    except _Stopped as stopped:
        return stopped.failed


def _stop(
    boolean: bool, max_depth: int, max_nodes: int | None
) -> Callable[[Place, Reason, Half], NoReturn]:
    """Fail where the metafeatures do not reach, and say why."""

    def stop(place: Place, reason: Reason, half: Half) -> NoReturn:
        path = place.path
        where = "the root" if not path else f"depth {len(path)}"
        constant = (
            f"every feature the metafeatures suggest at {where} is constant there"
            if boolean
            else f"no feature the metafeatures suggest at {where} can be split on there"
        )
        message = {
            "too-deep": f"the tree would grow deeper than max_depth={max_depth}",
            "too-large": f"the tree would need more than max_nodes={max_nodes} nodes",
            "no-candidate": f"no metafeature reaches the node at {where}",
            "constant-candidates": constant,
        }[reason]
        failure = Failure(reason, message, {"path": path})
        at_a_bound = reason in ("too-deep", "too-large")
        raise _Stopped(Failed(failure, Grown(half.tree(), path, at_a_bound)))

    return stop
