"""Buying numbers, categories and gaps: within the bill, the features that tell, honest weights."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from thrifty.cells import Cells, PriceList, Source, as_source
from thrifty.errors import BadInput
from thrifty.labels.classes import read_classes
from thrifty.labels.numbers import Numbers
from thrifty.models.buying.halving import Halving, Search
from thrifty.models.evidence.classes import ClassEvidence
from thrifty.models.fits.mixture import fit_mixture
from thrifty.models.memory.memory import Memory
from thrifty.models.purses.purse import Basket


def clinic(n=1200, features=60, seed=0, rate=-2.0):
    """A trend, a bend, a gap that tells, and much that does not; most of it with gaps."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, features))
    gone = rng.random(n) < 0.3
    trend, bend, gap = 7 % features, 21 % features, 40 % features
    logit = rate - 1 + 2 * X[:, trend] + 2.5 * (np.abs(X[:, bend]) - 0.8) + 3 * gone
    y = (rng.random(n) < 1 / (1 + np.exp(-logit))).astype(int)
    X[rng.random(X.shape) < 0.1] = np.nan
    X[gone, gap] = np.nan
    return X, y


def buy(X, y, allowance, seed=0, prices=None, memory=None):
    cells = Cells(as_source(X, allow_missing=True), prices=prices, spend=float(allowance))
    way, rng = Halving(), np.random.default_rng(seed)
    return cells, way.buy(cells, read_classes(y), memory or Memory(), allowance, rng)


def test_it_finds_what_tells_for_a_tenth_of_the_cells():
    X, y = clinic()
    cells, bought = buy(X, y, 0.1 * X.size)
    table = bought.table
    assert cells.n_bought <= 0.1 * X.size
    assert {7, 40} <= set(table.features[:8].tolist())
    model = fit_mixture(table.values, table.labels, table.weights)
    asked, truth = clinic(seed=1)
    p = model.predict_proba(asked[:, table.features])[:, 1]
    assert roc_auc_score(truth, p) > 0.8
    assert p.mean() == pytest.approx((y.mean() + truth.mean()) / 2, rel=0.15)


@pytest.mark.parametrize("allowance", [60, 300, 1000, 7919, 40_000, 72_000, 10**6])
def test_never_above_the_allowance_and_most_of_it_used(allowance):
    X, y = clinic()
    cells, bought = buy(X, y, allowance)
    assert cells.n_bought <= min(allowance, X.size)
    if allowance >= 300:
        assert cells.n_bought >= min(0.9 * allowance, X.size) - bought.table.n_rows
    assert bought.table.n_rows >= 2 and len(set(bought.table.labels)) == 2


def test_the_table_holds_what_the_source_holds():
    X, y = clinic()
    _, bought = buy(X, y, 3000)
    table = bought.table
    np.testing.assert_array_equal(table.values, X[np.ix_(table.rows, table.features)])
    assert (table.labels == y[table.rows]).all()
    for label in (0, 1):
        assert table.weights[table.labels == label].sum() == pytest.approx((y == label).sum())


def test_the_same_seed_buys_the_same_cells():
    X, y = clinic()
    first, second, other = (buy(X, y, 3000, seed)[1].table for seed in (0, 0, 1))
    assert first.features.tolist() == second.features.tolist()
    assert first.rows.tolist() == second.rows.tolist() != other.rows.tolist()


def test_money_is_kept_to_the_cent_with_fees():
    X, y = clinic(n=400, features=12)
    prices = PriceList({f"x{f}": 1.0 + f for f in range(12)}, fees={"draw": (9.09, ["x5", "x6"])})
    cells, _ = buy(X, y, 700.0, prices=prices)
    assert 500 < cells.receipt().cost <= 700.0


def test_more_than_two_classes_and_categories():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 900)
    colour = np.array(["red", "green", "blue"], dtype=object)[(y + (rng.random(900) < 0.2)) % 3]
    table = np.column_stack([colour, *rng.normal(size=(15, 900)).astype(object)])
    cells = Cells(as_source(table, allow_missing=True, categories=True))
    bought = Halving().buy(cells, read_classes(y), Memory(), 2000.0, np.random.default_rng(0))
    assert bought.table.features[0] == 0
    assert cells.n_bought <= 2000


def test_constant_and_empty_columns_are_left_alone():
    X, y = clinic(features=50)
    X[:, :10] = 3.0
    X[:, 10:20] = np.nan
    X[:, 7] = np.nan
    _, bought = buy(X, y, 0.05 * X.size)
    assert not set(bought.table.features.tolist()) & set(range(20))


def test_a_class_of_two_rows():
    X, _ = clinic(n=200, features=10)
    y = np.zeros(200, dtype=int)
    y[[3, 50]] = 1
    _, bought = buy(X, y, 400)
    assert bought.table.labels.sum() == 2


