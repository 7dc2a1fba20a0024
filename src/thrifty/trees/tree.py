"""Incomplete decision trees: immutable values that can be grown, pruned and laid over one another.

A tree is a :class:`Leaf` or a :class:`Node`. A leaf without a label is *empty*: more tree may be
hung there, or a leaf with a label (:func:`affix`); DT(F) is all that these two grow from the
metafeatures F, and Pref(f) every pruning of f (paper, Section 2). A position is the path to it: a
tuple of branches, False for the false child and True for the true child.

A row that lacks the value it is asked for: ``missing="error"``, the default: NaN is refused when
the data come in. ``missing="larger-child"``: such a row follows the larger child, in learning (of
the rows at the node that have the value) and in predicting (of the training rows); the false child
of two equals. A price is paid for asking, whether or not the answer is NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from thrifty.errors import BadInput, BadParameter, NotInFamily
from thrifty.html import pre_html
from thrifty.typing import Json, JsonLike

Path = tuple[bool, ...]

#: features that a tree may name
_LARGEST = 2**31
#: deeper trees are refused: they are nested values, and printing, comparing or storing them takes a
#: few stack frames for every test
MOST_DEPTH = 300


@dataclass(frozen=True, slots=True, order=True)
class Split:
    """The question at a node: is the feature true, or is it at least the threshold?"""

    feature: int
    threshold: float | None = None

    @property
    def cut(self) -> float:
        """The threshold; of a Boolean feature one half."""
        return 0.5 if self.threshold is None else self.threshold

    def text(self, names: Callable[[int], str]) -> str:
        name = names(self.feature)
        return name if self.threshold is None else f"{name} >= {self.threshold:g}"


class _Shown:
    __slots__ = ()

    def __str__(self) -> str:
        return tree_text(cast(Tree, self))

    def _repr_html_(self) -> str:
        """For notebooks."""
        return pre_html(str(self))


@dataclass(frozen=True, slots=True)
class Leaf(_Shown):
    """Where a path ends. ``label`` None: empty. ``counts``: training rows per class, if known."""

    #: a class's code while a tree is learned, a class of its user after
    label: Any = None
    counts: tuple[float, ...] | None = field(default=None, compare=False)

    def to_dict(self) -> Json:
        """``{"label": y}``; an empty leaf is ``{}``."""
        data: Json = {} if self.label is None else {"label": self.label}
        if self.counts is not None:
            data["counts"] = list(self.counts)
        return data


@dataclass(frozen=True, slots=True)
class Node(_Shown):
    """A split and what hangs below it.

    >>> print(Node(Split(3), Leaf(0), Node(Split(7), Leaf(1), Leaf(0))))
    x3?
    ├─ no: 0
    └─ yes: x7?
       ├─ no: 1
       └─ yes: 0
    """

    split: Split
    false: Tree
    true: Tree

    def child(self, branch: bool) -> Tree:
        return self.true if branch else self.false

    def to_dict(self) -> Json:
        """``{"feature": i, "false": {...}, "true": {...}}``, with "threshold" where it has one."""
        data: Json = {"feature": self.split.feature}
        if self.split.threshold is not None:
            data["threshold"] = self.split.threshold
        return {**data, "false": self.false.to_dict(), "true": self.true.to_dict()}


Tree = Leaf | Node
EMPTY = Leaf()


def tree_from_dict(data: JsonLike) -> Tree:
    """The inverse of ``to_dict``.

    >>> tree_from_dict({"feature": 2, "false": {"label": 0}, "true": {}})
    Node(split=Split(feature=2, threshold=None), false=Leaf(label=0, counts=None), true=Leaf(label=None, counts=None))
    """  # noqa: E501
    if "feature" not in data:
        counts = data.get("counts")
        return Leaf(data.get("label"), None if counts is None else tuple(counts))
    if not {"false", "true"} <= set(data):
        raise BadInput(f"a node needs the keys 'feature', 'false' and 'true'; got {sorted(data)}.")
    split = Split(data["feature"], data.get("threshold"))
    if type(split.feature) is not int or not 0 <= split.feature < _LARGEST:
        raise BadInput(f"the feature of a node is its place, from 0; got {split.feature!r:.80}.")
    if split.threshold is not None and not math.isfinite(split.threshold):
        raise BadInput(f"a threshold is a number; got {split.threshold!r}.")
    return Node(split, tree_from_dict(data["false"]), tree_from_dict(data["true"]))


def tree_text(
    tree: Tree,
    names: Callable[[int], str] = lambda i: f"x{i}",
    notes: Callable[[Path], str] = lambda path: "",
) -> str:
    """The tree as indented text; an empty leaf prints as a dot. ``notes`` follow the splits."""
    lines: list[str] = []

    def write(at: Tree, path: Path, head: str, tail: str) -> None:
        if isinstance(at, Leaf):
            lines.append(head + ("·" if at.label is None else str(at.label)))
            return
        lines.append(f"{head}{at.split.text(names)}?{notes(path)}")
        write(at.false, (*path, False), f"{tail}├─ no: ", f"{tail}│  ")
        write(at.true, (*path, True), f"{tail}└─ yes: ", f"{tail}   ")

    write(tree, (), "", "")
    return "\n".join(lines)


def internal_nodes(tree: Tree) -> Iterator[tuple[Path, Node]]:
    """Every internal node with its path, parents first, false branch first."""
    stack: list[tuple[Path, Tree]] = [((), tree)]
    while stack:
        path, at = stack.pop()
        if isinstance(at, Node):
            yield path, at
            stack.append(((*path, True), at.true))
            stack.append(((*path, False), at.false))


def depth(tree: Tree) -> int:
    """Edges on the longest path: 0 for a leaf."""
    return max((len(path) + 1 for path, _ in internal_nodes(tree)), default=0)


def size(tree: Tree) -> int:
    """Number of internal nodes."""
    return sum(1 for _ in internal_nodes(tree))


def features_of(tree: Tree) -> set[int]:
    """The features that the tree may ask for."""
    return {node.split.feature for _, node in internal_nodes(tree)}


def subtree(tree: Tree, path: Iterable[bool]) -> Tree:
    """What hangs at a position."""
    for branch in path:
        if not isinstance(tree, Node):
            raise BadInput(f"the tree has no node at {tuple(path)}: it ends in a leaf before.")
        tree = tree.child(branch)
    return tree


def _replace(tree: Tree, path: Path, new: Tree) -> Tree:
    if not path:
        return new
    if not isinstance(tree, Node):
        raise BadInput(f"the tree ends in a leaf before {path}.")
    if path[0]:
        return Node(tree.split, tree.false, _replace(tree.true, path[1:], new))
    return Node(tree.split, _replace(tree.false, path[1:], new), tree.true)


def affix(tree: Tree, path: Path, other: Tree) -> Tree:
    """Hang another tree, or a leaf with its label, at an empty leaf (paper: affix, label).

    >>> print(affix(stump(1), (True,), stump(2)))
    x1?
    ├─ no: ·
    └─ yes: x2?
       ├─ no: ·
       └─ yes: ·
    """
    if (at := subtree(tree, path)) != EMPTY:
        raise BadInput(f"expected an empty leaf at {path}; there is {at!r}.")
    return _replace(tree, path, other)


def stump(feature: int) -> Node:
    """One split and two empty leaves."""
    return Node(Split(feature), EMPTY, EMPTY)


def skeleton(tree: Tree) -> Tree:
    """The same splits with every leaf empty: what a metafeature is."""
    if isinstance(tree, Leaf):
        return EMPTY
    return Node(tree.split, skeleton(tree.false), skeleton(tree.true))


def relabel(tree: Tree, labels: Callable[[Any], object]) -> Tree:
    """The same tree with every label translated."""
    if isinstance(tree, Leaf):
        return tree if tree.label is None else Leaf(labels(tree.label), tree.counts)
    return Node(tree.split, relabel(tree.false, labels), relabel(tree.true, labels))


def build(splits: Mapping[Path, Split], leaves: Mapping[Path, Leaf]) -> Tree:
    """A tree from its splits and leaves by position; positions not named are empty."""
    deepest = max(map(len, splits), default=0) + 1
    if deepest > MOST_DEPTH:
        raise NotInFamily(
            f"the tree would be {deepest} tests deep; at most {MOST_DEPTH} are kept. Labels that "
            "need so many are mostly noise: bound max_depth, or learn with thrifty.Models()."
        )

    def at(path: Path) -> Tree:
        if path not in splits:
            return leaves.get(path, EMPTY)
        return Node(splits[path], at((*path, False)), at((*path, True)))

    return at(())


def same_split(a: Split, b: Split, *, by_feature: bool) -> bool:
    """Whether two splits ask the same; ``by_feature``, whether they ask of the same feature."""
    return a.feature == b.feature if by_feature else a == b


def is_prefix(small: Tree, large: Tree, *, by_feature: bool = False) -> bool:
    """Whether ``small`` is a pruning of ``large``: in Pref(large), or equal to it.

    >>> low, high = Node(Split(1, 0.2), EMPTY, EMPTY), Node(Split(1, 0.9), EMPTY, EMPTY)
    >>> is_prefix(low, high), is_prefix(low, high, by_feature=True)
    (False, True)
    """
    if isinstance(small, Leaf):
        return small in (EMPTY, large)
    return (
        isinstance(large, Node)
        and same_split(small.split, large.split, by_feature=by_feature)
        and is_prefix(small.false, large.false, by_feature=by_feature)
        and is_prefix(small.true, large.true, by_feature=by_feature)
    )


MISSING = ("error", "larger-child")


def allows_missing(missing: object) -> bool:
    """Whether NaN may come in; refuse an unknown rule."""
    if missing not in MISSING:
        raise BadParameter(f"missing must be one of {list(MISSING)}; got {missing!r}.")
    return missing == "larger-child"
