"""Money: a fee once an example, amounts rounded to the nearest, what is counted rounded up."""

import numpy as np
import pytest

import thrifty
from thrifty.cells import Cells
from thrifty.cells.prices.money import read_amount
from thrifty.testing import FakeProvider

X = np.array([[0, 1, 1], [1, 1, 0], [1, 0, 1], [0, 0, 0]], dtype=bool)
PRICES = thrifty.PriceList(
    {"x0": 1, "x1": 2, "x2": 4}, fees={"draw": (5, ["x0", "x1"])}, currency="EUR"
)


def test_a_fee_is_paid_once_an_example():
    cells = Cells(X, PRICES)
    bills = []
    for rows, features in (([0, 1], [0]), ([0], [1]), ([0, 1], [0, 1]), ([2], [2]), ([2], [1])):
        cells.get(rows, features)
        bills.append(cells.receipt().cost)
    assert bills == [12.0, 14.0, 16.0, 20.0, 27.0]


def test_a_price_that_is_quoted_is_the_price_that_is_paid():
    cells = Cells(X, PRICES)
    quoted = cells.price_of([0, 1, 2], [0, 1, 2])
    cells.get([0, 1, 2], [0, 1, 2])
    assert quoted == cells.receipt().cost == 3 * (1 + 2 + 4 + 5)


@pytest.mark.parametrize("total, enough", [("36 EUR", True), ("35.999999 EUR", False)])
def test_a_budget_of_exactly_the_bill_is_enough(total, enough):
    """Every cell of four examples: 4 (1 + 2 + 4) and four fees of 2."""
    prices = thrifty.PriceList(
        {"x0": 1, "x1": 2, "x2": 4}, fees={"draw": (2, ["x0", "x1"])}, currency="EUR"
    )
    family = thrifty.Trees(max_depth=3, learner=thrifty.trees.Paper())
    life = thrifty.Lifetime(family, prices=prices, budget=thrifty.Budget(total=total))
    if enough:
        assert life.learn("all", X, [0, 1, 1, 0]).receipt.cost == 36.0
    else:
        with pytest.raises(thrifty.errors.ThriftyError):
            life.learn("all", X, [0, 1, 1, 0])


def test_amounts_are_rounded_to_the_nearest_millionth():
    assert read_amount(22.7800007)[0] == 22_780_001
    assert read_amount(22.7800004)[0] == 22_780_000


def test_what_is_counted_is_exact():
    with pytest.raises(thrifty.errors.BadInput, match="six decimals"):
        Cells(X, [1e-7, 0.0, 0.0])
    cells = Cells(X, [2.0, 0.0, 0.0])
    cells.get([0, 1], [0])
    assert cells.counted == 4_000_000


def paid_or_free(kind, budget):
    """The same four examples, as a table to read and as a provider who bills."""
    life = thrifty.Lifetime(thrifty.Trees(), prices=PRICES, budget=budget)
    source = FakeProvider().source("pqrs", ["x0", "x1", "x2"], prices=PRICES)
    return Cells(X if kind == "free" else source, PRICES, ledger=life.ledger, task="t")


@pytest.mark.parametrize("kind", ["free", "paid"])
def test_a_limit_per_example_counts_what_it_cost_before(kind):
    """x0 of the first took the fee and cost 6; x1 then costs 2 there and 7 on the second.

    The second has the dearest new cell and is within 7; the first would have cost 8.
    """
    cells = paid_or_free(kind, thrifty.Budget(per_example="7 EUR"))
    cells.get([0], [0])
    with pytest.raises(thrifty.errors.BudgetExceeded, match="per example"):
        cells.get([0, 1], [1])
    cells.get([1], [1])
    assert cells.receipt().cost == 13.0
