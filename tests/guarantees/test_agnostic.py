"""Theorem 5 on seeded streams: every rule pays at most its bound, wherever the bad tasks are."""

import numpy as np
import pytest

import thrifty
from tests.guarantees.lives import bound
from tests.guarantees.seeds import seeds, seen, shifted
from thrifty import bounds
from thrifty.streams import adversary

RULES = ("expansion", "restart", "balanced", "doubling")

STUMPS = thrifty.Trees(max_depth=1, learner=thrifty.trees.Paper())


def rule_named(name, m, k, r):
    return {
        "expansion": thrifty.agnostic.Expansion(),
        "restart": thrifty.agnostic.Restart(k),
        "balanced": thrifty.agnostic.Balanced(k, r, n_tasks=m),
        "doubling": thrifty.agnostic.Doubling(),
    }[name]


def good_bill(family, rule, tasks):
    """Cells on good tasks, and how many of those were learned from scratch."""
    life = thrifty.Lifetime(family, agnostic=rule)
    cells = scratch = 0
    for task in tasks:
        learned = life.learn(task.name, task.X, task.y, good=task.good)
        cells += task.good * learned.receipt.cells
        scratch += task.good and learned.route == "scratch"
    return cells, scratch


@pytest.mark.parametrize("strategy", ["realizable", "against-expansion", "against-restart"])
@pytest.mark.parametrize(
    "m, n, k, r",
    [(40, 40, 3, 6), pytest.param(300, 30, 3, 6, marks=pytest.mark.slow), (150, 60, 2, 40)],
)
def test_every_rule_stays_within_its_bound(strategy, m, n, k, r):
    stream = adversary(strategy, m, n, k, 40, r, random_state=shifted(m))
    for name in RULES:
        bill, _ = good_bill(STUMPS, rule_named(name, m, k, r), stream)
        assert bill <= bound(getattr(bounds, name), (m, n, k, 40), n_unrelated=r), name


def test_the_bound_of_expansion_is_reached():
    stream = adversary("against-expansion", 100, 50, 3, 40, 10, random_state=shifted(0))
    bill, _ = good_bill(STUMPS, thrifty.agnostic.Expansion(), stream)
    assert bill == bound(bounds.expansion, (100, 50, 3, 40), n_unrelated=10)


def test_a_bad_task_costs_restart_nearly_2_k_good_ones():
    """The constant that the paper's O(r K N) hides: 2 K - 1, seen exactly."""
    m, n, k, r = 400, 50, 4, 10
    stream = adversary("against-restart", m, n, k, 40, r, random_state=shifted(0))
    _, scratch = good_bill(STUMPS, thrifty.agnostic.Restart(k), stream)
    assert scratch >= (r - 1) * (2 * k - 1)
    assert scratch <= k * (2 * r + 1)


def mixed(m, r, n, k, d, seed):
    """Good trees over one set of metafeatures, bad ones each over its own, shuffled."""
    good = list(thrifty.streams.trees(m, n, k, 500, d, random_state=seed))
    bad = [
        next(iter(thrifty.streams.trees(1, n, 2, 500, d, random_state=1000 + 10 * seed + i)))
        for i in range(r)
    ]
    order = np.random.default_rng(seed).permutation(m + r)
    for i in order.tolist():
        task, is_good = (good[i], True) if i < m else (bad[i - m], False)
        yield thrifty.streams.StreamTask(f"task-{i}", task.X, task.y, task.target, is_good)


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("seed", seeds(5))
def test_deeper_trees(name, seed):
    m, r, n, k, d = 60, 8, 60, 3, 3
    tasks = list(mixed(m, r, n, k, d, seed))
    family = thrifty.Trees(max_depth=d, learner=thrifty.trees.Paper())
    bill, scratch = good_bill(family, rule_named(name, m, k, r), tasks)
    assert bill <= bound(getattr(bounds, name), (m, n, k, 500), n_unrelated=r, max_depth=d)
    if name == "expansion":
        assert scratch <= k


