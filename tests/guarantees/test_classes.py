"""More than two classes, texts as labels, weights, prices: reused trees equal scratch trees."""

import json

import numpy as np
import pytest

import thrifty
from tests.guarantees.seeds import shifted
from thrifty.errors import BadInput
from thrifty.trees.gains import GAINS
from thrifty.trees.tree import Leaf, Node, features_of, is_prefix, relabel

K = 4


def many_classes(tree, n_classes, rng):
    """The target with its leaves labelled from n classes, neighbours differing."""
    if isinstance(tree, Leaf):
        return Leaf(int(rng.integers(n_classes)))
    sides = [many_classes(tree.child(b), n_classes, rng) for b in (False, True)]
    if sides[0] == sides[1] and isinstance(sides[0], Leaf):
        sides[1] = Leaf((sides[1].label + 1) % n_classes)
    return Node(tree.split, *sides)


def answers(tree, X):
    out = np.empty(len(X), dtype=np.int64)
    for i, row in enumerate(X):
        at = tree
        while isinstance(at, Node):
            at = at.child(bool(row[at.split.feature]))
        out[i] = at.label
    return out


def tasks_with_classes(n_classes, seed, n_tasks=80, real=False):
    """A Boolean stream whose leaves are relabelled: the targets stay in DT(F).

    Where top-down learning no longer finds the target the task is left out, as streams do.
    """
    stream = thrifty.streams.trees(n_tasks, 150, K, 1500, 4, random_state=seed)
    rng = np.random.default_rng([seed, n_classes])
    for task in stream:
        target = many_classes(task.target, n_classes, rng)
        y = answers(target, task.X)
        X = task.X if not real else (task.X + rng.random(task.X.shape) * 0.9).astype(np.float32)
        tree = thrifty.TreeClassifier().fit(X, y).tree_
        if is_prefix(tree, target, by_feature=True):
            yield task.name, X, y


@pytest.mark.parametrize("real", [False, True])
@pytest.mark.parametrize("n_classes", [3, 10])
@pytest.mark.slow
def test_reused_equals_scratch(n_classes, real):
    life = thrifty.Lifetime(thrifty.Trees(max_depth=6, learner=thrifty.trees.Paper()))
    reused = equal = 0
    for name, X, y in tasks_with_classes(n_classes, shifted(0), real=real):
        learned = life.learn(name, X, y)
        assert (learned.model.predict(X) == y).all()
        if learned.route == "reused":
            scratch = thrifty.TreeClassifier().fit(X, y)
            reused += 1
            equal += learned.model.tree_ == scratch.tree_
    assert len(life) - reused <= K < reused
    assert equal == reused


def test_texts_as_labels():
    names = np.array(["flu", "cold", "well"])
    family = thrifty.Trees(max_depth=6, learner=thrifty.trees.Paper())
    life, plain = (thrifty.Lifetime(family) for _ in range(2))
    for name, X, y in tasks_with_classes(3, shifted(1), n_tasks=12):
        learned = life.learn(name, X, names[y])
        codes = plain.learn(name, X, y)
        assert learned.route == codes.route
        assert (learned.model.predict(X) == names[y]).all()
        assert set(learned.model.classes_) <= set(names)
        back = life.family.load_estimator(json.loads(json.dumps(learned.model.to_dict())))
        assert (back.predict(X) == names[y]).all()
    shares = learned.model.predict_proba(X)
    assert shares.shape == (len(X), len(learned.model.classes_))
    assert np.allclose(shares.sum(axis=1), 1)


@pytest.mark.parametrize("gain", [*sorted(GAINS), None])
def test_every_gain_keeps_the_promise(gain):
    """UseRep equals scratch for any function of (counts, price)."""

    def mine(counts, totals, prices):
        n_true = counts.sum(axis=0)
        lopsided = np.abs(2 * counts - totals[:, None]).sum(axis=0) / (1 + prices)
        return np.where((n_true == 0) | (n_true == totals.sum()), -np.inf, lopsided)

    family = thrifty.Trees(
        max_depth=60, learner=thrifty.trees.Paper(gain=mine if gain is None else gain)
    )
    prices = np.random.default_rng(shifted(0)).uniform(0, 20, 40)
    rng = np.random.default_rng(shifted(1))
    for real in (False, True):
        life = thrifty.Lifetime(family, prices=prices)
        X = rng.integers(0, 2, (300, 40), dtype=np.uint8)
        if real:
            X = rng.integers(0, 5, (300, 40)).astype(np.float64)
        y = (X[:, 3] * X[:, 7] + X[:, 11] > 1).astype(int)
        first = life.learn("first", X, y)
        again = life.learn("again", X, y)
        assert again.route == "reused"
        assert again.model.tree_ == first.model.tree_


def test_prices_change_the_tree():
    """Two copies of the answer, one cheap: only price-aware gains look at the price."""
    rng = np.random.default_rng(shifted(0))
    X = rng.integers(0, 2, (200, 5), dtype=np.uint8)
    X[:, 4] = X[:, 1]
    y = X[:, 1]
    prices = [1.0, 50.0, 1.0, 1.0, 2.0]
    asked = {}
    for gain in GAINS:
        family = thrifty.Trees(max_depth=3, learner=thrifty.trees.Paper(gain=gain))
        life = thrifty.Lifetime(family, prices=prices)
        asked[gain] = features_of(life.learn("copy", X, y).model.tree_)
    assert asked["entropy"] == asked["gini"] == asked["gain-ratio"] == {1}
    assert asked["eg2"] == asked["cs-id3"] == asked["idx"] == {4}


class TestSampleWeights:
    rng = np.random.default_rng(shifted(4))
    X = rng.random((80, 6))
    y = (X[:, 1] + X[:, 3] > 1).astype(int)

    def test_whole_numbers_repeat_rows(self):
        times = np.random.default_rng(shifted(0)).integers(0, 4, 80)
        weighted = thrifty.TreeClassifier().fit(self.X, self.y, sample_weight=times)
        rows = np.repeat(np.arange(80), times)
        repeated = thrifty.TreeClassifier().fit(self.X[rows], self.y[rows])
        assert weighted.tree_ == repeated.tree_

    @pytest.mark.parametrize("bad", [0.5, -1, np.nan, np.inf])
    def test_fractions_are_refused(self, bad):
        weights = np.ones(80)
        weights[7] = bad
        with pytest.raises(BadInput, match="whole numbers.*example 7"):
            thrifty.TreeClassifier().fit(self.X, self.y, sample_weight=weights)

    def test_wrong_length_and_nothing_left(self):
        with pytest.raises(BadInput, match="one number per example, 80"):
            thrifty.TreeClassifier().fit(self.X, self.y, sample_weight=[1, 2])
        with pytest.raises(BadInput, match="at least one example"):
            thrifty.TreeClassifier().fit(self.X, self.y, sample_weight=np.zeros(80))


def test_relabelled_trees_are_the_same_trees():
    """Which class is called 0 does not matter to the splits."""
    for _, X, y in tasks_with_classes(3, shifted(5), n_tasks=6):
        tree = thrifty.TreeClassifier().fit(X, y).tree_
        turned = thrifty.TreeClassifier().fit(X, 2 - y).tree_
        assert relabel(turned, lambda label: 2 - label) == tree
