"""Trees decide with the margins of orders, fees and discounts, not with single prices."""

import numpy as np
import pandas as pd
import pytest

import thrifty
from thrifty.labels import read_classes
from thrifty.trees.gains import entropy
from thrifty.trees.race import shuffled
from thrifty.trees.race_node import NodeRace
from thrifty.trees.tree import Node, features_of

NAMES = ["a", "b", "c"]
#: once a is there, b has come with it; c is cheaper than the order and more expensive than nothing
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
    cells = thrifty.protocol.Cells(thrifty.Source.from_frame(frame), PANEL)
    model.ask(cells, np.arange(len(frame)))
    return cells.receipt().cost


@pytest.mark.parametrize("learner", [thrifty.trees.Paper, thrifty.trees.Race, thrifty.trees.Tested])
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


def test_a_fee_above_is_not_counted_again():
    """Under a both need the draw that a has paid: b for 1 beats its twin c for 6."""
    frame, y = tree_tasks()
    prices = thrifty.PriceList({"a": 1, "b": 1, "c": 6}, fees={"draw": (9, ["a", "b"])})
    family = thrifty.Trees(max_depth=4, learner=thrifty.trees.Paper(gain="idx"))
    model = thrifty.Lifetime(family, prices=prices).learn("t", frame, y).model
    assert below_the_root(model.tree_) == {1}


def test_an_estimator_takes_a_price_list():
    frame, y = tree_tasks()
    model = thrifty.TreeClassifier(gain="idx", prices=PANEL).fit(frame, y)
    assert below_the_root(model.tree_) == {1}


def test_a_race_knows_that_a_panel_fills_its_rivals():
    """A further round of forty tests of one panel costs what one of them does."""
    rng = np.random.default_rng(3)
    X = rng.random((3000, 41)) < 0.5
    y = np.where(X[:, 0], X[:, 1], X[:, 2]).astype(int)
    names = [f"x{f}" for f in range(41)]
    source = thrifty.Source.from_frame(pd.DataFrame(X, columns=names))
    panel = thrifty.PriceList({"x0": 1}, orders={"panel": (1, names[1:])})
    for prices, promoted in ((panel, False), (thrifty.PriceList(1), True)):
        cells = thrifty.protocol.Cells(source, prices)
        labels, every = read_classes(y), np.arange(41)
        node = shuffled(cells, labels)
        race = NodeRace(cells, entropy, node, every, 0.001, cells.prices)
        race._sample(np.array([200, 200]))
        assert race._costs_little(leader=1, target=race._next_sample()) == promoted
