"""Rows that a tree was grown on, or tested on, are fresh no more."""

import numpy as np

import thrifty
from thrifty.cells import Cells
from thrifty.labels.classes import read_classes
from thrifty.trees.representation import Metafeatures
from thrifty.trees.tested import _FIRST, _Trial, answers, rows_to_pass
from thrifty.trees.tree import Leaf, Node, Split, stump

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
