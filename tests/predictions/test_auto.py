"""A plain prediction buys what brings something: ``stop="auto"``, the default."""

import warnings

import numpy as np
import pytest

import thrifty
from tests.shell import run
from thrifty.errors import BadParameter, EverythingIsBought
from thrifty.models.asking import ask
from thrifty.models.asking.ladder import Ladder

pandas = pytest.importorskip("pandas")

NAMES = [f"x{j}" for j in range(30)]
KINDS = dict.fromkeys(NAMES, "number")


def drawn(n, seed):
    """3 of 30 features tell."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 30))
    score = 2 * X[:, 3] + 1.5 * X[:, 7] - X[:, 11]
    return X, score, (score + rng.logistic(size=n) > 0).astype(int)


def lab(X, seed):
    """A paid callable of all cells of a table, at 2 EUR each."""

    def ask(ids, features):
        return X[np.ix_([int(i) for i in ids], [NAMES.index(f) for f in features])]

    return thrifty.Source.from_callable(
        ask, examples=range(len(X)), features=NAMES, kinds=KINDS, name=f"lab {seed}",
        prices=thrifty.PriceList(2, currency="EUR"),
    )  # fmt: skip


def learned(what="ill", n=300, **given):
    X, score, y = drawn(n, 3)
    life = thrifty.Lifetime(random_state=0, **given)
    life.learn(what, lab(X, 3), y if what == "ill" else score, spend="100 %")
    return life


def loss(made, y):
    return -np.log(made.probabilities[np.arange(len(y)), y]).mean()


@pytest.fixture(scope="module")
def clinic():
    return learned()


@pytest.fixture
def never_compared(monkeypatch):
    def told(*_):
        raise AssertionError("it was compared")

    monkeypatch.setattr(Ladder, "enough", told)


def test_what_brings_nothing_is_not_bought_and_answers_are_as_good(clinic):
    X, _, y = drawn(400, 1)
    asked = clinic.predict("ill", lab(X, 1))
    assert set(asked.stopped) == {"worth"}
    assert asked.receipt.cells <= 400 * 12 and asked.receipt.cost == 2 * asked.receipt.cells
    with pytest.warns(EverythingIsBought, match=r"ill: .*30 features of 400 rows.*EUR.*'auto'"):
        everything = clinic.predict("ill", lab(X, 1), stop=None)
    assert loss(asked, y) < loss(everything, y) + 0.01
    assert {"x3", "x7", "x11"} <= {step.feature for step in asked.explain(0).steps}

    # by now all of it is owned: reading it costs nothing, and no word is needed
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = clinic.predict("ill", lab(X, 1))
        clinic.predict("ill", lab(X, 1), stop=None)
    assert again.receipt.cost == 0 and set(again.stopped) == {"finished"}
    assert np.array_equal(again.probabilities, everything.probabilities)


def test_what_it_costs_is_said_before_it_is_bought(clinic):
    X, _, _ = drawn(5, 4)
    spent = clinic.balance().spent
    with warnings.catch_warnings():
        warnings.simplefilter("error", EverythingIsBought)
        with pytest.raises(EverythingIsBought, match="at most 300 EUR"):
            clinic.predict("ill", lab(X, 4), stop=None)
    assert clinic.balance().spent == spent


def test_rows_whose_rest_is_owned_are_answered_from_all_of_it(clinic):
    X, _, _ = drawn(40, 5)
    some = lab(X[:10], 5)
    with pytest.warns(EverythingIsBought):
        whole = clinic.predict("ill", some, stop=None)
    made = clinic.predict("ill", lab(X, 5))
    assert made.stopped == ("finished",) * 10 + ("worth",) * 30
    assert np.array_equal(made.probabilities[:10], whole.probabilities)
    assert made.receipt.reused_cells >= 300 > made.receipt.cells


def test_limits_and_tables_without_prices_are_as_they_were(clinic, never_compared):
    X, _, _ = drawn(30, 6)
    auto, none = (clinic.predict("ill", lab(X, 60 + i), per_row=8, stop=stop)
                  for i, stop in enumerate(("auto", None)))  # fmt: skip
    assert np.array_equal(auto.probabilities, none.probabilities)
    with pytest.raises(BadParameter, match="got 'soon'"):
        clinic.predict("ill", lab(X, 6), stop="soon")
    life = thrifty.Lifetime(random_state=0)
    Z, _, y = drawn(300, 3)
    life.learn("ill", Z, y, spend="100 %")
    assert set(life.predict("ill", X).receipt.cells_per_row) == {30}


def test_two_features_and_few_rows_are_not_compared(never_compared, monkeypatch):
    X, _, y = drawn(200, 7)
    life = thrifty.Lifetime(prices=[0, 0, 1], random_state=0)
    life.learn("one is paid", X[:, [3, 7, 11]], y, spend="100 %")
    assert life.predict("one is paid", X[:5, [3, 7, 11]] + 1).stopped == ("finished",) * 5
    monkeypatch.undo()
    life = learned(n=120)
    assert set(life.predict("ill", lab(X, 7)).stopped) == {"finished"}


def test_free_columns_are_always_read():
    X, _, y = drawn(900, 8)
    prices = thrifty.PriceList([0] * 5 + [1] * 25)
    life = thrifty.Lifetime(prices=prices, random_state=0)
    life.learn("ill", X[:300], y[:300], spend="100 %")
    made = life.predict("ill", X[300:])
    assert set(made.stopped) == {"worth"} and made.receipt.cost < 600 * 12
    for f in ("x0", "x1", "x3"):
        assert made.receipt.per_feature[f] == 600


def test_it_is_the_same_after_reopening_a_store_and_found_once(tmp_path, monkeypatch):
    X, _, _ = drawn(50, 1)
    with learned(store=tmp_path / "clinic.db") as life:
        first = life.predict("ill", lab(X, 1))
    kept = learned().predict("ill", lab(X, 1))
    monkeypatch.setattr(ask, "fit_ladder", lambda *_, **__: pytest.fail("it was made"))
    with thrifty.Lifetime.open(tmp_path / "clinic.db") as life:
        again = life.predict("ill", lab(X, 2))
    for other in (again, kept):
        assert np.array_equal(first.probabilities, other.probabilities)
        assert first.stopped == other.stopped and first.receipt.cells == other.receipt.cells


def test_numbers_stop_too():
    X, score, _ = drawn(400, 1)
    life = learned("score")
    made = life.predict("score", lab(X, 1))
    assert set(made.stopped) == {"worth"} and made.receipt.cells <= 400 * 12
    with pytest.warns(EverythingIsBought):
        whole = life.predict("score", lab(X, 1), stop=None)
    assert np.mean((made.values - score) ** 2) < 1.1 * np.mean((whole.values - score) ** 2)


@pytest.mark.parametrize("at_once", [True, False])
def test_several_tasks_stop_together(at_once):
    X, _, y = drawn(300, 3)
    other = (X[:, 5] - X[:, 3] > 0).astype(int)
    life = thrifty.Lifetime(random_state=0)
    both = ["ill", "tired"]
    if at_once:
        life.learn(both, lab(X, 3), np.column_stack([y, other]), spend="100 %")
    else:
        life.learn("ill", lab(X, 3), y, spend="100 %")
        life.learn("tired", lab(X[::-1], 33), other[::-1], spend="100 %")
    new, _, truth = drawn(300, 1)
    made = life.predict(both, lab(new, 1))
    assert set(made["ill"].stopped) == {"worth"} and made.receipt.cells < 300 * 20
    assert made.explain(3).cost == made.receipt.cost_per_row[3]
    with pytest.warns(EverythingIsBought, match="ill, tired"):
        whole = life.predict(both, lab(new, 1), stop=None)
    assert loss(made["ill"], truth) < loss(whole["ill"], truth) + 0.02


def test_a_table_in_parts_and_the_command_line_stop_as_well(tmp_path):
    pytest.importorskip("pyarrow")
    X, _, y = drawn(1000, 3)
    frame = pandas.DataFrame(X, columns=NAMES)
    store = tmp_path / "s.db"
    with thrifty.Lifetime(prices=1, store=store, random_state=0) as life:
        life.learn("ill", frame[:600], y[:600], spend="100 %")
        here = life.predict("ill", frame[600:].reset_index(drop=True))
        frame[600:].to_parquet(tmp_path / "new.parquet", row_group_size=100)
        frame[600:].to_csv(tmp_path / "new.csv", index=False)
        parts = life.predict("ill", tmp_path / "new.parquet", out=tmp_path / "answers")
        with pytest.warns(EverythingIsBought, match="30 features of 400 rows, for at most 12000"):
            whole = life.predict("ill", tmp_path / "new.parquet", out=tmp_path / "all", stop=None)
    assert set(here.stopped) == {"worth"} and whole.receipt.cells == 12_000
    assert parts.receipt.cells == here.receipt.cells
    told = parts.to_frame()
    assert told["stopped"].tolist() == list(here.stopped)
    assert np.allclose(told["probability of 1"], here.probabilities[:, 1])
    given = ["predict", tmp_path / "new.csv", "--store", store, "--json"]
    said = run(*given).stdout
    assert '"worth"' in said and '"finished"' not in said
    assert '"worth"' not in run(*given, "--all").stdout
    assert "say one of them" in str(run(*given, "--all", "--sure", 0.9, ok=False).exception)


def test_trees_ask_their_paths_whatever_is_said():
    X = np.random.default_rng(0).random((300, 12)) < 0.5
    life = thrifty.Lifetime(thrifty.Trees(max_depth=2), budget=thrifty.Budget(10**6), prices=1)
    life.learn("both", X, X[:, 3] & X[:, 7])
    new = np.random.default_rng(1).random((50, 12)) < 0.5
    made = life.predict("both", new)
    assert set(made.receipt.cells_per_row) == {1, 2} and set(made.stopped) == {"finished"}
