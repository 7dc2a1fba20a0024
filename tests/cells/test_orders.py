"""Orders that overlap, fees, discounts, derived features: the cheapest way to what is wanted."""

import itertools
import json
import os
import random
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest

from tests.cells.price_lists import random_list
from tests.market import both_ways, ledger, seller
from thrifty import Budget, PriceList, Source
from thrifty.cells.prices.cover import Cover, Offer
from thrifty.errors import BadInput, BudgetExceeded, MixedCurrencies
from thrifty.protocol import Cells
from thrifty.testing import FakeProvider

DATA = Path(os.environ.get("THRIFTY_DATA", Path(__file__).parents[3] / "shared" / "data"))
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="the data sets are not here")


def parents_of(f: str, derived: dict) -> set[str]:
    if f not in derived:
        return {f}
    return set().union(*(parents_of(p, derived) for p in derived[f]))


def by_trying_everything(given: dict, wanted: set[str], owned: set[str]) -> int:
    """The definition: the cheapest set of orders, all of them tried."""
    derived = given["derived"]
    need = set().union(*(parents_of(f, derived) for f in wanted - owned), set()) - owned
    offers = [(p, set(m), None) for p, m in given["orders"].values()]
    offers += [(p, {f}, f) for f, p in given["per_feature"].items()]
    best = None
    for n in range(len(offers) + 1):
        for chosen in itertools.combinations(offers, n):
            filled = set().union(*(m for _, m, _ in chosen), set())
            if not need <= filled:
                continue
            cost = sum(p for p, _, _ in chosen)
            for members in given["discounts"].values():
                singles = [f for _, _, f in chosen if f in members]
                saved = {f: given["per_feature"][f] - members[f] for f in singles}
                others = owned | set().union(*(m for _, m, f in chosen if f is None), set())
                cost -= sum(saved.values())
                if singles and not others & set(members):
                    cost += min(saved.values())
            for fee, members in given["fees"].values():
                if filled & set(members) and not owned & set(members):
                    cost += fee
            best = cost if best is None else min(best, cost)
    assert best is not None
    return best


def test_the_cheapest_orders_equal_trying_everything_on_1000_lists():
    rng = random.Random(0)
    for _ in range(1000):
        names, given = random_list(rng)
        prices = PriceList(**given)
        wanted = set(rng.sample(names, rng.randint(1, len(names))))
        owned = {f for f in names if f not in given["derived"] and rng.random() < 0.25}
        owned |= {
            d
            for d in given["derived"]
            if parents_of(d, given["derived"]) <= owned and rng.random() < 0.5
        }
        found = prices.price(sorted(wanted), sorted(owned))
        assert found == by_trying_everything(given, wanted, owned), (given, wanted, owned)


def test_the_integer_programme_agrees_with_the_search():
    rng = random.Random(1)
    for _ in range(40):
        n = rng.randint(3, 8)
        offers = [
            Offer(
                rng.randint(1, 30),
                rng.randint(1, 2**n - 1),
                {k: rng.choice([0, 3, 3, 9]) for k in range(2) if rng.random() < 0.5},
            )
            for _ in range(8)
        ] + [Offer(rng.randint(1, 30), 1 << i) for i in range(n)]
        wanted, begun = rng.randint(1, 2**n - 1), rng.randint(0, 3)
        searched = Cover(offers).cheapest(wanted, begun)
        solved = Cover(offers, patience=0).cheapest(wanted, begun)
        assert searched.exact and solved.exact
        assert searched.price == solved.price == Cover(offers).price(searched.offers, begun)


def test_a_long_list_is_still_exact():
    """Far beyond printed lists: 40 features, 60 orders."""
    rng = random.Random(2)
    offers = [
        Offer(rng.randint(5, 40), sum(1 << f for f in rng.sample(range(40), rng.randint(2, 9))))
        for _ in range(60)
    ] + [Offer(rng.randint(3, 20), 1 << i) for i in range(40)]
    choice = Cover(offers).cheapest(2**40 - 1)
    assert choice.exact and choice.price == Cover(offers, patience=0).cheapest(2**40 - 1).price


@needs_data
def test_sodium_alone_with_others_and_in_panels():
    prices = PriceList.from_json(DATA / "physionet_icu_prices.json")
    draw = 9.09
    assert prices.price(["Na"]) == round(4.81 + draw, 2)
    assert prices.price(["Na"], owned=["K"]) == 4.81
    assert prices.price(["Na", "K"]) == round(7.01 + draw, 2)
    assert prices.price(["Na", "K", "HCO3", "Glucose"]) == round(8.46 + draw, 2)
    assert prices.price(["Albumin", "Na", "BUN"]) == round(8.68 + draw, 2)
    assert prices.price(["Albumin", "Na", "BUN", "ALT"]) == round(10.56 + draw, 2)
    assert prices.price(["PaCO2"]) == round(26.07 + draw, 2), "sold with blood gases alone"
    assert prices.price(["SaO2", "pH", "PaO2"]) == round(26.07 + 9.77 + draw, 2)
    assert prices.price(["Age", "HR"]) == 0
    z = np.load(DATA / "physionet_icu.npz", allow_pickle=False)
    names = z["feature_names"].tolist()
    assert prices.price(names) == 109.52


