"""The price of one prediction: what must be bought to classify one new example."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from thrifty.report.ink import INK, SERIES, frame, legend
from thrifty.report.view import LifetimeView
from thrifty.report.words import amount
from thrifty.trees.tree import Leaf, Tree

__all__ = ["PredictionPrice", "draw_prediction", "prediction_prices"]


@dataclass(frozen=True)
class PredictionPrice:
    """One task: cheapest, average and dearest path of its tree.

    The average weighs paths by the training rows that took them, or evenly where the tree does not
    say. ``everything`` is the price of all features on one example.
    """

    task: str
    lowest: float
    mean: float
    highest: float
    everything: float


def prediction_prices(view: LifetimeView) -> list[PredictionPrice]:
    """A price per task with a tree, cheapest on average first.

    >>> from thrifty.report.view import TaskView
    >>> from thrifty.trees.tree import stump
    >>> task = TaskView("a", "scratch", 8, 8.0, 0, 0, 2, 4, 2, tree=stump(1))
    >>> view = LifetimeView(tasks=(task,), feature_names=("age", "tsh"), prices={"tsh": 22.5})
    >>> [(p.mean, p.everything) for p in prediction_prices(view)]
    [(22.5, 23.5)]
    """
    everything = _price_of(set(view.feature_names), view)
    found = []
    for task in view.tasks:
        if task.tree is None:
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
        with_this = asked | {view.name_of(tree.split.feature)}
        yield from _paths(tree.child(branch), view, with_this)


def _price_of(features: AbstractSet[str], view: LifetimeView) -> float:
    """What these features cost on one example: each once, and each panel's fee once."""
    fees: dict[str, float] = {}
    for name in features:
        fees.update(view.fees.get(name, {}))
    return sum(map(view.price, features)) + sum(fees.values())


def draw_prediction(
    axes: Any, prices: Sequence[PredictionPrice], unit: str = "cells"
) -> None:
    """Average per task, with the span from the cheapest to the dearest path as a band."""
    at = range(1, len(prices) + 1)
    axes.fill_between(
        at, [p.lowest for p in prices], [p.highest for p in prices], step="mid", alpha=0.25,
        color=SERIES[0], linewidth=0, label="cheapest to dearest path",
    )  # fmt: skip
    axes.step(at, [p.mean for p in prices], where="mid", color=SERIES[0], linewidth=1.8,
              label="average path")  # fmt: skip
    axes.set_ylim(bottom=0)
    axes.margins(x=0.01)
    if prices:
        note = f"all features: {amount(prices[0].everything)} {unit}"
        axes.annotate(note, (0.99, 0.03), xycoords="axes fraction", ha="right", color=INK,
                      fontsize=9)  # fmt: skip
    price = f"price of one prediction ({unit})"
    frame(axes, "tasks, cheapest prediction first", price, counts=True)
    legend(axes, loc="upper left")
