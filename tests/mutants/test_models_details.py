"""Details of models that a small change would break unnoticed."""

from contextlib import nullcontext

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

import thrifty
from tests.models.tables import table_of
from thrifty.models import learning
from thrifty.models.asking import order
from thrifty.models.asking.certificate import RUNGS
from thrifty.models.fits.fitting import _middles


def test_another_seed_buys_other_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 12))
    y = X[:, 0] + rng.normal(size=400) > 0
    bought = [
        set(thrifty.ModelClassifier(spend=800, random_state=s).fit(X, y).table_.rows.tolist())
        for s in (1, 2, 1)
    ]
    assert bought[0] == bought[2] != bought[1]


def test_numbers_are_predicted_for_no_more_than_what_may_be_spent():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(120, 6))
    life = thrifty.Lifetime(prices=[0.25] * 6, random_state=0)
    life.learn("worth", X, X[:, 0] + 0.5 * X[:, 1] + 0.1 * rng.normal(size=120), spend="100 %")
    new = rng.normal(size=(40, 6))
    for spend in (9.5, 10.0, 19.5):
        assert life.predict("worth", new, spend=spend).receipt.cost <= spend + 1e-6


def test_rungs_are_levels_that_a_row_can_reach():
    for p in (0.5, 0.9, 0.99):
        levels = [p + (1 - p) * part for part in RUNGS]
        assert p == levels[-1] < levels[0] < 1
        assert levels == sorted(levels, reverse=True)


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("kind", [thrifty.ModelClassifier, thrifty.ModelRegressor])
def test_a_users_estimator_has_the_threads_it_asks_for(monkeypatch, kind, own):
    given = []
    monkeypatch.setattr(
        learning, "in_one_thread", lambda one=True: given.append(one) or nullcontext()
    )
    X = np.random.default_rng(6).normal(size=(60, 3))
    estimator = LogisticRegression() if kind is thrifty.ModelClassifier else Ridge()
    kind(estimator if own else None).fit(X, np.round(X[:, 0]) > 0)
    assert given[-1:] == [not own]


def test_what_nobody_has_shown_is_ranked_by_its_gain(monkeypatch):
    """Where none of them gains more than chance would."""
    shown = np.array([[0.1, -1, 0], [0.2, -1, 0]])
    monkeypatch.setattr(order.BinnedFeatures, "gains", lambda *_: shown)
    tables = [table_of(np.random.default_rng(12).normal(size=(40, 2)), np.arange(40) % 2)]
    found = order.find_order(tables, lambda owned, wanted: 1.0)
    assert found.steps == ((), (1,), (0,))


def test_a_gap_is_the_median_to_an_estimator_that_takes_none():
    values = np.array([[1.0, np.nan], [np.nan, np.nan], [5.0, np.nan], [9.0, np.nan]])
    assert _middles(values).tolist() == [5.0, 0.0]


def test_a_table_of_one_stage_is_judged_on_all_of_its_rows():
    bought = np.array([[True, False], [True, True], [False, True]])
    part = table_of(np.zeros((3, 2)), np.array([0, 1, 0]), bought).of_features(np.array([1, 0]))
    assert part.judged.tolist() == [True] * 3


def test_a_scorecard_keeps_letters_as_they_are():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    names = pytest.importorskip("pandas").DataFrame(X, columns=["Größe", "Alter"])
    life = thrifty.Lifetime(random_state=0)
    life.learn("krank", names, (X[:, 0] > 0.2).astype(int), spend="100 %")
    assert "Größe" in life["krank"].model.card_.to_json()


def test_rows_are_known_again_by_their_ids_where_they_have_any():
    X = np.random.default_rng(0).normal(size=(80, 3))
    for ids in (None, [f"p{i}" for i in range(80)]):
        source = thrifty.Source.from_array(X, examples=ids, name="ward" if ids else None)
        life = thrifty.Lifetime(random_state=0)
        model = life.learn("ill", source, X[:, 0] > 0, spend="100 %").model
        assert (model.table_.keys is not None) is bool(ids)
