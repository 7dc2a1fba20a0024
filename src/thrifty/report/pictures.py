"""Every picture of a lifetime: its data, how it is drawn, and a sentence that says what to see.

A picture is a function that returns data and a thin one that draws them; tests check the data. One
list, :func:`pictures_of`, so that the report, the dashboard and ``thrifty report --pictures`` show
the same. Of many tasks those that matter most are drawn by name; tables have the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from thrifty.lifetime.outcomes import Monitor
from thrifty.report import ink
from thrifty.report.view import LifetimeView, Measured, as_counted, counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

T = TypeVar("T")

#: tasks, and expenses, that are drawn by name
_TASKS, _NAMED = 25, 15


@dataclass(frozen=True)
class Picture:
    """A picture ready to be drawn."""

    name: str
    heading: str
    caption: str
    draw: Callable[[Axes], None]
    height: float = 3.6

    def svg(self) -> str:
        return ink.svg_of(self.draw, height=self.height)


def pictures_of(view: LifetimeView) -> list[Picture]:
    """Every picture there is something to show for."""
    if not view.tasks:
        return []
    every = (_bill, _costs, _quality, _outcomes, _expenses, _prediction)
    return [picture for draw in every if (picture := draw(view)) is not None]


def save_pictures(pictures: list[Picture], folder: Path) -> list[Path]:
    """Each picture as a PNG in a folder."""
    return [
        ink.save_picture(folder / f"{p.name}.png", p.draw, p.heading, height=p.height)
        for p in pictures
    ]


def _most(rows: Sequence[T], worth: Callable[[T], float], what: str) -> tuple[list[T], str]:
    """Those that are drawn, in their order, and a sentence that says so where they are not all."""
    if len(rows) <= _TASKS:
        return list(rows), ""
    chosen = sorted(range(len(rows)), key=lambda i: worth(rows[i]))[-_TASKS:]
    told = f" Drawn are the {_TASKS} of {len(rows):,} tasks {what}."
    return [rows[i] for i in sorted(chosen)], told


def _height(names: int) -> float:
    """Of a picture with a line per name."""
    return 1.5 + 0.24 * max(names, 3)


def _bars(
    axes: Axes,
    names: Sequence[str],
    parts: Sequence[tuple[str, Sequence[float]]],
    what: str,
    of: str = "task",
) -> None:
    """Bars by name, the parts one after another."""
    left = np.zeros(len(names))
    for i, (label, values) in enumerate(parts):
        some = np.array([k for k, v in enumerate(values) if v or not i], dtype=np.int64)
        shown = np.asarray(values, dtype=np.float64)[some]
        axes.barh(
            some, shown, left=left[some], color=ink.SERIES[i], hatch=ink.HATCH if i else None,
            edgecolor="white" if i else None, height=0.65, label=label,
        )  # fmt: skip
        left[some] += shown
    ink.value_axis(axes, [max(left, default=1.0)], "x")
    axes.locator_params(axis="x", nbins=6)
    _by_name(axes, names, what, of)


def _by_name(axes: Axes, names: Sequence[str], what: str, of: str = "task") -> None:
    """A line for each name, the first at the top."""
    axes.set_yticks(range(len(names)), [ink.plain_text(name) for name in names], fontsize=9)
    axes.set_ylim(len(names) - 0.4, -0.6)
    ink.frame(axes, what, of, grid="x")
    ink.legend(axes)


def _with_unit(what: str, unit: str) -> str:
    return "cells bought" if unit == "cells" else f"{what} ({unit})" if unit else what


# -- the bill so far -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Spending:
    """Spent on learning after each task, then with each update and what was not learned; what
    everything would have cost; the budget, if any."""

    curve: tuple[float, ...]
    everything: float
    budget: float | None


def spending_of(view: LifetimeView) -> Spending:
    """The bill as it grows, in the unit of the bill.

    >>> from thrifty.report.view import TaskView
    >>> from thrifty.results import Receipt
    >>> task = TaskView("a", "scratch", Receipt(8, 20.0, 0, 0, 2, 10, 2))
    >>> spending_of(LifetimeView(tasks=(task, task)))
    Spending(curve=(20.0, 40.0), everything=40.0, budget=None)
    """
    asked = ("prediction", "predictions")
    later = [
        float(row["cost"])
        for row in view.beside
        if row.get("purpose", str(row["route"]).partition(",")[0]) not in asked
    ]
    costs = [*(task.cost for task in view.tasks), *filter(None, later)]
    curve, balance = np.cumsum(costs).tolist(), view.balance
    if balance is None:
        return Spending(tuple(curve), float(view.everything), None)
    budget = None if balance.left is None else balance.left + balance.spent + balance.reserved
    return Spending(tuple(curve), balance.everything, budget)


def _bill(view: LifetimeView) -> Picture:
    so_far = spending_of(view)
    budget = "" if so_far.budget is None else f"; the budget is {view.money(so_far.budget)}"
    return Picture(
        "bill",
        "The bill so far",
        "Spent on learning after each task, and then on updates: "
        f"{view.money(so_far.curve[-1])} by now. Everything there is to buy would cost "
        f"{view.money(so_far.everything)}{budget}.",
        partial(_draw_spending, spending=so_far, unit=view.unit),
    )


def _draw_spending(axes: Axes, spending: Spending, unit: str) -> None:
    tasks = range(1, len(spending.curve) + 1)
    axes.plot(tasks, spending.curve, linestyle=ink.LINES[0], color=ink.SERIES[0], linewidth=1.8,
              marker="o" if len(tasks) <= 40 else None, markersize=4.5,
              label="spent on learning")  # fmt: skip
    levels = [("everything there is", spending.everything), ("budget", spending.budget)]
    shown = [(name, level) for name, level in levels if level]
    for i, (name, level) in enumerate(shown, 1):
        axes.axhline(level, linestyle=ink.LINES[i], color=ink.SERIES[i], linewidth=1.5, label=name)
    ink.value_axis(axes, [*spending.curve, *(level for _, level in shown if level)])
    axes.margins(x=0.02)
    if len(tasks) == 1:
        axes.set_xlim(0, 2)
    ink.frame(axes, "tasks and updates", _with_unit("spent so far", unit), counts=True)
    ink.legend(axes)


# -- what each task cost -------------------------------------------------------------------------


@dataclass(frozen=True)
class TaskCost:
    """One task: spent on learning its versions and on its predictions, in the bill's unit."""

    task: str
    learning: float
    predictions: float


