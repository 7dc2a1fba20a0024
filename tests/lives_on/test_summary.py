"""What a learned task says of itself: its bill, how good it is beside guessing, what comes next."""

import numpy as np
import pytest

import thrifty


@pytest.mark.parametrize("kept", ["memory", "file"])
def test_quality_baseline_and_the_price_of_a_prediction(kept, tmp_path):
    X = np.random.default_rng(0).normal(size=(400, 6))
    store = None if kept == "memory" else tmp_path / "s.db"
    prices = thrifty.PriceList([1, 2, 3, 4, 5, 6], currency="EUR")
    life = thrifty.Lifetime(prices=prices, store=store, random_state=0)
    life.learn("ill", X, np.where(X[:, 1] > 0.7, "ill", "well"), spend="50 %")
    life.learn("dose", X, X[:, 2] + 0.1 * X[:, 3], spend="50 %")
    life.learn("noise", X, np.random.default_rng(1).random(400) < 0.5, spend="50 %")
    if store is not None:
        life = thrifty.Lifetime.open(store)
    ill, dose, noise = life.tasks
    assert ill.quality.average_precision.low > ill.quality.guessing
    assert "Average precision for ill: 0.9" in ill.summary() or "ill: 1.0" in ill.summary()
    assert "where guessing has 0.2" in ill.summary()
    assert "A prediction costs at most " in ill.summary() and "EUR a row" in ill.summary()
    new = X[:1] + 1
    paid = life.predict("ill", new, stop=None).receipt.cost
    assert paid == ill.prediction_price
    assert "R squared" in dose.summary() and "guessing has 0." in dose.summary()
    assert "nothing beyond guessing" in noise.summary()
    assert "nothing beyond guessing" not in ill.summary()


def test_less_than_a_cent_is_not_said_to_be_nothing():
    X = np.random.default_rng(0).random((120, 3))
    life = thrifty.Lifetime(prices=thrifty.PriceList("0.00002 USD"), random_state=0)
    said = life.learn("ill", X, X[:, 1] > 0.5, spend="100 %").summary()
    assert "for 0.0072 USD" in said and "at most 0.00006 USD a row" in said


def test_a_family_that_measures_nothing_says_so():
    life = thrifty.Lifetime(thrifty.Trees(max_depth=2))
    learned = life.learn("either", [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 1])
    assert learned.quality is None and "not measured" in learned.summary()
    assert learned.prediction_price == 2
