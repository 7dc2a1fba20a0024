"""Tried as a new user would: nothing is paid twice, predicted wrongly or overstated."""

import gc
import warnings

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

import thrifty
from tests.loops import AMPLE, paper
from thrifty import errors
from thrifty.testing import FakeProvider

pandas = pytest.importorskip("pandas")

NAMES = [f"f{i}" for i in range(10)]
IDS = [f"p{i}" for i in range(60)]


def labels(provider, ids=IDS, name="f3"):
    return [provider.value(e, name) for e in ids]


def frame(n=200, seed=0):
    rng = np.random.default_rng(seed)
    return pandas.DataFrame(rng.integers(0, 2, (n, 8)).astype(bool), columns=list("abcdefgh"))


def test_another_family_and_another_name_pay_nothing_for_what_is_owned(tmp_path):
    provider, store = FakeProvider(), tmp_path / "s.db"
    noisy = [v ^ (i % 7 == 0) for i, v in enumerate(labels(provider))]
    life = thrifty.Lifetime(paper(2), store=store, budget=AMPLE)
    with pytest.raises(errors.NotInFamily):
        life.learn("t", provider.source(IDS, NAMES, prices=1), noisy)
    billed = provider.bill().cells.total()
    assert billed == 600
    other = thrifty.Lifetime(thrifty.Models(), store=store, name="models")
    other.learn("t", provider.source(IDS, NAMES, prices=1), noisy, spend=600)
    life.change(family=thrifty.Models())
    life.learn("t", provider.source(IDS, NAMES[::-1], prices=1), noisy, spend=600)
    assert provider.bill().cells.total() == billed
    assert life.balance().spent == billed and other.balance().spent == 0
    assert [what for _, what, _, _ in life.ledger.changes()] == ["family"]
    rows = life.bill()
    assert rows["cost"].sum() == billed


def test_predictions_are_under_prices_and_budget(tmp_path):
    provider = FakeProvider()
    limit = thrifty.Budget(total=60 * 10 * 5 + 200)
    life = thrifty.Lifetime(paper(3), store=tmp_path / "s.db", prices=5, budget=limit)
    life.learn("t", provider.source(IDS, NAMES), labels(provider))
    assert life.balance().left == 200
    new = [f"n{i}" for i in range(160)]
    with pytest.raises(errors.BudgetExceeded) as raised:
        life.predict("t", provider.source(new, NAMES))
    assert raised.value.prediction.answered.tolist() == [True] * 40 + [False] * 120
    assert life.balance().spent == 3200
    life.predict("t", provider.source(new[:40], NAMES))
    life.change(budget=thrifty.Budget(total=3400))
    model = DecisionTreeClassifier(max_depth=1).fit(np.eye(10), np.arange(10) == 3)
    life.metered(model, provider.source(new[40:45], NAMES)).predict()
    balance = life.balance()
    assert balance.spent == 5 * provider.bill().cells.total() == life.bill()["cost"].sum()
    assert balance.predictions == 5 * 45 and balance.left == 400 - 5 * 45
    with pytest.raises(errors.BadInput, match=r"life\.predict"):
        life["t"].model.predict(provider.source(new, NAMES))


def test_four_labels_on_one_table_are_one_table(tmp_path):
    X = frame(100)
    ids = [f"r{i}" for i in range(100)]
    life = thrifty.Lifetime(
        thrifty.Trees(max_depth=8, learner=thrifty.trees.Paper()), store=tmp_path / "s.db", prices=2
    )
    for name in "abcd":
        source = thrifty.Source.from_frame(X, examples=ids, name="table")
        life.learn(name, source, X[name].to_numpy() ^ X["h"].to_numpy())
    balance = life.balance()
    assert (balance.everything_cells, balance.everything) == (800, 1600.0)
    assert balance.spent == balance.learning == 1600.0 and balance.saved == 0
    from thrifty.report import read_store
    from thrifty.report.view import view_of

    for view in (view_of(life), read_store(str(tmp_path / "s.db"))):
        assert (view.cells, view.everything) == (800, 800)


def test_a_frame_learned_twice_counts_once_and_is_forgotten_with_it():
    X = frame()
    life = thrifty.Lifetime(thrifty.Trees(max_depth=8, learner=thrifty.trees.Paper()))
    assert life.learn("one", X, X["a"].to_numpy()).receipt.cells == X.size
    again = life.learn("two", X, X["b"].to_numpy()).receipt
    assert again.cells == 0 and again.reused_cells > 0
    assert life.balance().everything_cells == X.size
    del X
    gc.collect()
    assert len(life._state.remembered) == 0
    assert life.learn("three", frame(), frame()["c"].to_numpy()).receipt.cells > 0


