"""Every picture of a lifetime by name: what it shows, in words and as SVG.

One list, so that the report, the dashboard and ``thrifty report --pictures`` show the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from thrifty.report import cumulative, features, growth, metafeature, prediction, quality, routes
from thrifty.report.ink import save_picture, svg_of
from thrifty.report.lineage import Lineage
from thrifty.report.view import LifetimeView
from thrifty.report.words import amount, counted

__all__ = ["PICTURES", "Picture", "pictures_of", "save_pictures"]

#: the names, in the order in which they are shown
PICTURES = (
    "bill", "routes", "features", "growth", "reuse", "quality", "prediction",
)  # fmt: skip


@dataclass(frozen=True)
class Picture:
    """A picture ready to be drawn: a heading, a sentence that says what to see, the drawing."""

    name: str
    heading: str
    caption: str
    draw: Callable[[Any], None]
    height: float = 3.6

    def svg(self) -> str:
        return svg_of(self.draw, height=self.height)


def pictures_of(
    view: LifetimeView, lineage: Lineage, scores: Mapping[str, float] | None = None
) -> list[Picture]:
    """Every picture there is something to show for."""
    found = [_bill(view), _routes(view), _features(view)]
    if view.metafeatures:
        found += [_growth(view, lineage), _reuse(lineage)]
    if points := quality.quality_of(view, scores):
        found.append(_quality(points, held_out=scores is not None))
    if prices := prediction.prediction_prices(view):
        found.append(_prediction(view, prices))
    return found if view.tasks else []


def _bill(view: LifetimeView) -> Picture:
    curves = cumulative.cumulative_cells(cumulative.bills_of(view))
    return Picture(
        "bill",
        "The bill so far",
        f"Cells bought after each task, on a logarithmic axis. This lifetime stands at "
        f"{view.cells:,} cells; learning every task from scratch would have bought "
        f"{view.from_scratch:,}."
        + (" The naive baseline is replayed: it remembers features, not metafeatures."
           if "features seen (naive)" in curves else "")
        + (" The bound is Theorem 1 with the tasks that were learned from scratch."
           if "bound" in curves else ""),
        partial(cumulative.draw_cumulative, curves=curves),
    )  # fmt: skip


def _routes(view: LifetimeView) -> Picture:
    points = routes.cells_by_route(view)
    listed = ", ".join(f"{len(p.tasks):,} {route}" for route, p in points.items())
    return Picture(
        "routes",
        "What each task cost",
        f"Cells per task in the order of learning, the mark by route: {listed}.",
        partial(routes.draw_routes, points=points),
    )


def _features(view: LifetimeView) -> Picture:
    spends = features.spend_by_feature(view)
    unit = view.price_unit
    first = f" Most went to {spends[0].name}." if spends else ""
    last = spends[-1] if len(spends) > features.MOST else None
    together = 0.0 if last is None else last.cells if unit == "cells" else last.cost
    rest = f" Not shown: {last.name}, {amount(together)} {unit} together." if last else ""
    return Picture(
        "features",
        "Where the money went" if unit != "cells" else "Where the cells went",
        f"Spending by feature over all tasks.{first}{rest}",
        partial(features.draw_features, spends=spends, unit=unit),
        height=1.2 + 0.22 * max(len(spends), 4),
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


def _quality(points: list[quality.QualityPoint], held_out: bool) -> Picture:
    what = "score on held-out rows" if held_out else "accuracy on training rows"
    return Picture(
        "quality",
        "Quality against cells",
        f"A mark per task: {what} against the share of its table that was bought."
        + ("" if held_out else " Give --scores for a score of your own on held-out rows."),
        partial(quality.draw_quality, points=points, what=what),
    )


def _prediction(view: LifetimeView, prices: list[prediction.PredictionPrice]) -> Picture:
    unit = view.price_unit
    mean = sum(p.mean for p in prices) / len(prices)
    return Picture(
        "prediction",
        "The price of one prediction",
        f"What a new example costs, by task: {amount(mean)} {unit} on average, where all features "
        f"together cost {amount(prices[0].everything)} {unit}.",
        partial(prediction.draw_prediction, prices=prices, unit=unit),
    )


def save_pictures(pictures: list[Picture], folder: Path) -> list[Path]:
    """Each picture as a PNG in a folder."""
    return [save_picture(folder / f"{p.name}.png", p.draw, p.heading) for p in pictures]