@pytest.mark.parametrize(
    "family",
    [
        thrifty.Trees(max_depth=1, learner=thrifty.trees.Race()),
        thrifty.Trees(max_depth=1, learner=thrifty.trees.Paper(improve="features")),
        thrifty.Trees(max_depth=1, learner=thrifty.trees.Paper(improve="anchors")),
        thrifty.Lists(max_depth=2),
    ],
)
@pytest.mark.parametrize("name", RULES)
def test_every_family_of_trees_learns_under_every_rule(family, name):
    m, n, k, r = 60, 30, 3, 5
    life = thrifty.Lifetime(family, agnostic=rule_named(name, m, k, r))
    for task in adversary("against-restart", m, n, k, 40, r, random_state=shifted(0)):
        assert life.learn(task.name, task.X, task.y).model.tree_ == task.target


@pytest.mark.parametrize("method", ["paper", "lattice", "features"])
@pytest.mark.parametrize("name", RULES)
def test_monomials_learn_under_every_rule(method, name):
    from thrifty.powers import Monomials

    m, n, k, r = 30, 16, 2, 4
    family = Monomials(1, method=method, delta=1e-4)
    life = thrifty.Lifetime(family, agnostic=rule_named(name, m, k, r))
    for task in adversary(
        "against-restart", m, n, k, 120, r, target="monomials", random_state=shifted(0)
    ):
        assert life.learn(task.name, task.X, task.y).model.exponents_ == task.target


def worst_bills(m, n, k, r):
    """Each rule where bad tasks hurt it most."""
    found = {}
    for strategy in ("against-expansion", "against-restart"):
        stream = adversary(strategy, m, n, k, 40, r, random_state=shifted(0))
        for name in RULES:
            bill, _ = good_bill(STUMPS, rule_named(name, m, k, r), stream)
            found[name] = max(found.get(name, 0), bill)
    return found


@pytest.mark.parametrize("r", [8, pytest.param(24, marks=pytest.mark.slow)])
@pytest.mark.parametrize("times", [0.25, 4])
def test_who_is_ahead(times, r):
    n, k = 40, 3
    bills = worst_bills(round(times * k * n), n, k, r)
    better = min(bills["expansion"], bills["restart"])
    assert bills["expansion" if times < 1 else "restart"] == better
    assert bills["balanced"] <= 2 * better
    assert bills["doubling"] <= 4 * better


@pytest.mark.parametrize("seed", seeds(7))
def test_doubling_is_at_most_twice_any_restart_on_every_task(seed):
    """What was learned or used since the last restart contains all that is newer than the target.

    So its rank among the newest is at most the size of the other's representation; and what the
    other learns from scratch costs it N.
    """
    random = np.random.default_rng(seed)
    n, k, m = 24, 3, 150
    few = random.choice(n, k, replace=False)
    targets = [
        int(random.choice(few) if random.random() < 0.7 else random.integers(n)) for _ in range(m)
    ]
    rules = [thrifty.agnostic.Expansion(), *map(thrifty.agnostic.Restart, (2, k, 6))]
    rules += [thrifty.agnostic.Balanced(k, 45, n_tasks=105), thrifty.agnostic.Doubling()]
    lives = [thrifty.Lifetime(STUMPS, agnostic=rule) for rule in rules]
    for i, target in enumerate(targets):
        bits = random.integers(0, 2, (40, n), np.uint8)
        *others, ours = (life.learn(f"{i}", bits, bits[:, target]).receipt.cells for life in lives)
        assert ours <= others[0]
        assert ours <= 2 * min(others)


@pytest.mark.parametrize("seed", seeds(29, 36))
def test_a_known_feature_costs_at_most_one_and_twice_what_was_used_since(seed):
    """S (1 + 2 x) cells, and at most twice a restarting rule, on every task of a long stream.

    Half of the tasks are strangers, so that older features are looked at often. With seed 29 one
    that agreed on eight rows alone was made new: 528 cells where 448 and 512 are the bounds.
    """
    random = np.random.default_rng(seed)
    n, k, s = 48, 3, 64
    few = random.choice(n, k, replace=False)
    rules = [*map(thrifty.agnostic.Restart, (1, k, 2 * k)), thrifty.agnostic.Doubling()]
    lives = [thrifty.Lifetime(STUMPS, agnostic=rule, random_state=seed) for rule in rules]
    used: dict[int, int] = {}
    for i in range(150):
        target = int(random.choice(few) if random.random() < 0.5 else random.integers(n))
        bits = random.integers(0, 2, (s, n), np.uint8)
        *others, ours = (life.learn(f"{i}", bits, bits[:, target]).receipt.cells for life in lives)
        newer = sum(when > used.get(target, i) for when in used.values())
        assert ours <= s * (1 + 2 * newer if target in used else n)
        assert ours <= 2 * min(others)
        used[target] = i


