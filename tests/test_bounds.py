"""The bounds as numbers: against closed forms, against each other, against brute force."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thrifty import bounds
from thrifty.errors import BadParameter

letters = st.fixed_dictionaries(
    {
        "n_tasks": st.integers(30, 5000),
        "n_features": st.integers(20, 2000),
        "n_metafeatures": st.integers(1, 15),
        "n_unrelated": st.integers(0, 500),
    }
)
RULES = (bounds.expansion, bounds.restart, bounds.balanced, bounds.doubling)


@given(letters, st.integers(1, 6))
def test_nobody_pays_more_than_scratch(p, depth):
    most = bounds.scratch(n_tasks=p["n_tasks"], n_features=p["n_features"], n_examples=7)
    for rule in RULES:
        assert rule(**p, n_examples=7, max_depth=depth) <= most


@given(letters)
def test_bounds_are_per_example(p):
    for rule in RULES:
        assert rule(**p, n_examples=9) == 9 * rule(**p, n_examples=1)


@given(letters)
def test_without_bad_tasks_all_three_rules_of_the_paper_agree(p):
    p = {**p, "n_unrelated": 0}
    want = bounds.expansion(**p, n_examples=1)
    assert bounds.restart(**p, n_examples=1) == bounds.balanced(**p, n_examples=1) == want
    k = p["n_metafeatures"]
    assert want == k * p["n_features"] + (p["n_tasks"] - k) * min(k, p["n_features"])


@given(letters)
def test_balanced_stays_near_its_closed_form(p):
    """K (r / c + 1) N + m (K + c) at c* is at most 2 sqrt(r K N m) + m K + K N, and rounding."""
    m, n, k = p["n_tasks"], p["n_features"], p["n_metafeatures"]
    r = p["n_unrelated"]
    if not 1 <= math.sqrt(r * k * n / m) <= r:
        return  # c* is not within its limits: Theorem 5 does not speak of it
    closed = 2 * math.sqrt(r * k * n * m) + m * k + k * n
    assert bounds.balanced(**p, n_examples=1) <= 1.1 * closed + m


@given(letters)
def test_doubling_is_within_a_factor_2_of_every_other_rule(p):
    """For stumps; and never above Expansion."""
    ours = bounds.doubling(**p, n_examples=1)
    assert ours <= bounds.expansion(**p, n_examples=1)
    assert ours <= 2 * bounds.restart(**p, n_examples=1)
    assert ours <= 2 * bounds.balanced(**p, n_examples=1)


@given(letters)
def test_doubling_meets_the_lower_bounds_up_to_a_constant(p):
    """The gap that the paper leaves for middle r is closed: K N + (m + r) K is the order."""
    n, k = p["n_features"], p["n_metafeatures"]
    if not 2 <= k <= n / 4:
        return  # one feature alone, or most of them: the constants of the lower bounds vanish
    without = {key: p[key] for key in ("n_tasks", "n_features", "n_metafeatures")}
    below = max(bounds.lower(**p), bounds.lower_realizable(**without))
    assert bounds.doubling(**p, n_examples=1) <= 8 * below


@given(letters)
def test_balanced_is_within_a_factor_2_of_the_better_of_two(p):
    better = min(bounds.expansion(**p, n_examples=1), bounds.restart(**p, n_examples=1))
    assert bounds.balanced(**p, n_examples=1) <= 2 * better


@given(letters)
def test_lower_stays_below_upper(p):
    low = bounds.lower(**p)
    for rule in RULES:
        if p["n_unrelated"] <= p["n_features"] - p["n_metafeatures"]:
            assert low <= rule(**p, n_examples=1)


@given(letters)
def test_lower_bounds_grow_with_r(p):
    """Up to one step: from m N / K on, the adversary no longer adds m good tasks at the end."""
    more = {**p, "n_unrelated": p["n_unrelated"] * 3 + 10}
    n, k = p["n_features"], p["n_metafeatures"]
    assert bounds.lower(**more) >= bounds.lower(**p) * (n - 1) / (n + k - 2) - 1e-9


def average_looks(pool: int, order: tuple[int, ...]) -> float:
    """Looks until the target is met, or one candidate is left, averaged over targets."""
    looks = []
    for target in range(pool):
        found = order.index(target)
        looks.append(min(found + 1, pool - 1))
    return sum(looks) / pool


@pytest.mark.parametrize("pool", [2, 3, 4, 5, 6])
def test_the_constant_of_the_lower_bound_by_brute_force(pool):
    """No order of looking does better than (n - 1) / 2 on average."""
    best = min(average_looks(pool, order) for order in itertools.permutations(range(pool)))
    assert best >= (pool - 1) / 2
    assert best == pytest.approx((pool - 1) * (pool + 2) / (2 * pool))


def test_monomials_and_polynomials_as_the_theorems_have_them():
    p = {"n_tasks": 30, "n_features": 60, "n_metafeatures": 4, "n_examples": 1500}
    assert bounds.monomials(**p, max_degree=6) == 1500 * (4 * 60 + 26 * 4) + 30 * 6 == 516_180
    assert bounds.powers_features(**p, max_degree=6) == 1500 * (4 * 60 + 26 * 4 * 6)
    wanted = 1500 * (4 * 60 + 26 * (4 + 3 * 6))
    assert bounds.polynomials(**p, max_degree=6, max_terms=3) == wanted


def test_the_realizable_bound_is_a_sum_over_tasks():
    m, n, k = 30, 20, 4
    tasks = [(n - j) / 2 for j in range(1, k + 1)] + [(k - 1) / 2] * (m - k)
    assert bounds.lower_realizable(n_tasks=m, n_features=n, n_metafeatures=k) == sum(tasks)


def test_the_table_s_brace():
    """sqrt(r K N m) = sqrt(r_max / r) max(r / (N - K), 1) K N where r >= N - K."""
    m, n, k, r = 500, 40, 4, 200
    r_max = bounds.r_max(n_tasks=m, n_features=n, n_metafeatures=k)
    assert math.sqrt(r * k * n * m) == pytest.approx(math.sqrt(r_max / r) * r / (n - k) * k * n)


def test_the_ranges_say_which_condition_fails():
    p = {"n_tasks": 100, "n_features": 20, "n_metafeatures": 4}
    with pytest.raises(BadParameter, match="r <= r_max"):
        bounds.lower_intermediate(**p, n_unrelated=10**6)
    with pytest.raises(BadParameter, match="r >= max"):
        bounds.lower_large(**p, n_unrelated=3)


@pytest.mark.parametrize("r, want", [(0, "lower_realizable"), (100, "lower_intermediate")])
def test_lower_picks_the_range(r, want):
    p = {"n_tasks": 100, "n_features": 20, "n_metafeatures": 4}
    more = {} if r == 0 else {"n_unrelated": r}
    assert bounds.lower(**p, n_unrelated=r) == getattr(bounds, want)(**p, **more)
    huge = bounds.lower(**p, n_unrelated=10**6)
    assert huge == bounds.lower_large(**p, n_unrelated=10**6) == 100 * 19 / 2


def test_every_row_of_both_tables_has_a_number():
    p = {"n_tasks": 300, "n_features": 400, "n_metafeatures": 4, "n_examples": 10}
    table_1 = [
        bounds.trees(**p, max_depth=5),
        bounds.warm_up(**p, max_depth=5, p_min=0.25, delta=0.05),
        bounds.anchors(**p, max_depth=5),
        bounds.lists(**p, max_depth=5),
        bounds.monomials(**p, max_degree=5),
        bounds.polynomials(**p, max_degree=5, max_terms=2),
    ]
    table_2 = [rule(**p, n_unrelated=20) for rule in RULES]
    most = bounds.scratch(n_tasks=300, n_features=400, n_examples=10)
    assert all(0 < number < most for number in table_1 + table_2)
    assert all(name in dir(bounds) for name in bounds.__all__)
