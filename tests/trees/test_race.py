"""Raced trees against trees of every candidate on every row."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import thrifty
from tests.trees.strategies import tables
from thrifty.attempt import Failed
from thrifty.cells import Cells
from thrifty.errors import BadParameter, ContradictoryLabels
from thrifty.labels import read_classes
from thrifty.trees.gains import entropy, entropy_at_most, gain_named, gini, gini_at_most
from thrifty.trees.race import race_all_features
from thrifty.trees.race_node import Bar, tables_of_cuts
from thrifty.trees.scratch import grow_from_scratch, grow_real
from thrifty.trees.tree import EMPTY, Leaf, Node


@gain_named
def price_aware(counts, totals, prices):
    """A user's own gain: information by money."""
    gains = entropy(counts, totals, prices)
    return np.where(gains == -np.inf, -np.inf, gains / prices)


def full_tree(X, y, gain=entropy, prices=None):
    prices = np.ones(X.shape[1]) if prices is None else prices
    return grow_from_scratch(Cells(X).everything(), read_classes(y), gain, prices)


def consistent(tree, X, y):
    for row, label in zip(X, y):
        at = tree
        while isinstance(at, Node):
            at = at.child(bool(row[at.split.feature]))
        if at.label != label:
            return False
    return True


@settings(max_examples=40)
@given(tables(), st.sampled_from([entropy, gini, price_aware]))
def test_raced_scratch_is_consistent_and_small_tables_are_bought_whole(table, gain):
    X, y = table
    labels = read_classes(y)
    prices = np.linspace(1, 9, X.shape[1])
    cells = Cells(X, prices)
    tree = race_all_features(cells, labels, gain)
    try:
        expected = full_tree(X, y, gain, prices)
    except ContradictoryLabels:
        assert tree is None
        return
    assert tree == expected
    assert consistent(tree, X, labels.codes)


@pytest.mark.parametrize("gain", [entropy, gini])
@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_several_classes(gain, n_classes):
    rng = np.random.default_rng(n_classes)
    X = rng.random((1500, 40)) < 0.5
    y = np.minimum(2 * X[:, 7] + X[:, 21] + X[:, 3] * X[:, 7], n_classes - 1)
    cells = Cells(X)
    assert race_all_features(cells, read_classes(y), gain) == full_tree(X, y, gain)
    assert cells.receipt().cells < 0.5 * X.size


@pytest.mark.parametrize("gain", [entropy, gini])
def test_many_classes(gain):
    rng = np.random.default_rng(0)
    X = rng.random((6000, 60)) < 0.5
    y = X[:, [4, 19, 33, 50]] @ np.array([8, 4, 2, 1])
    cells = Cells(X)
    assert race_all_features(cells, read_classes(y), gain) == full_tree(X, y, gain)
    assert cells.receipt().cells < 0.5 * X.size


@settings(max_examples=60)
@given(
    st.integers(0, 2**32 - 1), st.sampled_from([(entropy, entropy_at_most), (gini, gini_at_most)])
)
def test_bounds_for_many_classes_lie_above_every_corner(seed, pair):
    gain, at_most = pair
    rng = np.random.default_rng(seed)
    totals = rng.integers(1, 30, 5)
    low = np.stack([rng.integers(0, n + 1, 6) for n in totals])
    high = np.stack([rng.integers(a, n + 1) for a, n in zip(low, totals)])
    bound = at_most(low, high, totals)
    for corner in product((low, high), repeat=5):
        at = np.stack([side[c] for c, side in enumerate(corner)])
        assert (gain(at, totals, np.ones(6)) <= bound + 1e-9).all()
    inside = rng.integers(low, high + 1)
    assert (gain(inside, totals, np.ones(6)) <= bound + 1e-9).all()


def test_many_classes_and_a_gain_of_the_users_own_are_not_raced():
    rng = np.random.default_rng(5)
    X = rng.random((300, 6)) < 0.5
    y = X @ np.array([1, 2, 4, 8, 0, 0])
    family = thrifty.Trees(learner=thrifty.trees.Race(gain=price_aware))
    cells = Cells(X)
    assert family.from_scratch(cells, read_classes(y), None).model == full_tree(X, y, price_aware)
    assert cells.receipt().cells == X.size


