"""The representation of trees: metafeatures, kept few.

A metafeature that is a pruning of another adds nothing to DT(Pref(F~)), so only the larger one is
kept: the guarantee is unchanged and every later task is cheaper.

Beside the trees a representation remembers how many tasks of a first phase it has seen, and the
anchors found so far; both stay empty for rules that need neither.

It remembers the examples that it was fitted to, enough of them to know when they come again: all
where they are few, and one in sixteen of many, chosen by their keys: the same ones are chosen
wherever they come, so that a task which brings some of them is found out by one match. Of 4,096 and
fewer none is missed; of more, a task that shares n rows is missed with probability (15 / 16)^n.

Origins say which metafeature each node of a tree came from. A tree in DT(Pref(F~)) is made of
prunings of metafeatures. Often several explain the same node; one way of covering the tree is told:
a metafeature, once laid, goes on for as long as it agrees, and where a new one must be laid it is
the one that explains the most nodes from there.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from thrifty.trees.tree import (
    Leaf,
    Node,
    Path,
    Tree,
    internal_nodes,
    is_prefix,
    same_split,
    skeleton,
    tree_from_dict,
    tree_text,
)
from thrifty.typing import Json, JsonLike

Keys = NDArray[np.uint64]


def _distinct(keys: Keys) -> Keys:
    """Sorted, each once. ``np.unique`` hashes first and sorts then: sorting alone is faster."""
    ascending = np.sort(keys)
    first = np.ones(len(ascending), dtype=np.bool_)
    first[1:] = ascending[1:] != ascending[:-1]
    return ascending[first]


def with_keys(taught: bytes, keys: Keys) -> bytes:
    """Keys of examples that taught, sorted, and of these too; see :func:`share_any`."""
    kept_whole, one_in = 4_096, 16  # of more rows than these, one in so many
    new = _distinct(keys)
    often = np.searchsorted(new, np.uint64(2**64 // one_in))
    kept = new[: max(kept_whole, int(often))]
    return _distinct(np.concatenate([np.frombuffer(taught, "<u8"), kept])).astype("<u8").tobytes()


def share_any(taught: bytes, keys: Keys) -> bool:
    """Whether one of these examples is among those that taught.

    >>> taught = with_keys(b"", np.array([5, 9], dtype=np.uint64))
    >>> [share_any(taught, np.array([1, other], dtype=np.uint64)) for other in (9, 8)]
    [True, False]
    """
    known = np.frombuffer(taught, "<u8")
    if not len(known):
        return False
    asked = keys[keys <= known[-1]]  # few, where only the lowest of many are kept
    return bool((known[np.searchsorted(known, asked)] == asked).any())


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
    rows: bytes = b""
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
        return self if keys is None else replace(self, rows=with_keys(self.rows, keys))

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

    @property
    def max_feature(self) -> int:
        """The largest feature that it names; -1: none."""
        named = (node.split.feature for tree in self.trees for _, node in internal_nodes(tree))
        return max(*named, *self.anchors, -1, -1)

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
            data["taught_rows"] = base64.b64encode(self.rows).decode("ascii")
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
            base64.b64decode(data.get("taught_rows", "")),
        )


@dataclass(frozen=True, slots=True)
class Origin:
    """Metafeature ``metafeature`` (its index), its root laid on the position ``laid_on``."""

    metafeature: int
    laid_on: Path


#: (metafeature, where its root was laid, its piece at the node)
_Laid = tuple[int, Path, Node]


def _laid(
    tree: Tree, metafeatures: Iterable[Tree], by_feature: bool
) -> Iterator[tuple[Path, Node, list[_Laid]]]:
    """Every node of a tree, parents first, with the pieces of metafeatures that agree there."""
    roots = [(i, f) for i, f in enumerate(metafeatures) if isinstance(f, Node)]
    stack: list[tuple[Path, Tree, list[_Laid]]] = [((), tree, [])]
    while stack:
        path, at, carried = stack.pop()
        if not isinstance(at, Node):
            continue
        fresh = ((i, path, f) for i, f in roots)
        agreeing = [
            laid
            for laid in (*carried, *fresh)
            if same_split(laid[2].split, at.split, by_feature=by_feature)
        ]
        yield path, at, agreeing
        for branch in (True, False):
            below = ((i, root, piece.child(branch)) for i, root, piece in agreeing)
            on = [(i, root, piece) for i, root, piece in below if isinstance(piece, Node)]
            stack.append(((*path, branch), at.child(branch), on))


def origins(
    tree: Tree, metafeatures: Iterable[Tree], *, by_feature: bool = True
) -> dict[Path, Origin]:
    """The origin of every node that a metafeature explains; nodes learned anew are left out.

    ``by_feature`` lets splits agree whose thresholds differ, as ``match="feature"`` does.

    >>> from thrifty.trees.tree import affix, stump
    >>> tree = affix(stump(1), (True,), stump(2))
    >>> origins(tree, [stump(2), stump(7)])
    {(True,): Origin(metafeature=0, laid_on=(True,))}
    """
    found: dict[Path, Origin] = {}

    def overlap(piece: Tree, at: Tree) -> int:
        if isinstance(piece, Leaf) or isinstance(at, Leaf):
            return 0
        if not same_split(piece.split, at.split, by_feature=by_feature):
            return 0
        return 1 + overlap(piece.false, at.false) + overlap(piece.true, at.true)

    for path, node, agreeing in _laid(tree, metafeatures, by_feature):
        above = found.get(path[:-1]) if path else None
        if above in [Origin(i, root) for i, root, _ in agreeing]:
            found[path] = above
        elif agreeing:
            i, root, _ = max(agreeing, key=lambda laid: overlap(laid[2], node))  # first of equals
            found[path] = Origin(i, root)
    return found


def newest_used(tree: Tree, metafeatures: Iterable[Tree]) -> set[int]:
    """The metafeatures of the covering that takes the last possible one at every node.

    >>> from thrifty.trees.tree import affix, stump
    >>> newest_used(affix(stump(1), (True,), stump(2)), [stump(1), stump(7), stump(2), stump(1)])
    {2, 3}
    """
    every = (agreeing for _, _, agreeing in _laid(tree, metafeatures, by_feature=True))
    return {max(i for i, _, _ in some) for some in every if some}
