"""``life.predict``: one way out, names matched in one place, a bill for every row."""

from __future__ import annotations

import numpy as np
import pytest

import thrifty
from thrifty.errors import BadInput, BadParameter, FeaturesChanged, MixedCurrencies
from thrifty.testing import FakeProvider

pandas = pytest.importorskip("pandas")

NAMES = [f"lab {i}" for i in range(12)]
FAMILIES = {
    "trees": thrifty.Trees(max_depth=4),
    "lists": thrifty.Lists(max_depth=6),
    "monomials": thrifty.Monomials(5),
    "polynomials": thrifty.Polynomials(3, 2),
}


def made(kind: str):
    """A learned task and the table behind it."""
    rng = np.random.default_rng(3)
    if kind in ("trees", "lists"):
        X = rng.integers(0, 2, (300, 12)).astype(bool)
        y = (X[:, 3] & X[:, 7]) if kind == "trees" else X[:, 3] | X[:, 7]
    elif kind == "monomials":
        X = rng.uniform(1, 2, (120, 12))
        y = X[:, 3] ** 2 * X[:, 7]
    else:
        X = rng.uniform(-1, 1, (200, 12))
        y = 3 * X[:, 3] ** 2 - 0.5 * X[:, 7]
    frame = pandas.DataFrame(X, columns=NAMES)
    life = thrifty.Lifetime(FAMILIES[kind])
    life.learn("task", frame, y)
    return life, frame, y


@pytest.mark.parametrize("kind", sorted(FAMILIES))
def test_columns_may_come_in_any_order_and_only_those_it_asks_for_are_needed(kind):
    life, frame, y = made(kind)
    turned = frame[NAMES[::-1]]
    few = frame[["lab 7", "lab 3"]].assign(other=1.0)
    for X in (frame, turned, few, thrifty.Source.from_frame(turned)):
        assert np.allclose(life.predict("task", X).values, y)
    assert np.allclose(np.asarray(life.predict("task", turned)), y)
    model = life["task"]
    assert np.allclose(model.predict(thrifty.Source.from_frame(turned)), y)
    with pytest.raises(FeaturesChanged, match="'lab 7'"):
        life.predict("task", frame.drop(columns="lab 7"))


def test_explain_and_metered_match_names_too():
    life, frame, y = made("trees")
    turned = thrifty.Source.from_frame(frame[NAMES[::-1]])
    there, here = life["task"].explain(turned, 0), life.predict("task", turned).explain(0)
    for explained in (there, here):
        assert explained.answer == y[0]
        for step in explained.steps:
            assert step.value == frame[step.feature][0]
    assert (thrifty.metered(life["task"], turned).predict() == y).all()


def test_every_row_has_its_bill():
    life, frame, _ = made("trees")
    prediction = life.predict("task", frame[NAMES[::-1]])
    receipt = prediction.receipt
    assert receipt.cells_per_row.sum() == receipt.cells == receipt.cost_per_row.sum()
    assert set(receipt.cells_per_row.tolist()) == {1, 2}
    assert set(receipt.per_feature) == {"lab 3", "lab 7"}
    assert prediction.probabilities.shape == (300, 2)
    assert prediction.classes.tolist() == [False, True]
    assert prediction.stopped == ("finished",) * 300
    assert prediction.explain(5).cost == receipt.cost_per_row[5]


def test_spend_per_row_and_sure_stop_a_tree_and_the_answers_say_so():
    life, learned, y = made("trees")
    assert life.predict("task", learned).receipt.cells == 0, "the very object that was learned"
    frame = learned.copy()
    some = life.predict("task", frame, spend=100)
    assert some.receipt.cells <= 100 and "spend" in some.stopped
    each = life.predict("task", frame.copy(), per_row=1)
    assert each.receipt.cells_per_row.max() <= 1 and "per_row" in each.stopped
    share = life.predict("task", frame.copy(), spend="10 %")
    assert share.receipt.cells <= 60  # of 300 x 2 that it may ask for
    sure = life.predict("task", frame.copy(), stop=thrifty.Sure(0.5))
    assert sure.receipt.cells == 0 and set(sure.stopped) == {"sure"}
    assert life.predict("task", frame, stop=thrifty.Sure(1.0)).values.tolist() == y.tolist()


@pytest.mark.parametrize("given", [{"spend": 3}, {"per_row": 1}, {"stop": thrifty.Sure(0.9)}])
def test_a_formula_cannot_stop(given):
    life, frame, _ = made("monomials")
    with pytest.raises(BadParameter, match="cannot stop"):
        life.predict("task", frame, **given)


def test_what_is_no_amount_is_refused():
    life, frame, _ = made("trees")
    with pytest.raises(BadInput, match="share such as '5 %'"):
        life.predict("task", frame, spend="much")
    with pytest.raises(MixedCurrencies, match="EUR"):
        life.predict("task", frame, spend="3 EUR")


def test_a_paid_source_is_bought_once_over_all_predictions():
    provider = FakeProvider()
    ids = [f"p{i}" for i in range(80)]
    lab = provider.source(ids, NAMES, prices=2)
    y = [provider.value(e, "lab 3") for e in ids]
    life = thrifty.Lifetime(thrifty.Trees(max_depth=4))
    life.learn("task", lab, y)
    new = [f"n{i}" for i in range(30)]
    truth = [provider.value(e, "lab 3") for e in new]
    turned = provider.source(new, NAMES[::-1], prices=2)
    first = life.predict("task", turned)
    assert first.values.tolist() == truth and first.receipt.cost == 60
    again = life.predict("task", turned)
    assert (again.receipt.cells, again.receipt.reused_cells) == (0, 30)
    assert again.receipt.cost_per_row.sum() == 0
    bill = provider.bill()
    assert set(bill.cells.values()) == {1}
    assert 2 * bill.cells.total() == life.balance().spent


@pytest.mark.parametrize("kind", sorted(FAMILIES))
def test_learners_that_learn_all_or_nothing_refuse_spend(kind):
    life, frame, y = made(kind)
    with pytest.raises(BadParameter, match=r"Budget\(per_task"):
        life.learn("more", frame, y, spend="5 %")
    assert "more" not in life


def test_a_door_knows_what_is_left_and_what_cells_would_cost():
    cells = thrifty.Cells(np.ones((10, 4), dtype=bool), prices=[1, 2, 3, 4], spend=12.0)
    assert cells.allowance == 12.0 and cells.price_of([0, 1], [1, 3]) == 12.0
    cells.get([0], [3])
    assert cells.allowance == 8.0 and cells.price_of([0, 1], [1, 3]) == 8.0
    with pytest.raises(thrifty.errors.BudgetExceeded):
        cells.get([1, 2, 3], [3])
    assert cells.allowance == 8.0 and thrifty.Cells(np.eye(2)).allowance is None