@needs_data
def test_the_lists_of_the_other_sets_are_read():
    z = np.load(DATA / "nhanes.npz", allow_pickle=False)
    names = z["feature_names"].tolist()
    prices = PriceList.from_json(DATA / "nhanes_prices.json", features=names)
    assert prices.price(["WeightKg", "StandingHeightCm"]) == 3.0
    thyroid = PriceList.from_json(DATA / "turney_groups.json", part="ann_thyroid")
    assert thyroid.price(["TSH"]) == 22.78
    assert thyroid.price(["TSH"], owned=["T3"]) == 20.68
    assert thyroid.price(["FTI"]) == round(14.51 + 9.31, 2) == thyroid.price(["FTI", "TT4"])
    assert thyroid.price(["FTI"], owned=["TT4"]) == 9.31
    assert thyroid.price(["FTI"], owned=["TT4", "T4U"]) == 0
    heart = np.load(DATA / "heart_cost.npz", allow_pickle=False)
    costs = heart["test_cost"].astype(float).round(2).tolist()
    single = dict(zip(heart["test_names"].tolist(), costs))
    groups = PriceList.from_json(DATA / "turney_groups.json", part="heart", single=single)
    assert groups.price(["thal", "thalach"]) == 103.9
    assert groups.price(["exang", "slope", "oldpeak"]) == 89.3


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"orders": {"o": (1, ["a", "z"])}}, "no feature here"),
        ({"fees": {"o": (1, ["a", "z"])}}, "no feature here"),
        ({"discounts": {"o": {"z": 1}}}, "no feature here"),
        ({"orders": {"o": (-1, ["a"])}}, "0 or more"),
        ({"orders": {"o": (None, ["a"])}}, "must be"),
        ({"orders": {"o": (1, [])}}, "fills nothing"),
        ({"orders": {"o": 3}}, r"\(price, \[features\]\)"),
        ({"per_feature": {"a": 1, "b": None}}, "needs a price"),
        ({"per_feature": {"a": 1, "b": -2}}, "0 or more"),
        ({"derived": {"a": ["b"], "b": ["a"]}}, "circle: a <- b <- a"),
        ({"derived": {"a": ["a"]}}, "circle"),
        ({"derived": {"a": []}}, "must be the parent's name"),
        ({"orders": {"o": (1, ["b"])}, "derived": {"b": ["a"]}}, "derived and free"),
        ({"discounts": {"g": {"a": 3}}}, "above its price"),
        ({"discounts": {"g": {"a": 1}, "h": {"a": 1}}}, "two groups"),
        ({"discounts": {"g": 3}}, "price of a second test"),
        ({"orders": [("o", (1, ["a"]))]}, "orders must be a mapping"),
        ({"fees": ["a"]}, "fees must be a mapping"),
        ({"discounts": ["a"]}, "discounts must be a mapping"),
        ({"derived": ["a"]}, "derived must be a mapping"),
        ({"fees": {"o": (1, [])}}, "paid for nothing"),
        ({"failed": "half"}, "0 to 1"),
        ({"per_feature": {"a": "1 EUR", "b": "2 USD"}}, "one currency"),
        ({"per_feature": {"a": "1 EUR", "b": 2}, "currency": "CHF"}, "one currency"),
        ({"per_feature": {"a": 1}}, "every feature needs a price"),
        ({"per_feature": [1, 2, 3]}, "expected 2 prices"),
        ({"fees": {"p": 3}}, r"\(price, \[features\]\)"),
        ({"derived": {"z": "a"}}, "none of the source's features"),
        ({"derived": {"a": ("z", abs)}}, "none of the source's features"),
        ({"derived": {"a": 3}}, "parent's name"),
        ({"derived": {"b": "z"}}, "has no price"),
        ({"valid_for": {"z": 3}}, "no feature here"),
        ({"valid_for": {"a": -3}}, "above 0"),
        ({"valid_for": "soon"}, "above 0"),
    ],
)
def test_bad_lists_say_what_is_wrong(given, message):
    with pytest.raises(BadInput, match=message):
        PriceList(**{"per_feature": {"a": 2, "b": 2}, **given}).tariff(["a", "b"])


def test_currencies_are_not_mixed_in_orders():
    with pytest.raises(MixedCurrencies, match="EUR, USD"):
        PriceList(1, orders={"o": ("3 EUR", ["a"])}, currency="USD").tariff(["a"])


def test_a_list_in_json_is_read_and_refused(tmp_path):
    path = tmp_path / "rates.json"
    path.write_text(json.dumps({"currency": "USD", "single": {"a": 1}, "each_question": 0.5}))
    assert PriceList.from_json(path, features=["a", "b"]).price(["a", "b"]) == 1.5
    with pytest.raises(BadInput, match="no list 'x'"):
        PriceList.from_json(path, part="x")
    with pytest.raises(BadInput, match="is an object"):
        PriceList.from_json([1])


