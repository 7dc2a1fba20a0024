"""Learning with predictions in mind: what is bought for them, and how much of it is kept."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import thrifty
from thrifty.cells import Cells
from thrifty.errors import BadParameter
from thrifty.labels.classes import read_classes
from thrifty.models.asking.horizon import best_prefix
from thrifty.models.buying.in_order import InOrder
from thrifty.models.learning import policy_for
from thrifty.models.memory.memory import Memory


def drawn(n, seed, k=30):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, k))
    score = 2.0 * X[:, 5] + 1.5 * X[:, 2] + 1.0 * X[:, 11] - 1.5
    return X, (score + rng.logistic(size=n) > 0).astype(int)


@pytest.mark.parametrize("share", [0.1, 0.3, 0.7])
def test_the_bill_is_kept_and_the_strong_features_are_found(share):
    X, y = drawn(1000, 0)
    cells = Cells(X)
    most = share * X.size
    bought = InOrder().buy(cells, read_classes(y), Memory(), most, np.random.default_rng(0))
    assert cells.n_bought <= most
    table = bought.table
    assert table.is_whole and not np.isnan(table.values).any()
    assert {5, 2} <= set(table.features.tolist()[: 2 + int(10 * share)])
    for k in (0, 1):  # every class weighs what it has rows
        assert table.weights[table.labels == k].sum() == pytest.approx((y == k).sum())


def test_what_is_free_is_bought_on_all_rows_at_once():
    X, y = drawn(600, 1)
    prices = np.ones(30)
    prices[[7, 8]] = 0.0
    cells = Cells(X, prices=list(prices))
    bought = InOrder().buy(cells, read_classes(y), Memory(), 2500.0, np.random.default_rng(0))
    assert {7, 8} <= set(bought.table.features.tolist())
    assert cells.receipt().cost <= 2500


@pytest.mark.parametrize(("rows", "way"), [(239, "Halving"), (240, "InOrder")])
def test_features_are_bought_one_by_one_where_looks_can_be_paid_for(rows, way):
    X, y = drawn(600, 1)
    labels = read_classes(y)
    cells = Cells(X, spend=rows * 30.0)
    assert type(policy_for(cells, labels, predictions=100)).__name__ == way
    assert type(policy_for(cells, labels)).__name__ == "Halving"


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
        sizes.append(len(life["ill"].features_))
        new, _ = drawn(50, 3)
        assert len(life.predict("ill", new)) == 50
    assert sizes[1] < sizes[0] and sizes[1] <= 8


@pytest.mark.parametrize("bad", [-1, 2.5, "many", True])
def test_predictions_must_be_a_number(bad):
    with pytest.raises(BadParameter, match="predictions"):
        thrifty.Models(predictions=bad)