def test_a_longer_look_contains_the_shorter_and_is_paid_once():
    X, y = clinic(n=100, features=5)
    cells = Cells(as_source(X, allow_missing=True))
    basket = Basket(cells, y, 1000.0, np.random.default_rng(0))
    basket.buy(np.array([1, 2]), 10)
    basket.buy(np.array([2]), 30)
    assert basket.price(np.array([1, 2]), 30) == 20 and basket.left == 1000 - 40
    assert basket.most_rows(np.array([3]), 0, 100) == 100
    basket.left = 42.0
    assert basket.most_rows(np.array([3, 4]), 0, 100) == 21


def test_a_bill_too_small_for_a_first_look_says_the_smallest():
    X, y = clinic(n=100, features=10)
    with pytest.raises(BadInput, match="at least 8; what may be spent is 7"):
        buy(X, y, 7)
    assert buy(X, y, 8)[0].n_bought <= 8


def test_nothing_but_gaps_is_said_after_the_first_look():
    _, y = clinic(n=300, features=10)
    with pytest.raises(BadInput, match="all values of all 10 features are missing"):
        buy(np.full((300, 10), np.nan), y, 600)


def test_a_memory_keeps_how_values_are_spread_and_what_was_useful():
    memory = Memory()
    for seed in range(3):
        X, y = clinic(n=600, features=20, seed=seed)
        _, bought = buy(X, y, 3000, memory=memory)
        memory = memory.after(bought.lesson, 20)
    note = memory.sketch(7)
    assert note["rows"] > 100 and abs(np.median(note["at"])) < 0.4
    assert note["gaps"] == pytest.approx(0.1, abs=0.06)
    again = Memory.from_dict(memory.to_dict())
    assert memory.useful[7] == 3 and again.sketch(7) == note


@pytest.mark.parametrize("numbers", [False, True])
def test_a_panel_is_bought_as_what_it_is(numbers):
    # 3 for six features that tell, where each alone costs 2: one at a time three were as dear
    rng = np.random.default_rng(3)
    X = rng.normal(size=(1200, 30))
    score = X[:, :6].sum(axis=1) + rng.normal(size=1200)
    names = [f"x{i}" for i in range(30)]
    prices = PriceList(dict.fromkeys(names, 2.0), orders={"panel": (3.0, names[:6])})
    cells = Cells(Source.from_array(X, feature_names=names), prices, spend=3000.0)
    labels = Numbers(score) if numbers else read_classes((score > 0).astype(int))
    bought = Halving().buy(cells, labels, Memory(), 3000.0, np.random.default_rng(0))
    assert set(range(6)) <= set(bought.table.features[:7].tolist())
    assert cells.receipt().cost <= 3000.0


def test_what_was_paid_for_makes_the_rest_cheaper():
    names = [f"x{i}" for i in range(4)]
    prices = PriceList(
        dict.fromkeys(names, 2.0), orders={"panel": (3.0, names[2:])}, fees={"draw": (8, names[:2])}
    )
    X, y = np.random.default_rng(0).normal(size=(60, 4)), np.arange(60) % 2
    cells, rng = Cells(X, prices, spend=600.0), np.random.default_rng(0)
    evidence = ClassEvidence(cells, read_classes(y), Memory(), 600.0, rng)
    search = Search(cells, evidence, Memory(), rng)
    search.rows = 20
    offers, paid = search.offers(search.alive)
    assert [some.tolist() for some in offers] == [[0], [1], [2], [3], [2, 3]]
    assert paid.tolist() == [10.0, 10.0, 2.0, 2.0, 3.0]
    left, took = search.buy_best(search.alive, offers, np.array([0.0, 0.0, 1.0, 0.0, 5.0]), batch=3)
    assert (took, left.tolist(), search.chosen) == (1, [0, 1], [2, 3])  # others' prices moved
    assert search.buy_best(left, [np.array([0]), np.array([1])], np.array([2.0, 1.0]), 1)[1] == 1
    assert search.offers(np.array([1]))[1].tolist() == [2.0]  # the draw was paid


def test_cells_of_earlier_tasks_cost_nothing_in_exact_offers():
    X, y = np.random.default_rng(0).normal(size=(40, 3)), np.arange(40) % 2
    cells, rng = Cells(X, spend=90.0), np.random.default_rng(0)
    cells.get(np.arange(40), [1])
    evidence = ClassEvidence(cells, read_classes(y), Memory(), 50.0, rng, alone=True)
    search = Search(cells, evidence, Memory(), rng)
    search.rows = 20
    assert search.offers(search.alive)[1].tolist() == [1.0, 1.0, 1.0]
    assert search.offers(search.alive, exact=True)[1].tolist() == [1.0, search.least, 1.0]
