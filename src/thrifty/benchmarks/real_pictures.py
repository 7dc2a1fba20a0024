"""The pictures of the real-data benchmark: their data are the rows that were measured."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["bill_curve", "draw_bills", "draw_frontier"]

_INK = {"with": "#00695c", "without": "#b0663a", "other": "#5f6b73"}


def bill_curve(curve: Sequence[dict[str, Any]], name: str, learner: str) -> list[float]:
    """Mean share of cells (%) of the tasks so far, by number of tasks, over the seeds."""
    mine = [one for one in curve if one["set"] == name and one["learner"] == learner]
    n = 1 + max(one["task"] for one in mine)
    by_task = [100 * np.mean([o["share"] for o in mine if o["task"] == i]) for i in range(n)]
    so_far = np.cumsum(by_task) / np.arange(1, n + 1)
    return [round(float(value), 3) for value in so_far]


def draw_frontier(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Quality against cells, a panel per set; Verified is the filled mark."""
    import matplotlib.pyplot as plt

    names = list(dict.fromkeys(row["set"] for row in rows))
    across = min(4, len(names))
    down = -(-len(names) // across)
    figure, panels = plt.subplots(
        down, across, figsize=(3.6 * across, 3.2 * down), squeeze=False, layout="constrained"
    )
    marks = "osDv^<>PX*h"
    learners = list(dict.fromkeys(row["learner"] for row in rows))
    for i, panel in enumerate(panels.flat):
        if i >= len(names):
            panel.axis("off")
            continue
        for row in (row for row in rows if row["set"] == names[i]):
            learner = row["learner"]
            ours = learner.startswith("Verified")
            ink = _INK["with" if learner == "Verified" else "without" if ours else "other"]
            panel.plot(
                row["cells %"], row["AP ratio"], marks[learners.index(learner) % len(marks)],
                color=ink, markerfacecolor=ink if ours else "none", markersize=8, label=learner,
            )  # fmt: skip
        panel.axhline(0.98, color="#9aa5ab", linewidth=0.8, linestyle=":")
        panel.set_xscale("log")
        panel.set_xticks([1, 3, 10, 30, 100], ["1", "3", "10", "30", "100"])
        panel.minorticks_off()
        panel.set_title(names[i], fontsize=10)
        panel.set_xlabel("cells bought, %")
        panel.set_ylabel("average precision / full tree")
    handles, labels = panels.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, fontsize=9, frameon=False)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def draw_bills(curve: Sequence[dict[str, Any]], path: Path) -> None:
    """The mean bill of the tasks so far against their number, with and without memory."""
    import matplotlib.pyplot as plt

    names = list(dict.fromkeys(one["set"] for one in curve))
    across = min(4, len(names))
    down = -(-len(names) // across)
    figure, panels = plt.subplots(
        down, across, figsize=(3.4 * across, 2.8 * down), squeeze=False, layout="constrained"
    )
    for i, panel in enumerate(panels.flat):
        if i >= len(names):
            panel.axis("off")
            continue
        for learner, ink in (("Verified, no memory", "without"), ("Verified", "with")):
            bills = bill_curve(curve, names[i], learner)
            panel.plot(range(1, len(bills) + 1), bills, color=_INK[ink], label=learner)
        panel.set_ylim(0)
        panel.xaxis.get_major_locator().set_params(integer=True)
        panel.set_title(names[i], fontsize=10)
        panel.set_xlabel("tasks")
        panel.set_ylabel("cells a task so far, %")
    panels.flat[0].legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=110)
    plt.close(figure)