def costs_of(view: LifetimeView) -> list[TaskCost]:
    """A cost per task, in the order of learning.

    >>> from thrifty.report.view import TaskView
    >>> from thrifty.results import Receipt
    >>> task = TaskView("a", "bought", Receipt(8, 20.0, 0, 0, 2, 10, 2))
    >>> asked = {"task": "a", "route": "prediction", "cost": 3.0}
    >>> again = {"task": "a@2", "route": "update", "cost": 5.0}
    >>> costs_of(LifetimeView(tasks=(task,), beside=(asked, asked, again)))
    [TaskCost(task='a', learning=25.0, predictions=6.0)]
    """
    predicted, updated = Counter[str](), Counter[str]()
    for row in view.updates:
        updated[str(row["task"]).rpartition("@")[0]] += row["cost"]
    for row in view.predicted:
        predicted[row["task"]] += row["cost"]
    return [
        TaskCost(t.name, t.cost + float(updated[t.name]), float(predicted[t.name]))
        for t in view.tasks
    ]


def _costs(view: LifetimeView) -> Picture:
    costs = costs_of(view)
    most = max(costs, key=lambda cost: cost.learning)
    shown, told = _most(costs, lambda cost: cost.learning + cost.predictions, "that cost most")
    parts = [("learning", [c.learning for c in shown])]
    if any(cost.predictions for cost in shown):
        parts.append(("predictions", [c.predictions for c in shown]))
    what, names = _with_unit("cost", view.unit), [c.task for c in shown]
    return Picture(
        "costs",
        "What each task cost",
        f"The most expensive to learn was “{most.task}”: {view.money(most.learning)}.{told}",
        partial(_bars, names=names, parts=parts, what=what),
        height=_height(len(shown)),
    )


# -- how good the models are ---------------------------------------------------------------------


def quality_of(view: LifetimeView) -> list[tuple[str, Measured]]:
    """What each task's model has measured on held-out rows; never on training rows."""
    return [(task.name, task.measured) for task in view.tasks if task.measured]


