"""Details of trees that a small change would break unnoticed."""

import dataclasses

import numpy as np
import pytest

import thrifty
from thrifty import kernels
from thrifty.errors import BadInput
from thrifty.trees import scratch
from thrifty.trees.drawing import draw_tree
from thrifty.trees.improve_rep import cut_at
from thrifty.trees.model import flatten
from thrifty.trees.representation import newest_used
from thrifty.trees.tree import Leaf, Node, Split, affix, features_of, stump


def test_what_is_used_is_looked_for_on_both_branches():
    tree = affix(affix(stump(1), (True,), stump(2)), (False,), stump(3))
    assert newest_used(tree, [stump(1), stump(2), stump(3)]) == {0, 1, 2}


def test_pieces_keep_both_branches():
    tree = affix(affix(stump(1), (False,), stump(2)), (True,), stump(3))
    (piece,) = cut_at(tree, {1})
    assert sorted(features_of(piece)) == [1, 2, 3]


def test_the_first_bad_weight_is_named():
    X, y = np.array([[0], [1], [1], [0]]), [0, 1, 1, 0]
    with pytest.raises(BadInput, match="0.5 for example 1"):
        thrifty.TreeClassifier().fit(X, y, sample_weight=[1, 0.5, 1, 0.25])


def test_a_family_and_a_learner_are_values_that_nobody_changes():
    for value, name in ((thrifty.Trees(max_depth=3), "max_depth"), (thrifty.trees.Paper(), "gain")):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(value, name, None)
        assert isinstance(hash(value), int)


def test_learners_take_their_options_by_name_and_show_those_that_were_given():
    with pytest.raises(TypeError):
        thrifty.trees.Paper("gini")
    assert repr(thrifty.trees.Paper()) == "Paper()"
    assert repr(thrifty.trees.Paper(gain="gini")) == "Paper(gain='gini')"


def test_so_many_nodes_are_counted_at_once_that_their_counts_take_64_mebibytes():
    tiles = np.zeros((2**18 // (2 * kernels.TILE), 1, 1), dtype=np.uint64)  # 1 MiB for two classes
    made = scratch.batches([None] * 130, tiles, 2)
    assert [len(some) for some in made] == [64, 64, 2]


def test_a_race_from_scratch_buys_a_part():
    X = np.random.default_rng(0).random((3000, 30)) < 0.5
    learned = thrifty.Lifetime(thrifty.Trees(max_depth=3)).learn("t", X, X[:, 3] & X[:, 5])
    assert learned.route == "scratch" and learned.receipt.cells < 0.5 * X.size


def test_features_of_many_tiles_are_counted():
    n = 3 * kernels.TILE + 5
    X = np.random.default_rng(0).random((60, n)) < 0.5
    y = X[:, n - 1]
    family = thrifty.Trees(max_depth=2, learner=thrifty.trees.Paper())
    assert thrifty.Lifetime(family).learn("t", X, y).model.tree_.split.feature == n - 1


def test_a_node_knows_what_its_rows_were():
    """Where a prediction stops early, the answer is that of the rows below."""
    flat = flatten(Node(Split(0), Leaf(0, (3, 1)), Leaf(1, (0, 4))), 2)
    assert flat.share[0].tolist() == [3 / 8, 5 / 8] and flat.label.tolist() == [1, 0, 1]


def test_boxes_are_drawn_where_the_lines_end():
    pytest.importorskip("matplotlib").use("Agg")
    ax = draw_tree(affix(stump(1), (True,), stump(2)))
    places = {text.get_text(): text.get_position() for text in ax.texts if text.get_text() != "·"}
    assert places["x1?"] == (0.75, 0) and places["x2?"] == (1.5, -1)
