"""How the representation grew: metafeatures, by the task that taught them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from thrifty.report.ink import LINES, SERIES, frame, legend, whole_ticks
from thrifty.report.lineage import Lineage
from thrifty.report.view import LifetimeView

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["GrowthCurves", "draw_growth", "growth_of"]


@dataclass(frozen=True)
class GrowthCurves:
    """After each task: metafeatures known (of those kept today), and tasks from scratch so far."""

    metafeatures: tuple[int, ...]
    from_scratch: tuple[int, ...]


def growth_of(view: LifetimeView, lineage: Lineage) -> GrowthCurves:
    """Counts after each task; a metafeature that no tree shows is there from the start."""
    new = np.zeros(len(view.tasks), dtype=np.int64)
    early = 0
    for task in lineage.taught_by:
        if task is None:
            early += 1
        else:
            new[task] += 1
    scratch = np.cumsum([task.route == "scratch" for task in view.tasks], dtype=np.int64)
    return GrowthCurves(tuple((early + np.cumsum(new)).tolist()), tuple(scratch.tolist()))


def draw_growth(axes: Axes, growth: GrowthCurves) -> None:
    """Two steps: what is known, and how many tasks it took."""
    tasks = range(1, len(growth.metafeatures) + 1)
    for i, (name, counts) in enumerate(
        (("metafeatures known", growth.metafeatures), ("tasks from scratch", growth.from_scratch))
    ):
        axes.step(tasks, counts, where="mid", linestyle=LINES[i], color=SERIES[i], linewidth=1.8,
                  label=name)  # fmt: skip
    axes.set_ylim(bottom=0)
    axes.margins(x=0.01)
    whole_ticks(axes.yaxis)
    frame(axes, "tasks learned", "count", counts=True)
    legend(axes)
