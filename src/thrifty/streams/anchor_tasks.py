"""Streams with anchors: every metafeature, or every family of them, has a root of its own.

Which metafeature (or family) is on top of a target is drawn first and kept while the rest of the
target is drawn anew, so that each is on top with probability exactly 1 / K: the p_min of the
semi-adversarial models.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from thrifty.checks import whole_number
from thrifty.errors import BadParameter
from thrifty.streams.tree_tasks import TreeStream, draw_shape, with_features
from thrifty.trees.tree import Node, Path, Tree, features_of, size, stump, subtree

__all__ = ["AnchorStream", "FamilyStream", "anchored_families", "anchors"]


class AnchorStream(TreeStream):
    """Tree tasks in which the root variable of each metafeature occurs nowhere else.

    The other variables may be shared between metafeatures. Each is on top of a target with
    probability 1 / ``n_metafeatures``.

    >>> stream = anchors(2, n_features=40, n_metafeatures=3, n_examples=400, max_depth=4)
    >>> len(stream.metafeatures), [task.X.shape for task in stream]
    (3, [(400, 40), (400, 40)])
    """

    def _draw_metafeatures(self, k: int, deepest: int) -> tuple[Tree, ...]:
        rng = np.random.default_rng([self.random_state, 0])
        order = rng.permutation(self.n_features).tolist()
        roots, pool = order[:k], order[k:]
        if len(pool) < 2**deepest - 2:
            raise BadParameter(
                f"{k} anchors and {2**deepest - 2} other variables do not fit into "
                f"{self.n_features} features."
            )
        return tuple(_member(_shape(deepest, rng), root, pool, rng) for root in roots)

    def _draw_first(self, rng: np.random.Generator) -> Tree:
        return self.metafeatures[int(rng.integers(len(self.metafeatures)))]


anchors = AnchorStream


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
                f"{k} families of {self.per_family} metafeatures do not fit into "
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
