"""What the bounds speak of: how often a lifetime began from scratch, and its bill."""

from collections.abc import Callable, Iterable

import numpy as np

import thrifty
from thrifty import kernels
from thrifty.labels import read_classes
from thrifty.trees.gains import gain_named
from thrifty.trees.scratch import grow_from_scratch
from thrifty.trees.tree import Tree


def cells(life: thrifty.Lifetime, route: str) -> np.ndarray:
    """What each task of this route has bought."""
    return np.array([task.receipt.cells for task in life.tasks if task.route == route])


def scratch(life: thrifty.Lifetime) -> int:
    return len(cells(life, "scratch"))


def bill(life: thrifty.Lifetime) -> int:
    return sum(task.receipt.cells for task in life.tasks)


def per_example(life: thrifty.Lifetime) -> list[int]:
    """The most that a reused task has bought of one example."""
    return [t.receipt.max_cells_per_example for t in life.tasks if t.route == "reused"]


def bound(rule: Callable[..., float], sizes: Iterable[int], **more: float) -> float:
    """A bound at m tasks, N features, K metafeatures and S examples."""
    names = ("n_tasks", "n_features", "n_metafeatures", "n_examples")
    return rule(**dict(zip(names, sizes)), **more)


def scratch_tree(X: np.ndarray, y: np.ndarray) -> Tree:
    """Top-down learning from all columns."""
    tiles, labels = kernels.pack_tiles(X), read_classes(y)
    return grow_from_scratch(tiles, labels, gain_named("entropy"), np.ones(X.shape[1]))
