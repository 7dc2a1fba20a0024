"""One way to grow a tree, whatever is compared at a node and however it is counted.

``grow(node, candidates, choose, prices, on_stuck)``: at each node that is not pure the *candidates*
say which features may be asked there, *choose* picks one and gives the two nodes below, and
*on_stuck* says what becomes of a node where that is impossible: a leaf, or an exception. Learners
differ in these alone:

=================  ==============================================  ==============================
learner            candidates                                      choose
=================  ==============================================  ==============================
Paper, UseRep      what metafeatures suggest                       every candidate on every row
Paper, scratch     all features                                    counts of a whole level at once
Race               either                                          a race over samples
Tested             what metafeatures suggest                       every candidate on a few rows
=================  ==============================================  ==============================

``choose`` has a strategy for Boolean columns and one for real ones; what it looks at in a node is
its own business. A tree of another kind (regression, say) is another ``choose`` and other leaves.

Candidates: all features (:class:`AllFeatures`), or those that metafeatures suggest
(:class:`Suggested`). A Boolean feature is constant below its own split, so it is not asked there
again.

Prices at a node (:class:`PathPrices`) are those of an example that was asked what lies above it.
Where every feature is sold by itself a node does not matter. Where orders fill several features,
fees are paid once, or a second test is cheaper, the question after a path costs its margin (as
Turney's conditional test costs), and a gain that looks at prices is to look at that one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Generic, Literal, NoReturn, Protocol, TypeAlias, TypeVar

import numpy as np

from thrifty.cells import Cells
from thrifty.errors import ContradictoryLabels, NotInFamily
from thrifty.labels import Labels
from thrifty.trees.gains import Gain
from thrifty.trees.tree import Leaf, Node, Path, Split, Tree, build
from thrifty.typing import Floats, Ints

#: why a node cannot be split
Reason = Literal["too-deep", "too-large", "no-candidate", "constant-candidates"]


class Place(Protocol):
    """A node that is to be grown: where it is, and its rows of each class."""

    @property
    def path(self) -> Path: ...
    @property
    def totals(self) -> Ints: ...


class PlaceOfRows(Place, Protocol):
    """A node that knows its rows."""

    @property
    def rows(self) -> Ints: ...


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


#: (nodes, their candidates, what every feature costs at each) -> the splits; None: none varies
Choose: TypeAlias = Callable[[list[P], list[Ints], list[Floats]], Sequence[Chosen[P] | None]]
OnStuck: TypeAlias = Callable[[P, Reason, Half], Leaf]


def grow(
    node: P,
    candidates: Candidates,
    choose: Choose[P],
    prices: PathPrices,
    on_stuck: OnStuck[P],
    max_depth: int | None = None,
    max_nodes: int | None = None,
    *,
    by_level: bool = False,
) -> Tree:
    """Grow until leaves are pure: depth first, false branch first, or a level at a time.

    ``choose`` is given the nodes that are split together (one, unless ``by_level``), their
    candidates and their prices; None where no candidate varies.
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
        costs = [prices.at(place.path) for place in splitting]
        for place, chosen in zip(splitting, choose(splitting, asked, costs) if splitting else ()):
            if chosen is None:
                half.leaves[place.path] = on_stuck(place, "constant-candidates", half)
                continue
            half.splits[place.path] = chosen.split
            candidates.follow(place.path, chosen.split)
            prices.follow(place.path, chosen.split)
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


def one_by_one(choose: Callable[[P, Ints, Floats], Chosen[P] | None]) -> Choose[P]:
    """A ``choose`` that looks at one node at a time."""

    def each(places: list[P], asked: list[Ints], costs: list[Floats]) -> list[Chosen[P] | None]:
        return [choose(*at) for at in zip(places, asked, costs)]

    return each


def most_common(place: Place, reason: Reason, half: Half) -> Leaf:
    """A node that cannot be split becomes a leaf of its most common class, the first of equals."""
    totals = place.totals.tolist()
    return Leaf(totals.index(max(totals)), tuple(totals))


def consistent(
    labels: Labels, max_depth: int | None = None, what: str = "tree"
) -> OnStuck[PlaceOfRows]:
    """For learners of consistent trees: too deep at the depth, a contradiction above it."""

    def stuck(place: PlaceOfRows, reason: Reason, half: Half) -> NoReturn:
        if max_depth is not None and len(place.path) >= max_depth:
            raise too_deep(max_depth, place.totals, labels, what)
        raise contradiction(place.rows, labels)

    return stuck


class AllFeatures:
    """Every feature, everywhere; with ``not_again``, less the Boolean ones the path has asked."""

    def __init__(self, n_features: int, *, not_again: bool = False) -> None:
        self._all, self._not_again = np.arange(n_features), not_again
        self._asked: dict[Path, Ints] = {}

    def at(self, path: Path) -> Ints:
        """The features, ascending."""
        asked = self._asked.get(path)
        return self._all if asked is None else self._all[~np.isin(self._all, asked)]

    def follow(self, path: Path, split: Split) -> None:
        """Remember what the path has asked."""
        if not self._not_again:
            return
        asked = self._asked.pop(path, None)
        if split.threshold is None:
            asked = np.append([] if asked is None else asked, split.feature).astype(np.int64)
        if asked is not None:
            self._asked[*path, False] = self._asked[*path, True] = asked


