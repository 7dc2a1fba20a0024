"""The pictures of the real-data benchmark: their data are the rows that were measured."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from thrifty.report.ink import whole_ticks
from thrifty.typing import Fields

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["bill_curve", "draw_bills", "draw_frontier"]

_INK = {"with": "#00695c", "without": "#b0663a", "other": "#5f6b73"}


def bill_curve(curve: Sequence[Fields], name: str, learner: str) -> list[float]:
    """Mean share of cells (%) of the tasks so far, by number of tasks, over the seeds."""
    mine = [one for one in curve if one["set"] == name and one["learner"] == learner]
    n = 1 + max(one["task"] for one in mine)
    by_task = [100 * np.mean([o["share"] for o in mine if o["task"] == i]) for i in range(n)]
    so_far = np.cumsum(by_task) / np.arange(1, n + 1)
    return [round(float(value), 3) for value in so_far]


def _panels(names: Sequence[str], width: float, height: float) -> tuple[Figure, list[Axes]]:
    """A figure with a titled panel for each set, four in a row."""
    import matplotlib.pyplot as plt

    across = min(4, len(names))
    down = -(-len(names) // across)
    figure, grid = plt.subplots(
        down, across, figsize=(width * across, height * down), squeeze=False, layout="constrained"
    )
    panels = list(grid.flat)
    for panel in panels[len(names) :]:
        panel.axis("off")
    for panel, name in zip(panels, names):
        panel.set_title(name, fontsize=10)
    return figure, panels[: len(names)]


def _save(figure: Figure, path: Path) -> None:
    import matplotlib.pyplot as plt

    figure.savefig(path, dpi=110)
    plt.close(figure)


def draw_frontier(rows: Sequence[Fields], path: Path) -> None:
    """Quality against cells, a panel per set; Verified is the filled mark."""
    names = list(dict.fromkeys(row["set"] for row in rows))
    figure, panels = _panels(names, 3.6, 3.2)
    marks = "osDv^<>PX*h"
    learners = list(dict.fromkeys(row["learner"] for row in rows))
    for panel, name in zip(panels, names):
        for row in (row for row in rows if row["set"] == name):
            learner = row["learner"]
            ours = learner.startswith("Verified")
            ink = _INK["with" if learner == "Verified" else "without" if ours else "other"]
            panel.plot(
                row["cells %"],
                row["AP ratio"],
                marks[learners.index(learner) % len(marks)],
                color=ink,
                markerfacecolor=ink if ours else "none",
                markersize=8,
                label=learner,
            )
        panel.axhline(0.98, color="#9aa5ab", linewidth=0.8, linestyle=":")
        panel.set_xscale("log")
        panel.set_xticks([1, 3, 10, 30, 100], ["1", "3", "10", "30", "100"])
        panel.minorticks_off()
        panel.set_xlabel("cells bought, %")
        panel.set_ylabel("average precision / full tree")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, fontsize=9, frameon=False)
    _save(figure, path)


def draw_bills(curve: Sequence[Fields], path: Path) -> None:
    """The mean bill of the tasks so far against their number, with and without memory."""
    names = list(dict.fromkeys(one["set"] for one in curve))
    figure, panels = _panels(names, 3.4, 2.8)
    for panel, name in zip(panels, names):
        for learner, ink in (("Verified, no memory", "without"), ("Verified", "with")):
            bills = bill_curve(curve, name, learner)
            panel.plot(range(1, len(bills) + 1), bills, color=_INK[ink], label=learner)
        panel.set_ylim(0)
        whole_ticks(panel.xaxis)
        panel.set_xlabel("tasks")
        panel.set_ylabel("cells a task so far, %")
    panels[0].legend(frameon=False, fontsize=8)
    _save(figure, path)
