"""A stream posed against d: every failure makes the whole path above it new roots.

The bound of Theorem 1 has a d because a failure at depth d stores d subtrees. On random streams
most are prunings of others, and about K remain. Here they are not: half of
the K metafeatures are chains of d - 1 features that occur nowhere else, the others single features.
Each chain is posed alone first, and then with a new single feature below its last split, so that
UseRep follows the whole chain before it fails. Each of its d subtrees then has a root of its own,
K d / 2 in all, and every later task compares all of them at its first node.
"""

from __future__ import annotations

import numpy as np

from thrifty.errors import BadParameter
from thrifty.streams.task import Task
from thrifty.streams.tree_tasks import TreeStream, lean
from thrifty.trees.tree import EMPTY, Node, Path, Split, Tree, affix, stump

__all__ = ["DeepStream", "deep"]


class DeepStream(TreeStream):
    """Tree tasks of depth d in the order that makes the representation K d / 2 subtrees large.

    ``n_metafeatures`` must be even, and ``n_features`` at least K d / 2.

    >>> stream = deep(5, n_features=40, n_metafeatures=2, n_examples=400, max_depth=3)
    >>> [len(task.target.to_dict()["true"]) > 1 or len(task.target.to_dict()["false"]) > 1
    ...  for task in stream]
    [True, True, True, True, True]
    """

    def __init__(self, *shape: int, gain: str = "entropy", **how: int) -> None:
        fixed = {"max_nodes", "metafeature_depth"} & set(how)
        if fixed:
            raise TypeError(f"{min(fixed)} follows from max_depth in a deep stream")
        super().__init__(*shape, gain=gain, **how)

    def _most_nodes(self, max_nodes: int | None) -> int:
        return self.max_depth

    def _deepest(self, metafeature_depth: int) -> int:
        return max(1, self.max_depth - 1)

    def _draw_metafeatures(self, k: int, deepest: int) -> tuple[Tree, ...]:
        if k % 2 or k // 2 * (deepest + 1) > self.n_features or self.max_depth < 2:
            raise BadParameter(
                "a deep stream needs an even number of metafeatures, max_depth of 2 or more, and "
                f"K d / 2 features; got K = {k}, d = {self.max_depth}, N = {self.n_features}."
            )
        rng = np.random.default_rng([self.random_state, 0])
        order = rng.permutation(self.n_features).tolist()
        chains = [_chain(order[i * deepest : (i + 1) * deepest]) for i in range(k // 2)]
        singles = order[k // 2 * deepest : k // 2 * (deepest + 1)]
        return (*chains, *map(stump, singles))

    def __getitem__(self, i: int) -> Task:
        self._at = i
        return super().__getitem__(i)

    def _draw_target(
        self, rng: np.random.Generator, first: Tree | None
    ) -> tuple[Tree, dict[Path, float]]:
        half, i = len(self.metafeatures) // 2, self._at
        chain, single = i % half, i % half
        if i >= 2 * half:
            chain, single = (int(x) for x in rng.integers(half, size=2))
        tree = self.metafeatures[chain]
        if i >= half:
            tree = affix(tree, (True,) * (self.max_depth - 1), self.metafeatures[half + single])
        return lean(tree, int(rng.integers(2)), 1.0, (), rng)


def _chain(features: list[int]) -> Tree:
    """Each next feature on the true side of the one before."""
    tree: Tree = EMPTY
    for feature in reversed(features):
        tree = Node(Split(feature), EMPTY, tree)
    return tree


deep = DeepStream
