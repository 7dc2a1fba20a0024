"""Pictures of the runs: data first, drawing second."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from paper_tables.from_runs import Record, of_row, point_of
from paper_tables.placements import RuleBills
from paper_tables.point import LETTERS, Grid
from paper_tables.row import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["DrawnLine", "contest_lines", "draw_contests", "draw_row", "row_lines"]

_COLOURS = {
    "paper": "#1b6ca8",
    "default": "#d1495b",
    "naive": "#8d8d8d",
    "expansion": "#1b6ca8",
    "restart": "#edae49",
    "balanced": "#2e8b57",
    "doubling": "#7b4fa6",
    "upper": "#444444",
    "lower": "#444444",
}
_NAMES = {
    "paper": "paper",
    "default": "Thrifty's default",
    "naive": "features seen (naive)",
    "upper": "upper bound, in cells",
    "lower": "lower bound, in features",
}


@dataclass(frozen=True)
class DrawnLine:
    """A named line: x, and the mean, least and most of y over seeds."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]


def row_lines(records: Sequence[Record], row: Row, grid: Grid, axis: str) -> list[DrawnLine]:
    """Every learner's bill along an axis, and the bounds of the learner that the theory is of."""
    on_axis = set(grid.along(axis))
    runs = [r for r in of_row(records, row) if point_of(r) in on_axis]
    lines = [
        _line(learner, axis, [r for r in runs if r["learner"] == learner], "cells")
        for learner in dict.fromkeys(r["learner"] for r in runs)
    ]
    fitted = [r for r in runs if r["learner"] == row.fitted]
    for bound in ("upper", "lower"):
        known = [r for r in fitted if r[bound]]
        if known:
            lines.append(_line(bound, axis, known, bound))
    return lines


def _line(name: str, axis: str, runs: Sequence[Record], part: str) -> DrawnLine:
    xs = sorted({r[axis] for r in runs})
    ys = [[r[part] for r in runs if r[axis] == x] for x in xs]
    return DrawnLine(
        name,
        tuple(xs),
        tuple(float(np.mean(y)) for y in ys),
        tuple(float(min(y)) for y in ys),
        tuple(float(max(y)) for y in ys),
    )


def contest_lines(found: Sequence[RuleBills], r: int) -> list[DrawnLine]:
    """Each rule's worst bill as a multiple of the better of Expansion and Restart, along m / KN."""
    line = sorted((c for c in found if c.n_unrelated == r), key=lambda c: c.n_tasks)
    x = tuple(c.m_over_kn for c in line)
    lines = []
    for rule in line[0].worst if line else ():
        y = tuple(c.times_better(rule) for c in line)
        lines.append(DrawnLine(rule, x, y, y, y))
    return lines


def draw_row(records: Sequence[Record], row: Row, grid: Grid, path: Path) -> bool:
    """One panel per axis, both axes logarithmic; False where there is no axis to draw."""
    axes = [axis for axis, values in grid.axes.items() if len(values) > 2]
    if not axes:
        return False
    plt = _pyplot()
    figure, panels = plt.subplots(
        1, len(axes), figsize=(max(8.0, 1.2 + 3.3 * len(axes)), 4.1), sharey=True, squeeze=False
    )
    for axis, panel in zip(axes, panels[0]):
        for line in row_lines(records, row, grid, axis):
            _draw_line(panel, line)
        _log_x(panel, grid.axes[axis])
        panel.set_xlabel(f"{LETTERS[axis]}  ({axis})")
    panels[0][0].set_yscale("log")
    panels[0][0].set_ylabel("cells on good tasks")
    figure.suptitle(
        f"{row.title}\n{row.theory}; bounds are those of {row.fitted}",
        fontsize=9,
        x=0.02,
        ha="left",
    )
    _legend(figure, panels[0][0])
    _save(plt, figure, path)
    return True


def draw_contests(found: Sequence[RuleBills], path: Path) -> None:
    """A panel for every r: which rule is ahead, and by how much."""
    plt = _pyplot()
    every = sorted({c.n_unrelated for c in found})
    figure, panels = plt.subplots(
        1, len(every), figsize=(max(8.0, 1.2 + 2.6 * len(every)), 3.9), sharey=True, squeeze=False
    )
    for r, panel in zip(every, panels[0]):
        for line in contest_lines(found, r):
            _draw_line(panel, line)
        panel.axvline(1.0, color="#bbbbbb", lw=0.8)
        panel.set_xscale("log", base=2)
        panel.set_xlabel("m / (K N)")
        panel.set_title(f"r = {r}", fontsize=9)
    panels[0][0].set_yscale("log", base=2)
    panels[0][0].yaxis.set_major_formatter("{x:g}")
    panels[0][0].set_ylabel("times the better of\nExpansion and Restart")
    _legend(figure, panels[0][0])
    _save(plt, figure, path)


def _draw_line(panel: Axes, line: DrawnLine) -> None:
    colour = _COLOURS.get(line.name, "black")
    name = _NAMES.get(line.name, line.name.capitalize())
    if line.name in ("upper", "lower"):
        style = "--" if line.name == "upper" else ":"
        panel.plot(line.x, line.y, style, color=colour, lw=1.2, label=name)
        return
    wide = line.name == "naive"  # drawn wide and first: on stumps it lies under another line
    panel.plot(
        line.x,
        line.y,
        "-o",
        color=colour,
        label=name,
        lw=4.0 if wide else 1.5,
        ms=0.0 if wide else 3.5,
        zorder=1 if wide else 2,
        alpha=0.5 if wide else 1.0,
    )
    panel.fill_between(line.x, line.low, line.high, color=colour, alpha=0.15, lw=0)


def _legend(figure: Figure, panel: Axes) -> None:
    handles, labels = panel.get_legend_handles_labels()
    columns = len(labels) if figure.get_figwidth() > 10 else 4
    lines = -(-len(labels) // columns)
    figure.legend(handles, labels, loc="lower center", ncol=columns, fontsize=8, frameon=False)
    figure.tight_layout(rect=(0, 0.06 * lines, 1, 1))


def _log_x(panel: Axes, values: Sequence[int]) -> None:
    """Ticks at the grid's own values."""
    if min(values) > 0:
        panel.set_xscale("log")
    panel.set_xticks(list(values), [str(value) for value in values], fontsize=8)
    panel.minorticks_off()


def _pyplot() -> ModuleType:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams.update({"axes.spines.top": False, "axes.spines.right": False, "font.size": 9})
    return plt


def _save(plt: ModuleType, figure: Figure, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130, metadata={"Software": None})
    plt.close(figure)
