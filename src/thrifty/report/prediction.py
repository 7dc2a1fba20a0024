"""The price of one prediction: what must be bought to classify one new example."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TYPE_CHECKING

from thrifty.report.costs import BARS
from thrifty.report.ink import SERIES, frame, legend, plain_text, value_axis
from thrifty.report.view import LifetimeView
from thrifty.trees.tree import Leaf, Tree

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["PredictionPrice", "draw_prediction", "prediction_prices"]


@dataclass(frozen=True)
class PredictionPrice:
    """One task: cheapest, average and dearest path of its tree; of a model that asks for all its
    features, what these cost.

    The average weighs paths by the training rows that took them, or evenly where the tree does not
    say. ``everything`` is the price of all features on one example.
    """

    task: str
    lowest: float
    mean: float
    highest: float
    everything: float


def prediction_prices(view: LifetimeView) -> list[PredictionPrice]:
    """A price per task, cheapest on average first.

    >>> from thrifty.report.view import TaskView
    >>> from thrifty.trees.tree import stump
    >>> from thrifty import Receipt
    >>> task = TaskView("a", "scratch", Receipt(8, 8.0, 0, 0, 2, 4, 2), tree=stump(1))
    >>> view = LifetimeView(tasks=(task,), feature_names=("age", "tsh"), prices={"tsh": 22.5})
    >>> [(p.mean, p.everything) for p in prediction_prices(view)]
    [(22.5, 23.5)]
    """
    everything = _price_of(set(view.feature_names), view)
    found = []
    for task in view.tasks:
        if task.tree is None:
            if task.asks:
                whole = _price_of(set(task.asks), view)
                found.append(PredictionPrice(task.name, whole, whole, whole, everything))
            continue
        paths = list(_paths(task.tree, view, frozenset()))  # (price, rows) of each
        weights = [weight for _, weight in paths]
        even = any(weight is None for weight in weights) or not sum(w or 0 for w in weights)
        shares = [1.0 if even else float(weight or 0) for weight in weights]
        prices = [price for price, _ in paths]
        mean = sum(p * s for p, s in zip(prices, shares)) / sum(shares)
        found.append(PredictionPrice(task.name, min(prices), mean, max(prices), everything))
    return sorted(found, key=lambda price: (price.mean, price.task))


def _paths(
    tree: Tree, view: LifetimeView, asked: frozenset[str]
) -> Iterator[tuple[float, float | None]]:
    """The price of each path and the training rows that took it."""
    if isinstance(tree, Leaf):
        yield _price_of(asked, view), None if tree.counts is None else float(sum(tree.counts))
        return
    for branch in (False, True):
        with_this = asked | {view.feature_behind(tree.split.feature)}
        yield from _paths(tree.child(branch), view, with_this)


def _price_of(features: AbstractSet[str], view: LifetimeView) -> float:
    """What these features cost on one example: each once, and each panel's fee once."""
    fees: dict[str, float] = {}
    for name in features:
        fees.update(view.fees.get(name, {}))
    return sum(map(view.price, features)) + sum(fees.values())


def draw_prediction(axes: Axes, prices: Sequence[PredictionPrice], unit: str = "cells") -> None:
    """A bar per task with the span of its paths; of many tasks the average as a line in a band."""
    what = f"price of one prediction ({unit})" if unit else "price of one prediction"
    if len(prices) <= BARS:
        _bars(axes, prices)
        value_axis(axes, [max((p.highest for p in prices), default=1.0)], "x")
        frame(axes, what, "task", grid="x")
    else:
        at = range(1, len(prices) + 1)
        axes.fill_between(
            at,
            [p.lowest for p in prices],
            [p.highest for p in prices],
            step="mid",
            alpha=0.25,
            color=SERIES[0],
            linewidth=0,
            label="cheapest to dearest path",
        )
        axes.step(
            at,
            [p.mean for p in prices],
            where="mid",
            color=SERIES[0],
            linewidth=1.8,
            label="average path",
        )
        value_axis(axes, [max((p.highest for p in prices), default=1.0)])
        axes.margins(x=0.01)
        frame(axes, "tasks, cheapest prediction first", what, counts=True)
    legend(axes)


def _bars(axes: Axes, prices: Sequence[PredictionPrice]) -> None:
    places = list(range(len(prices)))
    axes.barh(places, [p.mean for p in prices], color=SERIES[0], height=0.6, label="on average")
    if any(p.lowest < p.highest for p in prices):
        axes.hlines(
            places,
            [p.lowest for p in prices],
            [p.highest for p in prices],
            color=SERIES[1],
            linewidth=1.6,
            label="cheapest to dearest",
        )
    axes.set_yticks(places, [plain_text(p.task) for p in prices], fontsize=9)
    axes.invert_yaxis()
