"""What each task cost, and by which route it was learned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from thrifty.report.ink import MARKS, SERIES, frame, legend, value_axis
from thrifty.report.view import LifetimeView

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["RoutePoints", "cells_by_route", "draw_routes"]


@dataclass(frozen=True)
class RoutePoints:
    """The tasks of one route: their numbers, from 1, and their cells."""

    tasks: tuple[int, ...]
    cells: tuple[int, ...]


def cells_by_route(view: LifetimeView) -> dict[str, RoutePoints]:
    """Cells per task, apart by route; routes that did not occur are left out.

    >>> from thrifty.report.view import TaskView
    >>> from thrifty import Receipt
    >>> task = TaskView("a", "scratch", Receipt(8, 8.0, 0, 0, 2, 4, 2))
    >>> cells_by_route(LifetimeView(tasks=(task,)))
    {'scratch': RoutePoints(tasks=(1,), cells=(8,))}
    """
    found = {}
    for route in MARKS:
        numbered = [(i, t.cells) for i, t in enumerate(view.tasks, 1) if t.route == route]
        if numbered:
            found[route] = RoutePoints(*map(tuple, zip(*numbered)))
    return found


def draw_routes(axes: Axes, points: Mapping[str, RoutePoints]) -> None:
    """A mark per task, its shape by route, on a logarithmic axis."""
    many = sum(len(p.tasks) for p in points.values()) > 400
    for colour, (route, mark) in zip(SERIES, MARKS.items()):
        if route not in points:
            continue
        found = points[route]
        axes.plot(
            found.tasks,
            found.cells,
            mark,
            markersize=3 if many else 5,
            color=colour,
            markerfacecolor="none" if route == "reused" else colour,
            label=f"{route} ({len(found.tasks):,})",
        )
    value_axis(axes, [number for p in points.values() for number in p.cells])
    frame(axes, "task, in the order of learning", "cells bought for the task", counts=True)
    legend(axes)
