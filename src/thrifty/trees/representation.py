"""The representation of trees: metafeatures, kept few.

A metafeature that is a pruning of another adds nothing to DT(Pref(F~)), so only the larger one is
kept: the guarantee is unchanged and every later task is cheaper.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from thrifty.trees.tree import Node, Tree, is_prefix, skeleton, tree_from_dict, tree_text

__all__ = ["Metafeatures"]


@dataclass(frozen=True, slots=True)
class Metafeatures:
    """An immutable tuple of incomplete trees, none a pruning of another.

    >>> from thrifty.trees.tree import stump, affix
    >>> small, large = stump(1), affix(stump(1), (True,), stump(2))
    >>> len(Metafeatures().with_trees([small, large]))
    1
    """

    trees: tuple[Tree, ...] = ()

    def with_trees(self, new: Iterable[Tree]) -> Metafeatures:
        """These and the new ones, their labels dropped, prunings removed."""
        kept = list(self.trees)
        for tree in map(skeleton, new):
            if not isinstance(tree, Node) or any(is_prefix(tree, other) for other in kept):
                continue
            kept = [other for other in kept if not is_prefix(other, tree)]
            kept.append(tree)
        return Metafeatures(tuple(kept))

    def __len__(self) -> int:
        return len(self.trees)

    def __iter__(self) -> Iterator[Tree]:
        return iter(self.trees)

    def __getitem__(self, i: int) -> Tree:
        return self.trees[i]

    def __str__(self) -> str:
        if not self.trees:
            return "no metafeatures yet"
        return "\n".join(f"metafeature {i}\n{tree_text(t)}" for i, t in enumerate(self.trees))

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return {"metafeatures": [tree.to_dict() for tree in self.trees]}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Metafeatures:
        """The inverse of :meth:`to_dict`."""
        return cls(tuple(tree_from_dict(tree) for tree in data["metafeatures"]))
