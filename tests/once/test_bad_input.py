"""Bad input to a store: clear errors, nothing lost, nothing bought."""

import pytest
from sklearn.tree import DecisionTreeClassifier

import thrifty
from thrifty.errors import BadInput, ChangedValue, FeaturesChanged, MixedCurrencies
from thrifty.testing import FakeProvider

pandas = pytest.importorskip("pandas")

NAMES = list("abcd")
IDS = [f"p{i}" for i in range(40)]
EXACT = thrifty.Trees(max_depth=2, learner=thrifty.trees.Paper())


@pytest.fixture
def provider():
    return FakeProvider()


@pytest.fixture
def life(tmp_path, provider):
    """A lifetime that has bought 40 x 4 cells of a source named lab."""
    made = thrifty.Lifetime(EXACT, store=tmp_path / "s.db", budget=thrifty.Budget(10**9))
    source = provider.source(IDS, NAMES, name="lab", prices=thrifty.PriceList(2, currency="EUR"))
    made.learn("t", source, [provider.value(e, "a") for e in IDS])
    return made


@pytest.fixture(autouse=True)
def nothing_is_lost(request, life, provider):
    """Whatever the test refuses, the lifetime has after it what it had before."""
    before = (life.balance(), life._bill_rows(), list(life), provider.bill().cells.total())
    yield
    again = thrifty.Lifetime.open(life.ledger.book.store)
    after = (again.balance(), again._bill_rows(), list(again), provider.bill().cells.total())
    assert after == before


def table(provider, ids=IDS, **other):
    rows = {e: {f: provider.value(e, f) for f in NAMES} for e in ids}
    for cell, value in other.items():
        example, feature = cell.split("_")
        rows[example][feature] = value
    return pandas.DataFrame.from_dict(rows, orient="index")


def test_two_sources_of_one_name_with_other_values(life, provider):
    wrong = 1 - provider.value("p3", "b")
    frame = table(provider, p3_b=wrong)
    source = thrifty.Source.from_frame(frame, examples=frame.index, name="lab")
    said = rf"b of example 'p3' in 'lab' is {1 - wrong} in the store and {wrong} here"
    with pytest.raises(ChangedValue, match=said):
        life.learn("u", source, frame["b"].to_numpy())


def test_two_sources_of_one_name_disagree_in_a_prediction(life, provider):
    frame = table(provider, p3_a=1 - provider.value("p3", "a"))
    with pytest.raises(ChangedValue, match=r"a of example 'p3' .*another name="):
        life.predict("t", thrifty.Source.from_frame(frame, examples=frame.index, name="lab"))


@pytest.mark.parametrize(
    ("ids", "said"),
    [
        ([0.5, 1.5, 2.5], r"got 0\.5"),
        ([1.0, 2.0, 3.0], r"got 1\.0"),
        ([object(), object(), object()], "object"),
        (["p1", "p2", "p1"], "p1"),
        ([1, 2, "1"], "1"),
        ([None, "p1", "p2"], "None"),
        (["p1", "p2"], "3"),
    ],
)
@pytest.mark.parametrize("kind", ["frame", "array", "callable"])
def test_ids_that_are_none(life, provider, ids, said, kind):
    X = table(provider).iloc[:3]
    if kind == "callable" and len(ids) != 3:
        return  # as many examples as ids
    with pytest.raises(BadInput, match=said):
        if kind == "frame":
            thrifty.Source.from_frame(X, examples=ids, name="lab")
        elif kind == "array":
            thrifty.Source.from_array(X.to_numpy(), examples=ids, name="lab")
        else:
            provider.source(ids, NAMES, name="lab")


def test_a_feature_is_missing_that_the_model_must_ask_for(life, provider):
    without = provider.source(IDS, NAMES[1:], name="lab", prices=2)
    with pytest.raises(FeaturesChanged, match=r"may ask for 'a' and X does not have it"):
        life.predict("t", without)
    with pytest.raises(FeaturesChanged, match="'a'"):
        life.predict("t", table(provider)[["b", "c"]])
    tree = DecisionTreeClassifier(max_depth=1).fit(table(provider), table(provider)["a"])
    with pytest.raises(FeaturesChanged, match="'a'"):
        life.metered(tree, without)


@pytest.mark.parametrize("what", ["learn", "predict", "quote", "metered"])
def test_prices_of_another_currency_than_the_stores(life, provider, what):
    dollars = thrifty.PriceList(2, currency="USD")
    source = provider.source(["n1", "n2"], NAMES, name="lab", prices=dollars)
    with pytest.raises(MixedCurrencies, match=r"EUR.*USD|USD.*EUR"):
        if what in ("learn", "quote"):
            getattr(life, what)("u", source, [0, 1])
        elif what == "predict":
            life.predict("t", source)
        else:
            X = table(provider)
            life.metered(DecisionTreeClassifier(max_depth=1).fit(X, X["a"]), source).predict()


def test_a_budget_of_another_currency_than_the_stores(life):
    with pytest.raises(MixedCurrencies, match=r"EUR.*USD|USD.*EUR"):
        thrifty.Lifetime.open(life.ledger.book.store, budget=thrifty.Budget(total="90 USD"))
    with pytest.raises(MixedCurrencies, match=r"EUR.*USD|USD.*EUR"):
        life.change(budget=thrifty.Budget(total="90 USD"))
    assert thrifty.Lifetime.open(life.ledger.book.store).budget == thrifty.Budget(10**9)
    dollars = thrifty.PriceList(1, currency="USD")
    with pytest.raises(MixedCurrencies, match="bought in EUR"):
        thrifty.Lifetime.open(life.ledger.book.store, prices=dollars)
    with pytest.raises(MixedCurrencies):
        thrifty.Lifetime(EXACT, prices=dollars, budget=thrifty.Budget(total="9 EUR"))


def test_an_amount_alone_is_the_budget_in_total():
    assert thrifty.Lifetime(budget="5000 EUR").budget == thrifty.Budget(total="5000 EUR")
    life = thrifty.Lifetime(budget=5000)
    life.change(budget=70)
    assert life.budget == thrifty.Budget(total=70)
    for odd in ([5000], "a lot", {"total": 5}):
        with pytest.raises(thrifty.errors.BadInput, match="budget"):
            thrifty.Lifetime(budget=odd)