def with_twins(m, n, k, r, s, seed, twin_of):
    """Bills of Doubling and Expansion on good tasks, their targets with twins among the bad.

    ``twin_of`` picks the twin from the stored features, the newest last.
    """
    random = np.random.default_rng(seed)
    lives = [
        thrifty.Lifetime(STUMPS, agnostic=rule)
        for rule in (thrifty.agnostic.Doubling(), thrifty.agnostic.Expansion())
    ]
    bills = np.zeros(2, dtype=int)

    def pose(name, target, twin=None):
        X = random.random((s, n)) < 0.5
        if twin is not None:
            X[:, target] = X[:, twin]
        learned = [life.learn(name, X, X[:, target]) for life in lives]
        assert all((one.model.predict(X) == X[:, target]).all() for one in learned)
        return np.array([one.receipt.cells for one in learned])

    for target in (*range(n - k, n), *range(r)):
        bills += pose(f"first-{target}", target) * (target >= r)
    for i in range(m - k):
        stored = [tree.split.feature for tree in lives[0].representation]
        ours, whole = pose(f"task-{i}", n - 1 - i % k, twin_of(stored, random))
        assert ours <= whole
        bills += [ours, whole]
    two = (
        bound(bounds.doubling, (m, n, k, s), n_unrelated=r, coincidences=some)
        for some in (False, True)
    )
    return bills.tolist(), *two


def test_where_stored_features_coincide_doubling_is_capped_by_expansion():
    """Each good task's target has a twin among the bad: the bound's assumption fails.

    The adversary sees what is stored, and picks the feature that is the 32nd newest. All that agree
    with the labels become new, so the target does not stay behind the twins: 514,560 in 0.1.
    """
    bills, most, capped = with_twins(400, 64, 2, 38, 40, 0, lambda stored, random: stored[-32])
    assert bills == [52_888, 641_920]
    assert most == 58_960 and bills[0] <= capped


@pytest.mark.parametrize("seed", seeds(6))
@pytest.mark.parametrize("s", [24, 100])
def test_doubling_is_capped_by_expansion_on_every_task_with_random_twins(seed, s):
    def some(stored, random):
        return int(random.choice(stored)) if random.random() < 0.7 else None

    bills, _, capped = with_twins(90, 40, 3, 20, s, seed, some)
    assert bills[0] <= bills[1] <= capped


SLOW_RANKS = [pytest.param(rank, marks=pytest.mark.slow) for rank in (4, 8, 9, 16, 17, 33)]


@pytest.mark.parametrize("rank", [2, *SLOW_RANKS, 32])
def test_twins_of_any_age_cost_little(rank):
    """Where the assumption fails, the bill stays near the bound that assumes it; not proven.

    With the first seed 1.5 times that bound was enough; with another 1.8 times it was paid.
    """
    bills, most, _ = with_twins(
        250, 64, 2, 38, 100, shifted(1), lambda stored, random: stored[-rank]
    )
    assert bills[0] <= seen(1.5, 2) * most


@pytest.mark.slow
def test_balanced_grows_as_the_square_root_of_r():
    n, k, m = 512, 2, 256
    rs, bills = [16, 32, 64, 128, 256, 500], []
    for r in rs:
        stream = adversary("against-restart", m, n, k, 32, r, random_state=shifted(0))
        bills.append(good_bill(STUMPS, rule_named("balanced", m, k, r), stream))
    slope = np.polyfit(np.log(rs), np.log([cells for cells, _ in bills]), 1)[0]
    assert abs(slope - 0.5) <= 0.15
