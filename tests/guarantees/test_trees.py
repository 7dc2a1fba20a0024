"""Theorem 1 on seeded streams: few tasks from scratch, the scratch tree, a bounded bill."""

import numpy as np
import pytest

import thrifty
from tests.guarantees.lives import bill, bound, per_example, scratch, scratch_tree
from tests.guarantees.seeds import seeds, shifted
from tests.loops import paper
from tests.trees.definitions import is_grown_from, is_grown_from_prefixes
from thrifty.trees.tree import depth, internal_nodes, size

SMALL = [(3, 200, 4, 800, 40), (6, 500, 5, 1000, 40)]
LARGE = [(8, 2000, 5, 1500, 100), (12, 5000, 6, 2000, 150), (1, 100, 3, 600, 60)]


def check_lifetime(K, N, d, S, m, seed):
    stream = thrifty.streams.trees(m, N, K, S, d, random_state=seed)
    life = thrifty.Lifetime(paper(d))
    for task in stream:
        assert is_grown_from(task.target, stream.metafeatures)
        before = life.representation
        learned = life.learn(task.name, task.X, task.y)
        tree = learned.model.tree_
        assert tree == task.target == scratch_tree(task.X, task.y)
        assert (learned.model.predict(task.X) == task.y).all()
        if is_grown_from_prefixes(task.target, before):
            assert learned.route == "reused"
        if learned.route == "reused":
            assert depth(tree) <= d
            assert learned.receipt.max_cells_per_example <= 2 * (len(before) + d)
        else:
            assert learned.receipt.cells == S * N
    assert scratch(life) <= K and len(life.representation) <= K * d
    assert bill(life) <= bound(thrifty.bounds.trees, (m, N, K, S), max_depth=d)


@pytest.mark.parametrize("seed", seeds(6))
@pytest.mark.parametrize("K, N, d, S, m", SMALL)
def test_theorem_1(K, N, d, S, m, seed):
    check_lifetime(K, N, d, S, m, seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", seeds(11))
@pytest.mark.parametrize("K, N, d, S, m", SMALL + LARGE)
def test_theorem_1_at_length(K, N, d, S, m, seed):
    check_lifetime(K, N, d, S, m, 100 + seed)


@pytest.mark.parametrize("seed", seeds(6))
def test_naive_baseline(seed):
    """The theorem on features seen: at most K from scratch, K s cells an example."""
    K, N, d, S, m = 5, 400, 5, 1000, 40
    stream = thrifty.streams.trees(m, N, K, S, d, random_state=seed)
    s = max(size(f) for f in stream.metafeatures)
    life = thrifty.Lifetime(paper(d, improve="features"))
    for task in stream:
        learned = life.learn(task.name, task.X, task.y)
        assert learned.model.tree_ == task.target
    assert len(per_example(life)) >= m - K and max(per_example(life)) <= K * s
    assert bill(life) <= bound(thrifty.bounds.trees_features, (m, N, K, S), max_nodes=s)


def test_the_same_stream_twice_is_the_same():
    first, second = (
        thrifty.streams.trees(4, 60, 3, 400, 3, random_state=shifted(5)) for _ in range(2)
    )
    for a, b in zip(first, second):
        assert a.target == b.target
        assert (a.X == b.X).all() and (a.y == b.y).all()
    assert (first[2].X == list(second)[2].X).all()


@pytest.mark.parametrize("d", [2, 4])
def test_the_d_of_theorem_1_is_reached(d):
    """Chains, each posed alone and then with a new feature below: K d / 2 cells an example."""
    k = 6
    life = thrifty.Lifetime(paper(d))
    learned = [
        life.learn(task.name, task.X, task.y)
        for task in thrifty.streams.deep(30, 100, k, 400, d, random_state=shifted(1))
    ]
    assert [task.route == "scratch" for task in learned] == [True] * k + [False] * 24
    assert len(life.representation) == k * d // 2
    assert all(task.receipt.cells >= 400 * k * d // 2 for task in learned[k:])


def three_node_tasks(seed, n_tasks, k=16, n_examples=24):
    """Few rows, so that a wrong subtree is often pure, and small enough to use up the bound."""
    random = np.random.default_rng(seed)
    found = []
    while len(found) < n_tasks:
        a, b, c = random.choice(k, 3, replace=False)
        X = random.random((n_examples, k)) < 0.5
        X[:, b] &= X[:, a] | (random.random(n_examples) < 0.5)
        X[:, c] &= ~X[:, a] | (random.random(n_examples) < 0.5)
        y = np.where(X[:, a], ~X[:, c], X[:, b]).astype(int)
        tree = scratch_tree(X, y)
        splits = {path: node.split.feature for path, node in internal_nodes(tree)}
        if splits == {(): a, (False,): b, (True,): c}:
            found.append((X, y))
    return found


@pytest.mark.parametrize(
    ("learner", "improve"),
    [
        (thrifty.trees.Paper, "paths"),
        (thrifty.trees.Race, "anchors"),
        pytest.param(thrifty.trees.Paper, "anchors", marks=pytest.mark.slow),
        pytest.param(thrifty.trees.Race, "paths", marks=pytest.mark.slow),
    ],
)
def test_theorem_1_holds_with_a_bound_on_nodes(learner, improve):
    """At most K from scratch: a node that was not grown yet is no difference to learn from."""
    k = 16
    for seed in seeds(3):
        tasks = three_node_tasks(seed, 120, k)
        family = thrifty.Trees(max_depth=4, learner=learner(max_nodes=3, improve=improve))
        life = thrifty.Lifetime(family)
        routes = [life.learn(f"{i}", X, y).route for i, (X, y) in enumerate(tasks)]
        assert routes.count("scratch") <= k
