"""Streams of tree tasks that share metafeatures, and one that is posed against d.

The paper assumes that top-down learning on the sample yields the target. Uniform inputs do that
rarely, because greedy gains vanish, so the leaves are weighted: every node *leans* to a label, one
child to 0 and the other to 1, and most examples follow the lean. The split's own variable then
removes most of the label entropy. What greedy learning still gets wrong is drawn anew; the stream
tells its acceptance rate.

In :class:`DeepStream` every failure makes the whole path above it new roots. The bound of Theorem
1 has a d because a failure at depth d stores d subtrees. On random streams most are prunings of
others, and about K remain. Here they are not: half of the K metafeatures are chains of d - 1
features that occur nowhere else, the others single features. Each chain is posed alone first, and
then with a new single feature below its last split, so that UseRep follows the whole chain before
it fails. Each of its d subtrees then has a root of its own, K d / 2 in all, and every later task
compares all of them at its first node.

Streams of tree tasks over real-valued features.

The metafeatures ask (feature, threshold); values are uniform on whichever side of its threshold a
leaf's path puts them. With ``levels`` the values are whole numbers 0..levels-1 and the thresholds
lie halfway, so that the very same thresholds come back in every task. Without, values are
continuous: thresholds drift from task to task, and the target of a task is the metafeatures' tree
with the thresholds that its own sample supports.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty import kernels
from thrifty.checks import whole_number
from thrifty.errors import BadParameter
from thrifty.labels import read_classes
from thrifty.trees.gains import gain_named
from thrifty.trees.scratch import grow_from_scratch, grow_real
from thrifty.trees.tree import (
    EMPTY,
    Leaf,
    Node,
    Path,
    Split,
    Tree,
    affix,
    build,
    depth,
    features_of,
    internal_nodes,
    is_prefix,
    size,
    stump,
    subtree,
)
from thrifty.typing import AnyArray


@dataclass(frozen=True, eq=False)
class StreamTask:
    """What a learner is shown (name, X, y) and what only the experimenter knows (target, good)."""

    name: str
    X: AnyArray
    y: AnyArray
    target: Any = field(default=None, repr=False)
    good: bool = True

    def __repr__(self) -> str:
        return f"StreamTask({self.name!r}, {np.shape(self.X)[0]} examples x {np.shape(self.X)[1]})"


class TaskStream(ABC):
    """Tasks that are made when they are asked for; it may be iterated again and gives the same."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def task(self, i: int) -> StreamTask:
        """The i-th task, which does not depend on the others."""

    def __iter__(self) -> Iterator[StreamTask]:
        return map(self.task, range(len(self)))

    def __getitem__(self, i: int) -> StreamTask:
        if not 0 <= i < len(self):
            raise IndexError(f"the stream has {len(self)} tasks; there is no task {i}")
        return self.task(i)


