"""Details of pictures and of the dashboard that a small change would break unnoticed."""

from __future__ import annotations

import time

import pytest
from matplotlib.figure import Figure

from thrifty.report.dashboard.watch import Watcher
from thrifty.report.quality import QualityPoint, _marks
from thrifty.report.routes import RoutePoints, draw_routes
from thrifty.report.view import LedgerView, LifetimeView


@pytest.mark.parametrize("known", [True, False])
def test_intervals_are_drawn_where_they_are_known(known):
    ends = {"low": 0.6, "high": 0.9} if known else {}
    axes = Figure().subplots()
    _marks(axes, [0.0, 1.0], [QualityPoint("a", 1.0, 0.8, **ends)] * 2, upright=True)
    assert len(axes.containers) == known  # bars with ends
    assert len(axes.lines) >= 1


def test_tasks_that_were_reused_are_hollow():
    axes = Figure().subplots()
    points = {route: RoutePoints((1, 2), (8, 9)) for route in ("scratch", "reused")}
    draw_routes(axes, points)
    filled = {line.get_label().split()[0]: line.get_markerfacecolor() for line in axes.lines}
    assert filled["reused"] == "none" != filled["scratch"]


def test_nothing_is_spent_before_something_is_bought():
    assert (LedgerView().spent, LedgerView().reserved) == (0, 0)


def test_a_dashboard_that_nobody_looks_at_rests():
    looks = []
    watcher = Watcher(lambda: looks.append(0) or LifetimeView())
    watcher.start()
    time.sleep(0.2)
    watcher.stop()
    assert 1 <= len(looks) <= 2