def test_many_prices_of_a_price_aware_gain():
    rng = np.random.default_rng(0)
    X = rng.random((2000, 60)) < 0.5
    y = np.where(X[:, 5], X[:, 9], X[:, 30])
    for prices in (np.where(np.arange(60) < 40, 1.0, 50.0), np.geomspace(1, 50, 60)):
        cells = Cells(X, prices)
        tree = race_all_features(cells, read_classes(y), price_aware)
        assert tree == full_tree(X, y, price_aware, prices)
        assert cells.receipt().cost < 0.5 * len(X) * prices.sum()


def test_an_expensive_feature_that_cannot_win_is_never_bought():
    rng = np.random.default_rng(1)
    X = rng.random((500, 12)) < 0.5
    prices = np.where(np.arange(12) == 11, 1e6, 1.0)
    cells = Cells(X, prices)
    race_all_features(cells, read_classes(X[:, 2]), price_aware)
    assert cells.meter.bought_per_feature[11] == 0


def test_ties_go_to_the_lowest_index():
    rng = np.random.default_rng(2)
    X = np.repeat(rng.random((400, 3)) < 0.5, 4, axis=1)
    tree = race_all_features(Cells(X), read_classes(X[:, 6]), entropy)
    assert isinstance(tree, Node) and tree.split.feature == 4


def test_one_class_buys_nothing():
    cells = Cells(np.eye(4, dtype=bool))
    assert race_all_features(cells, read_classes([1, 1, 1, 1]), entropy) == Leaf(0)
    assert cells.receipt().cells == 0


def test_zero_gain_splits_are_raced_too():
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 30, dtype=bool)
    y = X[:, 0] ^ X[:, 1]
    assert race_all_features(Cells(X), read_classes(y), entropy) == full_tree(X, y)


@pytest.mark.parametrize(
    "stream",
    [
        thrifty.streams.trees(15, 60, 4, 800, 4, random_state=5),
        thrifty.streams.reals(10, 40, 3, 1000, 4, random_state=5),
    ],
    ids=["bits", "reals"],
)
def test_a_lifetime_of_races_is_the_lifetime_without(stream):
    full = thrifty.Lifetime(thrifty.Trees(max_depth=4, learner=thrifty.trees.Paper()))
    raced = thrifty.Lifetime(thrifty.Trees(max_depth=4, learner=thrifty.trees.Race()))
    for task in stream:
        a, b = (life.learn(task.name, task.X, task.y) for life in (full, raced))
        assert (a.route, a.model.tree_) == (b.route, b.model.tree_)
        assert b.receipt.cells <= a.receipt.cells
        assert (a.failure and a.failure.reason) == (b.failure and b.failure.reason)
    bills = [sum(t.receipt.cells for t in life.tasks) for life in (full, raced)]
    assert bills[1] < 0.5 * bills[0]
    assert full.representation == raced.representation


def test_where_a_race_fails_every_candidate_is_compared(monkeypatch):
    """A wrong race must not make a task fail that Algorithm 2 learns."""
    task = next(iter(thrifty.streams.trees(1, 40, 2, 500, 3, random_state=1)))
    family = thrifty.Trees(max_depth=3, learner=thrifty.trees.Race())
    cells, labels = Cells(task.X), read_classes(task.y)
    scratch = family.from_scratch(cells, labels, None)
    representation = family.improve_rep(family.start(), scratch)
    monkeypatch.setattr("thrifty.trees.race.race_tree", lambda *args, **how: None)
    attempt = family.use_rep(representation, Cells(task.X), labels)
    assert attempt.route == "reused" and attempt.model == task.target


def test_the_empty_representation_fails_without_a_cell():
    family = thrifty.Trees(learner=thrifty.trees.Race())
    cells = Cells(np.eye(8, dtype=bool))
    attempt = family.use_rep(family.start(), cells, read_classes([0, 1] * 4))
    assert isinstance(attempt, Failed) and attempt.failure.reason == "no-candidate"
    assert attempt.grown.tree == EMPTY and cells.receipt().cells == 0


