"""How good each model is, on rows it did not learn from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from thrifty.report.costs import BARS
from thrifty.report.ink import INK, SERIES, frame, legend, plain_text, value_axis
from thrifty.report.view import LifetimeView

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["QualityPoint", "draw_quality", "quality_of"]


@dataclass(frozen=True)
class QualityPoint:
    """One task: what learning it cost, its quality and, where known, interval and guessing."""

    task: str
    cost: float
    quality: float
    low: float | None = None
    high: float | None = None
    guessing: float | None = None


def quality_of(view: LifetimeView, scores: Mapping[str, float] | None = None) -> list[QualityPoint]:
    """A point per task whose quality is known.

    ``scores`` are yours, on rows the task did not learn from. Without them it is the average
    precision on rows left out, where the model has measured it; never that on training rows.
    """
    points = []
    for task in view.tasks:
        if scores is not None:
            if task.name in scores:
                points.append(QualityPoint(task.name, task.cost, float(scores[task.name])))
        elif task.quality is not None:
            figure = task.quality.average_precision
            points.append(
                QualityPoint(
                    task.name,
                    task.cost,
                    figure.value,
                    figure.low,
                    figure.high,
                    task.quality.guessing,
                )
            )
    return points


def draw_quality(axes: Axes, points: Sequence[QualityPoint], what: str, unit: str) -> None:
    """A mark per task with its interval: by name, or against its cost where there are many."""
    if len(points) > BARS:
        places = [p.cost for p in points]
        _marks(axes, places, points, upright=True)
        value_axis(axes, places, "x")
        cost = "cells bought for the task" if unit == "cells" else f"cost ({unit or 'of it'})"
        frame(axes, cost, what, grid="both")
        axes.set_ylim(*_ends(points))
    else:
        _marks(axes, list(range(len(points))), points, upright=False)
        axes.set_yticks(range(len(points)), [plain_text(p.task) for p in points], fontsize=9)
        axes.set_ylim(len(points) - 0.5, -0.5)
        axes.set_xlim(*_ends(points))
        frame(axes, what, "task", grid="x")
    legend(axes)


def _ends(points: Sequence[QualityPoint]) -> tuple[float, float]:
    values = [v for p in points for v in (p.quality, p.low, p.high, p.guessing) if v is not None]
    low, high = min(values, default=0.0), max(values, default=1.0)
    return (min(0.0, low), max(1.02, high + 0.02))


def _marks(
    axes: Axes, places: Sequence[float], points: Sequence[QualityPoint], upright: bool
) -> None:
    measured = [p.quality for p in points]
    x, y = (places, measured) if upright else (measured, places)
    if all(p.low is not None and p.high is not None for p in points):
        reach = [
            [max(0.0, p.quality - (p.low or 0.0)) for p in points],
            [max(0.0, (p.high or 0.0) - p.quality) for p in points],
        ]
        axes.errorbar(
            x, y, fmt="o", color=SERIES[0], markersize=5, capsize=3, linewidth=1.2,
            label="measured, 95 % interval",
            xerr=None if upright else reach, yerr=reach if upright else None,
        )  # fmt: skip
    else:
        axes.plot(x, y, "o", color=SERIES[0], markersize=5, label="measured")
    known = [(place, p.guessing) for place, p in zip(places, points) if p.guessing is not None]
    if known and not upright:
        axes.plot([g for _, g in known], [place for place, _ in known], "|", color=INK,
                  markersize=11, markeredgewidth=1.6, label="guessing")  # fmt: skip