def _quality(view: LifetimeView) -> Picture | None:
    points = quality_of(view)
    if not points:
        return None
    names = {"AP": "average precision", "R²": "R squared"}
    kinds = {names[measured.what] for _, measured in points}
    what = f"{' or '.join(sorted(kinds))} on held-out rows"
    shown, told = _most(points, lambda p: p[1].guessing - p[1].value, "nearest to guessing")
    unknown = len(view.tasks) - len(points)
    rest = f" Not measured: {counted(unknown, 'task')}." if unknown else ""
    return Picture(
        "quality",
        "How good the models are",
        f"{what[0].upper()}{what[1:]}, task by task. Every row is scored by a model fitted without "
        "it, and weighs as it was bought. The features were chosen with all rows, so that the "
        f"figures are slightly optimistic.{told}{rest}",
        partial(_draw_quality, points=shown, what=what),
        height=_height(len(shown)),
    )


def _draw_quality(axes: Axes, points: Sequence[tuple[str, Measured]], what: str) -> None:
    """A mark per task with its interval, and one at what guessing has."""
    places = range(len(points))
    value, low, high, guessing = np.array(
        [(m.value, m.low, m.high, m.guessing) for _, m in points]
    ).T
    reach = np.maximum([value - low, high - value], 0.0)
    axes.errorbar(value, places, xerr=reach, fmt="o", color=ink.SERIES[0], markersize=5, capsize=3,
                  linewidth=1.2, label="measured, interval")  # fmt: skip
    axes.plot(guessing, places, "|", color=ink.INK, markersize=11, markeredgewidth=1.6,
              label="guessing")  # fmt: skip
    axes.set_xlim(min(0.0, *low), max(1.02, *(high + 0.02)))
    _by_name(axes, [name for name, _ in points], what)


# -- observed outcomes ---------------------------------------------------------------------------


def _outcomes(view: LifetimeView) -> Picture | None:
    known = [one for one in view.monitors if any(p.auroc is not None for p in one.periods)]
    watched = sorted(known, key=lambda one: -one.periods[-1].begins)[: len(ink.SERIES)]
    if not watched:
        return None
    told = "; ".join(f"{one.task}: {one.sentence}" for one in watched)
    return Picture(
        "outcomes",
        "Observed outcomes",
        f"{told}. The AUROC of the present version on them, with intervals of 95 %; a broken line "
        "is the figure from held-out rows when it was learned, a dotted one where it became worse.",
        partial(_draw_outcomes, monitors=watched),
    )


def _draw_outcomes(axes: Axes, monitors: Sequence[Monitor]) -> None:
    """A line a model: its AUROC, period by period."""
    ends, day = [0.5], 86_400  # dates are counted in days
    for i, one in enumerate(monitors):
        periods = [p for p in one.periods if p.auroc is not None]
        at = np.array([p.begins for p in periods]) / day
        value, low, high = (
            np.array([getattr(p, name) for p in periods], dtype=np.float64)
            for name in ("auroc", "auroc_low", "auroc_high")
        )
        axes.errorbar(
            at, value, yerr=[value - low, high - value], fmt=f"{ink.POINTS[i]}-", capsize=2.5,
            color=ink.SERIES[i], markersize=4, linewidth=1.1, label=ink.plain_text(one.task),
        )  # fmt: skip
        if one.auroc_learned is not None:
            axes.axhline(one.auroc_learned, color=ink.SERIES[i], linestyle="--", linewidth=1)
            ends.append(one.auroc_learned)
        if one.since is not None:
            axes.axvline(one.since / day, color=ink.SERIES[i], linestyle=":", linewidth=1.4)
        ends += low.tolist()
    axes.set_ylim(min(ends) - 0.02, 1.02)
    axes.xaxis_date()
    axes.figure.autofmt_xdate(rotation=30)
    ink.frame(axes, "outcomes since", "AUROC")
    ink.legend(axes)


# -- where the money went ------------------------------------------------------------------------


@dataclass(frozen=True)
class Expense:
    """One line of the bill, or many together: what was bought, and its cost in the bill's unit."""

    name: str
    cost: float
    many: bool = False


