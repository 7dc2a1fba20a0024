"""How models do on what became true: quality and calibration over time, and in a sentence."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from thrifty.lifetime.outcomes import Monitor, Period
from thrifty.report.ink import INK, SERIES, frame, legend, plain_text
from thrifty.report.view import LifetimeView

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["MonitorRow", "draw_outcomes", "monitor_rows", "shown_monitors"]

#: models that a picture shows, those with the latest outcomes
_SHOWN = 4
#: periods whose name stands below a panel; more would run into each other
_NAMED_PERIODS = 5


@dataclass(frozen=True)
class MonitorRow:
    """A line of the table: what a reader is told of one model."""

    task: str
    sentence: str
    outcomes: int
    quality: str
    calibration: str
    predictions: int
    spent: str
    inputs: str


def monitor_rows(view: LifetimeView) -> list[MonitorRow]:
    """A line per model whose outcomes are known."""
    return [_row(one, view) for one in view.monitors]


def _row(one: Monitor, view: LifetimeView) -> MonitorRow:
    quality = calibration = "not known"
    if one.auroc is not None and one.auroc_learned is not None:
        quality = f"{one.auroc:.3f} ({one.auroc_learned:.3f} when it was learned)"
    if one.expected is not None and one.seen is not None:
        calibration = f"{one.expected:.1%} expected, {one.seen:.1%} came"
    named = ", ".join(f"{m.feature} ({m.distance:.2f})" for m in one.moved[:5])
    more = f" and {len(one.moved) - 5} more" if len(one.moved) > 5 else ""
    return MonitorRow(
        one.task if one.version == 1 else f"{one.task}@{one.version}",
        one.sentence,
        one.outcomes,
        quality,
        calibration,
        one.predictions,
        view.money(round(one.spent, 2)),
        f"moved: {named}{more}" if one.moved else "as they were",
    )


def shown_monitors(view: LifetimeView) -> list[Monitor]:
    """Those that have a period to draw, the latest."""
    known = [one for one in view.monitors if one.periods]
    return sorted(known, key=lambda one: -one.periods[-1].begins)[:_SHOWN]


def draw_outcomes(axes: Axes, monitors: Sequence[Monitor]) -> None:
    """Two panels a model: the AUROC and the share of positives, period by period.

    What a panel shows stands above it: beside it there is no room between the two.
    """
    axes.set_axis_off()
    n = len(monitors)
    tall = 1 / n
    for i, one in enumerate(monitors):
        bottom = 1 - (i + 1) * tall + 0.12 * tall
        named = plain_text(one.task, 24)
        for left, draw, shown in (
            (0.03, _draw_quality, f"{named}: AUROC"),
            (0.55, _draw_calibration, "share of positives"),
        ):
            panel = axes.inset_axes((left, bottom, 0.45, 0.58 * tall))
            axes.text(left, bottom + 0.74 * tall, shown, color=INK, fontsize=9, fontweight="bold")
            draw(panel, one)
            _dates(panel, one.periods)


def _draw_quality(axes: Axes, one: Monitor) -> None:
    measured = [(i, p) for i, p in enumerate(one.periods) if p.auroc is not None]
    if one.auroc_learned is not None:
        if one.learned_low is not None and one.learned_high is not None:
            axes.axhspan(one.learned_low, one.learned_high, color=INK, alpha=0.12, linewidth=0)
        axes.axhline(one.auroc_learned, color=INK, linestyle="--", linewidth=1, label="learned")
    low = [p.auroc - (p.auroc_low or 0) for _, p in measured if p.auroc is not None]
    high = [(p.auroc_high or 0) - p.auroc for _, p in measured if p.auroc is not None]
    axes.errorbar(
        [i for i, _ in measured], [p.auroc or 0.0 for _, p in measured], yerr=[low, high], fmt="o",
        color=SERIES[0], markersize=4, capsize=2.5, linewidth=1.1, label="since, 95 %",
    )  # fmt: skip
    if one.since is not None:
        begins = sum(p.begins <= one.since for p in one.periods) - 1
        axes.axvline(begins - 0.4, color=SERIES[1], linestyle=":", linewidth=1.4, label="worse")
    ends = [v for _, p in measured for v in (p.auroc_low, p.auroc_high) if v is not None]
    ends += [v for v in (one.learned_low, one.learned_high) if v is not None]
    axes.set_ylim(min(0.5, *ends, 0.5) - 0.02, 1.02)
    frame(axes, "", "")
    legend(axes)


def _draw_calibration(axes: Axes, one: Monitor) -> None:
    places = list(range(len(one.periods)))
    seen = [p.seen for p in one.periods]
    reach = [
        [p.seen - p.seen_low for p in one.periods], [p.seen_high - p.seen for p in one.periods]
    ]  # fmt: skip
    axes.errorbar(
        places, seen, yerr=reach, fmt="o", color=SERIES[0], markersize=4, capsize=2.5,
        linewidth=1.1, label="came, 95 %",
    )  # fmt: skip
    axes.plot(
        places, [p.expected for p in one.periods], "s--", color=SERIES[1], markersize=4,
        linewidth=1, label="expected",
    )  # fmt: skip
    axes.set_ylim(0, min(1.02, 1.15 * max(p.seen_high for p in one.periods)))
    frame(axes, "", "")
    legend(axes)


def _dates(axes: Axes, periods: Sequence[Period]) -> None:
    months = len(periods) > 1 and periods[-1].begins - periods[0].begins > 62 * 86_400
    form = "%b" if months else "%d %b"
    every = -(-len(periods) // _NAMED_PERIODS)
    at = list(range(0, len(periods), every))
    named = [time.strftime(form, time.gmtime(periods[i].begins)) for i in at]
    axes.set_xticks(at, named, fontsize=8)
    axes.set_xlim(-0.6, len(periods) - 0.4)
    axes.tick_params(axis="y", labelsize=8)
