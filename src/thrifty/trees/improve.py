"""ImproveRep: which parts of a tree learned from scratch become metafeatures.

Each rule takes the scratch tree and what UseRep had grown when it failed, and names trees to add.
"""

from __future__ import annotations

from collections.abc import Callable

from thrifty.trees.tree import (
    EMPTY,
    Node,
    Path,
    Tree,
    features_of,
    internal_nodes,
    stump,
    subtree,
)
from thrifty.trees.use_rep import Grown

__all__ = ["IMPROVE", "by_features", "by_paths", "first_difference"]


def first_difference(scratch: Tree, grown: Grown) -> Path:
    """Where the grown tree first leaves the scratch tree: along the failing path, or anywhere."""
    here: Tree = scratch
    there: Tree = grown.tree
    for i in range(len(grown.failed_at) + 1):
        if _differ(here, there):
            return grown.failed_at[:i]
        if i < len(grown.failed_at) and isinstance(here, Node) and isinstance(there, Node):
            branch = grown.failed_at[i]
            here, there = here.child(branch), there.child(branch)
    for path, node in internal_nodes(scratch):
        if _differ(node, _at_or_empty(grown.tree, path)):
            return path
    return ()


def _differ(a: Tree, b: Tree) -> bool:
    if isinstance(a, Node) and isinstance(b, Node):
        return a.split != b.split
    return isinstance(a, Node) or isinstance(b, Node)


def _at_or_empty(tree: Tree, path: Path) -> Tree:
    for branch in path:
        if not isinstance(tree, Node):
            return EMPTY
        tree = tree.child(branch)
    return tree


def by_paths(scratch: Tree, grown: Grown) -> list[Tree]:
    """Algorithm 3: the subtrees at every node from the root down to the first difference.

    Nodes below it are not needed: were all true metafeatures rooted above it known, that node
    would have been grown right. At most d subtrees a failure, so |F~| <= K d and at most K tasks
    are learned from scratch.
    """
    v = first_difference(scratch, grown)
    return [subtree(scratch, v[:i]) for i in range(len(v) + 1)]


def by_features(scratch: Tree, grown: Grown) -> list[Tree]:
    """The naive baseline: remember which features were seen, as one-split metafeatures."""
    return [stump(feature) for feature in sorted(features_of(scratch))]


IMPROVE: dict[str, Callable[[Tree, Grown], list[Tree]]] = {
    "paths": by_paths,
    "features": by_features,
}