def expenses_of(view: LifetimeView, most: int = _NAMED) -> list[Expense]:
    """What learning paid for, the most first, the rest summed into one last line.

    Lines of the bill, which sum to what was spent on learning; where only cells count, the cells of
    each feature.
    """
    if view.priced:
        found = [Expense(what, cost) for what, _, cost in view.lines["learning"] if cost > 0]
    else:
        cells: Counter[str] = Counter()
        for task in view.tasks:
            cells.update(task.receipt.per_feature)
        found = [Expense(name, float(n)) for name, n in cells.items() if n]
        found.sort(key=lambda one: (-one.cost, as_counted(one.name)))
    if len(found) <= most + 1:
        return found
    rest = found[most:]
    return [*found[:most], Expense(f"the other {len(rest):,}", sum(e.cost for e in rest), True)]


def _expenses(view: LifetimeView) -> Picture | None:
    expenses = expenses_of(view)
    if not expenses:
        return None
    named, last = [e for e in expenses if not e.many], expenses[-1]
    rest = f" Not shown: {last.name}, {view.money(last.cost)} together." if last.many else ""
    what = _with_unit("spent", view.unit)
    parts = [("learning", [e.cost for e in named])]
    return Picture(
        "expenses",
        "Where the money went" if view.priced else "Where the cells went",
        f"What learning paid for, over all tasks. Most went to “{named[0].name}”.{rest}",
        partial(_bars, names=[e.name for e in named], parts=parts, what=what, of="what"),
        height=1.2 + 0.22 * max(len(named), 4),
    )


# -- the price of one prediction -----------------------------------------------------------------


@dataclass(frozen=True)
class PredictionPrice:
    """One task: what a new row costs at most, and what rows so far were charged.

    ``at_most`` is what all that the model may ask for costs together, orders and fees included;
    ``charged`` the mean over all rows that were predicted, None where there were none.
    """

    task: str
    at_most: float
    charged: float | None = None


def prediction_prices(view: LifetimeView) -> list[PredictionPrice]:
    """A price per task, in the order of learning.

    Rows of a prediction that the budget ended are counted when it is finished: the same rows.

    >>> from thrifty.report.view import TaskView
    >>> from thrifty.results import Receipt
    >>> task = TaskView("a", "bought", Receipt(8, 8.0, 0, 0, 2, 4, 2), prediction_price=5.0)
    >>> asked = {"task": "a", "route": "prediction", "cost": 20.0, "examples": 10}
    >>> ended = {**asked, "route": "prediction, not finished", "cost": 10.0}
    >>> prediction_prices(LifetimeView(tasks=(task,), beside=(ended, asked)))
    [PredictionPrice(task='a', at_most=5.0, charged=3.0)]
    """
    paid, rows = Counter[str](), Counter[str]()
    for row in view.predicted:
        paid[row["task"]] += row["cost"]
        rows[row["task"]] += row.get("examples", 0) * (row["route"] == "prediction")
    known = [(t.name, t.prediction_price) for t in view.tasks if t.prediction_price is not None]
    return [
        PredictionPrice(name, price, paid[name] / rows[name] if rows[name] else None)
        for name, price in known
    ]


def _prediction(view: LifetimeView) -> Picture | None:
    prices = prediction_prices(view)
    if not prices:
        return None
    mean = view.money(round(sum(p.at_most for p in prices) / len(prices), 2))
    rows = [p.charged for p in prices if p.charged is not None]
    charged = view.money(round(sum(rows) / len(rows), 2)) if rows else ""
    so_far = f" Rows so far were charged {charged}." if rows else ""
    shown, told = _most(prices, lambda price: price.at_most, "whose rows cost most")
    return Picture(
        "prediction",
        "The price of one prediction",
        f"The price of all values that a model may ask of a new row, by task: {mean} on average. A "
        f"prediction that stops early, or finds values that are owned, costs less.{so_far}{told}",
        partial(_draw_prediction, prices=shown, what=_with_unit("a new row", view.unit)),
        height=_height(len(shown)),
    )


def _draw_prediction(axes: Axes, prices: Sequence[PredictionPrice], what: str) -> None:
    """A bar per task, and a mark at what rows were charged."""
    _bars(axes, [p.task for p in prices], [("at most", [p.at_most for p in prices])], what)
    charged = [(p.charged, i) for i, p in enumerate(prices) if p.charged is not None]
    if charged:
        axes.plot(*zip(*charged), "D", color=ink.SERIES[1], markersize=5, label="charged so far")
        ink.legend(axes)
