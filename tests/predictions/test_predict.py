"""``life.predict``: one way out, names matched in one place, a bill for every row."""

import numpy as np
import pytest

import thrifty
from tests.loops import AMPLE, paper
from thrifty import errors
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
    model = life["task"].model
    assert np.allclose(model.predict(thrifty.Source.from_frame(turned)), y)
    with pytest.raises(errors.FeaturesChanged, match="'lab 7'"):
        life.predict("task", frame.drop(columns="lab 7"))


def test_explain_and_metered_match_names_too():
    life, frame, y = made("trees")
    turned = thrifty.Source.from_frame(frame[NAMES[::-1]])
    there, here = life["task"].model.explain(turned, 0), life.predict("task", turned).explain(0)
    for explained in (there, here):
        assert explained.answer == y[0]
        for step in explained.steps:
            assert step.value == frame[step.feature][0]
    assert (thrifty.metered(life["task"].model, turned).predict() == y).all()


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
    with pytest.raises(errors.BadParameter, match="cannot stop"):
        life.predict("task", frame, **given)


def test_what_is_no_amount_is_refused():
    life, frame, _ = made("trees")
    with pytest.raises(errors.BadInput, match="share such as '5 %'"):
        life.predict("task", frame, spend="much")
    with pytest.raises(errors.MixedCurrencies, match="EUR"):
        life.predict("task", frame, spend="3 EUR")


def test_a_paid_source_is_bought_once_over_all_predictions():
    provider = FakeProvider()
    ids = [f"p{i}" for i in range(80)]
    lab = provider.source(ids, NAMES, prices=2)
    y = [provider.value(e, "lab 3") for e in ids]
    life = thrifty.Lifetime(thrifty.Trees(max_depth=4), budget=AMPLE)
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
    with pytest.raises(errors.BadParameter, match=r"Budget\(per_task"):
        life.learn("more", frame, y, spend="5 %")
    assert "more" not in life


def test_a_reader_knows_what_is_left_and_what_cells_would_cost():
    cells = thrifty.protocol.Cells(np.ones((10, 4), dtype=bool), prices=[1, 2, 3, 4], spend=12.0)
    assert cells.allowance == 12.0 and cells.price_of([0, 1], [1, 3]) == 12.0
    cells.get([0], [3])
    assert cells.allowance == 8.0 and cells.price_of([0, 1], [1, 3]) == 8.0
    with pytest.raises(thrifty.errors.BudgetExceeded):
        cells.get([1, 2, 3], [3])
    assert cells.allowance == 8.0 and thrifty.protocol.Cells(np.eye(2)).allowance is None


# -- money that ends before the last row ----------------------------------------------------------

FEATURES = [f"f{i}" for i in range(6)]


def bought(life, provider):
    """The lifetime's bill against the provider's."""
    rows = life._bill_rows()
    assert sum(row["cells"] for row in rows) == provider.bill().cells.total()
    assert sum(row["cost"] for row in rows) == pytest.approx(life.balance().spent)
    return rows


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("family", [thrifty.Trees(max_depth=3), thrifty.Models()])
def test_rows_that_were_answered_before_the_money_ended_are_had(kept, family, tmp_path):
    provider = FakeProvider()
    store = tmp_path / "s.db" if kept else None
    life = thrifty.Lifetime(family, store=store, prices=2, budget=AMPLE)
    ids = [f"p{i}" for i in range(60)]
    y = [provider.value(e, "f1") & provider.value(e, "f4") for e in ids]
    life.learn("t", provider.source(ids, FEATURES), y)
    spent = life.balance().spent
    life.change(budget=thrifty.Budget(total=spent + 101))
    new = [f"n{i}" for i in range(100)]
    with pytest.raises(errors.BudgetExceeded, match=r"of 100 rows of 't' are answered") as raised:
        life.predict("t", provider.source(new, FEATURES))
    made = raised.value.prediction
    done = np.flatnonzero(made.answered)
    assert 5 < len(done) < 100 and len(made) == 100
    assert life.balance().spent <= spent + 101
    assert made.receipt.cells * 2 == life.balance().predictions > 90
    assert made.values[~made.answered].tolist() == [None] * (100 - len(done))
    assert np.isnan(made.probabilities[~made.answered]).all()
    assert not np.isnan(made.probabilities[made.answered]).any()
    assert set(np.array(made.stopped)[~made.answered]) == {"budget"}
    assert f"{len(done)} of 100 rows answered" in repr(made)
    made.explain(int(done[0]))
    with pytest.raises(errors.BadInput, match="not answered"):
        made.explain(int(np.flatnonzero(~made.answered)[0]))
    for outside in (-1, len(made)):
        with pytest.raises(errors.BadInput, match=r"must lie in 0\.\.99"):
            made.explain(outside)
    last = bought(life, provider)[-1]
    assert (last["route"], last["cells"]) == ("prediction, not finished", made.receipt.cells)

    life.change(budget=thrifty.Budget(total=10_000))
    again = life.predict("t", provider.source(new, FEATURES))
    assert (again.values[done] == made.values[done]).all() and again.answered.all()
    assert again.receipt.reused_cells >= made.receipt.cells
    assert set(provider.bill().cells.values()) == {1}
    bought(life, provider)


def test_rows_that_are_owned_are_answered_without_money():
    provider = FakeProvider()
    life = thrifty.Lifetime(paper(2), budget=AMPLE)
    ids = [f"p{i}" for i in range(40)]
    y = [provider.value(e, "f1") for e in ids]
    life.learn("t", provider.source(ids, FEATURES, prices=1), y)
    life.change(budget=thrifty.Budget(total=life.balance().spent))
    with pytest.raises(errors.BudgetExceeded) as raised:
        life.predict("t", provider.source([*ids[:5], "new", *ids[5:]], FEATURES, prices=1))
    made = raised.value.prediction
    assert np.flatnonzero(~made.answered).tolist() == [5]
    assert made.values[made.answered].tolist() == y


