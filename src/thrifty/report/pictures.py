"""Every picture of a lifetime: its data, how it is drawn, and a sentence that says what to see.

A picture is a function that returns data and a thin one that draws them; tests check the data. One
list, :func:`pictures_of`, so that the report, the dashboard and ``thrifty report --pictures`` show
the same.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from thrifty.lifetime.outcomes import Monitor, Period
from thrifty.report.ink import (
    HATCH,
    INK,
    LINES,
    POINTS,
    SERIES,
    frame,
    legend,
    plain_text,
    save_picture,
    svg_of,
    value_axis,
)
from thrifty.report.view import LifetimeView, as_counted, counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: the names, in the order in which they are shown
PICTURES = ("bill", "costs", "quality", "outcomes", "expenses", "prediction")
#: with more tasks than this there is a mark each instead of a bar with a name
_BARS = 25
#: expenses that are drawn by name
_NAMED = 15


@dataclass(frozen=True)
class Picture:
    """A picture ready to be drawn."""

    name: str
    heading: str
    caption: str
    draw: Callable[[Axes], None]
    height: float = 3.6

    def svg(self) -> str:
        return svg_of(self.draw, height=self.height)


def pictures_of(view: LifetimeView) -> list[Picture]:
    """Every picture there is something to show for."""
    watched = 4  # models whose outcomes are drawn, those with the latest
    if not view.tasks:
        return []
    found = [_bill(view), _costs(view)]
    if points := quality_of(view):
        found.append(_quality(points, view))
    known = [one for one in view.monitors if one.periods]
    if known:
        found.append(_outcomes(sorted(known, key=lambda m: -m.periods[-1].begins)[:watched]))
    if expenses := expenses_of(view):
        found.append(_expenses(view, expenses))
    if prices := prediction_prices(view):
        found.append(_prediction(view, prices))
    return found


def save_pictures(pictures: list[Picture], folder: Path) -> list[Path]:
    """Each picture as a PNG in a folder."""
    return [
        save_picture(folder / f"{p.name}.png", p.draw, p.heading, height=p.height) for p in pictures
    ]


def _height(names: int) -> float:
    """Of a picture with a line per name, or with a mark for each of many."""
    return 1.5 + 0.24 * max(names, 3) if names <= _BARS else 3.6


def _bars(
    axes: Axes,
    names: Sequence[str],
    parts: Sequence[tuple[str, Sequence[float]]],
    what: str,
    of: str = "task",
) -> None:
    """Bars by name, the parts one after another; of many tasks a mark for each."""
    places, left = np.arange(len(names)), np.zeros(len(names))
    many = len(names) > _BARS
    for i, (label, values) in enumerate(parts):
        some = np.array([k for k, v in enumerate(values) if v or not i], dtype=np.int64)
        shown = np.asarray(values, dtype=np.float64)[some]
        if many:
            axes.plot(some + 1, shown, POINTS[i], color=SERIES[i], markersize=4, label=label)
            continue
        axes.barh(
            places[some], shown, left=left[some], color=SERIES[i], hatch=HATCH if i else None,
            edgecolor="white" if i else None, height=0.65, label=label,
        )  # fmt: skip
        left[some] += shown
    if many:
        value_axis(axes, [v for i, (_, some) in enumerate(parts) for v in some if v or not i])
        frame(axes, f"{of}, in the order of learning", what, counts=True)
    else:
        axes.set_yticks(places, [plain_text(name) for name in names], fontsize=9)
        axes.invert_yaxis()
        value_axis(axes, [max(left, default=1.0)], "x")
        axes.locator_params(axis="x", nbins=6)
        frame(axes, what, of, grid="x")
    legend(axes)


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
    axes.plot(tasks, spending.curve, linestyle=LINES[0], color=SERIES[0], linewidth=1.8,
              marker="o" if len(tasks) <= 40 else None, markersize=4.5,
              label="spent on learning")  # fmt: skip
    levels = [("everything there is", spending.everything), ("budget", spending.budget)]
    shown = [(name, level) for name, level in levels if level]
    for i, (name, level) in enumerate(shown, 1):
        axes.axhline(level, linestyle=LINES[i], color=SERIES[i], linewidth=1.5, label=name)
    value_axis(axes, [*spending.curve, *(level for _, level in shown if level)])
    axes.margins(x=0.02)
    if len(tasks) == 1:
        axes.set_xlim(0, 2)
    frame(axes, "tasks and updates", _with_unit("spent so far", unit), counts=True)
    legend(axes)


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
    parts = [("learning", [c.learning for c in costs])]
    if any(cost.predictions for cost in costs):
        parts.append(("predictions", [c.predictions for c in costs]))
    what, names = _with_unit("cost", view.unit), [c.task for c in costs]
    return Picture(
        "costs",
        "What each task cost",
        f"The most expensive to learn was “{most.task}”: {view.money(most.learning)}.",
        partial(_bars, names=names, parts=parts, what=what),
        height=_height(len(costs)),
    )


# -- how good the models are ---------------------------------------------------------------------


@dataclass(frozen=True)
class QualityPoint:
    """One task: its quality, the interval, and what guessing has."""

    task: str
    quality: float
    low: float
    high: float
    guessing: float


def quality_of(view: LifetimeView) -> list[QualityPoint]:
    """A point per task whose model has measured it on held-out rows; never on training rows."""
    measured = [(task.name, task.measured) for task in view.tasks]
    return [QualityPoint(n, m.value, m.low, m.high, m.guessing) for n, m in measured if m]


def _quality(points: list[QualityPoint], view: LifetimeView) -> Picture:
    names = {"AP": "average precision", "R²": "R squared"}
    kinds = {names[task.measured.what] for task in view.tasks if task.measured}
    what = f"{' or '.join(sorted(kinds))} on held-out rows"
    unknown = len(view.tasks) - len(points)
    rest = f" Not measured: {counted(unknown, 'task')}." if unknown else ""
    return Picture(
        "quality",
        "How good the models are",
        f"{what[0].upper()}{what[1:]}, task by task. Every row is scored by a model fitted without "
        "it, and weighs as it was bought. The features were chosen with all rows, so that the "
        f"figures are slightly optimistic.{rest}",
        partial(_draw_quality, points=points, what=what),
        height=_height(len(points)),
    )


def _draw_quality(axes: Axes, points: Sequence[QualityPoint], what: str) -> None:
    """A mark per task with its interval: by name, or in the order of learning."""
    many = len(points) > _BARS
    places, values = list(range(len(points))), [p.quality for p in points]
    reach = [[max(0.0, p.quality - p.low) for p in points],
             [max(0.0, p.high - p.quality) for p in points]]  # fmt: skip
    x, y = (places, values) if many else (values, places)
    axes.errorbar(
        x, y, xerr=None if many else reach, yerr=reach if many else None, fmt="o",
        color=SERIES[0], markersize=5, capsize=3, linewidth=1.2, label="measured, interval",
    )  # fmt: skip
    span = (min(0.0, *(p.low for p in points)), max(1.02, *(p.high + 0.02 for p in points)))
    if many:
        axes.set_ylim(*span)
        frame(axes, "task, in the order of learning", what, grid="both", counts=True)
    else:
        axes.plot([p.guessing for p in points], places, "|", color=INK, markersize=11,
                  markeredgewidth=1.6, label="guessing")  # fmt: skip
        axes.set_yticks(places, [plain_text(p.task) for p in points], fontsize=9)
        axes.set_ylim(len(points) - 0.5, -0.5)
        axes.set_xlim(*span)
        frame(axes, what, "task", grid="x")
    legend(axes)


# -- observed outcomes ---------------------------------------------------------------------------


def _outcomes(watched: list[Monitor]) -> Picture:
    told = "; ".join(f"{one.task}: {one.sentence}" for one in watched)
    return Picture(
        "outcomes",
        "Observed outcomes",
        f"{told}. Left, the AUROC of the present version on them, beside the figure from held-out "
        "rows when it was learned; right, the share of the class of interest that was predicted, "
        "and that was observed.",
        partial(_draw_outcomes, monitors=watched),
        height=0.3 + 2.3 * len(watched),
    )


def _draw_outcomes(axes: Axes, monitors: Sequence[Monitor]) -> None:
    """Two panels a model: the AUROC and the share of a class, period by period.

    What a panel shows stands above it: beside it there is no room between the two.
    """
    axes.set_axis_off()
    tall = 1 / len(monitors)
    for i, one in enumerate(monitors):
        bottom = 1 - (i + 1) * tall + 0.12 * tall
        for left, draw, shown in (
            (0.03, _draw_auroc, f"{plain_text(one.task, 24)}: AUROC"),
            (0.55, _draw_calibration, f"share of {plain_text(str(one.positive), 24)}"),
        ):
            panel = axes.inset_axes((left, bottom, 0.45, 0.58 * tall))
            axes.text(left, bottom + 0.74 * tall, shown, color=INK, fontsize=9, fontweight="bold")
            draw(panel, one)
            _dates(panel, one.periods)
            frame(panel, "", "")
            legend(panel)


def _points(
    axes: Axes,
    at: Sequence[float],
    value: Sequence[float],
    low: Sequence[float],
    high: Sequence[float],
    label: str,
) -> None:
    reach = [np.subtract(value, low), np.subtract(high, value)]
    axes.errorbar(at, value, yerr=reach, fmt="o", color=SERIES[0], markersize=4, capsize=2.5,
                  linewidth=1.1, label=label)  # fmt: skip


def _draw_auroc(axes: Axes, one: Monitor) -> None:
    known = [
        (i, p.auroc, p.auroc_low or 0.0, p.auroc_high or 0.0)
        for i, p in enumerate(one.periods)
        if p.auroc is not None
    ]
    ends = [end for _, _, low, high in known for end in (low, high)]
    if one.auroc_learned is not None:
        if one.learned_low is not None and one.learned_high is not None:
            axes.axhspan(one.learned_low, one.learned_high, color=INK, alpha=0.12, linewidth=0)
            ends += [one.learned_low, one.learned_high]
        axes.axhline(one.auroc_learned, color=INK, linestyle="--", linewidth=1, label="learned")
    if known:
        at, value, low, high = (list(some) for some in zip(*known))
        _points(axes, at, value, low, high, "since, 95 %")
    if one.since is not None:
        begins = sum(p.begins <= one.since for p in one.periods) - 1
        axes.axvline(begins - 0.4, color=SERIES[1], linestyle=":", linewidth=1.4, label="worse")
    axes.set_ylim(min(0.5, *ends, 0.5) - 0.02, 1.02)


def _draw_calibration(axes: Axes, one: Monitor) -> None:
    places, periods = list(range(len(one.periods))), one.periods
    seen, low = [p.seen for p in periods], [p.seen_low for p in periods]
    _points(axes, places, seen, low, [p.seen_high for p in periods], "observed, 95 %")
    axes.plot(places, [p.expected for p in periods], "s--", color=SERIES[1], markersize=4,
              linewidth=1, label="predicted")  # fmt: skip
    axes.set_ylim(0, min(1.02, 1.15 * max(p.seen_high for p in periods)))


def _dates(axes: Axes, periods: Sequence[Period]) -> None:
    named_periods = 5  # periods whose name stands below a panel; more would run into each other
    months = len(periods) > 1 and periods[-1].begins - periods[0].begins > 62 * 86_400
    form = "%b" if months else "%d %b"
    at = list(range(0, len(periods), -(-len(periods) // named_periods)))
    named = [time.strftime(form, time.gmtime(periods[i].begins)) for i in at]
    axes.set_xticks(at, named, fontsize=8)
    axes.set_xlim(-0.6, len(periods) - 0.4)
    axes.tick_params(axis="y", labelsize=8)


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


def _expenses(view: LifetimeView, expenses: list[Expense]) -> Picture:
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


def _prediction(view: LifetimeView, prices: list[PredictionPrice]) -> Picture:
    mean = view.money(round(sum(p.at_most for p in prices) / len(prices), 2))
    rows = [p.charged for p in prices if p.charged is not None]
    charged = view.money(round(sum(rows) / len(rows), 2)) if rows else ""
    so_far = f" Rows so far were charged {charged}." if rows else ""
    return Picture(
        "prediction",
        "The price of one prediction",
        f"The price of all values that a model may ask of a new row, by task: {mean} on average. A "
        f"prediction that stops early, or finds values that are owned, costs less.{so_far}",
        partial(_draw_prediction, prices=prices, what=_with_unit("a new row", view.unit)),
        height=_height(len(prices)),
    )


def _draw_prediction(axes: Axes, prices: Sequence[PredictionPrice], what: str) -> None:
    """A bar per task, and a mark at what rows were charged."""
    many = len(prices) > _BARS
    _bars(axes, [p.task for p in prices], [("at most", [p.at_most for p in prices])], what)
    charged = [(i, p.charged) for i, p in enumerate(prices, many) if p.charged is not None]
    if charged:
        places, values = zip(*charged)
        x, y = (places, values) if many else (values, places)
        axes.plot(x, y, "D", color=SERIES[1], markersize=5, label="charged so far")
        legend(axes)
