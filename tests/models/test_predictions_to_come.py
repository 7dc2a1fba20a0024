"""Learning with predictions in mind: what is bought for them, and how much of it is kept."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import thrifty
from thrifty.errors import BadParameter
from thrifty.models.asking.ahead import best_prefix


def drawn(n, seed, k=30):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, k))
    score = 2.0 * X[:, 5] + 1.5 * X[:, 2] + 1.0 * X[:, 11] - 1.5
    return X, (score + rng.logistic(size=n) > 0).astype(int)


def test_the_more_predictions_the_shorter():
    prices = np.array([0.0, 1.0, 2.0, 4.0, 8.0, 30.0])
    losses = np.array([0.69, 0.5, 0.4, 0.33, 0.315, 0.31])
    kept = [best_prefix(prices, losses, predictions=n, spent=1000.0) for n in (0, 10, 10**6)]
    assert kept[0] == 5 and kept[0] >= kept[1] >= kept[2] and kept[2] < 5
    assert losses[kept[2]] <= 0.31 + 0.05 * (0.69 - 0.31)


def test_where_errors_cost_money_tests_plus_errors_decide():
    prices, errors = np.array([0.0, 5.0, 50.0]), np.array([20.0, 4.0, 3.0])
    assert best_prefix(prices, errors, predictions=1, spent=0.0, in_money=True) == 1


def test_a_lifetime_with_many_predictions_to_come_keeps_few_features():
    X, y = drawn(800, 2)
    sizes = []
    for n in (None, 10**7):
        family = thrifty.Models(LogisticRegression(), predictions=n)
        life = thrifty.Lifetime(family)
        life.learn("ill", X.copy(), y, spend="50 %")
        sizes.append(len(life["ill"].model.features_))
        new, _ = drawn(50, 3)
        assert len(life.predict("ill", new)) == 50
    assert sizes[1] < sizes[0] and sizes[1] <= 8


@pytest.mark.parametrize("bad", [-1, 2.5, "many", True])
def test_predictions_must_be_a_number(bad):
    with pytest.raises(BadParameter, match="predictions"):
        thrifty.Models(predictions=bad)
