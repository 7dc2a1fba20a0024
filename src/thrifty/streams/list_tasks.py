"""Streams of decision-list tasks that share metafeatures.

A metafeature is a short list: a chain of tests, each with one way out and one way on. A target is a
row of metafeatures, its labels drawn afresh. At every test more than half of the examples leave:
were it fewer, a later test would often look better than its own turn. So the number of tests is
bounded by the logarithm of the number of examples. Labels mostly alternate. What greedy learning
still gets wrong is drawn anew.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from thrifty.errors import BadParameter
from thrifty.streams.tree_tasks import TreeStream
from thrifty.trees.tree import EMPTY, Leaf, Node, Path, Split, Tree, affix, depth, features_of

__all__ = ["ListStream", "lists"]

#: the share of the examples at a test that leaves there
_LEAVING = 0.6
_LEAVING_AGAIN = 0.35
_ALTERNATE = 0.8


class ListStream(TreeStream):
    """Tasks whose targets are decision lists made of ``n_metafeatures`` hidden ones.

    ``max_depth`` bounds the tests of a target (fewer where the examples do not suffice);
    metafeatures have 1 to ``metafeature_depth`` tests. Lazy and seeded, as :func:`trees`.

    >>> stream = lists(2, n_features=30, n_metafeatures=2, n_examples=300, max_depth=5)
    >>> [task.X.shape for task in stream]
    [(300, 30), (300, 30)]
    """

    def __init__(self, *shape: int, metafeature_depth: int = 3, **how: Any) -> None:
        super().__init__(*shape, metafeature_depth=metafeature_depth, **how)

    def _most_nodes(self, max_nodes: int | None) -> int:
        if max_nodes is not None:
            raise TypeError("max_nodes is for trees; the tests of a list are its max_depth")
        return self.max_depth

    def _most_tests(self) -> int:
        """Halving the examples at each test must leave enough for the last one."""
        halvings = int(math.log2(max(self.n_examples / self.min_leaf, 2)))
        return max(1, min(self.max_depth, self.max_nodes, halvings))

    def _draw_metafeatures(self, k: int, deepest: int) -> tuple[Tree, ...]:
        """K chains; a feature may occur in several of them, but not twice in one."""
        rng = np.random.default_rng([self.random_state, 0])
        longest = min(deepest, self._most_tests(), self.n_features)
        found: list[Tree] = []
        for _ in range(1000 * k):
            if len(found) == k:
                break
            length = int(rng.integers(1, longest + 1))
            features = rng.choice(self.n_features, length, replace=False).tolist()
            ways = rng.integers(0, 2, length).astype(bool).tolist()
            chain = _chain(features, ways)
            if chain not in found:
                found.append(chain)
        if len(found) < k:
            raise BadParameter(f"{k} lists do not fit into {self.n_features} features.")
        return tuple(found)

    def _draw_target(
        self, rng: np.random.Generator, first: Tree | None
    ) -> tuple[Tree, dict[Path, float]]:
        """A row of metafeatures; which way on from the last test of each is a coin."""
        most = self._most_tests()
        wanted = int(rng.integers(1, most + 1))
        tree: Tree = self.metafeatures[int(rng.integers(len(self.metafeatures)))]
        end = _last_way(tree, bool(rng.integers(2)))
        for _ in range(4 * self.max_depth):
            piece = self.metafeatures[int(rng.integers(len(self.metafeatures)))]
            fits = len(end) + depth(piece) <= most
            if len(end) >= wanted:
                break
            if fits and not features_of(tree) & features_of(piece):
                tree = affix(tree, end, piece)
                end += _last_way(piece, bool(rng.integers(2)))
        return _end_with(tree, end, rng)


def _chain(features: list[int], ways: list[bool]) -> Tree:
    """Tests in order; ``ways[i]`` is the branch that goes on from test i."""
    tree: Tree = EMPTY
    for feature, on in zip(reversed(features), reversed(ways)):
        tree = Node(Split(feature), EMPTY if on else tree, tree if on else EMPTY)
    return tree


def _last_way(chain: Tree, on: bool) -> Path:
    """The way through a chain to one of the two leaves of its last test."""
    path: Path = ()
    while isinstance(chain, Node):
        branch = isinstance(chain.true, Node) or (isinstance(chain.false, Leaf) and on)
        path, chain = (*path, branch), chain.child(branch)
    return path


def _end_with(tree: Tree, end: Path, rng: np.random.Generator) -> tuple[Tree, dict[Path, float]]:
    """Label the ways out, mostly in turn, and weigh them; the last leaf differs from the one
    before it, or the last test would be idle."""
    label, left, again = int(rng.integers(2)), 1.0, False
    labels: dict[Path, int] = {}
    weights: dict[Path, float] = {}
    for i, branch in enumerate(end):
        out = (*end[:i], not branch)
        share = _LEAVING_AGAIN if again else _LEAVING
        labels[out], weights[out] = label, left * share
        left *= 1 - share
        again = i < len(end) - 1 and rng.random() >= _ALTERNATE
        label = label if again else 1 - label
    labels[end], weights[end] = label, left

    def fill(at: Tree, path: Path) -> Tree:
        if isinstance(at, Leaf):
            return Leaf(labels[path])
        return Node(at.split, fill(at.false, (*path, False)), fill(at.true, (*path, True)))

    return fill(tree, ()), weights


lists = ListStream
