"""What the cells bought: quality against the share of cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from thrifty.report.ink import MARKS, SERIES, frame, legend
from thrifty.report.view import LifetimeView, TaskView
from thrifty.trees.tree import Leaf, Tree

__all__ = ["QualityPoint", "draw_quality", "quality_of"]


@dataclass(frozen=True)
class QualityPoint:
    """One task: the share of its table that was bought, and how good its model is."""

    task: str
    route: str
    share: float
    quality: float


def quality_of(
    view: LifetimeView, scores: Mapping[str, float] | None = None
) -> list[QualityPoint]:
    """A point per task whose quality is known.

    ``scores`` are yours, on rows the task did not learn from. Without them it is the accuracy on
    the training rows that reached each leaf, where the tree kept their counts.
    """
    points = []
    for task in view.tasks:
        quality = _on_training(task) if scores is None else scores.get(task.name)
        if quality is not None and task.everything:
            points.append(
                QualityPoint(task.name, task.route, task.cells / task.everything, float(quality))
            )
    return points


def _on_training(task: TaskView) -> float | None:
    leaves = list(_leaves(task.tree)) if task.tree is not None else []
    if not leaves or any(leaf.counts is None for leaf in leaves):
        return None
    counts = [leaf.counts for leaf in leaves if leaf.counts]
    total = sum(map(sum, counts))
    return sum(map(max, counts)) / total if total else None


def _leaves(tree: Tree) -> list[Leaf]:
    if isinstance(tree, Leaf):
        return [tree]
    return _leaves(tree.false) + _leaves(tree.true)


def draw_quality(axes: Any, points: Sequence[QualityPoint], what: str = "accuracy") -> None:
    """A mark per task, its shape by route; cells on a logarithmic axis, in per cent."""
    for colour, (route, mark) in zip(SERIES, MARKS.items()):
        mine = [p for p in points if p.route == route]
        if mine:
            axes.plot(
                [100 * p.share for p in mine], [p.quality for p in mine], mark, color=colour,
                markersize=5, alpha=0.7, markerfacecolor="none" if route == "reused" else colour,
                label=route,
            )  # fmt: skip
    if any(p.share > 0 for p in points):
        axes.set_xscale("symlog", linthresh=0.1)
    axes.xaxis.set_major_formatter(lambda x, _: f"{x:g} %")
    axes.set_xlim(-0.01, 130)
    lowest = min((p.quality for p in points), default=0.0)
    axes.set_ylim(lowest - 0.05, max([1.02, *(p.quality + 0.02 for p in points)]))
    frame(axes, "cells bought, share of the task's table", what, grid="both")
    legend(axes)