def test_ids_need_a_name_and_other_values_are_an_error(tmp_path):
    X = frame(30)
    with pytest.raises(errors.BadInput, match="need a name="):
        thrifty.Source.from_frame(X, examples=range(30))
    with pytest.raises(errors.BadInput, match="need a name="):
        thrifty.Source.from_callable(lambda i, n: 0, examples=["a"], features=["b"])
    for ids in ([0.5] * 30, [object()] * 30, ["a"] * 30):
        with pytest.raises(errors.BadInput, match="example id"):
            thrifty.Source.from_frame(X, examples=ids, name="t")
    store = tmp_path / "s.db"
    life = thrifty.Lifetime(thrifty.Trees(learner=thrifty.trees.Paper()), store=store)
    life.learn("one", thrifty.Source.from_frame(X, examples=range(30), name="t"), X["a"].to_numpy())
    before = life.balance()
    other = X.copy()
    other.loc[7, "b"] = not X["b"][7]
    with pytest.raises(
        errors.ChangedValue, match=r"b of example '7' .* is [01] in the store and [01]"
    ):
        life.learn(
            "two",
            thrifty.Source.from_frame(other, examples=range(30), name="t"),
            ~other["c"].to_numpy(),
        )
    assert life.balance() == before and list(life) == ["one"]
    another = thrifty.Source.from_frame(other, examples=range(30), name="u")
    assert life.learn("three", another, ~other["c"].to_numpy()).receipt.reused_cells == 0


def test_a_lifetime_is_whole_in_its_store(tmp_path):
    store = tmp_path / "s.db"
    prices = thrifty.PriceList({"a": 2, "b": 3}, fees={"draw": (5, ["a"])}, currency="EUR")
    money = {"prices": prices, "budget": thrifty.Budget(total="40 EUR")}
    how = {"agnostic": thrifty.agnostic.Restart(3), "random_state": 7}
    made = thrifty.Lifetime(thrifty.Trees(max_depth=2), store=store, **money, **how)
    for life in (thrifty.Lifetime.open(store), thrifty.Lifetime(store=store)):
        assert life.family == made.family and life.agnostic == thrifty.agnostic.Restart(3)
        assert life.budget == thrifty.Budget(total="40 EUR")
        assert life.prices.currency == "EUR" and life.prices.price(["a", "b"]) == 10
    with pytest.raises(errors.BadParameter, match="change"):
        thrifty.Lifetime(
            thrifty.Trees(max_depth=2), store=store, agnostic=thrifty.agnostic.Restart(9)
        )
    with pytest.raises(errors.MixedCurrencies):
        provider = FakeProvider()
        dollars = thrifty.PriceList(1, currency="USD")
        made.learn("x", provider.source(["p", "q"], ["a"], prices=dollars), [0, 1])
    raised = thrifty.Lifetime.open(store, budget=thrifty.Budget(total="90 EUR"))
    assert [(what, after["total"]) for _, what, _, after in raised.ledger.changes()] == [
        ("budget", "90 EUR")
    ]
    assert thrifty.Lifetime.open(store).budget == thrifty.Budget(total="90 EUR")
    with pytest.raises(errors.StoreError, match="no store at"):
        thrifty.Lifetime.open(tmp_path / "typo.db")
    assert not (tmp_path / "typo.db").exists()


def test_a_quote_buys_and_settles_nothing():
    provider = FakeProvider(idempotent=True, faults=["error-after"])
    life = thrifty.Lifetime(thrifty.Trees(max_depth=2, learner=thrifty.trees.Paper()), budget=AMPLE)
    source = provider.source(IDS, NAMES, prices=2, attempts=1)
    with pytest.raises(errors.PurchaseInDoubt):
        life.learn("t", source, labels(provider))
    reserved, calls = life.balance().reserved, provider.calls
    assert reserved > 0
    life.quote("t", source, labels(provider))
    assert (life.balance().reserved, provider.calls) == (reserved, calls)
    life.learn("t", source, labels(provider))
    assert life.quote("u", source, labels(provider)).scratch_cost_at_most == 0


