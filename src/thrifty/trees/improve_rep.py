"""ImproveRep: which parts of a tree learned from scratch become metafeatures.

Each rule takes the representation, the scratch tree and what UseRep had grown when it failed, and
gives the trees to add. Which rule fits depends on what is believed of the hidden metafeatures:
nothing (paths), or that their roots occur nowhere else (anchors, anchored families).

Anchors are features that stand at the root of metafeatures and nowhere else. Once they are known, a
tree falls apart into its metafeatures by cutting it at every anchor.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from thrifty.errors import BadParameter
from thrifty.trees.representation import Metafeatures
from thrifty.trees.tree import EMPTY, Leaf, Node, Path, Split, Tree, internal_nodes, subtree
from thrifty.trees.use_rep import Grown


def first_difference(scratch: Tree, grown: Grown) -> Path:
    """Where the grown tree first leaves the scratch tree: along the failing path, or anywhere.

    A node that was not grown yet, because the attempt stopped at a bound, is no difference: what is
    stored must be the path to a node that was grown and is wrong, or the failure teaches nothing
    new and Theorem 1 fails. Only where every grown node is right, so that the scratch tree itself
    exceeds the bound, it is the node at which growing stopped. Thresholds count: a split at
    another place sends other rows down.
    """
    failed_at = grown.failed_at
    on_the_way = [failed_at[:i] for i in range(len(failed_at))]
    everywhere = [path for path, _node in internal_nodes(grown.tree)]
    if not grown.at_a_bound:
        on_the_way.append(failed_at)
    for path in (*on_the_way, *everywhere):
        if _split_at(scratch, path) != _split_at(grown.tree, path):
            return path
    return () if _split_at(scratch, failed_at) is None else failed_at


def _split_at(tree: Tree, path: Path) -> Split | None:
    """The split at a position; None where a leaf is, there or above."""
    for branch in path:
        if not isinstance(tree, Node):
            return None
        tree = tree.child(branch)
    return tree.split if isinstance(tree, Node) else None


def by_paths(known: Metafeatures, scratch: Tree, grown: Grown) -> list[Tree]:
    """Algorithm 3: the subtrees at every node from the root down to the first difference.

    Nodes below it are not needed: were all true metafeatures rooted above it known, that node
    would have been grown right. At most d subtrees a failure, so |F~| <= K d and at most K tasks
    are learned from scratch.
    """
    v = first_difference(scratch, grown)
    return [subtree(scratch, v[:i]) for i in range(len(v) + 1)]


def by_features(known: Metafeatures, scratch: Tree, grown: Grown) -> list[Tree]:
    """The naive baseline: remember which features were seen, as one-split metafeatures.

    Thresholds are kept, for learners that match by them.
    """
    seen = {node.split for _, node in internal_nodes(scratch)}
    ordered = sorted(seen, key=lambda split: (split.feature, split.threshold or 0.0))
    return [Node(split, EMPTY, EMPTY) for split in ordered]


def by_anchors(known: Metafeatures, scratch: Tree, grown: Grown) -> list[Tree]:
    """The one subtree at the first difference (paper, decision trees with anchor variables).

    Where every true metafeature has a root variable that occurs nowhere else, the node at which
    the grown tree goes wrong is such a root, and of one not yet known. So |F~| <= K and at most K
    tasks are learned from scratch. For lists this is their one suffix.
    """
    return [subtree(scratch, first_difference(scratch, grown))]


def by_families(known: Metafeatures, scratch: Tree, grown: Grown) -> list[Tree]:
    """The pieces between anchors (paper, overcomplete representations).

    When every anchor is known the pieces are true metafeatures, and a failure adds at least one
    new one of the K1 K2 there are. A first phase makes them known (:class:`~thrifty.trees.WarmUp`).
    """
    return cut_at(scratch, known.anchors)


Improvement = Callable[[Metafeatures, Tree, Grown], list[Tree]]
IMPROVE: dict[str, Improvement] = {
    "paths": by_paths,
    "anchors": by_anchors,
    "anchored-families": by_families,
    "features": by_features,
}


def improvement_named(rule: str | Improvement) -> Improvement:
    """The rule of that name, or the user's own function."""
    if callable(rule):
        return rule
    try:
        return IMPROVE[rule]
    except (KeyError, TypeError):
        raise BadParameter(
            f"improve must be one of {sorted(IMPROVE)} or a function (known, scratch, grown) -> "
            f"trees; got {rule!r}."
        ) from None


def improved(
    rule: str | Improvement,
    metafeatures: Metafeatures,
    scratch: Tree,
    grown: Grown | None,
    *,
    by_feature: bool = False,
) -> Metafeatures:
    """The representation after a task that was learned from scratch."""
    if rule == "anchored-families" and isinstance(scratch, Node):
        metafeatures = metafeatures.with_anchors([scratch.split.feature])
    failed = grown if grown is not None else Grown(EMPTY, ())
    new = improvement_named(rule)(metafeatures, scratch, failed)
    return metafeatures.with_trees(new, by_feature=by_feature)


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
