"""Trees decide with the margins of orders, fees and discounts, not with single prices."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import thrifty
from thrifty.trees.tree import Node, features_of

NAMES = ["a", "b", "c"]
#: once a is there, b has come with it; c is cheaper than the order and dearer than nothing
PANEL = thrifty.PriceList({"c": 3}, orders={"panel": (5, ["a", "b"])})
#: what single prices would be taken for: each of a and b costs what the order costs
ALONE = [5.0, 5.0, 3.0]


def tree_tasks(seed=0, S=600):
    """Under a, both b and its twin c tell the label."""
    rng = np.random.default_rng(seed)
    X = rng.random((S, 3)) < 0.5
    X[:, 2] = X[:, 1]
    y = np.where(X[:, 0], 2, X[:, 1].astype(int))
    return pd.DataFrame(X, columns=NAMES), y


def below_the_root(tree):
    assert isinstance(tree, Node) and tree.split.feature == 0
    return features_of(tree) - {0}


def bill_of(model, frame):
    """What asking every example along its path costs with the panel."""
    cells = thrifty.Cells(thrifty.Source.from_frame(frame), PANEL)
    model.ask(cells, np.arange(len(frame)))
    return cells.receipt().cost


@pytest.mark.parametrize("learner", [thrifty.Paper, thrifty.Race, thrifty.Tested])
@pytest.mark.parametrize("gain", ["eg2", "cs-id3", "idx"])
def test_below_an_order_what_it_filled_is_free(learner, gain):
    frame, y = tree_tasks()
    found = {}
    for name, prices in (("panel", PANEL), ("alone", ALONE)):
        family = thrifty.Trees(max_depth=4, learner=learner(gain=gain))
        model = thrifty.Lifetime(family, prices=prices).learn("t", frame, y).model
        found[name] = model
    assert below_the_root(found["panel"].tree_) == {1}
    assert below_the_root(found["alone"].tree_) == {2}
    assert bill_of(found["panel"], frame) == 5 * len(frame)
    assert bill_of(found["alone"], frame) > 5 * len(frame)
