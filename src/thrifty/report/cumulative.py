"""The bill as it grows: after each task, what was spent so far, beside what others would spend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thrifty import bounds
from thrifty.report.ink import LINES, POINTS, SERIES, frame, legend, save_picture, value_axis
from thrifty.report.view import LifetimeView
from thrifty.trees.tree import features_of
from thrifty.typing import AnyArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["bills_of", "cumulative_cells", "draw_cumulative", "has_bound", "save_cumulative"]


def cumulative_cells(bills: Mapping[str, Sequence[int]]) -> dict[str, NDArray[np.int64]]:
    """Cells bought up to and including each task, per learner.

    >>> cumulative_cells({"scratch": [5, 5], "thrifty": [5, 1]})["thrifty"].tolist()
    [5, 6]
    """
    return {name: np.cumsum(np.asarray(cells, dtype=np.int64)) for name, cells in bills.items()}


def bills_of(view: LifetimeView) -> dict[str, list[int]]:
    """Cells per task: of this lifetime, and of those it is held against.

    The naive baseline and the bound belong to consistent trees; elsewhere they are left out.
    """
    theory = has_bound(view)
    bills = {"Thrifty": [task.cells for task in view.tasks]}
    if theory:
        bills["features seen (naive)"] = _naive(view)
    bills["scratch every time"] = [task.everything for task in view.tasks]
    if theory:
        bills["bound"] = _bound(view, int(view.family["max_depth"]))
    return bills


def has_bound(view: LifetimeView) -> bool:
    """Whether the theory's baseline and bound belong to this lifetime: consistent trees."""
    learner = view.family.get("learner", {}).get("learner")
    trees = all(task.tree is not None for task in view.tasks)
    return view.family.get("family") == "Trees" and learner in ("Paper", "Race") and trees


def _naive(view: LifetimeView) -> list[int]:
    """What remembering features alone would pay for the same trees, replayed.

    It compares every feature seen at the root, so it buys all of them on all rows; a tree that
    asks for a feature it has not seen is learned from scratch.
    """
    seen: set[int] = set()
    cells = []
    for task in view.tasks:
        assert task.tree is not None
        asked = features_of(task.tree)
        cells.append(task.receipt.n_examples * len(seen) if asked <= seen else task.everything)
        seen |= asked
        if not asked:
            cells[-1] = 0  # one class only: a constant, for nothing
    return cells


def _bound(view: LifetimeView, max_depth: int) -> list[int]:
    """Theorem 1 with the tasks that did go to scratch: each taught at most d metafeatures."""
    cells, scratch = [], 0
    for task in view.tasks:
        scratch += task.route == "scratch"
        each = bounds.trees_per_example(n_metafeatures=scratch, max_depth=max_depth)
        from_scratch = task.route == "scratch" or each > task.receipt.n_features
        cells.append(task.everything if from_scratch else task.receipt.n_examples * each)
    return cells


def draw_cumulative(axes: Axes, curves: Mapping[str, AnyArray]) -> None:
    """Draw the curves on a logarithmic axis of cells against tasks."""
    for i, (name, curve) in enumerate(curves.items()):
        tasks = np.arange(1, len(curve) + 1)
        axes.plot(
            tasks,
            curve,
            linestyle=LINES[i % len(LINES)],
            linewidth=1.8,
            label=name,
            color=SERIES[i % len(SERIES)],
            marker=POINTS[i % len(POINTS)],
            markersize=4.5,
            markevery=max(1, len(curve) // 8),
        )
    value_axis(axes, [float(cells) for curve in curves.values() for cells in curve])
    axes.margins(x=0.01)
    frame(axes, "tasks learned", "cells bought so far", counts=True)
    legend(axes)


def save_cumulative(path: Path, bills: Mapping[str, Sequence[int]], title: str) -> Path:
    """The picture as a PNG; returns where it is."""
    return save_picture(path, lambda axes: draw_cumulative(axes, cumulative_cells(bills)), title)
