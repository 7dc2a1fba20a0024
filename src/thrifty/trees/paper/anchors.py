"""Anchors: features that stand at the root of metafeatures and nowhere else.

Once they are known, a tree falls apart into its metafeatures by cutting it at every anchor.
"""

from __future__ import annotations

from collections.abc import Collection

from thrifty.trees.tree import EMPTY, Leaf, Node, Tree

__all__ = ["cut_at", "recut"]


def cut_at(tree: Tree, anchors: Collection[int]) -> list[Tree]:
    """The pieces of a tree, each rooted at the tree's root or at an anchor, in reading order.

    >>> from thrifty.trees.tree import affix, features_of, stump
    >>> tree = affix(affix(stump(1), (True,), stump(2)), (True, False), stump(3))
    >>> [sorted(features_of(piece)) for piece in cut_at(tree, {1, 3})]
    [[1, 2], [3]]
    """
    pieces: list[Tree] = []

    def piece_at(at: Node) -> Node:
        sides = (below(at.child(branch)) for branch in (False, True))
        return Node(at.split, *sides)

    def below(at: Tree) -> Tree:
        if isinstance(at, Leaf):
            return EMPTY
        if at.split.feature in anchors:
            cut(at)
            return EMPTY
        return piece_at(at)

    def cut(at: Node) -> None:
        slot = len(pieces)
        pieces.append(EMPTY)  # keep the place: pieces below are found while this one is copied
        pieces[slot] = piece_at(at)

    if isinstance(tree, Node):
        cut(tree)
    return pieces


def recut(trees: Collection[Tree], anchors: Collection[int]) -> list[Tree]:
    """All pieces of several trees, once each."""
    found: list[Tree] = []
    for tree in trees:
        found += [piece for piece in cut_at(tree, anchors) if piece not in found]
    return found
