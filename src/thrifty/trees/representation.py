"""The representation of trees: metafeatures, kept few.

A metafeature that is a pruning of another adds nothing to DT(Pref(F~)), so only the larger one is
kept: the guarantee is unchanged and every later task is cheaper.

Beside the trees a representation remembers how many tasks of a first phase it has seen, and the
anchors found so far; both stay empty for rules that need neither.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from thrifty.trees.origins import newest_used
from thrifty.trees.taught_rows import TaughtRows
from thrifty.trees.tree import Node, Tree, is_prefix, skeleton, tree_from_dict, tree_text
from thrifty.typing import Json, JsonLike

__all__ = ["Metafeatures"]


@dataclass(frozen=True, slots=True)
class Metafeatures:
    """An immutable tuple of incomplete trees, none a pruning of another, the newest last.

    ``warmed`` counts the tasks of the first phase so far (see :class:`~thrifty.trees.WarmUp`),
    ``anchors`` are the features at which anchored families are cut.

    >>> from thrifty.trees.tree import stump, affix
    >>> small, large = stump(1), affix(stump(1), (True,), stump(2))
    >>> len(Metafeatures().with_trees([small, large]))
    1
    """

    trees: tuple[Tree, ...] = ()
    warmed: int = 0
    anchors: frozenset[int] = frozenset()
    #: of the order in which rows are drawn; 0: the constant order of 0.1
    seed: int = 0
    #: of the examples that taught it: those it would know again
    rows: TaughtRows = field(default_factory=TaughtRows)
    #: which part of a whole this is that a task is tried with, one after the other; 0: no part
    portion: int = 0
    #: what is not in this part
    older: tuple[Tree, ...] = ()

    def with_trees(self, new: Iterable[Tree], *, by_feature: bool = False) -> Metafeatures:
        """These and the new ones, their labels dropped, prunings removed.

        ``by_feature`` tells prunings without looking at thresholds, for learners that match so.
        """
        kept = list(self.trees)
        for tree in map(skeleton, new):
            if not isinstance(tree, Node):
                continue
            if any(is_prefix(tree, other, by_feature=by_feature) for other in kept):
                continue
            kept = [other for other in kept if not is_prefix(other, tree, by_feature=by_feature)]
            kept.append(tree)
        return replace(self, trees=tuple(kept))

    def newest(self, n: int) -> Metafeatures:
        """The n that were learned or used last."""
        n = min(n, len(self))
        portion = (n - 1).bit_length() + 1 if n else 1
        kept, older = self.trees[len(self) - n :], self.trees[: len(self) - n]
        return replace(self, trees=kept, portion=portion, older=older)

    @property
    def partial(self) -> bool:
        """More is tried after it."""
        return bool(self.older)

    def with_rows(self, keys: NDArray[np.uint64] | None) -> Metafeatures:
        """These examples have taught it too, by :meth:`thrifty.cells.Cells.row_keys`."""
        return self if keys is None else replace(self, rows=self.rows.with_keys(keys))

    def refreshed(self, model: Tree) -> Metafeatures:
        """Those that the tree is made of are the newest now.

        >>> from thrifty.trees.tree import stump
        >>> known = Metafeatures((stump(1), stump(2), stump(3))).refreshed(stump(2))
        >>> [tree.split.feature for tree in known]
        [1, 3, 2]
        """
        used = newest_used(model, self.trees)
        order = sorted(range(len(self.trees)), key=lambda i: i in used)
        if order == list(range(len(order))):
            return self
        return replace(self, trees=tuple(self.trees[i] for i in order))

    def with_warm_task(self) -> Metafeatures:
        """One more task of the first phase is done."""
        return replace(self, warmed=self.warmed + 1)

    def with_anchors(self, features: Iterable[int]) -> Metafeatures:
        """These features are anchors too."""
        return replace(self, anchors=self.anchors | frozenset(features))

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

    def to_dict(self) -> Json:
        """Plain data, for JSON."""
        data: Json = {"metafeatures": [tree.to_dict() for tree in self.trees]}
        if self.warmed:
            data["warmed"] = self.warmed
        if self.anchors:
            data["anchors"] = sorted(self.anchors)
        if self.seed:
            data["seed"] = self.seed
        if self.rows:
            data["taught_rows"] = self.rows.to_text()
        return data

    @classmethod
    def from_dict(cls, data: JsonLike) -> Metafeatures:
        """The inverse of :meth:`to_dict`."""
        trees = tuple(tree_from_dict(tree) for tree in data["metafeatures"])
        return cls(
            trees,
            int(data.get("warmed", 0)),
            frozenset(data.get("anchors", ())),
            int(data.get("seed", 0)),
            TaughtRows.from_text(data.get("taught_rows", "")),
        )
