"""Every kind of model stands behind one protocol, and comes back from JSON by its name."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

from tests.models.tables import table_of
from thrifty import ModelClassifier
from thrifty.errors import BadInput
from thrifty.estimators import ScorecardClassifier
from thrifty.models.fits.fitting import fit_user, in_words
from thrifty.serving import serving_model

NAMES = ["a", "b"]


def table(labels, **more):
    n = len(labels)
    values = np.random.default_rng(0).normal(size=(n, 2))
    return table_of(values, labels, **more)


CLASSES = table(np.arange(60) % 2)


def test_a_users_estimator_says_what_it_is_and_that_it_is_fitted_again():
    fitted = fit_user(CLASSES, LogisticRegression(), 0)
    assert fitted.summary() == "LogisticRegression, fitted on what was bought."
    assert fitted.to_dict() is None and fitted.scorecard(NAMES, {}, [0, 1]) is None
    assert not fitted.measured and np.isnan(fit_user(CLASSES, Ridge(), 0).error)
    model = ModelClassifier(LogisticRegression()).fit(CLASSES.values, CLASSES.labels)
    with pytest.raises(BadInput, match="fitted with LogisticRegression"):
        serving_model(model)


def test_a_users_scorecard_has_its_card_and_its_trees():
    rows = table((np.random.default_rng(0).normal(size=(60, 2))[:, 0] > 0).astype(int))
    fitted = fit_user(rows, ScorecardClassifier(doubling=20.0), 0)
    card = fitted.scorecard(NAMES, {}, ["no", "yes"])
    assert card.doubling == 20.0 and {row.for_class for row in card} == {"yes"}
    model = ModelClassifier(ScorecardClassifier()).fit(rows.values, rows.labels)
    assert serving_model(model)["classes"] == [0, 1]


def test_stores_know_our_scorecard_by_the_name_it_had_first():
    words = in_words(ScorecardClassifier())
    assert words["class"] == "thrifty.models.scorecard.ScorecardClassifier"
