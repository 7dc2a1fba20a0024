"""Verified on noisy Boolean tasks: routes, bills, bad input, what is remembered."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import thrifty
from thrifty import kernels
from thrifty.trees.tree import Leaf, Node, Split, depth, features_of
from thrifty.trees.verified.belief import belief_below, first_belief, prior_useful
from thrifty.trees.verified.certain import gain_of
from thrifty.trees.verified.experience import Experience
from thrifty.trees.verified.leaf_rates import leaf_rates, pruned, row_counts, smoothed
from thrifty.trees.verified.value_of_looks import first_look


def family():
    return thrifty.Trees(max_depth=6, learner=thrifty.Verified())


def noisy(seed, S=1500, N=120, features=(3, 7), flip=0.05):
    """y is the conjunction of two features, with some labels flipped."""
    rng = np.random.default_rng(seed)
    X = rng.random((S, N)) < 0.3
    y = X[:, features[0]] & X[:, features[1]]
    return X, np.where(rng.random(S) < flip, ~y, y).astype(int)


def test_finds_the_features_for_few_cells():
    X, y = noisy(0)
    learned = thrifty.Lifetime(family()).learn("t", X, y)
    assert learned.route == "screened"
    assert learned.receipt.cells < 0.35 * X.size
    assert {3, 7} <= features_of(learned.model.tree_)
    clean = X[:, 3] & X[:, 7]
    assert (learned.model.predict(X) == clean).mean() > 0.97


def test_never_dearer_than_everything_and_depth_holds():
    X, y = noisy(1, S=200, N=20, flip=0.4)
    learned = thrifty.Lifetime(family()).learn("t", X, y)
    assert learned.receipt.cells <= X.size
    assert depth(learned.model.tree_) <= 6


def test_contradictory_rows_are_fine():
    X = np.zeros((60, 4), bool)
    X[:30, 0] = True
    y = np.arange(60) % 2
    learned = thrifty.Lifetime(family()).learn("t", X, y)
    np.testing.assert_allclose(learned.model.predict_proba(X), 0.5, atol=0.2)


def test_the_same_label_again_is_reused_for_less():
    life = thrifty.Lifetime(family())
    first = life.learn("here", *noisy(2))
    again = life.learn("there", *noisy(3))
    assert again.route == "reused"
    assert again.receipt.cells < 0.5 * first.receipt.cells
    X, _ = noisy(4)
    assert (again.model.predict(X) == (X[:, 3] & X[:, 7])).mean() > 0.97


def test_another_label_of_the_same_share_is_not_reused():
    life = thrifty.Lifetime(family())
    life.learn("one", *noisy(2, features=(3, 7)))
    other = life.learn("other", *noisy(5, features=(20, 30)))
    assert other.route == "screened"
    assert {20, 30} <= features_of(other.model.tree_)


def test_memory_makes_an_unrelated_task_cheaper():
    """Base rates are known, so the common class needs no first look."""
    rng = np.random.default_rng(0)
    X = rng.random((1500, 150)) < 0.1
    y = (X[:, 5] | X[:, 9]) & (rng.random(1500) < 0.5)
    alone = thrifty.Lifetime(family()).learn("t", X, y).receipt.cells
    life = thrifty.Lifetime(family())
    for i in range(4):
        Z = rng.random((1500, 150)) < 0.1
        life.learn(f"before {i}", Z, Z[:, 40 + i] & (rng.random(1500) < 0.6))
    assert life.learn("t", X, y).receipt.cells < alone


def test_three_classes():
    rng = np.random.default_rng(0)
    X = rng.random((1200, 40)) < 0.4
    y = np.array(["a", "b", "c"])[X[:, 1] * 1 + (X[:, 1] & X[:, 2]) * 1]
    learned = thrifty.Lifetime(family()).learn("t", X, y)
    assert (learned.model.predict(X) == y).mean() > 0.98
    assert learned.model.predict_proba(X).shape == (1200, 3)


def test_prices_move_the_tree_to_the_cheap_twin():
    X, y = noisy(6)
    X[:, 90] = X[:, 3]
    prices = np.ones(X.shape[1])
    prices[3] = 30.0
    learned = thrifty.Lifetime(family(), prices=prices).learn("t", X, y)
    assert 90 in features_of(learned.model.tree_)


@pytest.mark.parametrize("value", [0, 1, -0.1, 1.5, True, "x", None])
@pytest.mark.parametrize("name", ["epsilon", "delta"])
def test_epsilon_and_delta_lie_between_0_and_1(name, value):
    with pytest.raises(thrifty.errors.BadParameter, match=name):
        thrifty.Verified(**{name: value})


def test_smaller_epsilon_buys_more():
    X, y = noisy(7)

    def cells(epsilon):
        life = thrifty.Lifetime(thrifty.Trees(max_depth=6, learner=thrifty.Verified(epsilon)))
        return life.learn("t", X, y).receipt.cells

    assert cells(0.01) > cells(0.5)


def test_one_class_costs_nothing():
    learned = thrifty.Lifetime(family()).learn("t", np.ones((30, 5), bool), np.ones(30))
    assert learned.receipt.cells == 0
    assert learned.model.predict(np.zeros((2, 5), bool)).tolist() == [1.0, 1.0]


def test_a_class_with_one_row():
    X, _ = noisy(8, S=300, N=20)
    y = np.zeros(300, int)
    y[17] = 1
    learned = thrifty.Lifetime(family()).learn("t", X, y)
    assert learned.receipt.cells <= X.size
    assert learned.model.predict_proba(X)[:, 1].max() < 1


def test_fewer_rows_than_a_first_look_is_scratch():
    X, _ = noisy(9, S=6, N=10)
    learned = thrifty.Lifetime(family()).learn("t", X, [0, 1, 0, 1, 1, 0])
    assert learned.route == "scratch"
    assert learned.receipt.cells == X.size


@pytest.mark.parametrize("name", ["warm_up", "gain", "match", "max_nodes", "improve"])
def test_what_it_does_not_use_cannot_be_given(name):
    with pytest.raises(TypeError, match=name):
        thrifty.Verified(**{name: 3})


def test_reopened_lifetimes_go_on(tmp_path):
    with_store = thrifty.Lifetime(family(), store=str(tmp_path / "a.db"))
    in_memory = thrifty.Lifetime(family())
    with_store.learn("one", *noisy(10))
    in_memory.learn("one", *noisy(10))
    reopened = thrifty.Lifetime.open(str(tmp_path / "a.db"))
    X, y = noisy(11, features=(4, 5))
    a, b = reopened.learn("two", X, y), in_memory.learn("two", X, y)
    assert a.receipt.cells == b.receipt.cells
    assert a.model.tree_ == b.model.tree_
    assert reopened.representation.to_dict() == in_memory.representation.to_dict()


def test_the_representation_is_json_and_back():
    life = thrifty.Lifetime(family())
    life.learn("one", *noisy(12))
    data = json.loads(json.dumps(life.representation.to_dict()))
    assert life.family.load_representation(data).to_dict() == data
    assert "1 tasks" in str(life.representation)


def stump(feature, counts=((50, 2), (3, 20))):
    return Node(Split(feature), Leaf(0, counts[0]), Leaf(1, counts[1]))


def kept(experience, feature):
    return experience.with_model(stump(feature), stump(feature), 0.3)


def test_near_equal_models_are_merged_and_old_ones_forgotten():
    experience = kept(kept(Experience(), 1), 1)
    assert len(experience) == 1
    assert len(kept(experience, 2)) == 2
    looked = np.full((2, 3), 10)
    for _ in range(300):
        experience = experience.after(looked, looked, np.array([0.5, 0.5]), np.full(3, 0.1))
    assert [f.split.feature for f in kept(experience, 2)] == [2]


def test_a_leaf_teaches_no_model():
    assert len(Experience().with_model(Leaf(0, (5, 5)), Leaf(0, (5, 5)), 0.1)) == 0


def test_base_rates_are_weighted_by_class():
    looked = np.array([[8], [8]])
    ones = np.array([[0], [8]])  # true in the rare class alone
    after = Experience().after(ones, looked, np.array([0.9, 0.1]), np.array([0.5]))
    assert after.ones[0] / after.seen[0] == pytest.approx(0.1)


def test_usefulness_keeps_its_average():
    looked = np.full((2, 4), 8)
    after = Experience().after(looked, looked, np.array([0.5, 0.5]), np.array([0.9, 0, 0, 0.1]))
    useful = after.usefulness(4)
    assert useful.mean() == pytest.approx(prior_useful(4))
    assert useful[0] > useful[3] > useful[1]


def test_leaves_are_shrunk_towards_their_parents():
    tree = Node(Split(0), Leaf(0, (90, 10)), stump(1, ((0, 5), (0, 1))))
    rates = leaf_rates(tree, 5.0)
    assert rates[True, False][1] > rates[True, True][1] > rates[False,][1]
    shares = np.array(smoothed(tree).true.true.counts)
    np.testing.assert_allclose(shares / shares.sum(), rates[True, True])


def test_pruning_keeps_what_helps_and_drops_the_rest():
    left, bits = pruned(stump(1))
    assert isinstance(left, Node) and bits > 0
    assert isinstance(pruned(stump(1), per_split=200.0)[0], Leaf)
    silent = Node(Split(2), Leaf(0, (25, 25)), Leaf(0, (24, 26)))
    assert isinstance(pruned(silent)[0], Leaf)
    assert row_counts(pruned(silent)[0]).tolist() == [49, 51]


@settings(deadline=None, max_examples=40)
@given(st.floats(0.001, 0.999), st.floats(0.001, 0.999), st.floats(0, 1))
def test_beliefs_stay_beliefs(share, rate, kept):
    shares = np.array([share, 1 - share])
    belief = first_belief(shares, np.array([rate]), np.array([20.0]), np.array([0.05]))
    below = belief_below(
        belief, np.array([0.5]), np.array([[1], [2]]), np.array([[4], [4]]), np.full(3, kept)
    )
    for one in (belief, below):
        assert (one.beta > 0).all() and np.isfinite(one.beta).all()
        assert 0 < one.useful[0] < 1


def test_the_first_look_grows_with_the_rows():
    assert first_look(10) == 8
    assert first_look(20_000) == 100


def test_a_fee_is_minded_once():
    """Bits of one dear test: the second one costs nothing where the first was bought."""
    X, y = noisy(13, N=30, features=(3, 4))
    names = [f"x{f}" for f in range(30)]
    frame = pd.DataFrame(X, columns=names)
    one_test = thrifty.PriceList(
        per_feature={**dict.fromkeys(names, 1), "x3": 20}, derived={"x4": "x3"}
    )
    two_tests = thrifty.PriceList(per_feature={**dict.fromkeys(names, 1), "x3": 20, "x4": 20})
    costs = []
    for prices in (one_test, two_tests):
        learned = thrifty.Lifetime(family(), prices=prices).learn("t", frame, y)
        assert {3, 4} <= features_of(learned.model.tree_)
        costs.append(learned.receipt.cost)
    assert costs[0] < 0.8 * costs[1]


def test_32_points_do_not_see_rare_gains():
    """Why no probability is promised: a feature whose gain is large once in a hundred cases."""
    ones, looked = np.array([[2], [2]]), np.array([[8], [8]])
    prior, useful = np.ones((3, 2, 1)), np.array([0.5])
    shares, incumbent = np.array([0.5, 0.5]), 0.45
    seen = kernels.judge(
        ones, looked, prior, useful, shares, incumbent, 0.0, kernels.rate_draws(2)
    )[2, 0]
    random = np.random.default_rng(0)
    rates = random.beta(3.0, 7.0, (2, 2_000_000))
    gains = gain_of(rates, shares)
    # of the useful case alone; being useless only makes the true mean smaller by a known factor
    likely = kernels.judge(
        ones, looked, prior, useful, shares, incumbent, 0.0, kernels.rate_draws(2)
    )[0, 0]
    true = likely * np.maximum(gains - incumbent, 0.0).mean()
    assert true > 0 and seen < true / 5


def test_only_certain_splits_carry_a_promise():
    X, y = noisy(0)
    for certain in (False, True):
        learner = thrifty.Verified(0.2, 0.1, certain=certain)
        life = thrifty.Lifetime(thrifty.Trees(max_depth=3, learner=learner))
        promise = life.learn("t", X, y).receipt.promise
        assert ("with probability 0.9 over the order of rows" in promise) == certain
        assert bool(promise) == certain
