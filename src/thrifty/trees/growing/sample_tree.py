"""Algorithm 2 on a few rows, going on where it fails.

A rare branch may hold too few of a sample's rows to tell its split, and one wrong choice there
leaves the metafeatures without an answer. That says nothing against the tree as a whole: such a
node becomes a leaf of the most common class, and a test on fresh rows decides.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from thrifty.array_types import Ints
from thrifty.cells import Door
from thrifty.labels.classes import Labels
from thrifty.trees.gains.gain import Gain
from thrifty.trees.growing.candidates import Suggested
from thrifty.trees.growing.columns import RowColumns, RowPlace
from thrifty.trees.growing.grow import Half, Reason, grow, leaf_of, one_by_one
from thrifty.trees.tree import Leaf, Node, Tree

__all__ = ["SampleTree", "grow_on_sample"]


@dataclass(frozen=True, slots=True)
class SampleTree:
    """A tree, and how many of the sample's rows its unfinished leaves get wrong."""

    tree: Tree
    mistakes: int

    @property
    def root(self) -> int | None:
        """The feature at the root, if there is a split."""
        return self.tree.split.feature if isinstance(self.tree, Node) else None


def grow_on_sample(
    metafeatures: Iterable[Tree],
    cells: Door,
    labels: Labels,
    rows: Ints,
    gain: Gain,
    *,
    max_depth: int,
    max_nodes: int | None,
    by_feature: bool = True,
    not_at_root: frozenset[int] = frozenset(),
) -> SampleTree:
    """Depth first, false branch first, on the given rows alone.

    ``by_feature`` and ``not_at_root`` as for
    :class:`~thrifty.trees.growing.candidates.Suggested`.
    """
    mistakes = 0

    def unfinished(place: RowPlace, reason: Reason, half: Half) -> Leaf:
        nonlocal mistakes
        mistakes += int(place.totals.sum() - place.totals.max())
        return leaf_of(place)

    suggested = Suggested(metafeatures, by_feature=by_feature, not_at_root=not_at_root)
    columns = RowColumns(cells, labels, gain)
    tree = grow(
        columns.root(rows),
        suggested,
        one_by_one(columns.best),
        unfinished,
        max_depth=max_depth,
        max_nodes=max_nodes,
    )
    return SampleTree(tree, mistakes)
