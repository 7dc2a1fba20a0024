"""Details of trees that a small change would break unnoticed."""

import dataclasses
import math

import numpy as np
import pytest

import thrifty
from thrifty import kernels
from thrifty.cells import Cells
from thrifty.errors import BadInput
from thrifty.labels import read_classes
from thrifty.trees import race, race_node, scratch
from thrifty.trees.improve_rep import cut_at
from thrifty.trees.model import flatten
from thrifty.trees.representation import Metafeatures, newest_used
from thrifty.trees.tested import _FIRST, _Trial, answers, rows_to_pass
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


def test_so_many_nodes_are_counted_at_once_that_their_counts_fit_the_buffer(monkeypatch):
    X = np.random.default_rng(0).random((200, 9)) < 0.5
    y, counted, count = np.packbits(X[:, :3], axis=1)[:, 0], [], scratch.count
    monkeypatch.setattr(
        scratch, "count", lambda nodes, tiles: counted.append(len(nodes)) or count(nodes, tiles)
    )
    whole = thrifty.TreeClassifier().fit(X, y)
    assert max(counted) == 4  # the third level
    counted.clear()
    monkeypatch.setattr(scratch, "BUFFER", 3 * 4 * 8 * kernels.TILE)  # three nodes, eight classes
    assert thrifty.TreeClassifier().fit(X, y).tree_ == whole.tree_
    assert scratch.BUFFER and max(counted) == 3


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


def test_a_race_asks_in_few_rounds():
    """A sample grows by a third from round to round: two equal features are told in few calls."""
    rng, calls = np.random.default_rng(0), []
    X = np.repeat(rng.random((1200, 1)) < 0.5, 2, axis=1)
    X[::150, 1] ^= True

    def ask(examples, features):
        calls.append(len(examples))
        return X[np.ix_([int(e) for e in examples], [int(f) for f in features])]

    source = thrifty.Source.from_callable(ask, examples=range(1200), features=["0", "1"], name="s")
    budget = thrifty.Budget(total=2400)
    life = thrifty.Lifetime(thrifty.Trees(max_depth=1), budget=budget, random_state=0)
    with pytest.raises(thrifty.errors.NotInFamily):  # after the race: two labels of ten are flipped
        life.learn("t", source, X[:, 0] ^ (rng.random(1200) < 0.2))
    assert 5 < len(calls) < 60, len(calls)


def test_a_representation_that_is_tried_whole_needs_no_more_rows_than_its_promise():
    """368 right answers in a row promise an error of at most .01: 437 are asked for a part."""
    rng = np.random.default_rng(1)
    learner = thrifty.trees.Tested(0.01, 0.95, random_state=0)
    life = thrifty.Lifetime(thrifty.Trees(max_depth=2, learner=learner), random_state=0)
    X, Z = rng.random((600, 40)) < 0.5, rng.random((2000, 40)) < 0.5
    life.learn("first", X, X[:, 3])
    learned = life.learn("second", Z, Z[:, 3])
    assert learned.route == "reused" and "on 368 rows" in learned.receipt.promise


def test_a_bar_holds_for_every_cut_of_a_feature(monkeypatch):
    """Of n rows there are at most n cuts, each in one of two ways that gaps may go."""
    shared, plain = [], race_node.Bar

    class Watched(race_node.RealNodeRace):
        def _out_of_reach(self):
            def seen(gain, totals, height, log_delta):
                shared.append((self.log_delta - log_delta, math.log(2 * totals.sum())))
                return plain(gain, totals, height, log_delta)

            with monkeypatch.context() as patched:
                patched.setattr(race_node, "Bar", seen)
                return super()._out_of_reach()

    monkeypatch.setattr(race, "RealNodeRace", Watched)
    X = np.random.default_rng(3).normal(size=(400, 3))
    thrifty.Lifetime(thrifty.Trees(max_depth=1), random_state=0).learn("t", X, X[:, 1] > 0.3)
    assert shared and all(ours == pytest.approx(theirs) for ours, theirs in shared)


