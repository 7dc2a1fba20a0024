"""Thresholds, missing values and matching against plain twins: the same trees, the same cells."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.trees.plain import plain_cuts, plain_scratch, plain_side, plain_use_rep
from tests.trees.strategies import skeletons
from thrifty.attempt import Failed
from thrifty.cells import Cells
from thrifty.cells.sources import Source
from thrifty.errors import ContradictoryLabels
from thrifty.labels import read_classes
from thrifty.trees.gains import entropy, gain_ratio, gini
from thrifty.trees.representation import Metafeatures
from thrifty.trees.scratch import grow_real
from thrifty.trees.thresholds import best_by_gain, true_side
from thrifty.trees.tree import EMPTY, Node, Split, relabel
from thrifty.trees.use_rep import Grown, use_rep

N = 4


@st.composite
def tables(draw, gaps=False):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(2, 40))
    levels = draw(st.sampled_from([2, 4, 1000]))
    X = rng.integers(0, levels, (n, N)) / 4
    X[:, 3] = rng.integers(0, 2, n)  # one Boolean column
    y = (X[:, 0] > X[:, 0].mean()).astype(int) + (X[:, 1] > np.median(X[:, 1]))
    if gaps:
        X[rng.random(X.shape) < 0.15] = np.nan
    return X, y


@settings(max_examples=60)
@given(st.booleans().flatmap(lambda g: tables(gaps=g)), st.sampled_from([entropy, gini]))
def test_scratch_is_its_plain_twin(table, gain):
    X, y = table
    labels = read_classes(y)
    source = Source.from_array(X, allow_missing=True)
    try:
        expected = plain_scratch(X, labels.codes, labels.n_classes, source.boolean, gain)
    except ContradictoryLabels:
        with pytest.raises(ContradictoryLabels):
            grow_real(X, source.boolean, labels, gain, np.ones(N))
        return
    assert grow_real(X, source.boolean, labels, gain, np.ones(N)) == expected


@settings(max_examples=30)
@given(tables(gaps=True))
def test_missing_rows_follow_the_larger_child(table):
    X, y = table
    values = X[:, 0]
    labels = read_classes(y)
    totals = np.bincount(labels.codes)
    counts, threshold = best_by_gain(values, labels.codes, totals, 1.0, entropy)
    if np.isnan(threshold):
        assert not counts.any() and not plain_cuts(values)
        return
    side = true_side(values, threshold)
    assert (side == plain_side(values, threshold)).all()
    assert (counts == np.bincount(labels.codes[side], minlength=len(totals))).all()


def with_thresholds(tree, levels):
    """A skeleton over features 0..2 with thresholds that depend on the feature's turn."""
    if not isinstance(tree, Node):
        return EMPTY
    f = tree.split.feature
    split = Split(3) if f == 3 else Split(f, levels[f % len(levels)])
    return Node(
        split,
        with_thresholds(tree.false, levels[1:] + levels[:1]),
        with_thresholds(tree.true, levels[::-1]),
    )


@settings(max_examples=100)
@given(
    tables(),
    st.lists(skeletons(n_features=N, depth=3), max_size=4),
    st.sampled_from(["feature", "threshold"]),
    st.integers(1, 4),
)
def test_use_rep_is_its_plain_twin(table, shapes, match, max_depth):
    X, y = table
    labels = read_classes(y)
    cells = Cells(X)
    metafeatures = [with_thresholds(s, [0.125, 0.375, 0.625, float(np.median(X))]) for s in shapes]
    known, how = Metafeatures(tuple(metafeatures)), {"max_depth": max_depth, "match": match}
    attempt = use_rep(known, cells, labels, entropy, max_nodes=None, **how)
    tree, failed, bought = plain_use_rep(
        X, labels.codes, labels.n_classes, cells.boolean, metafeatures, max_depth, match
    )
    assert cells.receipt().cells == len(bought)
    if failed is None:
        assert attempt.route == "reused" and attempt.model == tree
    else:
        grown = Grown(tree, failed, len(failed) >= max_depth)
        assert isinstance(attempt, Failed) and attempt.grown == grown


def test_gain_ratio_cuts_by_entropy_and_compares_by_ratio():
    rng = np.random.default_rng(0)
    X = rng.random((200, 5))
    y = (X[:, 2] > 0.7).astype(int)
    labels = read_classes(y)
    tree = grow_real(X, np.zeros(5, bool), labels, gain_ratio, np.ones(5))
    by_entropy = grow_real(X, np.zeros(5, bool), labels, entropy, np.ones(5))
    assert tree == by_entropy and tree.split.feature == 2


def test_float32_and_float64_give_one_tree():
    rng = np.random.default_rng(1)
    X = rng.random((300, 20)).astype(np.float32)
    y = ((X[:, 3] > 0.5) & (X[:, 8] > 0.3)).astype(int)
    trees = [
        grow_real(X.astype(dtype), np.zeros(20, bool), read_classes(y), entropy, np.ones(20))
        for dtype in (np.float32, np.float64)
    ]
    assert trees[0] == trees[1]
    turned = grow_real(X, np.zeros(20, bool), read_classes(1 - y), entropy, np.ones(20))
    assert relabel(turned, lambda label: 1 - label) == trees[0]
