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
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

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


def _none() -> Keys:
    return np.zeros(0, dtype=np.uint64)


@dataclass(frozen=True, eq=False)
class TaughtRows:
    """Keys of examples, sorted.

    >>> taught = TaughtRows().with_keys(np.array([5, 9], dtype=np.uint64))
    >>> taught.share_any(np.array([1, 9], dtype=np.uint64))
    True
    >>> taught.share_any(np.array([1, 8], dtype=np.uint64))
    False
    >>> TaughtRows.from_text(taught.to_text()) == taught
    True
    """

    keys: Keys = field(default_factory=_none)

    def with_keys(self, keys: Keys) -> TaughtRows:
        """These examples too."""
        kept_whole, one_in = 4_096, 16  # of more rows than these, one in so many
        new = _distinct(keys)
        often = np.searchsorted(new, np.uint64(2**64 // one_in))
        kept = new[: max(kept_whole, int(often))]
        return TaughtRows(_distinct(np.concatenate([self.keys, kept])))

    def share_any(self, keys: Keys) -> bool:
        """Whether one of these examples is among them."""
        if not len(self.keys):
            return False
        asked = keys[keys <= self.keys[-1]]  # few, where only the lowest of many are kept
        return bool((self.keys[np.searchsorted(self.keys, asked)] == asked).any())

    def __len__(self) -> int:
        return len(self.keys)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TaughtRows) and np.array_equal(self.keys, other.keys)

    def __hash__(self) -> int:
        return hash(self.keys.tobytes())

    def to_text(self) -> str:
        """For JSON."""
        return base64.b64encode(self.keys.astype("<u8").tobytes()).decode("ascii")

    @classmethod
    def from_text(cls, text: str) -> TaughtRows:
        """The inverse of :meth:`to_text`."""
        return cls(np.frombuffer(base64.b64decode(text), dtype="<u8").astype(np.uint64))


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


@dataclass(frozen=True, slots=True)
class Origin:
    """Metafeature ``metafeature`` (its index), its root laid on the position ``laid_on``."""

    metafeature: int
    laid_on: Path


_Laid = tuple[Origin, Node]


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
    roots = [(i, f) for i, f in enumerate(metafeatures) if isinstance(f, Node)]
    found: dict[Path, Origin] = {}

    def agrees(piece: Node, at: Node) -> bool:
        return same_split(piece.split, at.split, by_feature=by_feature)

    def overlap(piece: Tree, at: Tree) -> int:
        if isinstance(piece, Leaf) or isinstance(at, Leaf) or not agrees(piece, at):
            return 0
        return 1 + overlap(piece.false, at.false) + overlap(piece.true, at.true)

    def walk(at: Tree, path: Path, carried: Sequence[_Laid], above: Origin | None) -> None:
        if isinstance(at, Leaf):
            return
        fresh = [(Origin(i, path), f) for i, f in roots]
        agreeing = [laid for laid in (*carried, *fresh) if agrees(laid[1], at)]
        chosen = None
        if agreeing:
            going_on = [origin for origin, _ in agreeing if origin == above]
            best = max(agreeing, key=lambda laid: overlap(laid[1], at))  # the first of equals
            chosen = found[path] = going_on[0] if going_on else best[0]
        for branch in (False, True):
            below = [(origin, piece.child(branch)) for origin, piece in agreeing]
            carry = [(origin, piece) for origin, piece in below if isinstance(piece, Node)]
            walk(at.child(branch), (*path, branch), carry, chosen)

    walk(tree, (), (), None)
    return found


def newest_used(tree: Tree, metafeatures: Sequence[Tree]) -> set[int]:
    """The metafeatures of the covering that takes the last possible one at every node.

    >>> from thrifty.trees.tree import affix, stump
    >>> newest_used(affix(stump(1), (True,), stump(2)), [stump(1), stump(7), stump(2), stump(1)])
    {2, 3}
    """
    roots = [(i, f) for i, f in enumerate(metafeatures) if isinstance(f, Node)]
    used: set[int] = set()
    stack: list[tuple[Tree, list[tuple[int, Node]]]] = [(tree, [])]
    while stack:
        at, carried = stack.pop()
        if not isinstance(at, Node):
            continue
        agreeing = [
            (i, piece) for i, piece in (*carried, *roots) if piece.split.feature == at.split.feature
        ]
        if agreeing:
            used.add(max(i for i, _ in agreeing))
        for branch in (False, True):
            below = [(i, piece.child(branch)) for i, piece in agreeing]
            stack.append((at.child(branch), [(i, p) for i, p in below if isinstance(p, Node)]))
    return used
