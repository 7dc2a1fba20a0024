"""What a model says of its features, and tools that look into it."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

import thrifty
from thrifty.errors import BadInput


def people(n=400, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "noise": rng.normal(size=n),
            "age": rng.normal(size=n),
            "town": rng.choice(["a", "b", "c"], size=n),
        }
    )
    yes = frame["age"] + 1.5 * (frame["town"] == "b") + 0.5 * rng.normal(size=n) > 0.5
    return frame, yes.to_numpy()


@pytest.mark.parametrize(
    "estimator",
    [
        None,
        RandomForestClassifier(30, min_samples_leaf=15),
        LogisticRegression(),
        KNeighborsClassifier(15),
    ],
    ids=["own", "forest", "logistic", "neighbours"],
)
def test_importances_stand_in_the_order_of_the_features(estimator):
    X, y = people()
    life = thrifty.Lifetime(thrifty.Models(estimator), random_state=0)
    found = life.learn("t", X, y, spend="100 %").model.feature_importances_
    assert found.shape == (3,)
    assert found.sum() == pytest.approx(1)
    assert (found >= 0).all()
    assert found[1] > found[2] > found[0]


def test_permutation_importances_are_from_held_out_rows():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 3)), rng.integers(0, 2, size=300)
    forest = RandomForestClassifier(100, min_samples_leaf=2)
    model = thrifty.ModelClassifier(forest, spend="100 %", random_state=0).fit(X, y)
    # labels are noise: a forest knows its own rows by heart; held-out rows say that this is nothing
    assert model.score(X, y) > 0.9
    assert all(abs(mean) < 0.1 for mean, _ in model.permutation_importances(3).values())
    told = thrifty.ModelClassifier(forest, spend="100 %", random_state=0).fit(X, X[:, 2] > 0)
    rises = told.permutation_importances(3)
    assert next(iter(rises)) == "x2"
    assert rises["x2"][0] > 0.3


def test_permutation_importances_of_numbers():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    model = thrifty.ModelRegressor(spend="100 %", random_state=0).fit(X, 2 * X[:, 1] + X[:, 0])
    rises = model.permutation_importances()
    # dealt to other rows, a feature with coefficient b costs 2 b^2 of its variance
    assert rises["x1"][0] == pytest.approx(8, rel=0.35)
    assert rises["x0"][0] == pytest.approx(2, rel=0.35)
    assert model.feature_importances_[1] > model.feature_importances_[0] > 0.1


def test_coefficients_have_names():
    X, y = people()
    model = thrifty.ModelClassifier(LogisticRegression(), spend="100 %", random_state=0).fit(X, y)
    assert set(model.coef_) == {"noise", "age", "town=a", "town=b", "town=c"}
    assert model.coef_["age"] > 1 > abs(model.coef_["noise"])
    assert model.coef_["town=b"] > model.coef_["town=a"]
    assert model.estimator_.coef_.shape == (1, 5)
    three = thrifty.ModelClassifier(LogisticRegression(), spend="100 %", random_state=0)
    three.fit(X, np.where(X["age"] > 1, "old", np.where(X["age"] > -1, "so so", "young")))
    assert three.coef_["old"]["age"] > 0 > three.coef_["young"]["age"]
    numbers = thrifty.ModelRegressor(LinearRegression(), spend="100 %", random_state=0)
    assert numbers.fit(X, 3 * X["age"]).coef_["age"] == pytest.approx(3)


def test_what_has_no_coefficients_or_was_not_fitted_says_so():
    X, y = people()
    assert not hasattr(thrifty.ModelClassifier(), "feature_importances_")
    assert not hasattr(thrifty.ModelClassifier(random_state=0).fit(X, y), "coef_")
    with pytest.raises(BadInput, match="repeats"):
        thrifty.ModelClassifier(random_state=0).fit(X, y).permutation_importances(0)


def test_shaps_tree_explainer():
    shap = pytest.importorskip("shap")
    X, y = people()
    for kind, forest in (
        (thrifty.ModelClassifier, RandomForestClassifier),
        (thrifty.ModelRegressor, RandomForestRegressor),
    ):
        model = kind(forest(20, random_state=0), spend="100 %", random_state=0)
        columns = model.fit(X, y.astype(int)).columns(X.iloc[:100])
        explainer = shap.TreeExplainer(model.estimator_.fitted)
        found = np.asarray(explainer.shap_values(columns))
        base = np.atleast_1d(explainer.expected_value)
        if hasattr(model, "predict_proba"):
            found, base, said = found[..., 1], base[1], model.predict_proba(X.iloc[:100])[:, 1]
        else:
            said = model.predict(X.iloc[:100])
        assert base + found.sum(axis=1) == pytest.approx(said, abs=1e-6)
        assert model.column_names_[np.abs(found).mean(axis=0).argmax()] == "age"


def test_what_was_bought_on_some_rows_only_is_measured_there():
    """A free column on all rows, a test that tells more on a few: both figures are of those."""
    rng = np.random.default_rng(0)
    free, test = rng.normal(size=(2, 900))
    y = rng.random(900) < 1 / (1 + np.exp(-(0.7 * free + 2.5 * test)))
    prices = thrifty.PriceList({"age": 0, "crp": 10}, currency="EUR")
    life = thrifty.Lifetime(prices=prices, random_state=0)
    month = pd.DataFrame({"id": np.arange(900), "age": free, "crp": test})
    source = thrifty.Source.from_frame(month[["age", "crp"]], examples=month["id"], name="ward")
    model = life.learn("ill", source, y, spend="1500 EUR").model
    assert not model.table_.is_whole, "else this is another case"
    rises = model.permutation_importances()
    assert next(iter(rises)) == "crp" and rises["crp"][0] > 2 * rises["age"][0]
    with pytest.raises(thrifty.errors.FeaturesChanged, match=r"lacks crp: [6-9]\d%"):
        life.predict("ill", month[["age"]])
    life.predict("ill", source, spend="300 EUR")
    learned = life["ill"].monitor().auroc_learned
    assert learned > model.quality_.auc.low, "not of rows that were never bought"
