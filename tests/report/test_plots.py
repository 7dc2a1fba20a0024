"""The data behind each picture; drawing is checked to draw what the data says."""

import re

import numpy as np
import pandas as pd
import pytest

import thrifty
from tests.loops import paper
from thrifty.cells import Receipt
from thrifty.report import LifetimeView, pictures_of, save_pictures, view_of
from thrifty.report import pictures as pics
from thrifty.report.ink import figure
from thrifty.report.view import Measured, TaskView


def test_the_bill_is_the_lifetimes(life: thrifty.Lifetime, view: LifetimeView) -> None:
    curve = pics.spending_of(view).curve
    assert curve[-1] == sum(task.receipt.cells for task in life.tasks)
    assert (np.diff(curve) >= 0).all()


def test_updates_are_on_the_bill_so_far() -> None:
    task = TaskView("a", "bought", Receipt(8, 20.0, 0, 0, 2, 10, 2))
    again = {"task": "a@2", "route": "update", "cost": 5.0, "cells": 1}
    asked = {"task": "a", "route": "prediction", "cost": 7.0, "cells": 1}
    assert pics.spending_of(LifetimeView(tasks=(task,), beside=(asked, again))).curve == (
        20.0,
        25.0,
    )


def test_spending_by_feature_adds_up(view: LifetimeView) -> None:
    spends = pics.expenses_of(view, most=5)
    assert len(spends) == 6 and spends[-1].name == "the other 55"
    assert sum(s.cost for s in spends) == view.cells
    assert spends[0].cost >= spends[4].cost


@pytest.mark.parametrize(("bought", "said"), [(15, False), (16, False), (17, True)])
def test_only_what_is_not_drawn_is_said_not_to_be_shown(bought: int, said: bool) -> None:
    cells = {f"item {i}": 10 for i in range(1, bought + 1)}
    task = TaskView("t", "bought", Receipt(10, 10.0, 0, 0, bought, 10, bought, per_feature=cells))
    view = LifetimeView(tasks=(task,), feature_names=tuple(cells))
    (picture,) = [p for p in pictures_of(view) if p.name == "expenses"]
    assert ("Not shown: the other 2," in picture.caption) == said
    assert ("Not shown" in picture.caption) == said
    names = [spend.name for spend in pics.expenses_of(view)]
    assert names.index("item 2") < names.index("item 10")  # as people count


def test_a_legend_stays_inside_its_picture() -> None:
    points = [
        (f"will come back within thirty days {i}", Measured("AP", 0.5, 0.4, 0.7, 0.3))
        for i in range(4)
    ]
    drawn = figure()
    axes = drawn.subplots()
    pics._draw_quality(axes, points, "average precision on held-out rows")
    drawn.canvas.draw()
    box = axes.get_legend().get_window_extent()
    assert box.x0 >= 0 and box.x1 <= drawn.bbox.x1


def test_expenses_are_lines_of_the_bill_and_sum_to_what_was_spent() -> None:
    """An order of two features costs what it costs, not the sum of their prices."""
    prices = thrifty.PriceList({"a": 9, "b": 9, "c": 1}, orders={"panel": (10, ["a", "b"])})
    X = pd.DataFrame([[0, 0, 1], [1, 0, 1], [1, 1, 0], [0, 1, 0]], columns=["a", "b", "c"])
    life = thrifty.Lifetime(paper(3), prices=prices)
    life.learn("both", X, [0, 0, 1, 0])
    found = pics.expenses_of(view_of(life))
    assert [one.name for one in found] == ["panel", "c"]
    assert sum(one.cost for one in found) == life.balance().learning == 44.0


def test_a_tree_that_fits_its_own_rows_says_nothing_of_others(view: LifetimeView) -> None:
    assert pics.quality_of(view) == []


def test_every_picture_is_drawn_with_labelled_axes(view: LifetimeView, tmp_path) -> None:
    pictures = pictures_of(view)
    assert [p.name for p in pictures] == ["bill", "costs", "expenses", "prediction"]
    for picture in pictures:
        axes = figure().subplots()
        picture.draw(axes)
        assert axes.get_xlabel() and axes.get_ylabel(), picture.name
        svg = picture.svg()
        assert not re.search(r"#0b6e8a(?!;)", svg), "colours must follow the reader's scheme"
        assert "<text" in svg, "text must stay text"
    assert all(p.stat().st_size > 5000 for p in save_pictures(pictures[:2], tmp_path))


def test_a_prediction_is_priced_by_the_order_that_is_charged() -> None:
    """Single tests would cost 16, the order that fills both 5."""
    prices = thrifty.PriceList({"tsh": 8, "t4": 8}, orders={"thyroid": (5, ["tsh", "t4"])})
    X = pd.DataFrame([[0, 0], [1, 0], [1, 1], [0, 1]] * 3, columns=["tsh", "t4"])
    life = thrifty.Lifetime(thrifty.Trees(max_depth=3), prices=prices)
    life.learn("both", X, [0, 0, 1, 0] * 3)
    life.predict("both", pd.DataFrame([[1, 1], [1, 0]], columns=["tsh", "t4"]))
    (price,) = pics.prediction_prices(view_of(life))
    assert (price.at_most, price.charged) == (5.0, 5.0)


def test_numbers_are_measured() -> None:
    X = np.random.default_rng(0).normal(size=(200, 3))
    life = thrifty.Lifetime(random_state=0)
    life.learn("dose", X, X[:, 0] + 0.1 * X[:, 1], spend="100 %")
    ((_, found),) = pics.quality_of(view_of(life))
    assert found.value > 0.8 and found.low < found.value and found.guessing == 0.0


def test_the_same_view_gives_the_same_picture(view: LifetimeView) -> None:
    first, again = (pictures_of(view)[0].svg() for _ in range(2))
    assert first == again


def test_nothing_is_drawn_of_an_empty_lifetime() -> None:
    empty = LifetimeView()
    assert pictures_of(empty) == []
