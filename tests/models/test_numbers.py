"""Numeric labels: what is learned, bought, kept and asked."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import thrifty
from thrifty.errors import BadInput, BadParameter, RowsLeftOut, ThriftyError

pd = pytest.importorskip("pandas")


def houses(n=700, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "rooms": rng.integers(1, 9, n).astype(float),
            "town": rng.choice(["Bern", "Graz", "Turin"], n),
            "new": rng.random(n) < 0.3,
            **{f"noise {i}": rng.normal(size=n) for i in range(12)},
        }
    )
    frame.loc[rng.random(n) < 0.1, "rooms"] = np.nan
    worth = {"Bern": 9.0, "Graz": 3.0, "Turin": 0.0}
    y = 1.5 * frame["rooms"].fillna(2) + frame["town"].map(worth) + 2 * frame["new"]
    return frame, y.to_numpy(dtype=float) + rng.normal(0, 0.5, n)


def r2(found, y):
    return 1 - ((found - y) ** 2).sum() / ((y - y.mean()) ** 2).sum()


@pytest.fixture(scope="module")
def learned():
    """A lifetime that knows what houses are worth: for tests that only ask it."""
    X, y = houses()
    life = thrifty.Lifetime()
    life.learn("worth", X, y, spend="30 %")
    return life, X, y


@pytest.mark.parametrize(
    "estimator",
    [
        None,
        Ridge(),
        make_pipeline(StandardScaler(), Ridge()),
        HistGradientBoostingRegressor(max_iter=60),
    ],
    ids=["ours", "ridge", "pipeline", "trees"],
)
def test_few_cells_through_a_store(estimator, tmp_path):
    X, y = houses()
    new, real = houses(seed=1)
    family = thrifty.Models(estimator)
    life = thrifty.Lifetime(family, store=tmp_path / "a.db", random_state=1)
    learned = life.learn("worth", X, y, spend="30 %")
    assert learned.route == "bought"
    assert 0.25 * X.size <= learned.receipt.cells <= 0.30 * X.size
    assert isinstance(learned.model, thrifty.ModelRegressor)
    assert "a model of numbers on " in str(learned.model)
    prediction = life.predict("worth", new)
    assert prediction.classes is None and prediction.probabilities is None
    assert r2(prediction.values, real) > 0.85
    again = thrifty.Lifetime.open(tmp_path / "a.db", family=thrifty.Models(estimator))
    assert np.allclose(again["worth"].model.predict(new), prediction.values)
    assert "town" in str(prediction.explain(0)) and len(life.bill()) == 2
    if estimator is not None:
        kept = thrifty.Lifetime.open(tmp_path / "a.db")["worth"].model
        with pytest.raises(ThriftyError, match="family=thrifty.Models"):
            kept.predict(new)


@pytest.mark.parametrize(
    ("y", "said", "kind"),
    [
        (np.linspace(0, 1, 60), None, "ModelRegressor"),
        (np.arange(60) % 3, None, "ModelClassifier"),
        (np.arange(60.0) % 3, None, "ModelClassifier"),
        (np.arange(60) % 3, "numbers", "ModelRegressor"),
        (np.repeat(np.arange(30), 2), "numbers", "ModelRegressor"),
        (np.repeat(np.arange(30), 2), "classes", "ModelClassifier"),
        (np.repeat(["a", "b"], 30), None, "ModelClassifier"),
    ],
)
def test_what_labels_are(y, said, kind):
    X = np.random.default_rng(0).normal(size=(60, 4))
    learned = thrifty.Lifetime(thrifty.Models(labels=said)).learn("t", X, y)
    assert type(learned.model).__name__ == kind


def test_whole_numbers_that_may_be_either_are_taken_for_amounts_and_said():
    X, y = np.random.default_rng(0).normal(size=(60, 4)), np.repeat(np.arange(30), 2)
    life = thrifty.Lifetime()
    with pytest.warns(UserWarning, match="30 different whole numbers"):
        assert isinstance(life.learn("t", X, y).model, thrifty.ModelRegressor)
    assert isinstance(life.learn("u", X, y.astype(str)).model, thrifty.ModelClassifier)
    with pytest.raises(BadParameter, match="labels must be"):
        thrifty.Models(labels="ranks")
    # a regressor says it
    learned = thrifty.Lifetime(thrifty.Models(Ridge())).learn("t", X, y)
    assert isinstance(learned.model, thrifty.ModelRegressor)


@pytest.mark.parametrize(
    ("X", "y", "said"),
    [
        (np.full((60, 3), np.nan), np.linspace(0, 1, 60), "all values of all 3 features"),
        (np.ones((60, 3)), np.r_[np.inf, np.linspace(0, 1, 59)], "label 0 is infinite"),
        (np.ones((60, 3)), np.linspace(0, 1, 59), "one label per example"),
    ],
)
def test_what_cannot_be_learned(X, y, said):
    with pytest.raises(BadInput, match=said):
        thrifty.ModelRegressor().fit(X, y)
    with pytest.raises(BadInput, match=said):
        thrifty.Lifetime(thrifty.Models(labels="numbers")).learn("t", X, y, spend="100 %")


def test_a_gap_in_the_labels_is_refused_by_fit_and_left_out_by_a_lifetime():
    X, y = houses(200)
    y[0] = np.nan
    with pytest.raises(BadInput, match="label 0 is NaN"):
        thrifty.ModelRegressor().fit(X, y)
    with pytest.warns(RowsLeftOut, match="1 of 200 rows"):
        thrifty.Lifetime(thrifty.Models(labels="numbers")).learn("t", X, y, spend="100 %")


@pytest.mark.parametrize("column", [np.ones(200), np.full(200, np.nan), np.arange(200) * 1e300])
def test_odd_columns_are_no_error(column):
    X, y = houses(200)
    model = thrifty.ModelRegressor().fit(X.assign(odd=column), y)
    strange = X.assign(odd=column, town="Oslo", rooms=np.nan)
    assert np.isfinite(model.predict(strange)).all()


def test_prices_and_budget_hold():
    X, y = houses()
    prices = {name: 5.0 if name == "rooms" else 1.0 for name in X.columns}
    budget = thrifty.Budget(total=900)
    life = thrifty.Lifetime(prices=prices, budget=budget)
    learned = life.learn("worth", X, y, spend=2000)
    assert 0.8 * 900 <= learned.receipt.cost <= 900 and life.balance().left >= 0


def test_limits_on_what_a_prediction_may_ask(learned):
    life, X, y = learned
    model = life["worth"].model
    errors = []
    for most in (0, 1, 2, len(model.features_)):
        asked = life.predict("worth", X.copy(), per_row=most)
        assert asked.receipt.cells_per_row.max() <= most
        errors.append(((asked.values - y) ** 2).mean())
    assert errors[0] > errors[1] > errors[-1]
    assert set(life.predict("worth", X.copy(), per_row=1).stopped) == {"per_row"}
    assert life.predict("worth", X.copy(), spend=len(X)).receipt.cells <= len(X)
    with pytest.raises(BadParameter, match="no classes to be sure of"):
        life.predict("worth", X, stop=thrifty.Sure(0.9))


def test_useful_features_are_remembered(learned):
    life = learned[0]
    assert {0, 1} <= set(life.representation) and life.representation.words["town"]


@pytest.mark.slow
def test_predictions_to_come_shorten_a_model_of_numbers():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 40))
    y = 3 * X[:, 4] + X[:, 9] + 0.05 * X[:, 20:40].sum(axis=1) + 0.3 * rng.normal(size=900)
    families = [thrifty.Models(predictions=n) for n in (None, 1, 1_000_000)]
    lives = [thrifty.Lifetime(family, random_state=0) for family in families]
    models = [life.learn("t", X[:600], y[:600], spend="40 %") for life in lives]
    widths = [len(one.model.features_) for one in models]
    assert widths[0] > 2 * widths[2] and widths[0] >= widths[1] >= widths[2] >= 2
    assert len({one.receipt.cells for one in models}) == 1  # what is bought is the same
    assert models[2].model.score(X[600:], y[600:]) > 0.93


def test_errors_are_for_classes():
    X = np.random.default_rng(0).normal(size=(60, 3))
    life = thrifty.Lifetime(thrifty.Models(errors=[[0, 1], [5, 0]]))
    with pytest.raises(BadParameter, match="y holds numbers.*Leave it out, or say labels="):
        life.learn("t", X, X[:, 0])
    assert len(life) == 0 and life.balance().spent == 0
