"""What was spent so far, beside the budget and what everything would have cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from thrifty.report.ink import LINES, SERIES, frame, legend, value_axis
from thrifty.report.view import LifetimeView

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Spending", "draw_spending", "spending_of"]


@dataclass(frozen=True)
class Spending:
    """Spent on learning after each task; what everything would have cost; the budget, if any."""

    curve: tuple[float, ...]
    everything: float
    budget: float | None


def spending_of(view: LifetimeView) -> Spending:
    """The bill as it grows, in the unit of the bill.

    >>> from thrifty.report.view import TaskView
    >>> from thrifty import Receipt
    >>> task = TaskView("a", "screened", Receipt(8, 20.0, 0, 0, 2, 10, 2))
    >>> spending_of(LifetimeView(tasks=(task, task)))
    Spending(curve=(20.0, 40.0), everything=40.0, budget=None)
    """
    curve = np.cumsum([task.cost for task in view.tasks]).tolist()
    balance = view.balance
    if balance is None:
        everything = 0.0 if view.priced else float(view.everything)
        return Spending(tuple(curve), everything or float(view.everything), None)
    budget = None if balance.left is None else balance.left + balance.spent + balance.reserved
    return Spending(tuple(curve), balance.everything, budget)


def draw_spending(axes: Axes, spending: Spending, unit: str) -> None:
    """The curve, and level lines for the rest."""
    tasks = range(1, len(spending.curve) + 1)
    axes.plot(tasks, spending.curve, linestyle=LINES[0], color=SERIES[0], linewidth=1.8,
              marker="o" if len(tasks) <= 40 else None, markersize=4.5,
              label="spent on learning")  # fmt: skip
    levels = [("everything there is", spending.everything), ("budget", spending.budget)]
    shown = [(name, level) for name, level in levels if level]
    for i, (name, level) in enumerate(shown, 1):
        axes.axhline(level, linestyle=LINES[i], color=SERIES[i], linewidth=1.5, label=name)
    value_axis(axes, [*spending.curve, *(level for _, level in shown if level)])
    axes.margins(x=0.02)
    what = f"spent so far ({unit})" if unit else "spent so far"
    frame(axes, "tasks learned", "cells bought so far" if unit == "cells" else what, counts=True)
    legend(axes)
