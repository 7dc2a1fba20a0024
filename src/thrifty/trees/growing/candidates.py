"""Which features may be asked at a node: all of them, or those that metafeatures suggest.

A Boolean feature is constant below its own split, so it is not asked there again.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from thrifty.array_types import Ints
from thrifty.trees.tree import Node, Path, Split, Tree

__all__ = ["AllFeatures", "Suggested", "threshold_of"]


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
            cut = threshold_of(split)
            agreeing = [piece for piece in agreeing if threshold_of(piece.split) == cut]
        false = [p.false for p in agreeing if isinstance(p.false, Node)]
        true = [p.true for p in agreeing if isinstance(p.true, Node)]
        self._carried[*path, False], self._carried[*path, True] = (false, asked), (true, asked)


def threshold_of(split: Split) -> float:
    """A Boolean split is the threshold one half."""
    return 0.5 if split.threshold is None else split.threshold
