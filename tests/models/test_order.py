"""The order of questions: worth per price, fees once, noise last, gaps and point masses."""

import numpy as np
import pytest

from tests.models.tables import table_of
from thrifty.models.asking.order import each_costs, find_order
from thrifty.models.fits.score_test import BinnedFeatures, bin_codes, significant


@pytest.fixture(scope="module")
def made():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 8))
    score = 2.0 * X[:, 5] + 1.2 * X[:, 2] + 0.7 * X[:, 6]
    y = (score + rng.logistic(size=1200) > 0).astype(int)
    return X, y


def test_the_strongest_comes_first_and_noise_last(made):
    X, y = made
    order = find_order(table_of(X, y), each_costs(np.ones(8)))
    assert order.features()[:3] == [5, 2, 6]
    assert order.steps[0] == ()  # nothing is free
    assert sorted(order.features()) == list(range(8))  # all that the model has is there in the end


def test_a_price_moves_a_question_back_and_what_is_free_comes_first(made):
    X, y = made
    prices = np.ones(8)
    prices[5], prices[0] = 50.0, 0.0
    order = find_order(table_of(X, y), each_costs(prices))
    assert order.steps[0] == (0,)
    assert order.features()[1] == 2


def test_an_order_fills_several_and_a_fee_is_paid_once(made):
    X, y = made

    def price(owned, wanted):
        new = set(wanted) - set(owned)
        cost = float(len(new - {2, 6}))
        if new & {2, 6} and not set(owned) & {2, 6}:
            cost += 1.0  # one order fills both
        return cost

    order = find_order(table_of(X, y), price, [(2, 6)])
    assert {2, 6} in [set(step) for step in order.steps]


def test_what_was_not_bought_is_not_read(made):
    """Values under holes may be anything: the order does not change."""
    X, y = made
    bought = np.ones(X.shape, dtype=bool)
    bought[600:, 2] = False
    holed, spoiled = X.copy(), X.copy()
    holed[600:, 2] = np.nan
    spoiled[600:, 2] = 1000.0 * y[600:]
    first = find_order(table_of(holed, y, bought=bought), each_costs(np.ones(8)))
    second = find_order(table_of(spoiled, y, bought=bought), each_costs(np.ones(8)))
    assert first == second


def test_gaps_and_point_masses_have_bins_of_their_own():
    x = np.r_[np.zeros(500), np.arange(1, 501), np.full(100, np.nan)][:, None]
    codes = bin_codes(x, np.ones(x.shape, dtype=bool))[:, 0]
    assert len(set(codes[:500])) == 1 and codes[0] not in set(codes[500:])
    assert set(codes[1000:]) == {0} and 0 not in set(codes[:1000])
    assert 6 <= len(set(codes[500:1000])) <= 8


def test_noise_rarely_passes_the_floor_and_a_signal_in_the_gaps_does():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(2000, 200))
    y = rng.integers(0, 2, 2000)
    X[(y == 1) & (rng.random(2000) < 0.2), 7] = np.nan
    p = np.full((2000, 2), 0.5)
    bought = np.ones(X.shape, dtype=bool)
    found = BinnedFeatures(bin_codes(X, bought)).gains(np.eye(2)[y] - p, p * (1 - p), np.ones(2000))
    passed = significant(found)
    assert passed[7]
    assert passed.sum() <= 1 + 0.2 * 199  # chi-square with 8 degrees is above 13 in 11 of 100


def test_it_is_the_same_for_a_seed(made):
    X, y = made
    one, two = (find_order(table_of(X, y), each_costs(np.ones(8)), seed=3) for _ in range(2))
    assert one == two


def test_more_than_two_classes():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(900, 5))
    y = np.where(X[:, 1] > 0.5, 2, np.where(X[:, 3] > 0, 1, 0))
    order = find_order(table_of(X, y), each_costs(np.ones(5)))
    assert set(order.features()[:2]) == {1, 3}


def test_which_cells_were_bought_tells_nothing():
    """Cells bought on one class alone must not make a feature look useful."""
    rng = np.random.default_rng(4)
    X = rng.integers(0, 2, (1000, 6)).astype(float)
    y = (rng.random(1000) < np.where(X[:, 4] == 1, 0.7, 0.2)).astype(int)
    bought = np.ones(X.shape, dtype=bool)
    bought[y == 0, 1] = rng.random((y == 0).sum()) < 0.2  # mostly on the rare class
    order = find_order(
        table_of(np.where(bought, X, np.nan), y, bought=bought), each_costs(np.ones(6))
    )
    assert order.features()[0] == 4


def test_rows_bought_together_say_what_tells_the_same():
    """A copy of the best feature is ranked beside it, and adds nothing to it."""
    rng = np.random.default_rng(0)
    one, other = rng.random((2, 400)) < 0.5
    y = ((one & other) ^ (rng.random(400) < 0.1)).astype(int)
    X = np.column_stack([one, one, other, rng.random(400) < 0.5]).astype(float)

    def asked(bought):
        table = table_of(np.where(bought, X, np.nan), y, bought=bought)
        return find_order(table, each_costs(np.ones(4))).features()

    apart = np.arange(400)[:, None] % 4 == np.arange(4)  # every row was asked one feature
    assert asked(apart) == [0, 1, 2, 3]  # as the table ranks them
    some = np.ones((400, 4), bool)
    some[300:, 3] = False
    assert sorted(asked(some)[:2]) in ([0, 2], [1, 2])
