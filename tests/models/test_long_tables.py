"""Long tables: columns that tell only together are kept, rare rows are all looked at."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

import thrifty
from thrifty.cells import Cells
from thrifty.errors import BadInput
from thrifty.labels.classes import Labels
from thrifty.models.buying.halving import Halving
from thrifty.models.evidence.whole_rows import is_long
from thrifty.models.memory.memory import Memory

N, WIDTH = 24_000, 20


def interaction(seed: int = 0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, WIDTH))
    score = X[:, 0] + 2 * X[:, 3] * X[:, 4]
    return X, (rng.random(N) < expit(score)).astype(np.int64)


def bought(X, y, spend, prices=None):
    cells = Cells(X, prices, spend=spend)
    labels = Labels(y, np.array([0, 1]))
    assert is_long(cells, labels, spend)
    made = Halving().buy(cells, labels, Memory(), spend, np.random.default_rng(0))
    return cells, made.table


def test_two_columns_that_tell_only_together_are_kept():
    X, y = interaction()
    cells, table = bought(X, y, 0.05 * X.size)
    assert {0, 3, 4} <= set(table.features[:4].tolist())
    assert table.width < WIDTH / 2
    assert len(table.rows) > 2.5 * 0.05 * N
    assert 0.99 * 0.05 * X.size <= cells.receipt().cost <= 0.05 * X.size


def test_all_rows_of_a_rare_class_are_in_the_pilot_with_their_weight():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, WIDTH))
    y = np.zeros(N, dtype=np.int64)
    y[np.argsort(-X[:, 2] - rng.gumbel(size=N))[:60]] = 1
    _, table = bought(X, y, 0.05 * X.size)
    rare = table.labels == 1
    assert rare.sum() == 60
    np.testing.assert_allclose(table.weights[rare], 1.0)
    np.testing.assert_allclose(table.weights[~rare].sum(), N - 60)
    assert table.features[0] == 2


def test_a_dear_column_must_tell_more():
    X, y = interaction()
    X[:, 9] = X[:, 0] + 0.01 * X[:, 9]  # the same, for less
    prices = np.ones(WIDTH)
    prices[0] = 8.0
    _, table = bought(X, y, 0.05 * N * prices.sum(), prices)
    assert 9 in table.features.tolist()
    assert table.features.tolist().index(9) < 2


def test_what_is_left_when_all_rows_are_there_buys_features():
    X, y = interaction()
    X, y = X[:3000], y[:3000]
    cells, _ = bought(X, y, 0.45 * X.size)
    assert 0.45 * X.size - cells.receipt().cost < len(X)  # not enough for another
    assert cells.receipt().cost <= 0.45 * X.size


@pytest.mark.parametrize(
    ("rows", "share", "long"), [(N, 0.05, True), (N, 0.6, False), (1500, 0.2, False)]
)
def test_which_tables_are_long(rows, share, long):
    X, y = interaction()
    spend = share * rows * WIDTH
    assert is_long(Cells(X[:rows], spend=spend), Labels(y[:rows], np.arange(2)), spend) == long


def test_without_a_spend_a_task_stops_by_itself():
    X, y = interaction()
    assert not is_long(Cells(X), Labels(y, np.arange(2)), 0.05 * X.size)


def test_a_long_table_of_gaps_is_refused():
    X = np.full((N, WIDTH), np.nan)
    source = thrifty.Source.from_array(X, allow_missing=True)
    with pytest.raises(BadInput, match="are missing on the"):
        thrifty.Lifetime().learn("a", source, np.arange(N) % 2, spend="5 %")


def test_tails_of_many_rows_are_kept():
    """A class of 1 in 200 is told by the ends of a number, which a short table cuts off."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40_000, 8))
    score = 2 * X[:, 0] + X[:, 1]
    y = score > np.quantile(score, 0.995)
    life = thrifty.Lifetime(random_state=0)
    learned = life.learn("a", X, y, spend="20 %")
    new = np.zeros((2, 8))
    new[:, 0] = 2.2, 3.2
    low, high = learned.model.predict_proba(new)[:, 1]
    assert high > 1.5 * low
