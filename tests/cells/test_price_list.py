"""Price lists: what real bills look like, counted the same for arrays and for providers."""

from datetime import timedelta
from decimal import Decimal

import numpy as np
import pytest

import thrifty
from tests.market import both_ways, ledger, seller
from thrifty import Budget, PriceList
from thrifty.cells.prices.money import amount_text, read_amount
from thrifty.errors import BadInput, BudgetExceeded, MixedCurrencies
from thrifty.protocol import Cells
from thrifty.testing import FakeProvider

IDS = [f"p{i}" for i in range(6)]


def paid(prices, features, provider=None, book=None, task="t", **options):
    provider = provider or FakeProvider()
    source = provider.source(IDS, features, prices=prices, **options)
    return Cells(source, ledger=book or ledger(), task=task)


@pytest.mark.parametrize(
    ("given_", "minor"),
    [(1, 10**6), (22.78, 22_780_000), ("0.0004 usd", 400), (Decimal("0.1"), 10**5),
     (np.float64(3), 3 * 10**6), (0.1 + 0.2, 300_000), (0, 0)],
)  # fmt: skip
def test_amounts_are_exact(given_, minor):
    assert read_amount(given_)[0] == minor


@pytest.mark.parametrize(
    "bad", [-1, float("nan"), float("inf"), "ten", "1 EUR extra", True, None, "0.0000001", 1e-9,
            1e30, "-3"]
)  # fmt: skip
def test_an_amount_that_is_none_is_an_error(bad):
    with pytest.raises(BadInput):
        read_amount(bad)


def test_amounts_read_well():
    assert amount_text(5_500_000, "EUR") == "5.50 EUR"
    assert amount_text(12_000_000) == "12"


def test_a_call_larger_than_the_provider_takes_is_refused():
    prices = PriceList(None, orders={"record": (7, ["a", "b", "c"])})
    with pytest.raises(BadInput, match="3 features cannot be made"):
        paid(prices, ["a", "b", "c"], max_features=2).get([0], [0])


def test_the_parent_of_derived_features_need_not_be_a_feature():
    prices = PriceList({"scan": 100}, derived={"bit0": "scan", "bit1": "scan"})
    for cells in both_ways(prices, IDS, ["bit0", "bit1"])[1:]:
        cells.get([0, 1], [0])
        cells.get([0, 1], [1])
        assert cells.receipt().cost == 200.0


def test_a_computed_feature_never_reaches_the_provider():
    asked = []

    def lab(ids, names):
        asked.append(tuple(names))
        return [[float(i[1:]) for _ in names] for i in ids]

    prices = PriceList({"tsh": 20}, derived={"tsh>2": ("tsh", lambda v: v > 2)})
    source = seller(lab, IDS, ["tsh", "tsh>2"], boolean=["tsh>2"], prices=prices)
    cells = Cells(source, ledger=ledger())
    assert cells.get([1, 4], [1]).tolist() == [[0.0], [1.0]]
    assert cells.get([4], [0]).tolist() == [[4.0]]
    mask = np.array([0b111111], dtype=np.uint64)
    assert cells.columns(np.array([1]), mask).tolist() == [[0b111000]]
    assert set(asked) == {("tsh",)}
    assert cells.receipt().cost == 120.0


def test_a_value_may_be_bought_again_only_after_it_expired():
    now, answers = [1000.0], [0, 1, 0, 1]
    provider = FakeProvider(lambda e, f: answers[provider.bill().calls])
    book = ledger(clock=lambda: now[0])
    prices = PriceList(2, fees={"p": (5, ["a"])}, valid_for={"a": timedelta(seconds=60)})

    def look(features):
        cells = paid(prices, ["a", "b"], provider, book)
        return cells.get([0], features).tolist()

    assert look([0]) == [[0]]
    now[0] += 60
    assert look([0]) == [[0]] and provider.bill().calls == 1
    now[0] += 1
    assert look([0]) == [[1]] and provider.bill().calls == 2
    assert book.balance().spent == 14.0, "a new test needs a new draw"
    book.book.write(lambda pages: book.compact(pages, "t"))
    assert look([0]) == [[1]] and provider.bill().calls == 2
    now[0] += 61
    assert look([0]) == [[0]]
    assert look([1]) == [[1]]
    now[0] += 10_000
    assert look([1]) == [[1]] and provider.bill().calls == 4, "b never expires"


def test_a_value_that_expires_within_a_task_stays_until_its_end():
    now = [0.0]
    provider, book = FakeProvider(), ledger(clock=lambda: now[0])
    cells = paid(PriceList(1, valid_for=10), ["a"], provider, book)
    cells.get([0], [0])
    now[0] = 100.0
    cells.get([0], [0])
    assert provider.bill().calls == 1


def test_currencies_are_not_mixed():
    with pytest.raises(MixedCurrencies):
        Budget(total="3 EUR", per_task="1 USD")
    with pytest.raises(MixedCurrencies, match="budget is in USD and the price list in EUR"):
        paid(PriceList(1, currency="EUR"), ["a"], book=ledger(budget=Budget(total="3 USD")))
    book = ledger()
    paid(PriceList(1, currency="EUR"), ["a"], book=book)
    with pytest.raises(MixedCurrencies, match="pays in EUR and the price list is in USD"):
        paid(PriceList(1, currency="USD"), ["a"], book=book)


def test_budgets_hold_on_arrays_before_the_look():
    X = np.eye(6, dtype=np.uint8)
    life = thrifty.Lifetime(thrifty.Trees(max_depth=6), budget=Budget(total=30))
    with pytest.raises(BudgetExceeded) as caught:
        life.learn("t", X, X[:, 0])
    assert caught.value.needed > 0 and "is left of the 30 allowed" in str(caught.value)
    life = thrifty.Lifetime(thrifty.Trees(max_depth=6), budget=Budget(per_example=5))
    with pytest.raises(BudgetExceeded) as caught:
        life.learn("t", X, X[:, 0])
    assert caught.value.scope == "example"
    life = thrifty.Lifetime(thrifty.Trees(max_depth=6), budget=Budget(total=36, per_task=36))
    assert life.learn("t", X, X[:, 0]).receipt.cost == 36.0
    assert life.balance().spent == 36.0
