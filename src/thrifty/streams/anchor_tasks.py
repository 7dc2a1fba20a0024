"""Streams with anchors: every metafeature, or every family of them, has a root of its own.

Which metafeature (or family) is on top of a target is drawn first and kept while the rest of the
target is drawn anew, so that each is on top with probability exactly 1 / K: the p_min of the
semi-adversarial models.

Streams of decision-list tasks that share metafeatures.

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

from thrifty.checks import whole_number
from thrifty.errors import BadParameter
from thrifty.streams.tree_tasks import TreeStream, chain_of, draw_shape, with_features
from thrifty.trees.tree import (
    Leaf,
    Node,
    Path,
    Tree,
    affix,
    build,
    depth,
    features_of,
    internal_nodes,
    size,
    stump,
    subtree,
)


class FamilyStream(TreeStream):
    """Tree tasks over ``n_families`` families of ``per_family`` metafeatures each.

    ``families`` holds the metafeatures by anchor. The members of a family have one shape and one
    root variable, the anchor, and differ in their other variables; an anchor occurs nowhere else.
    Each anchor is on top of a target with
    probability 1 / ``n_families``; at most ``max_per_path`` metafeatures lie on one path.

    >>> stream = anchored_families(2, 60, n_families=2, per_family=3, n_examples=400, max_depth=4)
    >>> len(stream.metafeatures), [task.X.shape for task in stream]
    (6, [(400, 60), (400, 60)])
    """

    def __init__(
        self,
        n_tasks: int,
        n_features: int,
        n_families: int,
        per_family: int,
        n_examples: int,
        max_depth: int,
        random_state: int = 0,
        *,
        max_per_path: int = 2,
        **how: Any,
    ) -> None:
        self.per_family = whole_number("per_family", per_family)
        self.max_per_path = whole_number("max_per_path", max_per_path)
        self.families: dict[int, list[Tree]] = {}
        super().__init__(
            n_tasks, n_features, n_families, n_examples, max_depth, random_state, **how
        )

    def _draw_metafeatures(self, k: int, deepest: int) -> tuple[Tree, ...]:
        rng = np.random.default_rng([self.random_state, 0])
        order = rng.permutation(self.n_features).tolist()
        roots, pool = order[:k], order[k:]
        if len(pool) < max(2**deepest - 2, self.per_family):
            raise BadParameter(
                f"{k} anchors with {self.per_family} metafeatures each do not fit into "
                f"{self.n_features} features."
            )
        for root in roots:
            shape = _shape(deepest, rng)
            members: list[Tree] = []
            while len(members) < (self.per_family if size(shape) > 1 else 1):
                member = _member(shape, root, pool, rng)
                if member not in members:
                    members.append(member)
            self.families[root] = members
        return tuple(member for members in self.families.values() for member in members)

    def _draw_first(self, rng: np.random.Generator) -> Tree:
        members = self.families[list(self.families)[int(rng.integers(len(self.families)))]]
        return members[int(rng.integers(len(members)))]

    def _may_hang(self, tree: Tree, path: Path, piece: Tree) -> bool:
        on_path = 0
        for i in range(len(path)):
            node = subtree(tree, path[:i])
            on_path += isinstance(node, Node) and node.split.feature in self.families
        return on_path < self.max_per_path and super()._may_hang(tree, path, piece)


anchored_families = FamilyStream


class AnchorStream(FamilyStream):
    """Tree tasks in which the root variable of each metafeature occurs nowhere else.

    A family of one each.

    The other variables may be shared between metafeatures. Each is on top of a target with
    probability 1 / ``n_metafeatures``.

    >>> stream = anchors(2, n_features=40, n_metafeatures=3, n_examples=400, max_depth=4)
    >>> len(stream.metafeatures), [task.X.shape for task in stream]
    (3, [(400, 40), (400, 40)])
    """

    def __init__(
        self,
        n_tasks: int,
        n_features: int,
        n_metafeatures: int,
        n_examples: int,
        max_depth: int,
        random_state: int = 0,
        **how: Any,
    ) -> None:
        shape = n_tasks, n_features, n_metafeatures, 1, n_examples, max_depth, random_state
        super().__init__(*shape, max_per_path=max_depth, **how)


anchors = AnchorStream


def _shape(deepest: int, rng: np.random.Generator) -> Tree:
    """A shape with more than one split, where the depth allows it."""
    shape = draw_shape(deepest, rng)
    while deepest > 1 and size(shape) < 2:
        shape = draw_shape(deepest, rng)
    return shape if size(shape) else stump(0)


def _member(shape: Tree, root: int, pool: list[int], rng: np.random.Generator) -> Tree:
    """The shape with its root and with variables of the pool, no two alike."""
    others = rng.choice(len(pool), size(shape) - 1, replace=False).tolist()
    member = with_features(shape, [root, *(pool[i] for i in others)])
    assert len(features_of(member)) == size(shape)
    return member


class ListStream(TreeStream):
    """Tasks whose targets are decision lists made of ``n_metafeatures`` hidden ones.

    ``max_depth`` bounds the tests of a target (fewer where the examples do not suffice);
    metafeatures have 1 to ``metafeature_depth`` tests. Lazy and seeded,
    as :func:`thrifty.streams.trees`.

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
            chain = chain_of(features, ways)
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
        share = 0.35 if again else 0.6  # of the examples at a test leaves there
        labels[out], weights[out] = label, left * share
        left *= 1 - share
        again = i < len(end) - 1 and rng.random() >= 0.8
        label = label if again else 1 - label
    labels[end], weights[end] = label, left

    splits = {path: node.split for path, node in internal_nodes(tree)}
    return build(splits, {path: Leaf(label) for path, label in labels.items()}), weights


lists = ListStream
