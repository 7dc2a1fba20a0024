"""Decision lists: few from scratch, the scratch list every time, a bounded bill."""

from collections import Counter

import numpy as np
import pytest

import thrifty
from tests.guarantees.lives import bill, bound, scratch, scratch_tree
from tests.guarantees.seeds import seeds, shifted
from tests.trees.definitions import is_grown_from, is_grown_from_prefixes
from thrifty.errors import ContradictoryLabels, NotInFamily
from thrifty.trees.drawing import is_list
from thrifty.trees.tree import depth


def run(K, N, d, S, m, seed):
    stream = thrifty.streams.lists(m, N, K, S, d, random_state=seed)
    life = thrifty.Lifetime(thrifty.Lists(max_depth=d))
    for task in stream:
        before = life.representation
        learned = life.learn(task.name, task.X, task.y)
        tree = learned.model.tree_
        assert is_list(tree) and (learned.model.predict(task.X) == task.y).all()
        assert task.target == scratch_tree(task.X, task.y)
        assert is_grown_from(task.target, stream.metafeatures)
        if is_grown_from_prefixes(task.target, before):
            assert learned.route == "reused" and tree == task.target
        if learned.route == "reused":
            assert depth(tree) <= d
            assert learned.receipt.max_cells_per_example <= 2 * (len(before) + d)
        else:
            assert tree == task.target
            assert len(life.representation) <= len(before) + 1
    assert scratch(life) <= thrifty.bounds.lists_scratch(n_metafeatures=K, max_depth=d)
    assert len(life.representation) <= scratch(life)
    assert bill(life) <= bound(thrifty.bounds.lists, (m, N, K, S), max_depth=d)
    return scratch(life)


@pytest.mark.parametrize("seed", seeds(6))
@pytest.mark.parametrize("K, N, d, S, m", [(3, 60, 5, 800, 30), (6, 200, 6, 1500, 40)])
def test_theorem_on_lists(K, N, d, S, m, seed):
    run(K, N, d, S, m, seed)


@pytest.mark.slow
def test_from_scratch_about_k_over_200_seeds(capsys):
    """The bound is K + 2 K^2; what happens is told as a distribution."""
    K = 5
    counts = Counter(run(K, 80, 6, 1200, 60, seed) for seed in seeds(200))
    with capsys.disabled():
        told = ", ".join(f"{n}: {counts[n]}" for n in sorted(counts))
        print(f"\nlists from scratch, K={K}, bound {K + 2 * K * K}, 60 tasks, 200 seeds: {told}")
    assert max(counts) <= K + 2 * K * K
    mean = sum(n * times for n, times in counts.items()) / 200
    assert mean <= 1.6 * K


def test_lists_beat_trees_by_what_they_store():
    """One suffix a failure instead of every subtree on the path."""
    stream = thrifty.streams.lists(30, 80, 5, 1200, 6, random_state=shifted(3))
    lists = thrifty.Lifetime(thrifty.Lists(max_depth=6))
    trees = thrifty.Lifetime(thrifty.Trees(max_depth=6, learner=thrifty.trees.Paper()))
    for task in stream:
        lists.learn(task.name, task.X, task.y)
        trees.learn(task.name, task.X, task.y)
    assert len(lists.representation) <= len(trees.representation)


def test_use_rep_fails_as_soon_as_both_children_are_impure():
    stream = thrifty.streams.lists(12, 60, 4, 800, 5, random_state=shifted(0))
    life = thrifty.Lifetime(thrifty.Lists(max_depth=5))
    reasons = []
    for task in stream:
        learned = life.learn(task.name, task.X, task.y)
        if learned.failure is not None:
            reasons.append(learned.failure.reason)
    assert reasons[0] == "no-candidate"
    assert "both-children-impure" in reasons


def test_a_table_without_a_list_is_refused_and_changes_nothing():
    X = np.array([[a, b] for a in (0, 1) for b in (0, 1)] * 3, dtype=np.uint8)
    life = thrifty.Lifetime(thrifty.Lists(max_depth=4))
    with pytest.raises(NotInFamily, match="no decision list is consistent"):
        life.learn("xor", X, X[:, 0] ^ X[:, 1])
    with pytest.raises(ContradictoryLabels, match="agree on every feature"):
        life.learn("same", np.ones((4, 2), dtype=np.uint8), [0, 1, 0, 1])
    assert len(life) == 0 and len(life.representation) == 0


def test_any_list_is_found_where_there_is_one():
    """Plain top-down learning falls for a feature that is nearly the label, and makes no list."""
    rng = np.random.default_rng(shifted(0))
    found = 0
    for _ in range(40):
        X = rng.integers(0, 2, (60, 6), dtype=np.uint8)
        exits = rng.permutation(5)[:4]
        y = np.full(60, int(rng.integers(2)))
        for feature in exits[::-1]:
            y[X[:, feature] == rng.integers(2)] = rng.integers(2)
        X[:, 5] = y ^ (rng.random(60) < 0.05)
        model = thrifty.estimators.ListClassifier().fit(X, y)
        assert (model.predict(X) == y).all() and is_list(model.tree_)
        found += not is_list(scratch_tree(X, y))
    assert found > 0  # the deviation from plain top-down learning matters


def test_lists_over_real_values():
    rng = np.random.default_rng(1)
    life = thrifty.Lifetime(thrifty.Lists(max_depth=4))
    for i in range(6):
        X = rng.random((400, 30)).astype(np.float32)
        y = np.where(X[:, 3] >= 0.4, 1, np.where(X[:, 7] >= 0.6, 0, X[:, 11] >= 0.5)).astype(int)
        learned = life.learn(f"task {i}", X, y)
        assert (learned.model.predict(X) == y).all()
    assert [task.route for task in life.tasks] == ["scratch"] + ["reused"] * 5
    assert str(learned.model).startswith("if x3 >= 0.39959: + / elif")
