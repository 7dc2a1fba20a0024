"""Every picture of a lifetime by name: what it shows, in words and as SVG.

One list, so that the report, the dashboard and ``thrifty report --pictures`` show the same. The
first are for the one who pays; the last, ``curious``, for who wants to know how it works.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from thrifty.lifetime.outcomes import Monitor
from thrifty.report import (
    costs,
    cumulative,
    features,
    growth,
    metafeature,
    outcomes,
    prediction,
    quality,
    routes,
    spending,
)
from thrifty.report.ink import save_picture, svg_of
from thrifty.report.lineage import Lineage
from thrifty.report.number_text import amount, counted
from thrifty.report.view import LifetimeView

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["CURIOUS", "PICTURES", "Picture", "pictures_of", "save_pictures"]

#: the names, in the order in which they are shown; the second list under a heading of its own
CURIOUS = ("routes", "growth", "reuse")
PICTURES = ("bill", "costs", "quality", "outcomes", "features", "prediction", *CURIOUS)


@dataclass(frozen=True)
class Picture:
    """A picture ready to be drawn: a heading, a sentence that says what to see, the drawing."""

    name: str
    heading: str
    caption: str
    draw: Callable[[Axes], None]
    height: float = 3.6

    @property
    def curious(self) -> bool:
        """Whether it belongs under the heading for the curious."""
        return self.name in CURIOUS

    def svg(self) -> str:
        return svg_of(self.draw, height=self.height)


def pictures_of(
    view: LifetimeView, lineage: Lineage, scores: Mapping[str, float] | None = None
) -> list[Picture]:
    """Every picture there is something to show for."""
    if not view.tasks:
        return []
    found = [_bill(view), _costs(view)]
    if points := quality.quality_of(view, scores):
        found.append(_quality(points, view, theirs=scores is not None))
    if watched := outcomes.shown_monitors(view):
        found.append(_outcomes(watched))
    found.append(_features(view))
    if prices := prediction.prediction_prices(view):
        found.append(_prediction(view, prices))
    if len({task.route for task in view.tasks}) > 1:
        found.append(_routes(view))
    if view.metafeatures:
        found += [_growth(view, lineage), _reuse(lineage)]
    return found


def _bill(view: LifetimeView) -> Picture:
    """In streams of the theory beside its bound; elsewhere beside budget and everything."""
    if cumulative.has_bound(view) and not view.priced:
        return _bill_and_bound(view)
    so_far = spending.spending_of(view)
    budget = "" if so_far.budget is None else f"; the budget is {view.money(so_far.budget)}"
    return Picture(
        "bill",
        "The bill so far",
        f"Spent on learning after each task: {view.money(so_far.curve[-1])} by now. Everything "
        f"there is to buy would cost {view.money(so_far.everything)}{budget}.",
        partial(spending.draw_spending, spending=so_far, unit=view.unit),
    )


def _bill_and_bound(view: LifetimeView) -> Picture:
    curves = cumulative.cumulative_cells(cumulative.bills_of(view))
    return Picture(
        "bill",
        "The bill so far",
        f"Cells bought after each task, on a logarithmic axis. This lifetime stands at "
        f"{view.cells:,} cells; learning every task from scratch would have bought "
        f"{view.from_scratch:,}. The naive baseline is replayed: it remembers single features. "
        "The bound is Theorem 1 with the tasks that were learned from scratch.",
        partial(cumulative.draw_cumulative, curves=curves),
    )


def _costs(view: LifetimeView) -> Picture:
    found = costs.costs_of(view)
    dearest = max(found, key=lambda cost: cost.learning)
    return Picture(
        "costs",
        "What each task cost",
        f"The dearest to learn was “{dearest.task}”: {view.money(dearest.learning)}.",
        partial(costs.draw_costs, costs=found, unit=view.unit),
        height=_by_name(len(found)),
    )


def _by_name(n: int) -> float:
    """The height of a picture with a line per task, or of one with a mark for each of many."""
    return 1.5 + 0.24 * max(n, 3) if n <= costs.BARS else 3.6


def _features(view: LifetimeView) -> Picture:
    spends = features.spend_by_feature(view)
    unit = view.price_unit
    first = f" Most went to “{spends[0].name}”." if spends else ""
    last = spends[-1] if spends and spends[-1].many else None
    together = 0.0 if last is None else last.cells if unit == "cells" else last.cost
    rest = f" Not shown: {last.name}, {amount(together)} {unit}".rstrip() if last else ""
    fees = " Fees paid once an example are not in it." if view.fees else ""
    return Picture(
        "features",
        "Where the money went" if unit != "cells" else "Where the cells went",
        f"Spending by feature over all tasks.{first}{rest + ' together.' if rest else ''}{fees}",
        partial(features.draw_features, spends=spends, unit=unit),
        height=1.2 + 0.22 * max(len(spends), 4),
    )


def _quality(points: list[quality.QualityPoint], view: LifetimeView, theirs: bool) -> Picture:
    what = "your score on held-out rows" if theirs else "average precision on rows left out"
    unknown = len(view.tasks) - len(points)
    rest = f" Not measured: {counted(unknown, 'task')}." if unknown else ""
    how = (
        ""
        if theirs
        else (
            " Every row is scored by a model fitted without it, and weighs as it was bought. The "
            "features were chosen with all rows, so that the figures lean a little to the good "
            "side."
        )
    )
    return Picture(
        "quality",
        "How good the models are",
        f"{what[0].upper()}{what[1:]}, task by task.{how}{rest}",
        partial(quality.draw_quality, points=points, what=what, unit=view.unit),
        height=_by_name(len(points)),
    )


def _outcomes(watched: list[Monitor]) -> Picture:
    told = "; ".join(f"{one.task}: {one.sentence}" for one in watched)
    return Picture(
        "outcomes",
        "On what became true",
        f"{told}. Left, the AUROC of the present version, with the figure from rows left out when "
        "it was learned; right, how many positives its probabilities promised and how many came.",
        partial(outcomes.draw_outcomes, monitors=watched),
        height=0.3 + 2.3 * len(watched),
    )


def _prediction(view: LifetimeView, prices: list[prediction.PredictionPrice]) -> Picture:
    unit = view.price_unit
    mean = sum(p.mean for p in prices) / len(prices)

    def with_unit(number: float) -> str:
        return f"{amount(round(number, 2))} {unit}".rstrip()

    return Picture(
        "prediction",
        "The price of one prediction",
        f"What a new example costs where nothing is known of it yet, by task: {with_unit(mean)} "
        f"on average; all features together cost {with_unit(prices[0].everything)}. Predictions "
        "that stop when they are sure cost less.",
        partial(prediction.draw_prediction, prices=prices, unit=unit),
        height=_by_name(len(prices)),
    )


def _routes(view: LifetimeView) -> Picture:
    points = routes.cells_by_route(view)
    listed = ", ".join(f"{len(p.tasks):,} {route}" for route, p in points.items())
    return Picture(
        "routes",
        "How each task was learned",
        f"Cells per task in the order of learning, the mark by route: {listed}.",
        partial(routes.draw_routes, points=points),
    )


def _growth(view: LifetimeView, lineage: Lineage) -> Picture:
    return Picture(
        "growth",
        "What it knows",
        f"{counted(len(view.metafeatures), 'metafeature')}, by the task that taught them. When the "
        "curve is flat, tasks are learned from what is known.",
        partial(growth.draw_growth, growth=growth.growth_of(view, lineage)),
    )


def _reuse(lineage: Lineage) -> Picture:
    rows = metafeature.reuse_of(lineage)
    hidden = len(lineage.taught_by) - len(rows)
    more = f"; {hidden:,} that served fewer are not shown" if hidden else ""
    return Picture(
        "reuse",
        "What was reused",
        "Each line is a metafeature: a square at the task that taught it, a tick at every task "
        f"it served{more}.",
        partial(metafeature.draw_reuse, rows=rows),
        height=1.2 + 0.19 * max(len(rows), 6),
    )


def save_pictures(pictures: list[Picture], folder: Path) -> list[Path]:
    """Each picture as a PNG in a folder."""
    return [
        save_picture(folder / f"{p.name}.png", p.draw, p.heading, height=p.height) for p in pictures
    ]