class Suggested:
    """What metafeatures *induce*, laid with their roots on the node or on an ancestor of it.

    A piece that agrees with every split chosen since has a split at the node's position: that is a
    candidate. Instead of laying every metafeature on every ancestor anew, the pieces that still
    agree are carried down the path.

    Parameters
    ----------
    metafeatures : iterable of Tree
        iterable of trees
    by_feature : bool
        Whether splits of one feature agree whatever their thresholds.
    not_at_root : frozenset of int
        Features that were tried at the root and led nowhere.
    """

    def __init__(
        self,
        metafeatures: Iterable[Tree],
        *,
        by_feature: bool = True,
        not_at_root: frozenset[int] = frozenset(),
    ) -> None:
        self._roots = [tree for tree in metafeatures if isinstance(tree, Node)]
        self._by_feature, self._not_at_root = by_feature, not_at_root
        self._carried: dict[Path, tuple[list[Node], frozenset[int]]] = {(): ([], frozenset())}

    def pieces(self, path: Path) -> list[Node]:
        """The pieces that lie at a node."""
        return self._carried[path][0] + self._roots

    def at(self, path: Path) -> Ints:
        """What the pieces at the node ask, ascending, less what the path has asked."""
        not_here = self._carried[path][1] if path else self._not_at_root
        asked = {piece.split.feature for piece in self.pieces(path)} - not_here
        return np.array(sorted(asked), dtype=np.int64)

    def follow(self, path: Path, split: Split) -> None:
        """Carry the pieces that agree with the split down to the nodes below."""
        pieces = self.pieces(path)
        asked = self._carried.pop(path)[1]
        if split.threshold is None:
            asked |= {split.feature}
        agreeing = [piece for piece in pieces if piece.split.feature == split.feature]
        if not self._by_feature:
            cut = split.cut
            agreeing = [piece for piece in agreeing if piece.split.cut == cut]
        false = [p.false for p in agreeing if isinstance(p.false, Node)]
        true = [p.true for p in agreeing if isinstance(p.true, Node)]
        self._carried[*path, False], self._carried[*path, True] = (false, asked), (true, asked)


def too_deep(max_depth: int, totals: Ints, labels: Labels, what: str = "tree") -> NotInFamily:
    """A node at max_depth that is not pure: another tree than the greedy one might be right."""
    classes = ", ".join(repr(labels.value(int(c))) for c in np.flatnonzero(totals)[:4])
    return NotInFamily(
        f"the {what} grown by the largest gain at each split does not get every example right "
        f"within max_depth={max_depth}: at depth {max_depth} {int(totals.sum())} examples of the "
        f"classes {classes} are still together. Another {what} of that depth might (features that "
        "tell nothing alone can tell together), but none is searched for. Where labels are exact "
        "allow a larger max_depth; where they are noisy use thrifty.Models()."
    )


def contradiction(rows: Ints, labels: Labels) -> ContradictoryLabels:
    """Rows that agree on every feature and differ in their label."""
    codes = labels.codes[rows]
    (a, ya), (b, yb) = (
        (int(rows[codes == c].min()), labels.value(c)) for c in np.unique(codes)[:2].tolist()
    )
    return ContradictoryLabels(
        f"a consistent tree is impossible: examples {a} and {b} agree on every feature, yet their "
        f"labels are {ya!r} and {yb!r} ({len(rows)} examples are alike there). Mend or drop "
        "such rows, or learn from noisy labels with thrifty.Models()."
    )


class PathPrices:
    """Prices that a growing tree asks for, node by node.

    Parameters
    ----------
    prices : array
        where nothing was asked yet
    after : callable or None
        (features) -> prices of all features where these were asked; None: they never change

    Examples
    --------
    >>> import numpy as np
    >>> reader = PathPrices(np.array([9.0, 9.0]), lambda asked: np.array([0.0, 1.0]))
    >>> reader.follow((), Split(0))
    >>> reader.at(()).tolist(), reader.at((True,)).tolist()
    ([9.0, 9.0], [0.0, 1.0])
    """

    def __init__(
        self, prices: Floats, after: Callable[[Sequence[int]], Floats] | None = None
    ) -> None:
        self._prices, self._after = prices, after
        self._asked: dict[Path, tuple[int, ...]] = {}
        self._kept: dict[tuple[int, ...], Floats] = {}

    def __len__(self) -> int:
        return len(self._prices)

    def at(self, path: Path) -> Floats:
        """The price of every feature at a node."""
        if self._after is None or not path:
            return self._prices
        asked = self._asked[path[:-1]]
        if asked not in self._kept:
            self._kept[asked] = self._after(asked)
        return self._kept[asked]

    def follow(self, path: Path, split: Split) -> None:
        """A node was split: nodes below it will be asked for."""
        if self._after is not None:
            above = self._asked[path[:-1]] if path else ()
            self._asked[path] = (*above, split.feature)

    @classmethod
    def fixed(cls, prices: PathPrices | Floats) -> PathPrices:
        """An array of prices is the same at every node."""
        return prices if isinstance(prices, PathPrices) else cls(prices)

    @classmethod
    def of(cls, cells: Cells, gain: Gain) -> PathPrices:
        """Those of a reader; for a gain that does not look at prices they never change."""
        return cls(cells.prices, cells.prices_after if gain.by_price else None)
