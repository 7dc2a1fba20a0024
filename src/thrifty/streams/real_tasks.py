"""Streams of tree tasks over real-valued features.

The metafeatures ask (feature, threshold); values are uniform on whichever side of its threshold a
leaf's path puts them. With ``levels`` the values are whole numbers 0..levels-1 and the thresholds
lie halfway, so that the very same thresholds come back in every task. Without, values are
continuous: thresholds drift from task to task, and the target of a task is the metafeatures' tree
with the thresholds that its own sample supports.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.errors import BadParameter
from thrifty.labels.classes import read_classes
from thrifty.streams.tree_tasks import TreeStream, with_splits
from thrifty.trees.gains.gain import gain_named
from thrifty.trees.growing.scratch_real import grow_real
from thrifty.trees.tree import Split, Tree, internal_nodes, is_prefix
from thrifty.typing import AnyArray

__all__ = ["RealStream", "reals"]


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
