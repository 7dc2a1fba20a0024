"""The data behind each picture; drawing is checked to draw what the data says."""

from __future__ import annotations

import re

import numpy as np
import pytest

import thrifty
from thrifty.cells import Receipt
from thrifty.report import LifetimeView, lineage_of, pictures_of, save_pictures, view_of
from thrifty.report.cumulative import bills_of, cumulative_cells, draw_cumulative
from thrifty.report.features import spend_by_feature
from thrifty.report.growth import growth_of
from thrifty.report.ink import figure
from thrifty.report.lineage import metafeature_of_nodes
from thrifty.report.metafeature import reuse_of
from thrifty.report.pictures import PICTURES
from thrifty.report.prediction import prediction_prices
from thrifty.report.quality import QualityPoint, draw_quality, quality_of
from thrifty.report.routes import cells_by_route
from thrifty.report.view import TaskView, prices_by_name
from thrifty.trees.tree import affix, internal_nodes, stump, tree_from_dict


def test_the_bill_is_the_lifetimes(life: thrifty.Lifetime, view: LifetimeView) -> None:
    curve = cumulative_cells(bills_of(view))["Thrifty"]
    assert curve[-1] == sum(task.receipt.cells for task in life.tasks)
    assert (np.diff(curve) >= 0).all()


def test_the_replayed_naive_baseline_is_what_the_naive_learner_pays(
    view: LifetimeView, stream: thrifty.streams.TreeStream
) -> None:
    naive = thrifty.Lifetime(thrifty.Trees(max_depth=4, learner=thrifty.Paper(improve="features")))
    paid = [naive.learn(t.name, t.X, t.y).receipt.cells for t in stream]
    assert bills_of(view)["features seen (naive)"] == paid


def test_scratch_and_bound_frame_the_bill(view: LifetimeView) -> None:
    bills = bills_of(view)
    assert bills["scratch every time"] == [400 * 60] * 24
    assert all(np.cumsum(bills["Thrifty"]) <= np.cumsum(bills["bound"]))
    assert all(np.cumsum(bills["bound"]) <= np.cumsum(bills["scratch every time"]))


def test_no_naive_and_no_bound_for_models_that_are_not_trees() -> None:
    task = TaskView("m", "scratch", Receipt(20, 20.0, 0, 0, 2, 10, 4), text="x1^2")
    assert set(bills_of(LifetimeView(tasks=(task,)))) == {"Thrifty", "scratch every time"}


def test_routes_hold_every_task_once(view: LifetimeView) -> None:
    points = cells_by_route(view)
    numbers = sorted(n for p in points.values() for n in p.tasks)
    assert numbers == list(range(1, 25))
    assert sum(c for p in points.values() for c in p.cells) == view.cells


def test_spending_by_feature_adds_up(view: LifetimeView) -> None:
    spends = spend_by_feature(view, most=5)
    assert len(spends) == 6 and spends[-1].name == "the other 55 features"
    assert sum(s.cells for s in spends) == view.cells
    assert spends[0].cost >= spends[4].cost


@pytest.mark.parametrize(("bought", "said"), [(15, False), (16, False), (17, True)])
def test_only_what_is_not_drawn_is_said_not_to_be_shown(bought: int, said: bool) -> None:
    cells = {f"item {i}": 10 for i in range(1, bought + 1)}
    task = TaskView("t", "screened", Receipt(10, 10.0, 0, 0, bought, 10, bought, per_feature=cells))
    view = LifetimeView(tasks=(task,), feature_names=tuple(cells))
    (picture,) = [p for p in pictures_of(view, lineage_of(view)) if p.name == "features"]
    assert ("Not shown: the other 2 features" in picture.caption) == said
    assert ("Not shown" in picture.caption) == said
    names = [spend.name for spend in spend_by_feature(view)]
    assert names.index("item 2") < names.index("item 10")  # as people count


def test_a_legend_stays_inside_its_picture() -> None:
    points = [
        QualityPoint(f"will come back within thirty days {i}", 5.0, 0.5, 0.4, 0.7, 0.3)
        for i in range(4)
    ]
    drawn = figure()
    axes = drawn.subplots()
    draw_quality(axes, points, "average precision on rows left out", "EUR")
    drawn.canvas.draw()
    box = axes.get_legend().get_window_extent()
    assert box.x0 >= 0 and box.x1 <= drawn.bbox.x1


def test_prices_decide_which_feature_is_dearest(life: thrifty.Lifetime) -> None:
    view = view_of(life, prices=[1.0] * 59 + [1000.0])
    assert spend_by_feature(view)[0].name == view.feature_names[59]


def test_reused_trees_come_from_metafeatures_and_these_from_scratch_tasks(
    view: LifetimeView,
) -> None:
    lineage = lineage_of(view)
    reused = [task for task in view.tasks if task.route == "reused"]
    assert reused
    for task in reused:
        nodes = {path for path, _ in internal_nodes(task.tree)}
        assert set(metafeature_of_nodes(task.tree, view.metafeatures)) == nodes
    assert all(view.tasks[n].route == "scratch" for n in lineage.taught_by)
    for taught, used in zip(lineage.taught_by, lineage.used_by):
        assert all(n > taught for n in used)


