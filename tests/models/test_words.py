"""People read categories by their words, not by their places in a list."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier

import thrifty

pd = pytest.importorskip("pandas")


def towns(n=600):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"town": rng.choice(["Bern", "Graz", "Turin"], n), "age": rng.random(n)})
    frame.loc[5, "age"] = np.nan
    return frame, (frame["town"] == "Graz").to_numpy() ^ (rng.random(n) < 0.05)


def test_explain_says_words():
    frame, y = towns()
    life = thrifty.Lifetime()
    life.learn("t", frame, y)
    said = str(life.predict("t", frame).explain(5))
    assert f"town = {frame['town'][5]}" in said and "age = missing" in said
    stopped = life.predict("t", frame, stop=thrifty.Sure(0.8)).explain(0)
    assert stopped.steps[0].text == frame["town"][0]


@pytest.mark.parametrize("estimator", [None, thrifty.estimators.ScorecardClassifier()])
def test_cards_say_words_and_names(estimator, tmp_path):
    frame, y = towns()
    life = thrifty.Lifetime(thrifty.Models(estimator), store=tmp_path / "life.db")
    life.learn("t", frame, y)
    opened = thrifty.Lifetime.open(tmp_path / "life.db", family=thrifty.Models(estimator))
    for model in (life["t"].model, opened["t"].model):
        points = {row.bin: row.points for row in model.card_ if row.feature == "town"}
        assert set(points) == {"Bern", "Graz", "Turin"}
        assert points["Graz"] > 10 > 0 > points["Bern"]
        assert {row.feature for row in model.card_} <= {"town", "age"}
        assert list(model.card_.base) == [True], "the rarer"
        assert "town" in str(model) and "average precision" in str(model)


def test_a_model_without_a_card_says_so():
    frame, y = towns()
    life = thrifty.Lifetime(thrifty.Models(HistGradientBoostingClassifier(max_iter=5)))
    learned = life.learn("t", frame, y)
    with pytest.raises(AttributeError, match="no scorecard in it; learn with"):
        _ = learned.model.card_
    assert learned.model.estimator_.fitted.categorical_features == [
        learned.model.features_.tolist().index(0)
    ]
