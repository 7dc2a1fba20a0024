"""Trees beside the linear score: they see what acts together, and do no harm where all adds up."""

from __future__ import annotations

import json

import numpy as np

from thrifty.cells import Cells
from thrifty.models import Models
from thrifty.models.fits.fitted import classes_from_dict
from thrifty.models.fits.linear_and_trees import LinearAndTrees
from thrifty.models.fits.linear_score import LinearScore


def learned(y_of, seed: int = 0):
    rng = np.random.default_rng(seed)
    X = rng.random((1500, 40)) < 0.4
    y = (rng.random(1500) < y_of(X)).astype(int)
    family = Models()
    found = family.use_rep(family.start(), Cells(X, spend=0.6 * X.size), family.read_labels(y))
    return X, found.model


def test_features_that_act_together() -> None:
    X, model = learned(lambda X: np.where(X[:, 0] ^ X[:, 1], 0.6, 0.05))
    assert isinstance(model.fitted, LinearAndTrees)
    values = X[:, model.bought.table.features].astype(float)
    kept = json.loads(json.dumps(model.fitted.to_dict()))
    again = classes_from_dict(kept).predict_proba(values)
    assert np.allclose(again, model.fitted.predict_proba(values))


def test_features_that_add_up() -> None:
    X, model = learned(lambda X: 1 / (1 + np.exp(3 - 1.5 * X[:, :5].sum(axis=1))))
    values = X[:, model.bought.table.features].astype(float)
    both = [m.decision_function(values) for m in (model.fitted, model.fitted.linear)]
    assert np.corrcoef(both)[0, 1] > 0.97


def test_with_few_rows_of_a_class_there_are_no_trees() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((90, 20)) < 0.4
    y = np.arange(90) < 14
    family = Models()
    found = family.use_rep(family.start(), Cells(X, spend=X.size), family.read_labels(y))
    assert isinstance(found.model.fitted, LinearScore)


def test_trees_leave_the_mean_probability_where_it_was() -> None:
    X, model = learned(lambda X: np.where(X[:, 0] & X[:, 1], 0.9, 0.1))
    values = X[:, model.bought.table.features].astype(float)
    corrected, line = (
        m.predict_proba(values)[:, 1].mean() for m in (model.fitted, model.fitted.linear)
    )
    assert abs(corrected - line) < 0.01
