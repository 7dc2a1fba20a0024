"""A category means the same in every task and every prediction, whatever order it comes in."""

import numpy as np
import pytest

import thrifty
from tests.market import seller
from thrifty.errors import BadInput
from thrifty.models import Models

pd = pytest.importorskip("pandas")


def messy(seed, colours=("red", "green", "blue"), n=900):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.normal(50, 10, n).round(),
            "colour": rng.choice(list(colours), n),
            **{f"noise {i}": rng.normal(size=n) for i in range(3)},
        }
    )
    ill = (frame["colour"] == "red") ^ (rng.random(n) < 0.05)
    return frame, np.where(ill, "ill", "well")


def test_codes_of_another_table_are_turned(tmp_path):
    life = thrifty.Lifetime(Models(), store=tmp_path / "life.db")
    life.learn("first", *messy(0), spend="100 %")
    # Without blue, and with amber before all others, every place in the list is another one.
    new, y = messy(1, ("amber", "green", "red"))
    asked = life.predict("first", new[new.columns[::-1]])
    assert np.mean(asked.values == y) > 0.9
    assert np.mean(life["first"].model.predict(new) == y) > 0.9
    opened = thrifty.Lifetime.open(tmp_path / "life.db")
    assert np.mean(opened.predict("first", new).values == y) > 0.9
    life.learn("second", new, y, spend="100 %")
    known = life.representation.words["colour"]
    assert known == ("blue", "green", "red", "amber"), "what was known keeps its place"


def test_a_paid_source_keeps_the_order():
    def ask(ids, names):
        return [["red" if i % 2 else "green" for _ in names] for i in ids]

    life = thrifty.Lifetime(Models())
    ids = list(range(60))

    def source(words):
        return seller(ask, ids, ["colour"], kinds={"colour": words}, name="look")

    life.learn("first", source(["red", "green"]), [i % 2 for i in ids], spend="100 %")
    with pytest.raises(BadInput, match="in the order that they had before"):
        life.predict("first", source(["green", "red"]))
    assert life.predict("first", source(["red", "green", "blue"])).values.tolist() == [0, 1] * 30
