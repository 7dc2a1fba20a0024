"""Theorem 6: on the adversaries' streams no learner of ours looks at fewer features."""

from __future__ import annotations

import numpy as np
import pytest
from tests.guarantees.seeds import shifted

import thrifty
from thrifty import bounds
from thrifty.powers import Monomials
from thrifty.streams import adversary

CASES = [
    # range of r, m, N, K, r
    ("realizable", 120, 40, 4, 0),
    ("intermediate", 80, 24, 3, 60),
    ("large", 24, 24, 4, 144),
    pytest.param("large", 40, 20, 4, 150, marks=pytest.mark.slow),  # below m N / K = 200
]
STUMPS = {
    "paper": thrifty.Trees(max_depth=1, learner=thrifty.Paper()),
    "race": thrifty.Trees(max_depth=1, learner=thrifty.Race()),
    "naive": thrifty.Trees(max_depth=1, learner=thrifty.Paper(improve="features")),
    "lists": thrifty.Lists(max_depth=1),
}
MONOMIALS = {
    "paper": Monomials(1, method="paper", delta=1e-4),
    "lattice": Monomials(1),
    "naive": Monomials(1, method="features", delta=1e-4),
}


def rules(m, k, r):
    return (
        thrifty.Expansion(),
        thrifty.Restart(k),
        thrifty.Balanced(k, r, n_tasks=m),
        thrifty.Doubling(),
    )


def looked_at(family, rule, stream):
    """Features looked at and cells bought on good tasks, and how many were good."""
    life = thrifty.Lifetime(family, agnostic=rule)
    features = cells = good = 0
    for task in stream:
        receipt = life.learn(task.name, task.X, task.y).receipt
        if task.good:
            features += len(receipt.per_feature)
            cells += receipt.cells
            good += 1
    return features, cells, good


def check(families, target, strategy, m, n, k, r, n_examples):
    stream = adversary(strategy, m, n, k, n_examples, r, random_state=shifted(1), target=target)
    letters = {"n_tasks": m, "n_features": n, "n_metafeatures": k}
    low = bounds.lower(**letters, n_unrelated=r)
    for name, family in families.items():
        for rule in rules(m, k, r):
            features, cells, good = looked_at(family, rule, stream)
            assert low <= features <= cells <= n_examples * good * n, (name, rule)


@pytest.mark.parametrize(
    "strategy, m, n, k, r",
    [CASES[0], *(pytest.param(*case, marks=pytest.mark.slow) for case in CASES[1:3]), CASES[3]],
)
def test_stumps(strategy, m, n, k, r):
    check(STUMPS, "stumps", strategy, m, n, k, r, 40)


@pytest.mark.slow
@pytest.mark.parametrize("strategy, m, n, k, r", CASES)
def test_monomials(strategy, m, n, k, r):
    check(MONOMIALS, "monomials", strategy, m, n, k, r, 150)


def test_a_learner_that_looks_in_turn_meets_the_bound():
    """The bound is not slack: looking at one feature after the other comes within a few percent."""
    m, n, k = 2000, 40, 4
    stream = adversary("realizable", m, n, k, 40, random_state=shifted(3))
    random = np.random.default_rng(shifted(0))
    known: list[int] = []
    looks = 0
    for i in range(m):
        target = stream.feature(i)
        fresh = [f for f in range(n) if f not in known]
        # the stream's first K tasks are all new, so look among the new ones first there
        order = [*random.permutation(fresh), *random.permutation(known)]
        if i >= k:
            order = [*random.permutation(known), *random.permutation(fresh)]
        pool = len(fresh) if i < k else len(known)
        looks += min(order.index(target) + 1, pool - 1)
        if target not in known:
            known.append(target)
    low = bounds.lower_realizable(n_tasks=m, n_features=n, n_metafeatures=k)
    # (n - 1) / 2 of a pool of n, plus at most one: (n - 1)(n + 2) / 2n
    assert low <= looks <= 1.55 * low
