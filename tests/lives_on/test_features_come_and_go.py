"""A column that is missing or was retired stops no prediction; prices may lack and exceed names."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import thrifty
from thrifty.errors import BadInput, FeaturesChanged, LooksMisspelt

pd = pytest.importorskip("pandas")


def clinic(n=400, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({f"test {c}": rng.normal(size=n).round(3) for c in "abcde"})
    frame["test b"] += 0.8 * frame["test a"]
    y = (frame["test a"] + frame["test c"] + 0.5 * rng.normal(size=n) > 0.4).astype(int).to_numpy()
    return frame, y


@pytest.fixture(params=[pytest.param("memory", marks=pytest.mark.slow), "file"])
def life(request, tmp_path):
    place = None if request.param == "memory" else tmp_path / "clinic.db"
    life = thrifty.Lifetime(store=place, prices=2, random_state=0)
    life.learn("ill", *clinic(), spend="100 %")
    return life


def test_a_missing_column_stops_nothing(life):
    new, y = clinic(200, seed=1)
    gone = life.predict("ill", new.drop(columns="test a"))
    whole = life.predict("ill", new, stop=None)
    assert gone.receipt.lacking == ("test a",) and whole.receipt.lacking == ()
    assert "test a" not in gone.receipt.per_feature
    assert gone.receipt.cost < whole.receipt.cost
    frame, labels = clinic()
    without = thrifty.Lifetime(random_state=0)
    without.learn("ill", frame.drop(columns="test a"), labels, spend="100 %")
    other = without.predict("ill", new)
    right = [np.mean(np.asarray(p) == y) for p in (gone, other)]
    assert right[0] >= right[1] - 0.03


def test_a_retired_feature_is_asked_of_nobody(life):
    new, _ = clinic(50, seed=1)
    assert life.retire("test a") == ("test a",)
    gone = life.predict("ill", new)
    assert gone.receipt.lacking == ("test a",)
    frame, y = clinic(seed=3)
    learned = life.learn("again", frame, y, spend="100 %")
    assert "test a" not in learned.receipt.per_feature
    assert life.retire("test a", undo=True) == ()
    assert life.predict("ill", new).receipt.lacking == ()


def test_several_tasks_and_an_interview_ask_for_nothing_retired():
    frame, y = clinic()
    life = thrifty.Lifetime(thrifty.Models(LogisticRegression()), random_state=0)
    for name, labels in {"ill": y, "well": 1 - y}.items():
        life.learn(name, frame, labels, spend="100 %")
    life.retire("test a")
    made = life.predict(["ill", "well"], clinic(50, seed=1)[0])
    assert made.receipt.cells and "test a" not in made.receipt.per_feature
    assert made.receipt.lacking == ("test a",)
    interview, asked = life.ask(["ill", "well"]), []
    while interview.next is not None:
        asked.append(interview.next.feature)
        interview.tell(0.5)
    assert asked and "test a" not in asked


def test_a_retired_feature_stays_retired_in_the_store(tmp_path):
    place = tmp_path / "clinic.db"
    life = thrifty.Lifetime(store=place, random_state=0)
    life.learn("ill", *clinic(), spend="100 %")
    other = thrifty.Lifetime.open(place)
    life.retire("test a")
    assert other.predict("ill", clinic()[0]).receipt.lacking == ("test a",)
    assert [(what, after) for _, what, _, after in other.ledger.changes()] == [
        ("retired", ["test a"])
    ]


def test_with_a_limit_it_asks_the_next_best(life):
    new, _ = clinic(60, seed=1)
    gone = life.predict("ill", new.drop(columns="test a"), per_row=4)
    assert gone.receipt.lacking == ("test a",)
    assert (gone.receipt.cost_per_row <= 4).all()


def test_the_only_feature_cannot_be_retired_away():
    frame, y = clinic()
    life = thrifty.Lifetime(random_state=0)
    life.learn("ill", frame[["test a"]], y, spend="100 %")
    life.retire("test a")
    with pytest.raises(FeaturesChanged, match="'test a', which was retired"):
        life.predict("ill", frame)
    with pytest.raises(BadInput, match="no feature is left"):
        life.learn("again", frame[["test a"]], y, spend="100 %")


def test_trees_cannot_go_on_and_say_so():
    life = thrifty.Lifetime(thrifty.Trees(max_depth=2))
    table = pd.DataFrame([[0, 0], [0, 1], [1, 0], [1, 1]], columns=["a", "b"])
    life.learn("either", table, [0, 1, 1, 1])
    life.retire("a")
    with pytest.raises(FeaturesChanged, match="cannot go on"):
        life.predict("either", table)


def test_a_name_that_is_nearly_there_is_named(life):
    new, _ = clinic(20, seed=1)
    with pytest.warns(LooksMisspelt, match="'test a' is missing and there is 'Test A'"):
        life.predict("ill", new.rename(columns={"test a": "Test A"}))


def test_prices_may_lack_what_no_model_asks_for_and_name_what_is_not_there():
    frame, y = clinic()
    prices = thrifty.PriceList(
        {**dict.fromkeys(frame.columns, 2), "gone": 9},
        orders={"panel": (3, ["test a", "test b", "gone too"])},
        currency="EUR",
    )
    life = thrifty.Lifetime(prices=prices, random_state=0)
    learned = life.learn("ill", frame, y, spend="100 %")
    assert learned.receipt.currency == "EUR"
    more = clinic(30, seed=1)[0].assign(notes=1.5)
    assert life.predict("ill", more).receipt.cost > 0
    with pytest.raises(BadInput, match="every feature needs a price"):
        life.learn("other", frame.assign(notes=1.5), y, spend="100 %")


def test_a_misspelt_price_is_named():
    frame, y = clinic()
    prices = {**dict.fromkeys(frame.columns, 2), "Test_e": 5}
    del prices["test e"]
    life = thrifty.Lifetime(prices=prices, random_state=0)
    with pytest.warns(LooksMisspelt), pytest.raises(BadInput, match="needs a price"):
        life.learn("ill", frame, y, spend="100 %")
