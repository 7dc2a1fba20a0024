"""What racing promises: the same tree with probability 1 - delta, for a fraction of the cells."""

import math
from itertools import product

import numpy as np
import pytest

import thrifty
from tests.guarantees.seeds import seeds, shifted
from thrifty.cells import Cells
from thrifty.labels import read_classes
from thrifty.trees.gains import entropy, gini
from thrifty.trees.race_node import Bar
from thrifty.trees.tree import Leaf


def path_cells(tree):
    """Rows times splits on their paths: what routing every example costs, the floor."""
    if isinstance(tree, Leaf):
        return 0
    below = path_cells(tree.false) + path_cells(tree.true)
    return below + rows_of(tree)


def rows_of(tree):
    return sum(tree.counts) if isinstance(tree, Leaf) else rows_of(tree.false) + rows_of(tree.true)


@pytest.mark.parametrize("gain", [entropy, gini])
@pytest.mark.parametrize("delta", [0.2, 0.02])
@pytest.mark.parametrize("n, a", [((14, 14), (3, 11)), ((20, 9), (8, 8)), ((12, 25), (12, 1))])
def test_the_winner_is_dropped_with_probability_at_most_delta(n, a, delta, gain):
    """Exactly, over all orders of the rows, when one looks after every row."""
    totals = np.array(n)
    height = gain(np.array([[a[0]], [a[1]]]), totals, np.ones(1))[0]
    bar = Bar(gain, totals, float(height), math.log(delta))
    alive = {(0, 0): 1.0}
    dropped = 0.0
    m = [0, 0]
    for _ in range(sum(n)):
        c = 0 if (m[0] <= m[1] and m[0] < n[0]) or m[1] == n[1] else 1
        after: dict[tuple[int, int], float] = {}
        for k, p in alive.items():
            true = (a[c] - k[c]) / (n[c] - m[c])
            for hit, chance in ((1, true), (0, 1 - true)):
                if chance > 0:
                    to = (k[0] + hit, k[1]) if c == 0 else (k[0], k[1] + hit)
                    after[to] = after.get(to, 0.0) + p * chance
        m[c] += 1
        states = list(after)
        gone = bar.out_of_reach(np.array(states).T.copy(), np.array(m), np.ones(len(states)))
        dropped += sum(after[s] for s, g in zip(states, gone) if g)
        alive = {s: after[s] for s, g in zip(states, gone) if not g}
    assert abs(sum(alive.values()) + dropped - 1) < 1e-9
    assert dropped <= delta


def check_stream(K, N, d, S, m, seed, **other):
    stream = thrifty.streams.trees(m, N, K, S, d, random_state=seed, **other)
    gain = other.get("gain", "entropy")
    life = thrifty.Lifetime(thrifty.Trees(max_depth=d, learner=thrifty.trees.Race(gain=gain)))
    floor = []
    for task in stream:
        learned = life.learn(task.name, task.X, task.y)
        assert learned.model.tree_ == task.target
        floor.append(path_cells(learned.model.tree_))
    reused = [
        learned.receipt.cells / f
        for learned, f in zip(life.tasks, floor)
        if learned.route == "reused"
    ]
    scratch = [t.receipt.cells / (S * N) for t in life.tasks if t.route == "scratch"]
    assert len(scratch) <= K
    return np.mean(reused), np.mean(scratch)


@pytest.mark.parametrize("seed", seeds(5))
def test_reused_tasks_cost_little_more_than_their_paths(seed):
    reused, _ = check_stream(6, 120, 5, 3000, 30, seed)
    assert reused <= 1.3


def test_scratch_buys_a_fraction_at_1000_features():
    _, scratch = check_stream(8, 1000, 5, 3000, 12, seed=shifted(4))
    assert scratch <= 0.15


def test_gini_and_other_streams():
    for (K, N, d, S), other in product(
        [(5, 100, 4, 2000)], [{"gain": "gini"}, {"metafeature_depth": 3}, {"metafeature_depth": 1}]
    ):
        reused, scratch = check_stream(K, N, d, S, 20, seed=shifted(2), **other)
        assert reused <= 1.4 and scratch <= 0.3


@pytest.mark.slow
@pytest.mark.parametrize(
    "K, N, d, S", [(6, 120, 5, 3000), (8, 1000, 5, 3000), (10, 300, 6, 10_000)]
)
def test_at_length(K, N, d, S):
    found = [check_stream(K, N, d, S, 60, seed) for seed in seeds(10, 15)]
    reused, scratch = np.mean(found, axis=0)
    assert reused <= 1.3 and scratch <= 0.15


def test_several_classes_with_noise_features():
    """Multi-class targets, many noise features: the raced tree is the full tree."""
    rng = np.random.default_rng(shifted(0))
    family = thrifty.Trees(max_depth=5, learner=thrifty.trees.Race())
    full = thrifty.Trees(max_depth=5, learner=thrifty.trees.Paper())
    for _ in range(5):
        X = rng.random((2000, 200)) < 0.5
        f = rng.choice(200, 3, replace=False)
        y = 2 * X[:, f[0]] + np.where(X[:, f[0]], X[:, f[1]], X[:, f[2]])
        labels = read_classes(y)
        raced, bought = Cells(X), Cells(X)
        a = family.from_scratch(raced, labels, None).model
        b = full.from_scratch(bought, labels, None).model
        assert a == b
        assert raced.receipt().cells < 0.2 * bought.receipt().cells