def test_the_bar_by_calls_is_the_bar_by_kernel():
    """A user's gain goes another way to the same boundary."""

    @gain_named
    def mine(counts, totals, prices):
        return entropy(counts, totals, prices)

    totals = np.array([70, 31])
    rng = np.random.default_rng(3)
    sampled = np.array([30, 20])
    counts = np.stack([rng.integers(0, m + 1, 200) for m in sampled])
    for height in (0.3, 0.5, 0.8):
        answers = [
            Bar(gain, totals, height, np.log(0.01)).out_of_reach(counts, sampled, np.ones(200))
            for gain in (entropy, mine)
        ]
        assert (answers[0] == answers[1]).all()
        assert answers[0].any() and not answers[0].all()


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.booleans(), st.sampled_from([entropy, gini, price_aware]))
def test_small_real_tables_are_bought_whole(seed, gaps, gain):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 5, (rng.integers(2, 30), 4)).astype(float)
    X[:, 0] = X[:, 0] > 2
    if gaps:
        X[rng.random(X.shape) < 0.1] = np.nan
    y = rng.integers(0, 3, len(X))
    prices = np.linspace(1, 9, 4)
    source = thrifty.Source.from_array(X, allow_missing=True)
    tree = race_all_features(Cells(source, prices), read_classes(y), gain)
    try:
        expected = grow_real(X, source.boolean, read_classes(y), gain, prices)
    except ContradictoryLabels:
        assert tree is None
        return
    assert tree == expected


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_real_values_booleans_and_gaps_together(n_classes, gaps):
    rng = np.random.default_rng(n_classes + 10 * gaps)
    X = rng.normal(size=(1500, 30))
    X[:, ::5] = X[:, ::5] > 0
    if gaps:
        X[:, 7][rng.random(1500) < 0.02] = np.nan
    known = np.nan_to_num(X[:, 7], nan=-1.0)
    y = np.minimum(2 * (known >= 0.3) + (X[:, 11] >= -0.5) * (X[:, 10] > 0), n_classes - 1)
    source = thrifty.Source.from_array(X, allow_missing=True)
    cells = Cells(source)
    tree = race_all_features(cells, read_classes(y), entropy)
    assert tree == grow_real(X, source.boolean, read_classes(y), entropy, np.ones(30))
    assert cells.receipt().cells < 0.7 * X.size


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_tables_of_cuts_hold_every_threshold(seed, missing_true):
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 4, (rng.integers(1, 9), 3)).astype(float)
    values[rng.random(values.shape) < 0.2] = np.nan
    codes = rng.integers(0, 2, len(values))
    tables = tables_of_cuts(values, codes, 2, missing_true)
    for f in range(3):
        found = {tuple(table) for table in tables[:, :, f].T.tolist()}
        expected = set()
        for threshold in (-1.0, 0.5, 1.5, 2.5, 9.0):
            side = (values[:, f] >= threshold) | (missing_true & np.isnan(values[:, f]))
            expected.add(tuple(np.bincount(codes[side], minlength=2).tolist()))
        assert found == expected


@pytest.mark.parametrize("learner", [thrifty.trees.Race, thrifty.trees.Tested])
def test_what_cannot_be_raced_is_refused(learner):
    with pytest.raises(BadParameter, match=r"Use thrifty\.trees\.Paper"):
        learner(gain="gain-ratio")


def test_a_class_with_one_row():
    X = np.random.default_rng(0).random((300, 12)) < 0.5
    X[:, 6] = np.arange(300) == 17
    y = X[:, 6].astype(int)
    cells = Cells(X)
    assert race_all_features(cells, read_classes(y), entropy) == full_tree(X, y)
    assert cells.receipt().cells < X.size


def test_a_size_limit_fails_the_race_as_it_fails_algorithm_2():
    task = next(iter(thrifty.streams.trees(1, 40, 2, 500, 3, random_state=1)))
    labels = read_classes(task.y)
    whole = thrifty.Trees(max_depth=3, learner=thrifty.trees.Race())
    known = whole.improve_rep(whole.start(), whole.from_scratch(Cells(task.X), labels, None))
    for learner in (thrifty.trees.Paper, thrifty.trees.Race):
        family = thrifty.Trees(max_depth=3, learner=learner(max_nodes=1))
        attempt = family.use_rep(known, Cells(task.X), labels)
        assert isinstance(attempt, Failed) and attempt.failure.reason == "too-large"
