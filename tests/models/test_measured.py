"""Quality on held-out rows, and cards with the user's names."""

import json

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import average_precision_score, roc_auc_score

import thrifty
from thrifty.models.estimators import ModelClassifier
from thrifty.models.fits.quality import quality_from_dict, quality_of


@pytest.mark.parametrize("ties", [False, True])
def test_figures_are_those_of_scikit_learn_with_weights(ties: bool) -> None:
    rng = np.random.default_rng(1)
    codes = (rng.random(300) < 0.2).astype(np.int64)
    p = np.clip(0.3 * codes + rng.random(300) * 0.7, 0, 1)
    p = p.round(1) if ties else p
    weights = np.where(codes == 1, 1.0, rng.uniform(1, 9, 300))
    found = quality_of(np.column_stack([1 - p, p]), codes, weights)
    assert found is not None and found.positive == 1
    expected = average_precision_score(codes, p, sample_weight=weights)
    assert found.average_precision.value == pytest.approx(expected)
    assert found.auc.value == pytest.approx(roc_auc_score(codes, p, sample_weight=weights))
    assert found.average_precision.low < expected < found.average_precision.high
    assert quality_from_dict(json.loads(json.dumps(found.to_dict()))) == found


def test_labels_that_mean_nothing_measure_as_guessing() -> None:
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(600, 3)), rng.random(600) < 0.3
    quality = ModelClassifier(random_state=0).fit(X, y).quality_
    assert quality is not None
    assert quality.auc.low < 0.5 + 0.03 and quality.auc.high < 0.62  # on its own rows it is 0.7


def test_too_few_rows_are_not_measured() -> None:
    assert quality_of(np.full((8, 2), 0.5), np.array([0] * 6 + [1] * 2), np.ones(8)) is None


def test_an_own_estimator_is_measured_when_asked():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 12))
    y = (X[:, 0] + X[:, 1] + rng.logistic(size=3000) > 0).astype(int)
    family = thrifty.Models(LogisticRegression(), random_state=0)
    model = thrifty.Lifetime(family).learn("t", X[:900], y[:900], spend="40 %").model
    said = model.quality_
    held_out = roc_auc_score(y[900:], model.predict_proba(X[900:])[:, 1])
    assert said.auc.low - 0.02 < held_out < said.auc.high + 0.02 and said.auc.low > 0.6
    assert model.quality_ == said and f"{said.average_precision.value:.2f}" in str(model)


@pytest.mark.parametrize("estimator", [None, Ridge()])
def test_models_of_numbers_are_measured_when_asked(estimator, tmp_path):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(2000, 12))
    y = X[:, 0] + X[:, 1] + rng.normal(size=2000)
    life = thrifty.Lifetime(thrifty.Models(estimator, labels="numbers"), store=tmp_path / "s.db")
    model = life.learn("t", X[:600], y[:600], spend="40 %").model
    said = model.quality_
    held_out, own_error = model.score(X[600:], y[600:]), 0.03  # two standard errors of 1,400 rows
    assert said.r2.low - own_error < held_out < said.r2.high + own_error and said.rows > 100
    assert said.error.value == pytest.approx(1.0, abs=0.2)
    stored = thrifty.Lifetime.open(tmp_path / "s.db")["t"].model.quality_
    assert (stored is None) if estimator is not None else stored == said


@pytest.mark.parametrize("estimator", [None, LogisticRegression()])
@pytest.mark.parametrize("boolean", [False, True])
def test_classes_weigh_what_they_weigh_in_the_task(estimator, boolean):
    """Whichever rows it is measured on: those of a cohort are not, nor those with holes."""
    rng = np.random.default_rng(0)
    X = rng.random((1300, 60)) < 0.3 if boolean else rng.normal(size=(1300, 12))
    score = X[:, :4] @ np.ones(4) + 0.5 * rng.normal(size=1300)
    y = score > np.quantile(score, 0.9)
    life = thrifty.Lifetime(thrifty.Models(estimator))
    life.background(X[:300], rows=300)
    said = life.learn("t", X[300:], y[300:], spend="30 %").model.quality_
    assert said.guessing == pytest.approx(y[300:].mean(), rel=1e-6)


@pytest.mark.parametrize("estimator", [RandomForestClassifier(5), RandomForestRegressor(5)])
def test_an_own_estimator_draws_alike_when_it_is_opened_again(estimator, tmp_path):
    rng = np.random.default_rng(4)
    X, new = rng.normal(size=(2, 200, 4))
    y, numbers = X[:, 0] + rng.normal(size=200), isinstance(estimator, RandomForestRegressor)
    labels = {"labels": "numbers"} if numbers else {}
    family = thrifty.Models(estimator, random_state=5, **labels)
    with thrifty.Lifetime(family, store=tmp_path / "s.db") as life:
        model = life.learn("t", X, y if numbers else (y > 0).astype(int), spend="100 %").model
    with thrifty.Lifetime(family, store=tmp_path / "s.db") as life:
        again = life["t"].model
    how = "predict" if numbers else "predict_proba"
    assert np.array_equal(getattr(again, how)(new), getattr(model, how)(new))