def test_an_example_that_is_too_expensive_does_not_take_the_others_with_it():
    provider = FakeProvider()
    ids = [f"p{i}" for i in range(40)]
    y = [provider.value(e, "f1") & provider.value(e, "f2") for e in ids]
    life = thrifty.Lifetime(paper(2), budget=AMPLE)
    life.learn("t", provider.source(ids, FEATURES, prices=1), y)
    life.change(budget=thrifty.Budget(per_example=1))
    new = [f"n{i}" for i in range(30)]
    with pytest.raises(errors.BudgetExceeded) as raised:
        life.predict("t", provider.source(new, FEATURES, prices=1))
    made = raised.value.prediction
    root = FEATURES[life["t"].model.tree_.to_dict()["feature"]]
    assert made.answered.tolist() == [not provider.value(e, root) for e in new]
    bought(life, provider)


def test_a_prediction_that_the_provider_fails_has_its_cells_on_the_bill(tmp_path):
    failing = set()
    provider = FakeProvider(faults=lambda call: "error-after" if call in failing else "")
    ids = [f"p{i}" for i in range(40)]
    life = thrifty.Lifetime(thrifty.Trees(max_depth=2), store=tmp_path / "s.db", budget=AMPLE)
    y = [provider.value(e, "f1") & provider.value(e, "f2") for e in ids]
    life.learn("t", provider.source(ids, FEATURES, prices=1), y)
    learned = provider.bill().cells.total()
    failing.add(provider.calls + 1)  # the root is answered, the next level billed, not answered
    with pytest.raises(errors.PurchaseInDoubt):
        life.predict("t", provider.source(list("uvwxyz"), FEATURES, prices=1, attempts=1))
    last = life._bill_rows()[-1]
    assert (last["route"], last["cells"]) == ("prediction, not finished", 6)
    (open_one,) = life.ledger.open_purchases()
    life.ledger.resolve(open_one.id, "billed")
    assert provider.bill().cells.total() == life.balance().spent > learned + 6
    assert sum(row["cost"] for row in life._bill_rows()) == life.balance().spent


def test_a_budget_over_a_table_keeps_what_it_answered():
    X = np.random.default_rng(0).integers(0, 2, (200, 6)).astype(bool)
    life = thrifty.Lifetime(thrifty.Trees(max_depth=2), budget=thrifty.Budget(total=2000))
    life.learn("t", X[:100], X[:100, 1] & X[:100, 2])
    life.change(budget=thrifty.Budget(total=life.balance().spent + 40))
    with pytest.raises(errors.BudgetExceeded) as raised:
        life.predict("t", X[100:])
    made = raised.value.prediction
    assert 20 <= made.answered.sum() < 100 and life.balance().predictions == made.receipt.cells
    assert (made.values[made.answered] == (X[100:, 1] & X[100:, 2])[made.answered]).all()


def _people(n: int, seed: int):
    rng = np.random.default_rng(seed)
    return pandas.DataFrame({"age": rng.normal(size=n), "ward": rng.choice(["a", "b"], n)})


def test_columns_that_no_model_asks_for_may_be_anything() -> None:
    """Dates, notes and mixed columns stand beside the features in most frames."""
    life = thrifty.Lifetime()
    frame = _people(200, 0)
    life.learn("old", frame, (frame["age"] > 0).to_numpy().astype(int))
    new = _people(20, 1)
    beside = new.assign(
        seen=pandas.date_range("2020-01-01", periods=20),
        note=[f"note {i}: came by train and waited for long" for i in range(20)],
        mixed=[{"a": 1}, 2] * 10,
    )
    expected = life.predict("old", new).probabilities
    assert np.array_equal(life.predict("old", beside).probabilities, expected)
    trees = thrifty.Lifetime(thrifty.Trees(max_depth=2))
    bits = pandas.DataFrame({"old": frame["age"] > 0})
    trees.learn("old", bits, bits["old"].to_numpy().astype(int))
    asked = beside.assign(old=beside["age"] > 0)  # ward is text, which trees do not read
    assert trees.predict("old", asked).values.tolist() == asked["old"].astype(int).tolist()


def test_a_column_that_is_needed_and_no_feature_says_what_to_do() -> None:
    life = thrifty.Lifetime()
    frame = _people(200, 0)
    y = (frame["age"] > 0).to_numpy().astype(int)
    life.learn("old", frame, y)
    dates = frame.assign(age=pandas.date_range("2020-01-01", periods=200))
    with pytest.raises(errors.BadInput, match="'age' holds dates"):
        life.predict("old", dates)
    with pytest.raises(errors.BadInput, match="'age' holds dates"):
        life.learn("new", dates, y)
    assert life.learn("new", dates, y, features=["ward"]).receipt.n_examples == 200


SHAPES = ["2024-05-{:02d}", "{}.5.2024", "5/{}/24", "2024-05-{:02d} 10:30"]


@pytest.mark.parametrize("shape", SHAPES)
def test_dates_written_as_text_are_dates(shape: str) -> None:
    frame = _people(90, 0).assign(seen=[shape.format(1 + i % 28) for i in range(90)])
    with pytest.raises(errors.BadInput, match="'seen' holds dates"):
        thrifty.Lifetime().learn("old", frame, (frame["age"] > 0).to_numpy().astype(int))