IDS = [f"p{i}" for i in range(5)]
LAB = {
    "per_feature": {"na": 5, "k": 5, "age": 1},
    "orders": {"panel": (7, ["na", "k", "cl"])},
    "fees": {"draw": (9, ["na", "k", "cl"])},
}


def test_an_order_fills_and_what_it_fills_beside_is_owned():
    provider, *both = both_ways(PriceList(**LAB), IDS, ["na", "k", "cl", "age"])
    for cells in both:
        assert cells.prices.tolist() == [14.0, 14.0, 16.0, 1.0]
        for rows, features, cost, n in (
            ([0, 1], [0], 28, 2),  # alone
            ([0], [1], 5, 1),  # the draw is paid
            ([2], [0, 1], 16, 3),  # the panel, and chloride beside
            ([2], [2], 0, 0),
            ([1, 3], [2], 7 + 16, 2 + 3),  # row 1 has sodium already
            ([0, 1, 2, 3, 4], [3], 5, 5),
        ):
            before = cells.receipt()
            cells.get(rows, features)
            now = cells.receipt()
            assert (now.cost - before.cost, now.cells - before.cells) == (cost, n)
    assert provider.bill().twice == [], "what is known is not asked for again"


def test_a_feature_may_be_computed_from_several():
    ask = lambda ids, names: [[{"tt4": 3.0, "t4u": 2.0}[n] for n in names] for _ in ids]  # noqa: E731
    derived = {"fti": (["tt4", "t4u"], np.divide), "fti>1": ("fti", lambda v: v > 1)}
    prices = PriceList({"tt4": 4, "t4u": 5}, derived=derived)
    source = seller(ask, IDS, ["tt4", "t4u", *derived], boolean=["fti>1"], prices=prices)
    cells = Cells(source, ledger=ledger())
    assert cells.get([0, 1], [2, 3]).tolist() == [[1.5, 1.0]] * 2
    assert cells.receipt().cost == 18.0


@pytest.mark.parametrize("seed", range(40))
def test_the_ledger_and_a_count_in_memory_agree_on_random_lists(seed):
    """Any list, any requests, any batches: both pay the price that the list itself states."""
    rng = random.Random(seed)
    names, given = random_list(rng)
    prices = PriceList(**given)
    batches = {"concurrency": rng.randint(1, 3), "max_examples": rng.randint(1, 4)}
    provider, paid, free = both_ways(prices, IDS, names, **batches)
    cost = 0.0
    for _ in range(4):
        rows = rng.sample(range(len(IDS)), rng.randint(1, 4))
        features = rng.sample(range(len(names)), rng.randint(1, len(names)))
        wanted = [names[f] for f in features]
        for r in rows:
            had = free.meter.touched[: len(names), 0] >> np.uint64(r) & np.uint64(1)
            cost += prices.price(wanted, [names[f] for f in np.flatnonzero(had)])
        assert (paid.get(rows, features) == free.get(rows, features)).all()
        assert paid.receipt().cost == free.receipt().cost == cost
    assert paid.receipt().cells == free.receipt().cells
    assert provider.bill().twice == []


def test_a_budget_holds_for_orders_and_refuses_nothing_that_fits():
    prices = PriceList(
        {"a": 3, "b": 3, "c": 3}, orders={"all": (7, ["a", "b", "c"])}, fees={"n": (2, ["a", "b"])}
    )
    sold = FakeProvider().source(IDS, list("abc"), prices=prices, max_examples=2)
    table = Source.from_array(np.zeros((5, 3), dtype=bool), feature_names="abc")
    for total, fits in ((45.0, True), (44.99, False)):
        budget = Budget(total=total)
        for cells in (
            Cells(sold, ledger=ledger(budget=budget), task="t"),
            Cells(table, prices, ledger=ledger(budget=budget)),
        ):
            with nullcontext() if fits else pytest.raises(BudgetExceeded):
                cells.get(range(5), [0, 1, 2])
            assert cells.receipt().cost == (45.0 if fits else 0.0)


def test_the_receipt_reads_like_a_laboratorys_bill():
    _, *both = both_ways(PriceList(**LAB, currency="USD"), IDS, ["na", "k", "cl", "age"])
    for cells in both:
        cells.get([0, 1], [0])
        cells.get([2], [0, 1])
        cells.get([0, 1], [3])
        receipt = cells.receipt()
        assert receipt.lines == (
            ("draw", 3, 27.0),
            ("na", 2, 10.0),
            ("panel", 1, 7.0),
            ("age", 2, 2.0),
        )
        assert sum(amount for *_, amount in receipt.lines) == receipt.cost
        assert "3 x draw" in receipt.itemised() and "46.00 USD" in receipt.itemised()
        assert type(receipt).from_dict(json.loads(json.dumps(receipt.to_dict()))) == receipt
