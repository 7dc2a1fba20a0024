"""Columns that are listed as free and billed all the same: the budget holds, the source stops."""

import pytest

import thrifty
from thrifty import Answered, Budget, PriceList
from thrifty.cells import Cells
from thrifty.errors import CostAboveReservation, ThriftyError
from thrifty.testing import FakeProvider

IDS = [f"p{i}" for i in range(60)]


class Billing(FakeProvider):
    def __init__(self) -> None:
        super().__init__()
        self.billed = 0.0

    def ask(self, ids, names):
        self.billed += 16.0
        return Answered([[self.value(i, n) for n in names] for i in ids], cost=16.0)


def source(made, prices):
    return made.source(IDS, ["a", "b"], prices=prices, max_examples=1, concurrency=1)


@pytest.mark.parametrize("budget", [None, Budget(total="20 EUR")])
def test_what_is_listed_as_free_and_billed_stops_its_source(tmp_path, budget):
    made = Billing()
    free = PriceList(0, currency="EUR")
    for i in range(60):
        life = thrifty.Lifetime(thrifty.Trees(), store=tmp_path / "s.db", budget=budget)
        cells = Cells(source(made, free), ledger=life.ledger, task=f"t{i % 3}")
        with pytest.raises(CostAboveReservation, match="free" if i else "owed"):
            cells.get(range(i % 7, 60), [0, 1])
    assert made.billed == 16.0 == life.balance().over
    # what it really costs, said: bought as ever, within what is left
    listed = PriceList(8, currency="EUR")
    life = thrifty.Lifetime(thrifty.Trees(), store=tmp_path / "s.db", budget=budget)
    cells = Cells(source(made, listed), ledger=life.ledger, task="priced")
    if budget is None:
        cells.get([50], [0, 1])
        assert made.billed == 32.0
    else:
        with pytest.raises(ThriftyError, match="left"):
            cells.get([50], [0, 1])
        assert made.billed == 16.0 and life.balance().left == 4.0


def test_what_is_over_counts_against_what_is_left_of_free_calls_too():
    """Another source that is free is asked only while nothing is owed beyond the budget."""
    made, honest = Billing(), FakeProvider()
    life = thrifty.Lifetime(thrifty.Trees(), budget=Budget(total=10))
    with pytest.raises(CostAboveReservation):
        Cells(source(made, 0), ledger=life.ledger, task="t").get([0], [0])
    other = honest.source(IDS, ["a"], prices=0, name="other")
    with pytest.raises(thrifty.errors.BudgetExceeded):
        Cells(other, ledger=life.ledger, task="t").get([0], [0])
    assert not honest.bill().calls
