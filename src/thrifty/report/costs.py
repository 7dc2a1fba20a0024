"""What each task has cost: to learn, and for its predictions since."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from thrifty.report.ink import HATCH, SERIES, frame, legend, plain_text, value_axis
from thrifty.report.view import LifetimeView

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["BARS", "TaskCost", "costs_of", "draw_costs"]

#: with more tasks than this there is a mark each instead of a bar with a name
BARS = 25


@dataclass(frozen=True)
class TaskCost:
    """One task: spent on learning its versions and on its predictions, in the bill's unit."""

    task: str
    learning: float
    predictions: float


def costs_of(view: LifetimeView) -> list[TaskCost]:
    """A cost per task, in the order of learning.

    >>> from thrifty.report.view import TaskView
    >>> from thrifty import Receipt
    >>> task = TaskView("a", "screened", Receipt(8, 20.0, 0, 0, 2, 10, 2))
    >>> asked = {"task": "a", "route": "prediction", "cost": 3.0}
    >>> again = {"task": "a@2", "route": "update", "cost": 5.0}
    >>> costs_of(LifetimeView(tasks=(task,), beside=(asked, asked, again)))
    [TaskCost(task='a', learning=25.0, predictions=6.0)]
    """
    predicted, updated = Counter[str](), Counter[str]()
    for row in view.updates:
        updated[str(row["task"]).rpartition("@")[0]] += row["cost"]
    for row in view.beside:
        if str(row["route"]).startswith("prediction"):
            predicted[row["task"]] += row["cost"]
    return [
        TaskCost(t.name, t.cost + float(updated[t.name]), float(predicted[t.name]))
        for t in view.tasks
    ]


def draw_costs(axes: Axes, costs: Sequence[TaskCost], unit: str) -> None:
    """A bar per task; of many tasks a mark each, in the order of learning."""
    what = "cells bought" if unit == "cells" else f"cost ({unit})" if unit else "cost"
    predicted = any(cost.predictions for cost in costs)
    if len(costs) > BARS:
        numbers = range(1, len(costs) + 1)
        axes.plot(
            numbers,
            [c.learning for c in costs],
            "o",
            color=SERIES[0],
            markersize=4,
            label="learning",
        )
        if predicted:
            later = [(i, c.predictions) for i, c in zip(numbers, costs) if c.predictions]
            axes.plot(*zip(*later), "s", color=SERIES[1], markersize=4, label="predictions")
        value_axis(axes, [v for c in costs for v in (c.learning, c.predictions)[: 1 + predicted]])
        frame(axes, "task, in the order of learning", what, counts=True)
        legend(axes)
        return
    places = range(len(costs))
    axes.barh(places, [c.learning for c in costs], color=SERIES[0], height=0.65, label="learning")
    if predicted:
        asked = [i for i in places if costs[i].predictions]
        axes.barh(
            asked,
            [costs[i].predictions for i in asked],
            left=[costs[i].learning for i in asked],
            color=SERIES[1],
            hatch=HATCH["screened"],
            edgecolor="white",
            height=0.65,
            label="predictions",
        )
    axes.set_yticks(places, [plain_text(c.task) for c in costs], fontsize=9)
    axes.invert_yaxis()
    largest = max((c.learning + c.predictions for c in costs), default=1.0)
    value_axis(axes, [largest], "x")
    axes.locator_params(axis="x", nbins=6)
    frame(axes, what, "task", grid="x")
    legend(axes)
