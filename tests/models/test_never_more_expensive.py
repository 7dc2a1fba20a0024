"""No row costs more than everything at once, and what is explained sums to the receipt."""

import numpy as np
import pytest

import thrifty

PANELS = thrifty.PriceList(
    {"age": 0, "pulse": 2},
    orders={
        "sodium": (4.81, ["na"]),
        "potassium": (4.59, ["k"]),
        "creatinine": (5.12, ["crea"]),
        "electrolytes": (7.01, ["na", "k"]),
        "basic": (8.46, ["na", "k", "crea", "glu"]),
        "glucose": (3.93, ["glu"]),
    },
    fees={"draw": (9.09, ["na", "k", "crea", "glu"])},
    currency="USD",
)
NAMES = ["age", "pulse", "na", "k", "crea", "glu"]


def frame(n, seed):
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    score = X @ np.array([0.3, 0.4, 1.2, 0.9, 0.8, 0.5]) + rng.logistic(size=n)
    return pandas.DataFrame(X, columns=NAMES), (score > 0.5).astype(int)


@pytest.fixture(scope="module")
def ward():
    life = thrifty.Lifetime(prices=PANELS, random_state=0)
    X, y = frame(500, 0)
    life.learn("ill", X, y, spend="100 %")
    return life


RULES = [
    {"stop": thrifty.Sure(0.6)},
    {"stop": thrifty.Sure(0.9)},
    {"stop": thrifty.Sure(0.999)},
    {"stop": thrifty.Worth(0.001)},
    {"per_row": 18},
    {"stop": thrifty.Sure(0.8), "per_row": 20},
    {"spend": 900},
    {"stop": thrifty.Sure(0.95), "spend": 1500},
]


@pytest.mark.parametrize("given", RULES, ids=str)
def test_no_row_costs_more_than_everything_at_once_nor_than_it_may(ward, given):
    X, _ = frame(120, 5)
    everything = ward.predict("ill", X.copy()).receipt.cost_per_row
    receipt = ward.predict("ill", X.copy(), **given).receipt
    assert (receipt.cost_per_row <= everything + 1e-9).all()
    assert 0 < receipt.cost_per_row.max() <= given.get("per_row", np.inf)
    assert receipt.cost <= given.get("spend", np.inf)


@pytest.mark.parametrize("given", [{}, *RULES], ids=str)
def test_explained_prices_sum_to_the_receipt(ward, given):
    X, _ = frame(60, 9)
    got = ward.predict("ill", X, **given)
    told = [got.explain(i).cost for i in range(len(got))]
    assert np.round(told, 6).tolist() == np.round(got.receipt.cost_per_row, 6).tolist()
    assert round(sum(told), 6) == round(got.receipt.cost, 6)


def test_what_is_free_is_read_first(ward):
    X, _ = frame(30, 2)
    got = ward.predict("ill", X, per_row=0)
    assert got.receipt.cost == 0
    assert all([s.feature for s in got.explain(i).steps] == ["age"] for i in range(30))
