"""At any spend, on any price list, a task is learned or refused before anything is bought."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import thrifty
from thrifty.errors import ThriftyError
from thrifty.protocol import Cells


@st.composite
def tasks(draw):
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    n, k = draw(st.integers(16, 60)), draw(st.integers(2, 7))
    kind = draw(st.sampled_from(["numbers", "boolean", "gaps"]))
    X = rng.normal(size=(n, k))
    if kind == "boolean":
        X = X > 0.5
    elif kind == "gaps":
        X[rng.random((n, k)) < 0.4] = np.nan
    classes = draw(st.sampled_from([2, 2, 3, 0]))  # 0: numbers
    y = rng.permutation(np.arange(n) % classes) if classes else rng.normal(size=n)
    present = rng.random((n, k)) < 0.5 if draw(st.booleans()) else None
    names = [f"x{f}" for f in range(k)]
    prices = {name: draw(st.sampled_from([0, 0, 1, 2.5, 9])) for name in names}
    how = draw(st.sampled_from(["flat", "fee", "order"]))
    given_prices = prices
    if how == "fee":
        given_prices = thrifty.PriceList(prices, fees={"draw": (4, names[: max(k // 2, 1)])})
    elif how == "order":
        given_prices = thrifty.PriceList(prices, orders={"panel": (3, names[: max(k // 2, 1)])})
    spend = draw(st.sampled_from([0, 1, 5, "1 %", "10 %", "60 %", "100 %", None]))
    return X, y, names, given_prices, spend, draw(st.booleans()), present


@settings(max_examples=25, deadline=None)
@given(tasks())
@pytest.mark.filterwarnings("ignore")
def test_learned_or_refused_with_nothing_bought(task):
    X, y, names, prices, spend, owned, present = task
    there = {"examples": [f"p{i}" for i in range(len(X))], "name": "s", "present": present}
    source = thrifty.Source.from_array(X, feature_names=names, allow_missing=True, **there)
    life = thrifty.Lifetime(prices=prices, random_state=0)
    if owned:
        life.background(source, rows=len(X) // 4)
    before = life.balance().spent
    try:
        learned = life.learn("task", source, y, spend=spend)
    except ThriftyError as error:
        assert str(error) and life.balance().spent == before
        return
    paid = life.balance().spent - before
    assert learned.receipt.cost == pytest.approx(paid)
    if isinstance(spend, int):
        assert paid <= spend + 1e-6
    if isinstance(spend, str):
        whole = Cells(np.zeros(X.shape), prices).price_of(range(len(X)), range(len(names)))
        assert paid <= float(spend[:-2]) / 100 * whole + 1e-6
    if present is not None:
        assert learned.receipt.cells + learned.receipt.reused_cells <= present.sum()
    if y.dtype.kind == "f":
        assert learned.model.predict(source).shape == (len(X),)
        return
    assert learned.model.predict_proba(source).shape == (len(X), len(np.unique(y)))


def test_a_spend_too_small_for_any_look_learns_from_what_is_free():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(16, 4))
    y = rng.permutation(np.arange(16) % 2)
    prices = {"x0": 1, "x1": 0, "x2": 0, "x3": 0}
    life = thrifty.Lifetime(prices=prices, random_state=0)
    source = thrifty.Source.from_array(X, feature_names=list(prices), examples=range(16), name="s")
    learned = life.learn("t", source, y, spend=1)
    assert life.balance().spent <= 1
    assert learned.model.predict_proba(X).shape == (16, 2)
