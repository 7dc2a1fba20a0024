"""One way to grow a tree, whatever is compared at a node and however it is counted.

``grow(node, candidates, choose, on_stuck)``: at each node that is not pure the *candidates* say
which features may be asked there, *choose* picks one and gives the two nodes below, and *on_stuck*
says what becomes of a node where that is impossible: a leaf, or an exception. Learners differ in
these three alone:

=================  ==============================================  ==============================
learner            candidates                                      choose
=================  ==============================================  ==============================
Paper, UseRep      what metafeatures suggest                       every candidate on every row
Paper, scratch     all features                                    counts of a whole level at once
Race               either                                          a race over samples
Tested             what metafeatures suggest                       every candidate on a few rows
sharded scratch    all features                                    workers, one shard each
Verified           all features                                    looks that are worth their price
=================  ==============================================  ==============================

``choose`` has a strategy for Boolean columns and one for real ones; what it looks at in a node is
its own business. A tree of another kind (regression, say) is another ``choose`` and other leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, Literal, Protocol, TypeAlias, TypeVar

import numpy as np

from thrifty.array_types import Ints
from thrifty.trees.tree import Leaf, Path, Split, Tree, build

__all__ = [
    "Candidates", "Choose", "Chosen", "Half", "OnStuck", "Place", "Reason", "grow", "leaf_of",
    "one_by_one",
]  # fmt: skip

#: why a node cannot be split
Reason = Literal["too-deep", "too-large", "no-candidate", "constant-candidates"]


class Place(Protocol):
    """A node that is to be grown: where it is, and its rows of each class."""

    @property
    def path(self) -> Path: ...
    @property
    def totals(self) -> Ints: ...


P = TypeVar("P", bound=Place)


@dataclass(slots=True)
class Chosen(Generic[P]):
    """The split of a node, and the two nodes below."""

    split: Split
    false: P
    true: P


@dataclass(frozen=True, slots=True)
class Half:
    """A tree that is being grown."""

    splits: dict[Path, Split] = field(default_factory=dict)
    leaves: dict[Path, Leaf] = field(default_factory=dict)

    def tree(self) -> Tree:
        """What is grown so far; empty leaves where nothing is yet."""
        return build(self.splits, self.leaves)


class Candidates(Protocol):
    """Which features may be asked at a node."""

    def at(self, path: Path) -> Ints:
        """The features, ascending."""

    def follow(self, path: Path, split: Split) -> None:
        """A node was split: nodes below it will be asked for."""


Choose: TypeAlias = Callable[[list[P], list[Ints]], Sequence[Chosen[P] | None]]
OnStuck: TypeAlias = Callable[[P, Reason, Half], Leaf]


def grow(
    node: P,
    candidates: Candidates,
    choose: Choose[P],
    on_stuck: OnStuck[P],
    *,
    max_depth: int | None = None,
    max_nodes: int | None = None,
    by_level: bool = False,
) -> Tree:
    """Grow until leaves are pure: depth first, false branch first, or a level at a time.

    ``choose`` is given the nodes that are split together (one, unless ``by_level``) and their
    candidates; None where no candidate varies.
    """
    half = Half()
    waiting = [node]
    while waiting:
        places, waiting = (waiting, []) if by_level else ([waiting.pop()], waiting)
        splitting: list[P] = []
        asked: list[Ints] = []
        for place in places:
            totals = place.totals.tolist()
            if totals.count(0) >= len(totals) - 1:
                half.leaves[place.path] = Leaf(totals.index(max(totals)), tuple(totals))
                continue
            reason = _too_far(place.path, half, max_depth, max_nodes)
            features = candidates.at(place.path) if reason is None else _NOTHING
            if not len(features):
                half.leaves[place.path] = on_stuck(place, reason or "no-candidate", half)
                continue
            splitting.append(place)
            asked.append(features)
        for place, chosen in zip(splitting, choose(splitting, asked) if splitting else ()):
            if chosen is None:
                half.leaves[place.path] = on_stuck(place, "constant-candidates", half)
                continue
            half.splits[place.path] = chosen.split
            candidates.follow(place.path, chosen.split)
            below = (chosen.false, chosen.true)
            waiting.extend(below if by_level else reversed(below))
    return half.tree()


_NOTHING = np.empty(0, dtype=np.int64)


def _too_far(path: Path, half: Half, max_depth: int | None, max_nodes: int | None) -> Reason | None:
    if max_depth is not None and len(path) >= max_depth:
        return "too-deep"
    if max_nodes is not None and len(half.splits) >= max_nodes:
        return "too-large"
    return None


def leaf_of(place: Place) -> Leaf:
    """The most common class, the first of equals."""
    totals = place.totals.tolist()
    return Leaf(totals.index(max(totals)), tuple(totals))


def one_by_one(choose: Callable[[P, Ints], Chosen[P] | None]) -> Choose[P]:
    """A ``choose`` that looks at one node at a time."""

    def each(places: list[P], asked: list[Ints]) -> list[Chosen[P] | None]:
        return [choose(place, features) for place, features in zip(places, asked)]

    return each
