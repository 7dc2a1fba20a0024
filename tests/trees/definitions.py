"""The paper's definitions, word for word: what the quicker ways of the library are held against."""

from collections.abc import Iterable

from thrifty.trees.tree import EMPTY, Leaf, Node, Path, Split, Tree, subtree


def conflict(tree: Tree, at: Path, to: Path, other: Tree) -> bool:
    """Lay the root of ``other`` on position ``at``: do they disagree above position ``to``?"""
    here, there = subtree(tree, at), other
    for branch in to[len(at) :]:
        if isinstance(here, Node) and isinstance(there, Node) and here.split != there.split:
            return True
        here = subtree(here, (branch,))
        there = there.child(branch) if isinstance(there, Node) else EMPTY
    return False


def induce(tree: Tree, at: Path, to: Path, other: Tree) -> Split | None:
    """The split that ``other``, its root laid on ``at``, has at position ``to``; None if none."""
    for branch in to[len(at) :]:
        if not isinstance(other, Node):
            return None
        other = other.child(branch)
    return other.split if isinstance(other, Node) else None


def is_grown_from(tree: Tree, metafeatures: Iterable[Tree]) -> bool:
    """Membership in DT(F): can affix and label grow the tree from these metafeatures?"""
    pieces = [f for f in metafeatures if isinstance(f, Node)]

    def covered(at: Tree) -> bool:
        return isinstance(at, Leaf) or any(lies(at, f) for f in pieces)

    def lies(at: Tree, piece: Tree) -> bool:
        if isinstance(piece, Leaf):
            return covered(at) if piece == EMPTY else piece == at
        return (
            isinstance(at, Node)
            and at.split == piece.split
            and lies(at.false, piece.false)
            and lies(at.true, piece.true)
        )

    return covered(tree)


def is_grown_from_prefixes(tree: Tree, metafeatures: Iterable[Tree]) -> bool:
    """Membership in DT(Pref(F)): as :func:`is_grown_from`, with every pruning allowed."""
    pieces = [f for f in metafeatures if isinstance(f, Node)]

    def covered(at: Tree) -> bool:
        return isinstance(at, Leaf) or any(matches(at, f) for f in pieces)

    def matches(at: Node, piece: Node) -> bool:
        return at.split == piece.split and all(
            follows(at.child(branch), piece.child(branch)) for branch in (False, True)
        )

    def follows(at: Tree, piece: Tree) -> bool:
        # Pruning the piece here leaves an empty leaf, where another piece may start.
        return covered(at) or (
            isinstance(at, Node) and isinstance(piece, Node) and matches(at, piece)
        )

    return covered(tree)
