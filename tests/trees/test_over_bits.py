"""Numbers, categories and gaps reach every learner of trees and lists, as bits if it needs them."""

from __future__ import annotations

import numpy as np
import pytest

import thrifty

pd = pytest.importorskip("pandas")


def messy(seed, n=1200):
    rng = np.random.default_rng(seed)
    age = rng.normal(50, 10, n)
    age[rng.random(n) < 0.1] = np.nan
    frame = pd.DataFrame(
        {
            "age": age,
            "colour": rng.choice(["red", "green", "blue"], n),
            "smokes": rng.random(n) < 0.3,
            "alleles": rng.integers(0, 3, n),
            **{f"noise {i}": rng.normal(size=n) for i in range(4)},
        }
    )
    truth = (frame["age"].fillna(0) > 52) | (frame["colour"] == "red")
    return frame, np.asarray(truth ^ (rng.random(n) < 0.05))


def clean(seed, n=400):
    frame, _ = messy(seed, n)
    frame = frame[["colour", "smokes", "alleles"]]
    both = frame["smokes"] & (frame["alleles"] > 1)
    return frame, np.asarray((frame["colour"] == "red") | both)


def test_verified_learns_from_numbers_categories_and_gaps(tmp_path):
    life = thrifty.Lifetime(
        thrifty.Trees(max_depth=4, learner=thrifty.Verified()), store=tmp_path / "life.db"
    )
    first = life.learn("first", *messy(0))
    second = life.learn("second", *messy(1))
    assert (first.route, second.route) == ("screened", "reused"), "the bits mean the same"
    assert second.receipt.cells < 0.5 * first.receipt.cells < 0.4 * 1200 * 8
    new, y = messy(2)
    turned = new[new.columns[::-1]]
    turned.loc[turned.index[0], "colour"] = "never seen"
    asked = life.predict("first", turned)
    assert np.mean(asked.values == y) > 0.85
    assert asked.receipt.cells < new.size / 2
    asked_cells = asked.explain(3)
    assert "paid" in str(asked_cells)
    opened = thrifty.Lifetime.open(tmp_path / "life.db")
    assert (opened.predict("first", turned).values == asked.values).all()
    assert opened.learn("third", *messy(3)).route == "reused"


@pytest.mark.parametrize(
    "family",
    [
        thrifty.Trees(max_depth=6),
        thrifty.Trees(max_depth=6, learner=thrifty.Paper()),
        thrifty.Lists(max_depth=6),
    ],
    ids=repr,
)
def test_exact_learners_split_on_categories(family):
    life = thrifty.Lifetime(family)
    frame, y = clean(0)
    if isinstance(family, thrifty.Lists):
        y = np.asarray((frame["colour"] == "red") | frame["smokes"])
    learned = life.learn("first", frame, y)
    assert (life.predict("first", frame).values == y).all()
    assert (learned.model.predict(frame[["alleles", "smokes", "colour"]]) == y).all()
    assert "colour == red" in str(learned.model)
    again, _ = clean(1)
    y_again = life.predict("first", again).values
    assert life.learn("second", again, y_again).route == "reused"


def test_a_missing_value_is_a_bit_of_its_own():
    rng = np.random.default_rng(0)
    lab = rng.normal(size=600)
    y = rng.random(600) < 0.4
    lab[y & (rng.random(600) < 0.9)] = np.nan  # not measured: that is what tells
    frame = pd.DataFrame({"lab": lab, "other": rng.normal(size=600)})
    life = thrifty.Lifetime(thrifty.Trees(max_depth=2, learner=thrifty.Verified()))
    learned = life.learn("ill", frame, y)
    assert "lab is missing" in str(learned.model)
    assert np.mean(learned.model.predict(frame) == y) > 0.9


def test_all_boolean_tasks_go_through_untouched():
    rng = np.random.default_rng(0)
    X = rng.random((300, 6)) < 0.5
    life = thrifty.Lifetime(thrifty.Trees(max_depth=3, learner=thrifty.Verified()))
    learned = life.learn("plain", X, X[:, 1])
    assert type(learned.model) is thrifty.TreeClassifier


def test_verified_takes_features_that_come_later():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.random((400, 4)) < 0.5, columns=list("abcd"))
    life = thrifty.Lifetime(thrifty.Trees(max_depth=3, learner=thrifty.Verified()))
    life.learn("first", X[["a", "b"]], X["a"] & X["b"])
    y = X["a"] & X["d"]
    assert life.learn("second", X, y).receipt.cells > 0
    assert (life.predict("second", X).values == y).all()


def test_a_rule_that_tries_the_newest_first_takes_what_knows_no_order():
    """Experience has no newest part: the whole of it is tried, also where it is over bits."""
    rng = np.random.default_rng(0)
    life = thrifty.Lifetime(thrifty.Trees(4, thrifty.Verified()), agnostic=thrifty.Doubling())
    for i in range(3):
        X = rng.normal(size=(400, 5))
        life.learn(f"task {i}", X, (X[:, 1] > 0) & (X[:, 2] > 0.3))
    assert [task.route for task in life.tasks] == ["screened", "reused", "reused"]


def test_a_number_that_is_asked_twice_on_a_path_is_paid_with_its_first_question():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"sodium": rng.normal(140, 5, 400), "colour": rng.choice(list("abc"), 400)})
    y = X["sodium"].between(136, 144) & (X["colour"] != "a")  # two limits of one number
    family = thrifty.Trees(max_depth=5, learner=thrifty.Verified())
    life = thrifty.Lifetime(family, prices={"sodium": 7, "colour": 2}, random_state=0)
    life.learn("calm", X, np.asarray(y))
    made = life.predict("calm", X[:20])
    twice = 0
    for i, paid in enumerate(made.receipt.cost_per_row):
        explained = made.explain(i)
        assert explained.cost == pytest.approx(paid)
        sodium = [step.cost for step in explained.steps if "sodium" in step.feature]
        twice += len(sodium) > 1
        assert sodium[1:] == [0.0] * (len(sodium) - 1)
    assert twice
