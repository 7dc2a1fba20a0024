"""The regressors users hold."""

import json

import numpy as np
import pytest
from scipy import stats
from sklearn.base import clone, is_regressor
from sklearn.exceptions import NotFittedError

import thrifty
from thrifty.errors import BadInput

X = np.random.default_rng(0).uniform(1, 2, (150, 8))


@pytest.fixture(params=["monomial", "polynomial"])
def fitted(request):
    if request.param == "monomial":
        return thrifty.estimators.MonomialRegressor(max_degree=4).fit(X, X[:, 1] ** 2 * X[:, 5])
    return thrifty.estimators.PolynomialRegressor(3, 2).fit(X, 2 * X[:, 1] * X[:, 5] - X[:, 2] ** 3)


def test_predicts(fitted):
    y = (
        X[:, 1] ** 2 * X[:, 5]
        if hasattr(fitted, "exponents_")
        else 2 * X[:, 1] * X[:, 5] - X[:, 2] ** 3
    )
    np.testing.assert_allclose(fitted.predict(X), y, rtol=1e-9)
    assert fitted.score(X, y) == pytest.approx(1.0)


def test_is_a_scikit_learn_regressor(fitted):
    assert is_regressor(fitted)
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    with pytest.raises(NotFittedError):
        copy.predict(X)
    assert "Regressor" in repr(copy)


def test_round_trip_through_json(fitted):
    again = type(fitted).from_dict(json.loads(json.dumps(fitted.to_dict())))
    assert repr(again) == repr(fitted)
    assert np.array_equal(again.predict(X), fitted.predict(X))


def test_a_source_is_asked_only_for_what_is_used(fitted):
    source = thrifty.Source.from_array(X)
    assert np.array_equal(fitted.predict(source), fitted.predict(X))
    used = 2 if hasattr(fitted, "exponents_") else 3
    assert fitted.receipt_.cells == used * len(X)


def test_wrong_shapes_and_values(fitted):
    with pytest.raises(BadInput, match="expecting 8 features"):
        fitted.predict(X[:, :5])
    with pytest.raises(BadInput, match="two-dimensional"):
        fitted.predict(X[0])
    spoilt = X.copy()
    spoilt[0, 1] = np.nan
    with pytest.raises(BadInput, match="finite"):
        fitted.predict(spoilt)


def test_a_monomial_refuses_values_without_a_log():
    model = thrifty.estimators.MonomialRegressor(max_degree=2).fit(X, X[:, 1])
    with pytest.raises(BadInput, match="above 0"):
        model.predict(-X)


def test_names_of_a_frame_appear_in_the_formula():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X[:, :3], columns=["width", "height", "weight"])
    area = thrifty.estimators.MonomialRegressor(max_degree=3).fit(
        frame, frame["width"] * frame["height"] ** 2
    )
    assert repr(area) == "width * height^2"


def test_labels_and_examples_must_match():
    with pytest.raises(BadInput, match="one label per example"):
        thrifty.estimators.MonomialRegressor().fit(X, np.ones(3))


@pytest.mark.parametrize(
    "family",
    [thrifty.Monomials(4), thrifty.Polynomials(3, 2, distribution=stats.uniform(1, 1))],
    ids=["monomials", "polynomials"],
)
def test_a_lifetime_is_kept_in_a_store(family, tmp_path):
    life = thrifty.Lifetime(family, store=str(tmp_path / "life.db"))
    model = life.learn("task", X, X[:, 1] * X[:, 5]).model
    again = thrifty.Lifetime(family, store=str(tmp_path / "life.db"))
    assert again.representation == life.representation
    assert np.array_equal(again["task"].model.predict(X), model.predict(X))
