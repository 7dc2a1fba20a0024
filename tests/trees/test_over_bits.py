"""Categories reach every learner of trees and lists as bits, beside numbers as they are."""

import json

import numpy as np
import pytest

import thrifty
from tests.loops import paper

pd = pytest.importorskip("pandas")


def messy(seed, n=400):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.normal(50, 10, n).round(1),
            "colour": rng.choice(["red", "green", "blue"], n),
            "smokes": rng.random(n) < 0.3,
            "alleles": rng.integers(0, 3, n),
        }
    )


def clean(seed, n=400):
    frame = messy(seed, n)[["colour", "smokes", "alleles"]]
    both = frame["smokes"] & (frame["alleles"] > 1)
    return frame, np.asarray((frame["colour"] == "red") | both)


@pytest.mark.parametrize(
    "family", [thrifty.Trees(max_depth=6), paper(6), thrifty.Lists(max_depth=6)], ids=repr
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
    back = family.load_estimator(json.loads(json.dumps(learned.model.to_dict())))
    assert (back.predict(frame) == y).all() and back.bits_ == learned.model.bits_
    again, _ = clean(1)
    y_again = life.predict("first", again).values
    assert life.learn("second", again, y_again).route == "reused"


@pytest.mark.parametrize(
    "learner",
    [thrifty.trees.Race(), thrifty.trees.Paper(), thrifty.trees.Tested(0.2, 0.8, random_state=0)],
)
def test_numbers_beside_categories_are_split_as_they_are(learner, tmp_path):
    family = thrifty.Trees(max_depth=4, learner=learner)
    life = thrifty.Lifetime(family, store=tmp_path / "life.db", random_state=0)
    routes = []
    for seed in range(2):
        frame = messy(seed)
        y = np.asarray((frame["age"] >= 52) & (frame["colour"] == "red"))
        routes.append(life.learn(f"{seed}", frame, y).route)
    assert routes == ["scratch", "reused"], "the bits mean the same"
    new = messy(2)
    new.loc[0, "colour"] = "never seen"
    asked = life.predict("0", new[new.columns[::-1]])
    assert np.mean(asked.values == ((new["age"] >= 52) & (new["colour"] == "red"))) > 0.95
    assert asked.receipt.cells <= new.size / 2 and "paid" in str(asked.explain(3))
    opened = thrifty.Lifetime.open(tmp_path / "life.db")
    assert (opened.predict("0", new).values == asked.values).all()


def test_all_boolean_tasks_go_through_untouched():
    X = np.random.default_rng(0).random((300, 6)) < 0.5
    learned = thrifty.Lifetime(thrifty.Trees(max_depth=3)).learn("plain", X, X[:, 1])
    assert type(learned.model) is thrifty.TreeClassifier


def test_a_category_that_is_asked_twice_on_a_path_is_paid_with_its_first_question():
    frame = messy(0)
    red, blue = frame["colour"] == "red", frame["colour"] == "blue"  # two bits of one cell
    y = np.asarray(red & frame["smokes"] | blue & ~frame["smokes"])
    life = thrifty.Lifetime(
        thrifty.Trees(max_depth=5), prices={"age": 1, "colour": 7, "smokes": 2, "alleles": 1}
    )
    life.learn("calm", frame, y)
    made = life.predict("calm", frame[:40])
    twice = 0
    for i, paid in enumerate(made.receipt.cost_per_row):
        explained = made.explain(i)
        assert explained.cost == pytest.approx(paid)
        colour = [step.cost for step in explained.steps if "colour" in step.feature]
        twice += len(colour) > 1
        assert colour[1:] == [0.0] * (len(colour) - 1)
    assert twice
