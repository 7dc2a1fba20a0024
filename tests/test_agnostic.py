"""When to forget: the rules, what they remember, and what a lifetime does with them."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import thrifty
from tests.loops import one_by_one
from thrifty import agnostic, bounds
from thrifty.errors import BadInput, BadParameter
from thrifty.streams import adversary

RULES = [
    thrifty.agnostic.Expansion(),
    thrifty.agnostic.Restart(3),
    thrifty.agnostic.Balanced(2, 10),
    thrifty.agnostic.Balanced(2, 10, n_tasks=50),
    thrifty.agnostic.Doubling(),
]

STUMPS = thrifty.Trees(max_depth=1, learner=thrifty.trees.Paper())


def stump(feature: int, seed: int, n_features: int = 20) -> tuple[np.ndarray, np.ndarray]:
    bits = np.random.default_rng(seed).integers(0, 2, (64, n_features), np.uint8)
    return bits, bits[:, feature].copy()


def learn(life: thrifty.Lifetime, features: list[int]) -> list[str]:
    return [life.learn(f"{len(life)}", *stump(feature, len(life))).route for feature in features]


def known(life: thrifty.Lifetime) -> list[int]:
    return sorted(tree.split.feature for tree in life.representation)


def test_expansion_is_algorithm_1():
    plain = thrifty.Lifetime(STUMPS)
    ruled = thrifty.Lifetime(STUMPS, agnostic=thrifty.agnostic.Expansion())
    order = [3, 4, 3, 5, 6, 7, 3]
    assert learn(plain, order) == learn(ruled, order)
    assert known(plain) == known(ruled) == [3, 4, 5, 6, 7]


def test_restart_forgets_at_the_failure_after_k():
    life = thrifty.Lifetime(STUMPS, agnostic=thrifty.agnostic.Restart(2))
    assert learn(life, [3, 4, 3, 4]) == ["scratch", "scratch", "reused", "reused"]
    assert known(life) == [3, 4]
    assert learn(life, [5]) == ["scratch"]
    assert known(life) == [5]  # what came before is gone, the task that caused it stays
    assert learn(life, [5, 3, 4]) == ["reused", "scratch", "scratch"]
    assert known(life) == [4]


def test_balanced_allows_c_more():
    # c = sqrt(4 * 1 * 20 / 20) = 2, so the fourth failure since the last restart forgets
    life = thrifty.Lifetime(STUMPS, agnostic=thrifty.agnostic.Balanced(1, 4, n_tasks=20))
    learn(life, [3, 4, 5])
    assert known(life) == [3, 4, 5]
    learn(life, [6])
    assert known(life) == [6]


def test_doubling_looks_at_the_newest_first():
    life = thrifty.Lifetime(STUMPS, agnostic=thrifty.agnostic.Doubling())
    assert learn(life, [3, 4, 5, 6, 7]) == ["scratch"] * 5
    # used last: 7, then 6, 5, 4, 3; guesses of 1, 2, 4 and all 5
    assert learn(life, [7, 6, 4, 3, 3]) == ["reused"] * 5
    bought = [task.receipt.max_cells_per_example for task in life.tasks[5:]]
    assert bought == [1, 2, 4, 5, 1]
    assert [tree.split.feature for tree in life.representation] == [5, 7, 6, 4, 3]


def test_doubling_tries_what_has_no_order_as_a_whole():
    """Models keep what tasks taught of features, not metafeatures."""
    life = thrifty.Lifetime(thrifty.Models(), agnostic=thrifty.agnostic.Doubling(), random_state=0)
    for task in thrifty.streams.trees(3, 30, 2, 400, 3, random_state=1):
        life.learn(task.name, task.X, task.y, spend="20 %")
    assert len(life) == 3


def test_the_order_is_kept_in_a_store(tmp_path):
    where = tmp_path / "life.db"
    life = thrifty.Lifetime(STUMPS, agnostic=thrifty.agnostic.Doubling(), store=str(where))
    learn(life, [3, 4, 5, 3])
    again = thrifty.Lifetime.open(str(where))
    assert [tree.split.feature for tree in again.representation] == [4, 5, 3]
    assert learn(again, [3]) == ["reused"]
    assert again.tasks[-1].receipt.max_cells_per_example == 1


def test_a_restart_counts_only_tasks_from_scratch():
    counts = agnostic.Counts().after("scratch").after("bought").after("reused")
    assert (counts.scratch, counts.seen) == (1, 3)
    assert counts.restarted() == agnostic.Counts(seen=3, restarts=1)


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_survives_json(rule):
    assert agnostic.rule_from_dict(json.loads(json.dumps(agnostic.rule_to_dict(rule)))) == rule


@given(st.tuples(*[st.integers(0, 10**12)] * 3))
def test_counts_survive_json(numbers):
    counts = agnostic.Counts(*numbers)
    assert agnostic.Counts.from_dict(json.loads(json.dumps(counts.to_dict()))) == counts


@given(st.integers(1, 10**6), st.integers(1, 10**4), st.integers(1, 50), st.integers(0, 10**5))
def test_the_allowance_stays_within_its_limits(m, n, k, r):
    c = agnostic.optimal_allowance(n_tasks=m, n_features=n, k=k, r=r)
    assert c == 0 if r == 0 else 1 <= c <= r


@given(st.integers(1, 500), st.integers(2, 300), st.integers(1, 20), st.integers(1, 400))
def test_the_allowance_minimises_the_bound(m, n, k, r):
    """Within rounding, no other c makes r K N / c + m c smaller."""

    def cost(c):
        return r * k * n / c + m * c

    best = min(map(cost, range(1, r + 1)))
    assert cost(agnostic.optimal_allowance(n_tasks=m, n_features=n, k=k, r=r)) <= 1.1 * best


@given(st.integers(1, 10**5), st.integers(2, 10**4), st.integers(1, 50))
def test_the_second_limit_is_always_the_smaller(m, n, k):
    if k < n:
        sizes = {"n_tasks": m, "n_features": n, "n_metafeatures": k}
        assert bounds.r_max(**sizes) == (n - k) ** 2 * m / (k * n)
        assert bounds.r_min(**sizes) >= k


@pytest.mark.parametrize(
    "make, says",
    [
        (lambda: thrifty.agnostic.Restart(0), "k must be an integer, 1 or more; got 0"),
        (lambda: thrifty.agnostic.Restart(-1), "k must be an integer, 1 or more; got -1"),
        (lambda: thrifty.agnostic.Restart(2.5), "k must be"),
        (lambda: thrifty.agnostic.Balanced(0, 3), "k must be"),
        (lambda: thrifty.agnostic.Balanced(2, -1), "r must be an integer, 0 or more; got -1"),
        (lambda: thrifty.agnostic.Balanced(2, None), "thrifty.agnostic.Doubling"),
        (lambda: thrifty.agnostic.Balanced(2, 3, n_tasks=0), "n_tasks must be"),
        (lambda: agnostic.as_rule("restart"), "agnostic must be"),
        (lambda: agnostic.as_rule(thrifty.agnostic.Doubling), "agnostic must be"),
        (lambda: agnostic.rule_from_dict({"rule": "os.system"}), "must name one of"),
    ],
)
def test_bad_parameters(make, says):
    with pytest.raises(BadParameter, match=says):
        make()


def test_a_failed_task_changes_nothing():
    life = thrifty.Lifetime(STUMPS, agnostic=thrifty.agnostic.Restart(1))
    learn(life, [3])
    bits, _ = stump(4, 9)
    bits[1] = bits[0]
    with pytest.raises(BadInput):
        life.learn("contradiction", bits, np.r_[0, 1, np.zeros(62, int)])
    assert known(life) == [3] and len(life) == 1
    assert learn(life, [3, 4]) == ["reused", "scratch"]


def test_the_bill_keeps_good_tasks_apart():
    life = thrifty.Lifetime(STUMPS, agnostic=thrifty.agnostic.Restart(2))
    stream = adversary("against-restart", 12, 20, 2, 40, 3)
    for task in stream:
        life.learn(task.name, task.X, task.y, good=task.good)
    bill = life.bill()
    assert bill["good"].sum() == 12 and (~bill["good"]).sum() == 3
    assert bill[bill["good"]]["cells"].sum() < bill["cells"].sum()


def test_unsaid_good_is_not_in_the_bill():
    life = thrifty.Lifetime(STUMPS)
    learn(life, [1])
    assert "good" not in life.bill()


class TestAdversary:
    def test_lazy_seeded_and_repeatable(self):
        stream = adversary("intermediate", 40, 20, 3, 40, 60, random_state=5)
        again = adversary("intermediate", 40, 20, 3, 40, 60, random_state=5)
        for i in (0, 7, len(stream) - 1):
            assert np.array_equal(stream[i].X, again[i].X) and stream[i].good == again[i].good
        assert [t.good for t in stream] == [stream.good(i) for i in range(len(stream))]

    def test_a_long_stream_takes_no_memory(self):
        stream = adversary("realizable", 10**9, 20, 3, 40, 10**6)
        assert len(stream) == 10**9 + 10**6
        assert stream[10**9].X.shape == (40, 20)

    def test_the_first_k_are_distinct(self):
        stream = adversary("realizable", 50, 30, 4, 40)
        assert sorted(stream.feature(i) for i in range(4)) == sorted(stream.metafeatures)

    def test_intermediate_is_a_legal_stream(self):
        """r N / (N - K) tasks over all features, about r of them bad, then m good ones."""
        stream = adversary("intermediate", 200, 20, 4, 40, 320)
        assert len(stream) == 400 + 200
        good = stream.count_good()
        assert 200 + 50 <= good <= 200 + 110  # 80 expected among the first 400
        assert all(stream.good(i) for i in range(400, 600))

    def test_large_in_both_cases(self):
        assert len(adversary("large", 20, 20, 4, 40, 100)) == 100  # m N / K
        second = adversary("large", 20, 20, 4, 40, 81)  # r_max = 64 < 81 < m N / K = 100
        assert len(second) == 90 + 20

    def test_targets_can_be_told_apart(self):
        for task in adversary("realizable", 30, 60, 4, 20, 5):
            agree = (task.y[:, None] == task.X).sum(axis=0)
            assert ((agree == 0) | (agree == len(task.y))).sum() == 1

    def test_monomials(self):
        task = adversary("realizable", 5, 10, 2, 30, target="monomials")[3]
        (feature,) = task.target
        assert np.array_equal(task.y, task.X[:, feature])

    @pytest.mark.parametrize(
        "arguments, says",
        [
            (("sideways", 9, 9, 2, 40), "strategy must be one of"),
            (("realizable", 9, 2, 2, 40), "n_features must be an integer, 3 or more"),
            (("realizable", 1, 9, 2, 40), "n_tasks must be"),
            (("realizable", 9, 9, 0, 40), "n_metafeatures must be"),
            (("realizable", 9, 9, 2, 40, -1), "n_unrelated must be"),
            (("realizable", 9, 9, 2, 10), "n_examples must be 16 or more"),
            (("intermediate", 100, 20, 4, 40, 3), "needs r_min <= r"),
            (("intermediate", 100, 20, 4, 40, 3000), "needs r <= r_max"),
            (("large", 100, 20, 4, 40, 30), "needs r_max <= r"),
        ],
    )
    def test_bad_input(self, arguments, says):
        with pytest.raises(BadParameter, match=says):
            adversary(*arguments)

    def test_no_task_beyond_the_end(self):
        with pytest.raises(IndexError):
            adversary("realizable", 9, 9, 2, 40)[9]


@pytest.mark.parametrize("rule", [thrifty.agnostic.Restart(2), thrifty.agnostic.Doubling()])
def test_a_rule_goes_on_where_it_was_after_the_store_is_opened_again(tmp_path, rule):
    order = [3, 4, 3] + [4] * 25 + [5, 3, 6]
    kept = thrifty.Lifetime(STUMPS, agnostic=rule)
    want = learn(kept, order)
    routes = []
    for feature in order:
        life = thrifty.Lifetime(STUMPS, agnostic=rule, store=tmp_path / "rules.db")
        routes += learn(life, [feature])
    assert routes == want and known(life) == known(kept)


@pytest.mark.parametrize("rule", RULES)
def test_many_at_once_is_one_by_one_under_every_rule(rule):
    stream = adversary("against-restart", 60, 15, 2, 40, 8)
    alone = one_by_one(stream, STUMPS, agnostic=rule)
    together = thrifty.Lifetime(STUMPS, agnostic=rule)
    together.learn_many(stream, n_jobs=3)
    assert [x.bill_row() for x in together.tasks] == [x.bill_row() for x in alone.tasks]
    assert known(together) == known(alone)
