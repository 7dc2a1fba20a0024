"""Theorem 6: on the adversaries' streams no learner of ours looks at fewer features."""

import numpy as np
import pytest

import thrifty
from tests.guarantees.seeds import shifted
from thrifty import bounds
from thrifty.powers import Monomials
from thrifty.streams import adversary

CASES = [
    # range of r, m, N, K, r
    ("realizable", 60, 24, 3, 0),
    ("intermediate", 50, 16, 3, 40),
    ("large", 16, 16, 4, 64),
    ("large", 24, 12, 4, 60),  # below m N / K = 72
]
#: streams a bound, which is an expectation over the adversary's coins, is held against
STREAMS = 4
STUMPS = {
    "paper": thrifty.Trees(max_depth=1, learner=thrifty.trees.Paper()),
    "race": thrifty.Trees(max_depth=1, learner=thrifty.trees.Race()),
    "naive": thrifty.Trees(max_depth=1, learner=thrifty.trees.Paper(improve="features")),
    "lists": thrifty.Lists(max_depth=1),
}
MONOMIALS = {
    "paper": Monomials(1, method="paper", delta=1e-4),
    "lattice": Monomials(1),
    "naive": Monomials(1, method="features", delta=1e-4),
}


def rules(m, k, r):
    return (
        thrifty.agnostic.Expansion(),
        thrifty.agnostic.Restart(k),
        thrifty.agnostic.Balanced(k, r, n_tasks=m),
        thrifty.agnostic.Doubling(),
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
    """The mean over several streams lies above the bound, and each stream below every cell."""
    low = bounds.lower(n_tasks=m, n_features=n, n_metafeatures=k, n_unrelated=r)
    for name, family in families.items():
        for rule in rules(m, k, r):
            seen = []
            for seed in range(STREAMS):
                stream = adversary(
                    strategy, m, n, k, n_examples, r, random_state=shifted(seed), target=target
                )
                features, cells, good = looked_at(family, rule, stream)
                assert features <= cells <= n_examples * good * n, (name, rule)
                seen.append(features)
            assert low <= np.mean(seen), (name, rule)


@pytest.mark.parametrize("strategy, m, n, k, r", CASES)
def test_stumps(strategy, m, n, k, r):
    some = {"paper": STUMPS["paper"], "race": STUMPS["race"]}
    check(some, "stumps", strategy, m, n, k, r, 40)


@pytest.mark.parametrize("strategy, m, n, k, r", CASES)
def test_monomials(strategy, m, n, k, r):
    check({"lattice": MONOMIALS["lattice"]}, "monomials", strategy, m, n, k, r, 60)


@pytest.mark.slow
@pytest.mark.parametrize("strategy, m, n, k, r", CASES)
def test_every_learner(strategy, m, n, k, r):
    check(STUMPS, "stumps", strategy, m, n, k, r, 40)
    check(MONOMIALS, "monomials", strategy, m, n, k, r, 150)


def looks_in_turn(stream, n, random):
    """Of a learner that knows what every target is drawn from, and looks until it is met.

    Nobody who is never wrong looks at fewer: all of a pool are equally likely.
    """
    known: list[int] = []
    looks = 0
    for i in range(len(stream)):
        target = stream.feature(i)
        pool = list(range(n))
        if stream.strategy == "realizable":
            few = len(stream.metafeatures)
            pool = [f for f in range(n) if f not in known] if len(known) < few else known
        elif i >= stream._open:
            pool = list(stream.metafeatures)
        if target not in known:
            known = [*known, target]
        place = random.permutation(pool).tolist().index(target)
        looks += min(place + 1, len(pool) - 1) * stream.good(i)
    return looks


@pytest.mark.parametrize("strategy, m, n, k, r", [*CASES, ("realizable", 2000, 40, 4, 0)])
def test_a_learner_that_looks_in_turn_meets_the_bound(strategy, m, n, k, r):
    """The bound is not slack, nor too high: the best learner comes just above it."""
    random = np.random.default_rng(shifted(0))
    looks = [
        looks_in_turn(adversary(strategy, m, n, k, 40, r, random_state=shifted(seed)), n, random)
        for seed in range(60 if m < 100 else 3)
    ]
    low = bounds.lower(n_tasks=m, n_features=n, n_metafeatures=k, n_unrelated=r)
    error = np.std(looks) / np.sqrt(len(looks))
    # (n - 1) / 2 of a pool of n, plus at most one: (n - 1)(n + 2) / 2n
    assert low <= np.mean(looks) + 3 * error
    assert np.mean(looks) <= 1.75 * low + 3 * error