class TreeStream(TaskStream):
    """Tasks whose targets lie in DT(F) for ``n_metafeatures`` hidden metafeatures F.

    ``metafeatures`` is the hidden F, ``acceptance_rate`` the yield.
    ``max_nodes`` bounds the internal nodes of a target (twice ``max_depth`` unless said, and fewer
    where the examples do not suffice); metafeatures are at most ``metafeature_depth`` deep.

    >>> stream = trees(3, n_features=40, n_metafeatures=2, n_examples=300, max_depth=3)
    >>> [task.X.shape for task in stream]
    [(300, 40), (300, 40), (300, 40)]
    >>> 0 < stream.acceptance_rate <= 1
    True
    """

    def __init__(
        self,
        n_tasks: int,
        n_features: int,
        n_metafeatures: int,
        n_examples: int,
        max_depth: int,
        random_state: int = 0,
        *,
        max_nodes: int | None = None,
        metafeature_depth: int = 2,
        gain: str = "entropy",
    ) -> None:
        whole_number("n_tasks", n_tasks, least=0)
        whole_number("n_features", n_features)
        whole_number("n_metafeatures", n_metafeatures)
        whole_number("n_examples", n_examples)
        whole_number("max_depth", max_depth)
        whole_number("metafeature_depth", metafeature_depth)
        self.n_tasks, self.n_features, self.n_examples = n_tasks, n_features, n_examples
        self.max_depth, self.random_state, self.gain = max_depth, random_state, gain
        self.min_leaf = math.ceil(math.log2(n_features)) + 8
        most = n_examples // (2 * self.min_leaf) - 1
        self.max_nodes = min(most, self._most_nodes(max_nodes))
        if self.max_nodes < 1:
            raise BadParameter(
                f"{n_examples} examples are too few for {n_features} features: a tree that greedy "
                f"learning can find needs at least {4 * self.min_leaf}."
            )
        deepest = min(self._deepest(metafeature_depth), max_depth)
        self.metafeatures = self._draw_metafeatures(n_metafeatures, deepest)
        self.drawn = self.accepted = 0

    def _most_nodes(self, max_nodes: int | None) -> int:
        """Internal nodes of a target, if the examples suffice."""
        return 2 * self.max_depth if max_nodes is None else max_nodes

    def _deepest(self, metafeature_depth: int) -> int:
        """Depth of the metafeatures, if the targets are as deep."""
        return metafeature_depth

    @property
    def acceptance_rate(self) -> float:
        """The share of drawn targets on which greedy learning found the target."""
        return self.accepted / self.drawn if self.drawn else 1.0

    def __len__(self) -> int:
        return self.n_tasks

    def task(self, i: int) -> StreamTask:
        """The i-th task: targets are drawn until greedy learning finds one."""
        rng = np.random.default_rng([self.random_state, 1, i])
        first = self._draw_first(rng)
        tries = 500
        for _ in range(tries):
            target, weights = self._draw_target(rng, first)
            X, y = self._draw_sample(target, weights, rng)
            self.drawn += 1
            learned = self._learned(X, y, target)
            if learned is not None:
                self.accepted += 1
                return StreamTask(f"task-{i:04d}", X, y, learned)
        raise BadParameter(
            f"greedy learning missed {tries} targets in a row: {self.n_examples} examples are too "
            f"few for trees of depth {self.max_depth} over {self.n_features} features. Use more "
            "examples, or a smaller max_depth or max_nodes."
        )

    def _draw_metafeatures(self, k: int, deepest: int) -> tuple[Tree, ...]:
        """K distinct metafeatures; distinct features among them where there are enough."""
        rng = np.random.default_rng([self.random_state, 0])
        order = rng.permutation(self.n_features)
        at = 0
        found: list[Tree] = []
        while len(found) < k:
            shape = draw_shape(deepest, rng)
            while deepest > 1 and size(shape) < 2 and self.n_features > 1:
                shape = draw_shape(deepest, rng)  # one split alone relates tasks too weakly
            need = size(shape)
            if need > self.n_features:
                shape, need = stump(0), 1
            if at + need > self.n_features:
                order, at = rng.permutation(self.n_features), 0
                if k * need > 10 * self.n_features:
                    raise BadParameter(
                        f"{k} metafeatures do not fit into {self.n_features} features."
                    )
            piece = with_features(shape, order[at : at + need].tolist())
            at += need
            if piece not in found:
                found.append(piece)
        return tuple(found)

    def _draw_first(self, rng: np.random.Generator) -> Tree | None:
        """The metafeature on top of a task's target, if that is settled before the rest."""
        return None

    def _may_hang(self, tree: Tree, path: Path, piece: Tree) -> bool:
        fits = len(path) + depth(piece) <= self.max_depth
        small = size(tree) + size(piece) <= self.max_nodes
        return fits and small and not _asked(tree, path) & features_of(piece)

    def _draw_target(
        self, rng: np.random.Generator, first: Tree | None
    ) -> tuple[Tree, dict[Path, float]]:
        """Hang metafeatures at random empty leaves; label and weigh the leaves by their lean."""
        tree: Tree = EMPTY if first is None else first
        wanted = int(rng.integers(1, self.max_nodes + 1))
        open_leaves: list[Path] = _leaf_paths(tree)
        while open_leaves and size(tree) < wanted:
            path = open_leaves.pop(int(rng.integers(len(open_leaves))))
            piece = self.metafeatures[int(rng.integers(len(self.metafeatures)))]
            if not self._may_hang(tree, path, piece):
                continue
            tree = affix(tree, path, piece)
            open_leaves.extend(path + tail for tail in _leaf_paths(piece))
        if tree == EMPTY:
            tree = stump(int(min(features_of(self.metafeatures[0]))))
        return lean(tree, int(rng.integers(2)), 1.0, (), rng)

    def _draw_sample(
        self, target: Tree, weights: dict[Path, float], rng: np.random.Generator
    ) -> tuple[AnyArray, NDArray[np.int64]]:
        """Examples per leaf by weight, at least ``min_leaf`` each; the rest is background."""
        spare = self.n_examples - self.min_leaf * len(weights)
        shares = np.array(list(weights.values()))
        sizes = self.min_leaf + rng.multinomial(spare, shares / shares.sum())
        X = self._background(rng)
        y = np.empty(self.n_examples, dtype=np.int64)
        order = rng.permutation(self.n_examples)
        start = 0
        for path, n in zip(weights, sizes.tolist()):
            rows = order[start : start + n]
            at = target
            for branch in path:
                assert isinstance(at, Node)
                X[rows, at.split.feature] = self._answers(at.split, branch, n, rng)
                at = at.child(branch)
            assert isinstance(at, Leaf)
            y[rows] = at.label
            start += n
        return X, y

    def _background(self, rng: np.random.Generator) -> AnyArray:
        """Values of features that no test of the target asks: fair coins."""
        words = rng.integers(0, 256, (self.n_examples, -(-self.n_features // 8)), dtype=np.uint8)
        return np.unpackbits(words, axis=1, count=self.n_features)

    def _answers(self, split: Split, branch: bool, n: int, rng: np.random.Generator) -> object:
        """Values of n examples that go to this side of a split."""
        return branch

    def _learned(self, X: AnyArray, y: NDArray[np.int64], target: Tree) -> Tree | None:
        """What top-down learning makes of the sample, if that is the target."""
        grown = grow_from_scratch(
            kernels.pack_tiles(X), read_classes(y), gain_named(self.gain), np.ones(self.n_features)
        )
        return grown if grown == target else None


def draw_shape(deepest: int, rng: np.random.Generator) -> Tree:
    """A random small tree with at least one split, at most ``deepest`` deep."""
    if deepest <= 0:
        return EMPTY
    sides = [draw_shape(deepest - 1, rng) if rng.random() < 0.5 else EMPTY for _ in range(2)]
    return Node(Split(0), *sides)


def with_features(shape: Tree, features: list[int]) -> Tree:
    """The shape with its features filled in, parents first."""
    return with_splits(shape, map(Split, features))


def with_splits(shape: Tree, splits: Iterable[Split]) -> Tree:
    """The shape with other splits, in the order of its internal nodes."""
    paths = (path for path, _ in internal_nodes(shape))
    return build(dict(zip(paths, splits)), {})


def _leaf_paths(tree: Tree) -> list[Path]:
    found = []
    for path, node in internal_nodes(tree):
        found += [(*path, b) for b in (False, True) if isinstance(node.child(b), Leaf)]
    return found or [()]


def _asked(tree: Tree, path: Path) -> set[int]:
    """The features on the way to a position."""
    return {
        node.split.feature
        for i in range(len(path))
        if isinstance(node := subtree(tree, path[:i]), Node)
    }


def lean(
    tree: Tree, to: int, share: float, path: Path, rng: np.random.Generator
) -> tuple[Tree, dict[Path, float]]:
    """Label the leaves and weigh them.

    Each node's children lean to different labels, by a coin; the child that leans as the node does
    gets 0.8 of the node's share. The root is fair between its children.
    """
    if isinstance(tree, Leaf):
        return Leaf(to), {path: share}
    true_leans = int(rng.integers(2))
    sides, weights = [], {}
    for branch in (False, True):
        leans = true_leans if branch else 1 - true_leans
        part = 0.5 if not path else (0.8 if leans == to else 1 - 0.8)
        side, below = lean(tree.child(branch), leans, share * part, (*path, branch), rng)
        sides.append(side)
        weights.update(below)
    return Node(tree.split, *sides), weights


trees = TreeStream


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
        on = [True] * deepest
        chains = [chain_of(order[i * deepest : (i + 1) * deepest], on) for i in range(k // 2)]
        singles = order[k // 2 * deepest : k // 2 * (deepest + 1)]
        return (*chains, *map(stump, singles))

    def task(self, i: int) -> StreamTask:
        """The i-th task; what it poses follows from its place."""
        self._at = i
        return super().task(i)

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


def chain_of(features: list[int], ways: list[bool]) -> Tree:
    """Tests in order; ``ways[i]`` is the branch that goes on from test i."""
    tree: Tree = EMPTY
    for feature, on in zip(reversed(features), reversed(ways)):
        tree = Node(Split(feature), EMPTY if on else tree, tree if on else EMPTY)
    return tree


deep = DeepStream


class RealStream(TreeStream):
    """Tree tasks whose splits are thresholds; see the module for ``levels``.

    >>> task = reals(1, n_features=20, n_metafeatures=2, n_examples=400, max_depth=3)[0]
    >>> task.X.dtype, task.X.shape, float(task.X.max())
    (dtype('float32'), (400, 20), 7.0)
    """

    def __init__(self, *shape: int, levels: int | None = 8, **how: Any) -> None:
        if levels is not None and levels < 3:
            raise BadParameter(f"levels must be None or 3 or more; got {levels!r}.")
        self.levels = levels
        super().__init__(*shape, **how)

    def _draw_metafeatures(self, k: int, deepest: int) -> tuple[Tree, ...]:
        found = super()._draw_metafeatures(k, deepest)
        rng = np.random.default_rng([self.random_state, 2])
        return tuple(self._with_thresholds(f, rng) for f in found)

    def _with_thresholds(self, tree: Tree, rng: np.random.Generator) -> Tree:
        """Thresholds from the middle half, so that both sides have room."""

        def threshold() -> float:
            if self.levels is None:
                return float(rng.uniform(0.25, 0.75))
            low = max(1, self.levels // 4)
            return int(rng.integers(low, self.levels - low + 1)) - 0.5

        nodes = [node for _, node in internal_nodes(tree)]
        return with_splits(tree, [Split(node.split.feature, threshold()) for node in nodes])

    def _uniform(
        self, low: float, high: float, shape: int | tuple[int, ...], rng: np.random.Generator
    ) -> AnyArray:
        """Values of [low, high): whole numbers where there are levels."""
        if self.levels is None:
            return np.asarray(rng.uniform(low, high, shape))
        return np.asarray(rng.integers(int(np.ceil(low)), int(np.ceil(high)), shape))

    @property
    def _top(self) -> float:
        return 1.0 if self.levels is None else float(self.levels)

    def _background(self, rng: np.random.Generator) -> AnyArray:
        shape = (self.n_examples, self.n_features)
        return self._uniform(0.0, self._top, shape, rng).astype(np.float32)

    def _answers(self, split: Split, branch: bool, n: int, rng: np.random.Generator) -> object:
        assert split.threshold is not None
        low, high = (split.threshold, self._top) if branch else (0.0, split.threshold)
        return self._uniform(low, high, n, rng)

    def _learned(self, X: AnyArray, y: NDArray[np.int64], target: Tree) -> Tree | None:
        nobody = np.zeros(self.n_features, dtype=np.bool_)
        prices = np.ones(self.n_features)
        grown = grow_real(X, nobody, read_classes(y), gain_named(self.gain), prices)
        if self.levels is not None:
            return grown if grown == target else None
        alike = is_prefix(grown, target, by_feature=True) and is_prefix(
            target, grown, by_feature=True
        )
        return grown if alike else None


reals = RealStream
