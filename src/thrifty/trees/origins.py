"""Which metafeature each node of a tree came from, and how often each one was used.

A tree in DT(Pref(F~)) is made of prunings of metafeatures. Often several explain the same node; one
way of covering the tree is told: a metafeature, once laid, goes on for as long as it agrees, and
where a new one must be laid it is the one that explains the most nodes from there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from thrifty.trees.tree import Leaf, Node, Path, Tree, same_split

__all__ = ["Origin", "newest_used", "origins", "uses"]


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


def uses(
    trees: Iterable[Tree], metafeatures: Iterable[Tree], *, by_feature: bool = True
) -> list[int]:
    """How often each metafeature was laid down in these trees.

    >>> from thrifty.trees.tree import affix, stump
    >>> uses([affix(stump(1), (True,), stump(2)), stump(2)], [stump(2), stump(7)])
    [2, 0]
    """
    known = list(metafeatures)
    counts = [0] * len(known)
    for tree in trees:
        for origin in set(origins(tree, known, by_feature=by_feature).values()):
            counts[origin.metafeature] += 1
    return counts


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
