"""When a fit is believed."""

import math

import numpy as np
import pytest

from thrifty.powers.evidence import Rules, coarsest, grains, log_chance, log_density, rows_needed
from thrifty.powers.values import both_ends, growing, shuffled


def grain(values):
    """Of the coarsest column."""
    return grains(values[:, None] if values.ndim == 1 else values).max()


@pytest.mark.parametrize("decimals, levels", [(0, 2), (1, 11), (2, 101), (4, 10001)])
def test_grain_is_one_over_the_levels(decimals, levels):
    values = np.round(np.random.default_rng(0).uniform(1, 2, 5000), decimals)
    values[:2] = 1.0, 2.0
    assert 1 / levels <= grain(values) <= 1.2 / levels + 0.002


def test_continuous_values_have_no_grain():
    assert grain(np.random.default_rng(0).uniform(1, 2, 30)) == 0.0


def test_constant_values_prove_nothing():
    assert grain(np.array([2.0, 2.0])) == 1.0
    assert rows_needed(1e-14, 10.0, 1.0, 1.0, 1e-7) is None


def test_rows_needed_is_where_the_risk_falls_below_the_limit():
    rows = rows_needed(0.05, 20.0, 1.4, 0.0, 1e-7)
    chance = log_chance(0.05, 1.4, 0.0)
    assert 20 + rows * chance <= math.log(1e-7) < 20 + (rows - 1) * chance


def test_the_density_of_uniform_logs_is_bounded():
    logs = np.log(np.random.default_rng(0).uniform(1, 2, (200, 5)))
    assert 1.2 < log_density(logs) < 1.8


def test_a_wrong_neighbour_is_not_taken_for_noise():
    random = np.random.default_rng(0)
    logs = np.log(random.uniform(1, 2, (200, 2)))
    rules = Rules(max_degree=5, precision=0.03, risk=1e-7)
    target = logs @ [1.0, 1.0] + 0.03 * random.standard_normal(200)
    assert rules.check(target, logs @ [1.0, 1.0])
    assert not rules.check(target, logs @ [2.0, 0.0])


def test_spoilt_labels_are_allowed_with_noise_and_only_then():
    random = np.random.default_rng(1)
    target = random.normal(size=100)
    spoilt = target.copy()
    spoilt[:4] += 3.0
    assert Rules(5, 0.03, 1e-7).check(target, spoilt)
    assert not Rules(5, 1e-9, 1e-7).check(target, spoilt)


def test_row_orders_are_permutations():
    for order in (shuffled(37), both_ends(np.random.default_rng(0).normal(size=37))):
        assert sorted(order.tolist()) == list(range(37))
    assert sorted(both_ends(np.zeros(5)).tolist()) == list(range(5))
    assert both_ends(np.zeros(1)).tolist() == [0]


def test_batches_grow_to_the_limit():
    assert growing(8, 8) == [8] and growing(12, 5) == [5]
    sizes = growing(8, 100)
    assert sizes[0] == 8 and sizes[-1] == 100 and sizes == sorted(set(sizes))


def test_one_coarse_value_proves_nothing_and_one_fine_value_does():
    assert grain(np.array([[1.7]])) == 1.0
    assert grain(np.array([[1.7234567891234]])) == 0.0


def test_the_coarsest_column_counts_whatever_the_others_span():
    fine = np.random.default_rng(0).uniform(1, 1000, (40, 1))
    halves = np.tile([1.0, 2.0], 20)[:, None]
    assert grain(np.hstack([fine, halves])) >= 0.48
    assert coarsest(np.hstack([fine, halves])) >= 0.48


def test_levels_that_are_not_equally_likely_count_as_often_as_the_commonest():
    counts = np.array([1.0] * 15 + [2.0, 3.0, 7.0, 20.0, 50.0])
    assert grain(counts) == pytest.approx(14 / 19)
    assert coarsest(counts[:, None]) == 0.5  # at most: a model without it is right on most rows


def test_values_on_a_grid_of_thirds_are_coarse_once_they_repeat():
    thirds = np.random.default_rng(0).integers(1, 9, (30, 1)) / 3
    assert grain(thirds) > 1 / 9 and grain(np.array([[1 / 3]])) == 0.0
