"""Columns that are missing together: one gap tells of all, and the others are not bought."""

from __future__ import annotations

import numpy as np
import pytest

import thrifty
from thrifty.cells import Cells
from thrifty.models.purses.purse import Basket, gap_leads

N, WIDTH, PANEL = 600, 24, 6


def mostly_gaps(seed: int = 0, there: float = 0.2):
    """Panels of six columns, each there on a fifth of the rows; the label is in the values."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, WIDTH))
    ordered = np.repeat(rng.random((N, WIDTH // PANEL)) < there, PANEL, axis=1)
    score = np.where(ordered, X, 0)[:, ::3].sum(axis=1) + 0.5 * rng.normal(size=N)
    return np.where(ordered, X, np.nan), (score > 0.2).astype(np.int64)


def test_the_first_of_a_panel_leads_it():
    X, _ = mostly_gaps()
    found = gap_leads(np.arange(WIDTH), X[:60])
    assert found == {f: f - f % PANEL for f in range(WIDTH) if f % PANEL}


def test_columns_that_are_missing_apart_lead_nothing():
    rng = np.random.default_rng(0)
    X = np.where(rng.random((200, 20)) < 0.2, 1.0, np.nan)
    assert gap_leads(np.arange(20), X) == {}


def test_few_gaps_are_no_panels():
    X, _ = mostly_gaps(there=0.8)
    assert gap_leads(np.arange(WIDTH), X) == {}


@pytest.mark.parametrize("panels", [False, True])
def test_what_is_led_is_bought_where_its_lead_is_there(panels):
    X, y = mostly_gaps()
    source = thrifty.Source.from_array(X, allow_missing=True)
    cells = Cells(source, spend=1e6)
    basket = Basket(cells, y, 1e6, np.random.default_rng(0), panels=panels)
    every = np.arange(WIDTH)
    assert basket.buy(every, 100)
    before = basket.left
    assert basket.price(every, 300) <= 200 * WIDTH
    assert basket.buy(every, 300)
    np.testing.assert_array_equal(basket.values(every, 300), X[basket.order[:300]])
    there = ~np.isnan(X[basket.order[100:300]])
    paid = 200 * WIDTH // PANEL + there.sum() * (PANEL - 1) / PANEL if panels else 200 * WIDTH
    assert before - basket.left == paid
    assert 1e6 - basket.left == cells.receipt().cost


def test_a_table_of_gaps_has_more_rows_for_the_same_bill():
    X, y = mostly_gaps()
    source = thrifty.Source.from_array(X, allow_missing=True)
    learned = thrifty.Lifetime(random_state=0).learn("a", source, y, spend="20 %")
    assert learned.receipt.cost <= 0.2 * X.size
    assert learned.receipt.cost >= 0.19 * X.size
    assert len(learned.model.table_.rows) > 2 * 0.2 * N
    rows = learned.model.table_.rows
    np.testing.assert_array_equal(
        learned.model.table_.values, X[np.ix_(rows, learned.model.table_.features)]
    )


def test_orders_are_bought_whole():
    X, y = mostly_gaps()
    prices = thrifty.PriceList(
        None,
        orders={
            f"panel {p}": (2, [f"x{f}" for f in range(p * PANEL, (p + 1) * PANEL)])
            for p in range(WIDTH // PANEL)
        },
    )
    cells = Cells(thrifty.Source.from_array(X, allow_missing=True), prices, spend=1e6)
    basket = Basket(cells, y, 1e6, np.random.default_rng(0), panels=True)
    basket.buy(np.arange(WIDTH), 100)
    assert basket.leads == {}
