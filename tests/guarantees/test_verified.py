"""What Verified promises of its splits, measured against every cell."""

from __future__ import annotations

import numpy as np
import pytest
from tests.guarantees.seeds import seeds, shifted

import thrifty
from thrifty.trees.tree import Node
from thrifty.trees.verified.certain import gain_of, most_gain


def noisy_task(seed, S=600, N=60):
    """A rare or common label that depends, noisily, on a few features of very different rates."""
    rng = np.random.default_rng(seed)
    X = rng.random((S, N)) < rng.beta(0.7, 2.0, N)
    which = rng.choice(N, 4, replace=False)
    score = X[:, which] @ rng.normal(0, 2.5, 4) + rng.logistic(size=S)
    y = score > np.quantile(score, rng.choice([0.5, 0.8, 0.93]))
    return X, y.astype(int)


def entropy(y):
    p = np.bincount(y) / len(y)
    p = p[p > 0]
    return float(-(p * np.log2(p)).sum())


def losses(X, y, tree):
    """At each node: best gain over all features minus the split's, as a share of h, weighted."""
    h, out = entropy(y), []
    stack = [(tree, np.arange(len(y)))]
    while stack:
        at, rows = stack.pop()
        if not isinstance(at, Node):
            continue
        x, codes = X[rows], y[rows]
        rates = np.stack([x[codes == c].mean(0) for c in (0, 1)])
        gains = gain_of(rates, np.bincount(codes, minlength=2) / len(rows))
        out.append((gains.max() - gains[at.split.feature]) * len(rows) / len(y) / h)
        true = x[:, at.split.feature]
        stack += [(at.false, rows[~true]), (at.true, rows[true])]
    return out


def learn(X, y, **settings):
    family = thrifty.Trees(max_depth=4, learner=thrifty.Verified(**settings))
    return thrifty.Lifetime(family).learn("t", X, y)


def test_certain_splits_are_within_epsilon_at_every_node():
    """The theorem of verified/certain.py: a failure has probability delta, in fact far less."""
    for seed in seeds(12):
        X, y = noisy_task(seed)
        learned = learn(X, y, epsilon=0.1, delta=0.05, certain=True)
        assert max(losses(X, y, learned.model.tree_), default=0) <= 0.1
        assert learned.receipt.cells <= X.size


def test_the_box_of_rates_bounds_the_gain():
    rng = np.random.default_rng(shifted(0))
    sizes = np.array([200, 60])
    for _ in range(50):
        true = [rng.random(n) < rng.random() for n in sizes]
        rates = np.array([[t.mean()] for t in true])
        looked = np.array([[30], [20]])
        ones = np.array([[t[:m].sum()] for t, (m,) in zip(true, looked)])
        bound = most_gain(ones, looked, sizes, np.log(2 / 1e-6))
        assert bound[0] >= gain_of(rates, sizes / sizes.sum())[0] - 1e-12


@pytest.mark.slow
def test_the_root_split_holds_the_promise_as_often_as_said():
    """Beliefs are a model: measured, the root's split is within epsilon in 1 - delta of tasks."""
    epsilon, delta = 0.125, 0.1
    kept = []
    for seed in seeds(100):
        X, y = noisy_task(seed, S=1500)
        tree = learn(X, y, epsilon=epsilon, delta=delta).model.tree_
        kept.append(max(losses(X, y, tree)[:1], default=0.0) <= epsilon)
    assert np.mean(kept) >= 1 - delta
