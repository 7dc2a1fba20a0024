"""Details of pictures and of the dashboard that a small change would break unnoticed."""

import time

from matplotlib.figure import Figure

from thrifty.report.dashboard import Watcher
from thrifty.report.pictures import _draw_quality
from thrifty.report.view import LifetimeView, Measured


def test_intervals_are_drawn():
    axes = Figure().subplots()
    _draw_quality(axes, [("a", Measured("AP", 0.8, 0.6, 0.9, 0.1))] * 2, "average precision")
    (drawn,) = axes.containers
    assert drawn.has_xerr
    (bars,) = drawn[2]
    assert [one[:, 0].round(6).tolist() for one in bars.get_segments()] == [[0.6, 0.9]] * 2


def test_a_dashboard_draws_what_is_new_each_time_and_rests_otherwise():
    looks, titles = [], ["first", "second"]
    watcher = Watcher(lambda: looks.append(0) or LifetimeView(title=titles[0]), every=0.1)
    watcher.start()
    drawn = 0  # each title is taken in and drawn
    for _ in titles:
        drawn += 2
        until = time.monotonic() + 20
        while watcher.scene.version < drawn and time.monotonic() < until:
            time.sleep(0.01)
        titles.reverse()
    watcher.stop()
    assert watcher.scene.version >= drawn
    looks.clear()
    resting = Watcher(lambda: looks.append(0) or LifetimeView())
    resting.start()
    time.sleep(0.2)
    resting.stop()
    assert 1 <= len(looks) <= 2