def test_features_grow_may_miss_and_come_in_any_order(tmp_path):
    X = frame(300)
    life = thrifty.Lifetime(thrifty.Trees(max_depth=4), store=tmp_path / "s.db")
    life.learn("one", X[list("abcd")], X["a"].to_numpy() & X["b"].to_numpy())
    life.learn("two", X[list("hgfb")], X["h"].to_numpy() & X["b"].to_numpy())
    again = thrifty.Lifetime.open(tmp_path / "s.db")
    third = again.learn("three", X[list("ba")], X["a"].to_numpy() & X["b"].to_numpy())
    assert third.route == "reused"
    for name, y in (("one", X["a"] & X["b"]), ("two", X["h"] & X["b"]), ("three", X["a"] & X["b"])):
        few = X[["b", "h", "a"]]
        assert (again.predict(name, few).values == y.to_numpy()).all()
    with pytest.raises(errors.FeaturesChanged, match="'h'|'b'"):
        again.predict("two", X[["a"]])
    powers = thrifty.Lifetime(thrifty.Monomials(4))
    Z = pandas.DataFrame(np.random.default_rng(0).uniform(1, 2, (80, 4)), columns=list("abcd"))
    powers.learn("one", Z, Z["a"] * Z["b"] ** 2)
    with pytest.raises(errors.FeaturesChanged, match="needs all"):
        powers.learn("two", Z[list("abc")], Z["a"])


def test_labels_are_no_features(tmp_path):
    X = frame(100)
    X["ill"], X["dead"] = X["a"] & X["b"], X["c"] | X["a"]
    ids = [f"r{i}" for i in range(100)]
    life = thrifty.Lifetime(thrifty.Trees(max_depth=4), store=tmp_path / "s.db")

    def source():
        return thrifty.Source.from_frame(X, examples=ids, name="ward")

    with pytest.warns(errors.LabelLeftOut, match="ill"):
        first = life.learn("ill", source(), X["ill"])
    assert first.left_out == ("ill",) and "ill" not in first.receipt.per_feature
    with pytest.warns(errors.LabelLeftOut, match="ill, dead"):
        second = life.learn("dead", source(), X["dead"])
    assert not {"ill", "dead"} & set(second.receipt.per_feature)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        named = life.learn("with", source(), X["dead"].to_numpy(), features=["ill", "a", "c"])
    assert set(named.receipt.per_feature) <= {"ill", "a", "c"}


@pytest.mark.parametrize("kept", [True, False])
def test_a_task_is_forgotten_and_learned_again_for_nothing(kept, tmp_path):
    provider = FakeProvider()
    store = tmp_path / "s.db" if kept else None
    life = thrifty.Lifetime(thrifty.Trees(max_depth=2), store=store, budget=AMPLE)
    life.learn("t", provider.source(IDS, NAMES, prices=1), labels(provider))
    spent = life.balance().spent
    life.forget("t")
    assert "t" not in life and life.balance().spent == spent
    again = life.learn("t", provider.source(IDS, NAMES, prices=1), labels(provider))
    assert again.receipt.cells == 0 and life.balance().spent == spent
    assert life.bill()["cost"].sum() == spent


def test_avoided_and_everything_count_what_could_be_bought():
    """Not labels, not columns that were not chosen, not cells that were owned already."""
    X = frame(100)
    X["ill"] = X["a"] & X["b"]
    ids = [f"r{i}" for i in range(100)]
    prices = dict.fromkeys("abcdefgh", 2) | {"ill": 1000}
    life = thrifty.Lifetime(
        thrifty.Trees(max_depth=4, learner=thrifty.trees.Paper()), prices=prices
    )

    def table(n):
        return thrifty.Source.from_frame(X[:n], examples=ids[:n], name="ward")

    few = life.learn("few", table(60), (X["a"] & X["b"])[:60].to_numpy(), features=["a", "b", "c"])
    assert (few.receipt.cells, few.receipt.avoided_cells) == (180, 0)
    assert (life.balance().everything_cells, life.balance().everything) == (180, 360.0)
    with pytest.warns(errors.LabelLeftOut):
        ill = life.learn("ill", table(100), X["ill"]).receipt
    assert ill.cells + ill.avoided_cells == 100 * 8 - 180
    assert (life.balance().everything_cells, life.balance().everything) == (800, 1600.0)
    seen = life.predict("ill", table(100)).receipt
    assert seen.cells == 0 and seen.avoided_cells == ill.avoided_cells


