"""Trees as arrays: what a store brings is refused where it is no tree, before a kernel walks it."""

from __future__ import annotations

import base64

import numpy as np
import pytest

from thrifty.cells.ledger.arrays import pack_arrays, unpack_arrays
from thrifty.models.fits.boosting import grow_boosted
from thrifty.models.fits.tree_sums import add_up, tree_sum_from_dict


def grown(categories=False):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 5, size=(120, 3)).astype(float)
    y = (X[:, 0] + X[:, 1] > 4).astype(np.int64)
    return X, grow_boosted(X, y, np.ones(120), np.array([categories, False, False]), 0)


def with_nodes(data, change):
    nodes = {name: a.copy() for name, a in unpack_arrays(base64.b64decode(data["nodes"])).items()}
    change(nodes)
    return {**data, "nodes": base64.b64encode(pack_arrays(nodes)).decode()}


def put(name, at, value):
    return lambda nodes: nodes[name].__setitem__(at, value)


def cut(name):
    return lambda nodes: nodes.__setitem__(name, nodes[name][:-1])


@pytest.mark.parametrize(
    "change",
    [
        put("left", 0, 10**6), put("right", 0, -3), put("left", 0, 0), put("right", 4, 1),
        put("roots", 0, 10**6), put("roots", 1, -1), put("column", 0, 1), put("feature", 0, -1),
        cut("left"), cut("threshold"), cut("gap_left"), cut("column"), cut("value"),
    ],
)  # fmt: skip
def test_what_is_no_tree_is_refused(change):
    _, trees = grown()
    data = trees.to_dict()
    tree_sum_from_dict(with_nodes(data, lambda nodes: None))
    with pytest.raises(ValueError, match="no trees"):
        tree_sum_from_dict(with_nodes(data, change))


def test_categories_of_nodes_that_are_not_there_are_refused():
    _, trees = grown(categories=True)
    data = trees.to_dict()
    with pytest.raises(ValueError, match="no trees"):
        tree_sum_from_dict({**data, "sets": [[10**6, [1.0], [1.0]]]})


def test_trees_over_more_features_than_came_are_refused():
    X, trees = grown()
    wide = tree_sum_from_dict(with_nodes(trees.to_dict(), put("feature", 0, 7)))
    with pytest.raises(ValueError, match="8 features got 3"):
        wide.scores(X)


def test_a_sum_of_sums():
    X, trees = grown(categories=True)
    both = add_up([(2.0, trees), (-0.5, trees)], 0.25)
    assert np.allclose(both.scores(X), 1.5 * trees.scores(X) + 0.25)