def test_a_node_comes_from_the_metafeature_that_covers_most_of_its_neighbours() -> None:
    small, large = stump(1), affix(stump(1), (True,), stump(2))
    tree = affix(affix(stump(5), (False,), stump(1)), (False, True), stump(2))
    assert metafeature_of_nodes(tree, [small, large]) == {(False,): 1, (False, True): 1}


def test_labelled_metafeatures_and_screened_tasks_have_a_lineage() -> None:
    labelled = tree_from_dict({"feature": 1, "false": {"label": 0}, "true": {"label": 1}})
    first = TaskView("a", "screened", Receipt(8, 8.0, 0, 0, 2, 4, 2), tree=labelled)
    second = TaskView("b", "screened", Receipt(8, 8.0, 0, 0, 2, 4, 2), tree=labelled)
    lineage = lineage_of(LifetimeView(tasks=(first, second), metafeatures=(labelled,)))
    assert (lineage.taught_by, lineage.used_by) == ((0,), ((1,),))


def test_growth_ends_at_what_is_known(view: LifetimeView) -> None:
    growth = growth_of(view, lineage_of(view))
    assert growth.metafeatures[-1] == len(view.metafeatures)
    assert growth.from_scratch[-1] == sum(t.route == "scratch" for t in view.tasks)


def test_reuse_counts_tasks_from_one(view: LifetimeView) -> None:
    rows = reuse_of(lineage_of(view), most=2)
    assert len(rows) == 2
    assert all(row.taught_by is not None and row.taught_by >= 1 for row in rows)


def test_quality_is_the_users_score_where_one_is_given(view: LifetimeView) -> None:
    assert quality_of(view) == []  # a tree that fits its own rows says nothing of others
    theirs = quality_of(view, {"task-0003": 0.8, "unknown": 0.1})
    assert [(p.task, p.quality) for p in theirs] == [("task-0003", 0.8)]


def test_a_path_pays_each_feature_once_and_rows_weigh_it() -> None:
    leaf_a, leaf_b = {"label": 0, "counts": [30, 0]}, {"label": 1, "counts": [0, 10]}
    again = {"feature": 0, "threshold": 2.0, "false": leaf_b, "true": leaf_b}
    tree = tree_from_dict(
        {
            "feature": 0,
            "threshold": 1.0,
            "false": leaf_a,
            "true": {"feature": 1, "false": again, "true": leaf_b},
        }
    )
    task = TaskView("t", "scratch", Receipt(8, 8.0, 0, 0, 2, 4, 2), tree=tree)
    view = LifetimeView(tasks=(task,), feature_names=("a", "b"), prices={"a": 4.0, "b": 2.0})
    (price,) = prediction_prices(view)
    assert (price.lowest, price.highest, price.everything) == (4.0, 6.0, 6.0)
    assert price.mean == pytest.approx((30 * 4 + 10 * 6 + 10 * 6 + 10 * 6) / 60)


def test_a_panels_fee_is_paid_once_on_a_path() -> None:
    tree = affix(stump(0), (True,), stump(1))
    task = TaskView("t", "scratch", Receipt(8, 8.0, 0, 0, 2, 4, 2), tree=tree)
    prices = thrifty.PriceList({"tsh": 12, "t4": 8}, fees={"draw": (10, ["tsh", "t4"])})
    names = ("tsh", "t4")
    view = LifetimeView(tasks=(task,), feature_names=names, **prices_by_name(prices, names))
    (price,) = prediction_prices(view)
    assert (price.lowest, price.highest, price.everything) == (22.0, 30.0, 30.0)


def test_every_picture_is_drawn_with_labelled_axes(view: LifetimeView, tmp_path) -> None:
    pictures = pictures_of(view, lineage_of(view))
    assert tuple(p.name for p in pictures) == tuple(
        n for n in PICTURES if n not in ("quality", "outcomes")
    )
    for picture in pictures:
        axes = figure().subplots()
        picture.draw(axes)
        assert axes.get_xlabel() and axes.get_ylabel(), picture.name
        svg = picture.svg()
        assert not re.search(r"#0b6e8a(?!;)", svg), "colours must follow the reader's scheme"
        assert "<text" in svg, "text must stay text"
    assert all(p.stat().st_size > 5000 for p in save_pictures(pictures[:2], tmp_path))


def test_lines_differ_without_colour(view: LifetimeView) -> None:
    axes = figure().subplots()
    draw_cumulative(axes, cumulative_cells(bills_of(view)))
    styles = [line.get_linestyle() for line in axes.get_lines()]
    assert len(set(styles)) == len(styles) == 4


def test_the_same_view_gives_the_same_picture(view: LifetimeView) -> None:
    first, again = (pictures_of(view, lineage_of(view))[0].svg() for _ in range(2))
    assert first == again


def test_nothing_is_drawn_of_an_empty_lifetime() -> None:
    empty = LifetimeView()
    assert pictures_of(empty, lineage_of(empty)) == []
