"""Families and models as plain data: out through JSON, and back the same; and their limits."""

import json

import numpy as np
import pytest

import thrifty
from tests.trees.definitions import is_grown_from
from thrifty.errors import BadParameter, NotInFamily
from thrifty.trees.improve_rep import cut_at
from thrifty.trees.tree import MOST_DEPTH, affix, stump

RNG = np.random.default_rng(0)
BOOLEANS = RNG.integers(0, 2, (200, 12), dtype=np.uint8)
REALS = RNG.random((200, 12))
GAPS = np.where(RNG.random((200, 12)) < 0.05, np.nan, REALS)

FAMILIES = [
    (thrifty.Trees(max_depth=8), BOOLEANS),
    (thrifty.Trees(8, thrifty.trees.Paper(gain="eg2:0.5", improve="anchors")), BOOLEANS),
    (thrifty.Trees(9, thrifty.trees.Paper(match="threshold", gain="gini")), REALS),
    (thrifty.Trees(30, thrifty.trees.Paper(missing="larger-child")), GAPS),
    (thrifty.Trees(8, thrifty.trees.Paper(warm_up=thrifty.trees.WarmUp(0.9, 2, 0.5))), BOOLEANS),
    (thrifty.Lists(max_depth=9), BOOLEANS),
    (thrifty.Lists(max_depth=60, match="threshold", missing="larger-child"), GAPS),
]


def labels_of(X):
    first, second = np.nan_to_num(X[:, 2], nan=1.0), np.nan_to_num(X[:, 5], nan=0.0)
    return ((first > 0.5) | (second > 0.5)).astype(int)


def through_json(data):
    return json.loads(json.dumps(data))


@pytest.mark.parametrize("family, X", FAMILIES, ids=[repr(f)[:60] for f, _ in FAMILIES])
def test_everything_travels_as_json(family, X):
    y = labels_of(X)
    life = thrifty.Lifetime(family)
    for name in ("one", "two", "three"):
        learned = life.learn(name, X, y)
        assert (learned.model.predict(X) == y).all()
    assert learned.route == "reused"
    again = type(family).from_dict(through_json(family.to_dict()))
    assert again == family
    known = again.load_representation(through_json(life.representation.to_dict()))
    assert known == life.representation
    model = again.load_estimator(through_json(learned.model.to_dict()))
    assert type(model) is type(learned.model) and model.tree_ == learned.model.tree_
    assert (model.predict(X) == y).all()
    assert np.array_equal(model.predict_proba(X), learned.model.predict_proba(X))


def test_a_gain_that_is_a_function_cannot_be_stored():
    def gain(counts, totals, prices):
        return prices

    for family in (thrifty.Trees(3, thrifty.trees.Paper(gain=gain)), thrifty.Lists(3, gain=gain)):
        with pytest.raises(BadParameter, match="cannot be stored"):
            family.to_dict()


@pytest.mark.parametrize("gain", ["eg2:2", "eg2:", "eg2:much", "eg2:nan", "EG2", 3, None])
def test_unknown_gains(gain):
    with pytest.raises(BadParameter, match="must"):
        thrifty.Trees(max_depth=3, learner=thrifty.trees.Paper(gain=gain))


def test_pieces_between_anchors_grow_the_tree_again():
    tree = affix(affix(stump(1), (True,), stump(2)), (True, False), stump(3))
    assert cut_at(tree, {1}) == [tree]
    pieces = cut_at(tree, {1, 2, 3})
    assert pieces == [stump(1), stump(2), stump(3)]
    assert is_grown_from(tree, cut_at(tree, {3}))


def chain(n):
    """Labels that alternate along one feature: a list of n - 1 tests."""
    return np.arange(n, dtype=np.float64)[:, None], np.arange(n) % 2


def test_a_list_of_thousands_of_tests_is_refused_and_an_estimator_stops():
    X, y = chain(3 * MOST_DEPTH)
    life = thrifty.Lifetime(thrifty.Lists(max_depth=5000))
    with pytest.raises(NotInFamily, match="tests deep; at most 300"):
        life.learn("noise", X, y)
    assert len(life) == 0
    model = thrifty.estimators.ListClassifier().fit(X, y)
    assert model.get_depth() == MOST_DEPTH
    assert model.score(X, y) > 0.6 and len(str(model)) > 1000 and model.to_dict()
    assert repr(model.tree_) and model.tree_ == model.tree_ and hash(model.tree_)


def test_what_an_estimator_learns_alone_is_what_a_lifetime_learns_from_scratch():
    for X in (BOOLEANS, REALS):
        y = labels_of(X)
        alone = thrifty.TreeClassifier().fit(X, y)
        life = thrifty.Lifetime(thrifty.Trees(max_depth=9))
        assert life.learn("task", X, y).model.tree_ == alone.tree_


def test_a_source_with_gaps_follows_the_larger_child():
    y = labels_of(GAPS)
    model = thrifty.TreeClassifier(missing="larger-child").fit(GAPS, y)
    source = thrifty.Source.from_array(GAPS, allow_missing=True)
    assert (model.predict(source) == model.predict(GAPS)).all()
    strict = thrifty.TreeClassifier().fit(np.nan_to_num(GAPS), y)
    with pytest.raises(thrifty.errors.BadInput, match="got NaN for x"):
        strict.predict(source)