@pytest.mark.parametrize("kept", [True, False])
def test_kinds_of_features_are_the_lifetimes(kept, tmp_path):
    rng = np.random.default_rng(0)
    X = pandas.DataFrame({"zip": rng.integers(1, 5, 300), "age": rng.normal(size=300)})
    y = (X["zip"] == 3).to_numpy()
    store = tmp_path / "s.db" if kept else None
    life = thrifty.Lifetime(store=store)
    life.learn("t", X.astype({"zip": str}), y, kinds={"zip": "category"})
    assert life._state.settings.kinds == {"zip": "category"} and life.ledger.changes() == []
    life = thrifty.Lifetime.open(store) if kept else life
    assert life._state.settings.kinds == {"zip": "category"}
    # numbers where a category is: read as they were told, also when predicting
    assert (life.predict("t", X).values == y).mean() > 0.95
    life.learn("u", X, ~y)
    assert (life.predict("u", X.astype({"zip": str})).values == ~y).mean() > 0.95
    with pytest.raises(errors.BadParameter, match=r"life\.change\(kinds="):
        life.learn("v", X, y, kinds={"zip": "number"})
    assert "v" not in life and life._state.settings.kinds == {"zip": "category"}
    life.learn("w", X, y, kinds={"age": "number"})
    assert life._state.settings.kinds == {"zip": "category", "age": "number"}
    life.change(kinds={"zip": "number"})
    assert life._state.settings.kinds == {"zip": "number", "age": "number"}
    if kept:
        assert thrifty.Lifetime.open(store)._state.settings.kinds == life._state.settings.kinds
    ((_, what, before, after),) = life.ledger.changes()
    assert (what, before, after) == ("kinds", {"zip": "category"}, {"zip": "number"})


@pytest.mark.parametrize("kept", [True, False])
def test_everything_is_the_union_of_what_the_tasks_were_offered(kept, tmp_path):
    X, ids = frame(60), [f"r{i}" for i in range(60)]
    store = tmp_path / "s.db" if kept else None
    life = thrifty.Lifetime(
        thrifty.Trees(max_depth=3, learner=thrifty.trees.Paper()), store=store, prices=2
    )

    def table(columns, rows):
        some = X[list(columns)].iloc[rows]
        return thrifty.Source.from_frame(some, examples=[ids[i] for i in rows], name="ward")

    life.learn("one", table("abcd", range(60)), X["a"].to_numpy())
    life.learn("two", table("hdef", range(20, 40)), X["e"].to_numpy()[20:40])
    balance = life.balance()
    assert balance.everything_cells == 60 * 4 + 20 * 3
    assert balance.everything == 2 * balance.everything_cells == balance.learning
    life.learn("three", table("dcba", range(10)), ~X["a"].to_numpy()[:10])
    assert life.balance().everything_cells == balance.everything_cells
    if kept:
        assert thrifty.Lifetime.open(store).balance() == life.balance()


def test_prices_of_other_tables_are_no_hindrance_at_any_entrance(tmp_path):
    """A clinic has one price list for all its tables; each table has some of what is on it."""
    names = list("wxyz")
    prices = thrifty.PriceList(
        {"a": 2, "b": 2, **dict.fromkeys(names, 1)},
        fees={"draw": (5, ["a", "b"])},
        orders={"panel": (1, ["a", "c"])},
        currency="EUR",
    )
    X = np.random.default_rng(0).random((60, 4))
    y, ids = X[:, 0] > 0.5, [f"p{i}" for i in range(60)]
    life = thrifty.Lifetime(
        prices=prices, store=tmp_path / "s.db", budget=thrifty.Budget("900 EUR"), random_state=0
    )

    def source():
        return thrifty.Source.from_array(X, feature_names=names, examples=ids, name="ward")

    def doctor(some):
        return [bool(y[int(i[1:])]) for i in some]

    life.learn("ill", source(), y, spend=120)
    oracle = thrifty.Oracle(doctor, price="1 EUR", name="doctor")
    assert life.learn("late", source(), oracle, spend=90).receipt.cost > 0
    life.refit()
    before = life.balance().spent
    interview = life.ask("ill", id="new", source="ward", stop=None)
    interview.tell(0.5, paid=True)
    assert life.balance().spent - before == interview.cost == 1


def test_a_closed_lifetime_lets_go_of_its_file_and_can_be_used_again(tmp_path):
    store, X = tmp_path / "s.db", frame(40)
    with thrifty.Lifetime(thrifty.Trees(max_depth=2), store=store) as life:
        life.learn("one", X, X["a"].to_numpy())
        assert life.ledger.book.store._connection is not None
    assert life.ledger.book.store._connection is None
    with thrifty.Lifetime.open(store) as again, pytest.raises(ZeroDivisionError):
        assert list(again) == ["one"]
        raise ZeroDivisionError
    life.learn("two", X, X["b"].to_numpy())  # opens it again
    assert list(thrifty.Lifetime.open(store)) == ["one", "two"]
    with thrifty.Lifetime(thrifty.Trees(max_depth=2)) as memory:
        memory.learn("one", X, X["a"].to_numpy())
    assert list(memory) == ["one"]