def test_nodes_share_one_thousandth(monkeypatch):
    given = []

    class Watched(race.NodeRace):
        def __init__(self, *args, **how):
            super().__init__(*args, **how)
            given.append(math.exp(self.log_delta))

    monkeypatch.setattr(race, "NodeRace", Watched)
    task = thrifty.streams.trees(1, 40, 3, 600, 4, random_state=3, max_nodes=6)[0]
    thrifty.Lifetime(thrifty.Trees(max_depth=4)).learn("t", task.X, task.y)
    assert len(given) >= 2
    assert given == pytest.approx([0.001 / (i * (i + 1)) for i in range(1, len(given) + 1)])
    assert sum(given) <= 0.001


def test_after_a_restart_the_whole_tree_is_stored_and_nothing_else():
    random = np.random.default_rng(0)
    first, second = (random.random((300, 8)) < 0.5 for _ in range(2))
    family = thrifty.Trees(max_depth=3, learner=thrifty.trees.Paper())
    life = thrifty.Lifetime(family, agnostic=thrifty.agnostic.Restart(1))
    life.learn("one", first, first[:, 0])
    again = life.learn("two", second, second[:, 0] & second[:, 5])
    assert again.route == "scratch" and again.failure is not None
    # Compared with what was grown from the forgotten stump, the part below it would come too.
    assert len(life.representation) == 1


RIGHT, WRONG = (Node(Split(0), Leaf(a), Leaf(1 - a)) for a in (0, 1))


def trial(n_rows=4000):
    X = np.random.default_rng(0).random((n_rows, 5)) < 0.5
    labels = read_classes(X[:, 0].astype(int))
    terms = thrifty.trees.Tested(0.01, 0.95, random_state=0)
    return _Trial(terms, Metafeatures((stump(0),)), Cells(X), labels, 3)


def test_a_test_moves_past_the_rows_it_asked_about():
    tried = trial()
    assert tried.met == _FIRST
    assert tried._test(RIGHT, 1)
    first = rows_to_pass(0.01, 0.95, 1)
    assert tried.met == _FIRST + first
    assert tried._test(RIGHT, 2)
    assert tried.met == _FIRST + first + rows_to_pass(0.01, 0.95, 2)


def test_mistakes_join_the_sample_and_are_not_asked_again():
    tried = trial()
    assert tried._test(WRONG, 1) is False
    asked = set(tried.order[_FIRST : tried.met].tolist())
    assert len(asked) > 0 and set(tried.sample[_FIRST:].tolist()) <= asked
    fresh = set(tried.order[tried.met :].tolist())
    assert not fresh & set(tried.sample.tolist())


def test_rows_that_enlarge_the_sample_are_not_fresh():
    tried = trial()
    assert tried._enlarge()
    assert len(tried.sample) == 2 * _FIRST == tried.met
    assert not set(tried.order[tried.met :].tolist()) & set(tried.sample.tolist())


def test_without_enough_fresh_rows_the_test_cannot_tell():
    tried = trial(_FIRST + rows_to_pass(0.01, 0.95, 1) - 1)
    assert tried._test(RIGHT, 1) is None
    assert trial(_FIRST + rows_to_pass(0.01, 0.95, 1))._test(RIGHT, 1) is True


def test_a_row_without_a_value_goes_where_more_rows_went():
    for more, label in ((0, 0), (1, 1)):
        sides = [Leaf(side, counts=(9.0, 0.0) if side == more else (2.0, 0.0)) for side in (0, 1)]
        tree = Node(Split(0, 1.5), false=sides[0], true=sides[1])
        cells = Cells(thrifty.Source.from_array([[np.nan], [1.0], [2.0]], allow_missing=True))
        assert answers(tree, cells, np.arange(3)).tolist() == [label, 0, 1]
