"""When a remembered model counts as the same label met again: each of the three tests alone."""

from __future__ import annotations

import numpy as np

from thrifty.cells import Cells
from thrifty.trees.tree import Leaf, Node, Split
from thrifty.trees.verified.experience import Experience, RememberedModel
from thrifty.trees.verified.recurring import Recurring

#: of 1,000 rows at home 300 are of class 1; the feature is true on 9 of 10 of them, else on 1 of 10
HOME = Node(Split(0), Leaf(0, (630, 30)), Leaf(1, (70, 270)))


def tried(rare, common, seed=0, n=4000):
    """Whether the model is accepted where the feature has these rates in the two classes."""
    random = np.random.default_rng(seed)
    codes = (np.arange(n) % 10 < 3).astype(np.int64)
    X = np.zeros((n, 3), dtype=bool)
    X[:, 0] = random.random(n) < np.where(codes == 1, rare, common)
    experience = Experience(models=(RememberedModel(HOME, HOME, 0.42, 0),), tasks=1)
    order = random.permutation(n)
    rows = order[np.argsort(codes[order], kind="stable")]
    return Recurring(experience, Cells(X), codes, rows, 32)


def test_the_same_rates_are_the_same_label():
    assert [tried(0.9, 0.1, seed).accepted(0.0) for seed in range(4)].count(HOME) >= 3


def test_too_little_explained_is_not_enough_though_the_rare_class_looks_the_same():
    for seed in range(6):
        known = tried(0.9, 0.31, seed)
        assert not known.left or known.accepted(0.0) is None


def test_other_leaves_of_the_rare_class_are_another_label_though_much_is_explained():
    for seed in range(6):
        known = tried(0.78, 0.02, seed)
        assert not known.left or known.accepted(0.0) is None


def test_it_must_explain_more_than_a_single_feature_does():
    assert tried(0.9, 0.1).accepted(0.0) == HOME
    assert tried(0.9, 0.1).accepted(1.0) is None
