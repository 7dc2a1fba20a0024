"""The scorecard: what its card says is what it predicts, and what it does with odd data."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from thrifty.errors import BadInput, BadParameter
from thrifty.estimators import ScorecardClassifier
from thrifty.models.scorecard import NOWHERE, make_bins, plot_scorecard, scorecard_curves


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    [ScorecardClassifier(), ScorecardClassifier(whole_points=True, calibrated=False)]
)
def test_scikit_learn_check(estimator, check):
    check(estimator)


def survey(n=600, seed=0):
    """Age with a bend, a colour, a laboratory value whose absence tells, and noise."""
    rng = np.random.default_rng(seed)
    age = rng.uniform(18, 90, n)
    colour = rng.choice(["red", "green", "blue"], n)
    lab = rng.normal(size=n)
    gone = rng.random(n) < 0.3
    logit = np.abs(age - 55) / 8 - 3 + 1.5 * (colour == "red") + 1.2 * gone + (1 - gone) * lab
    y = rng.random(n) < 1 / (1 + np.exp(-logit))
    lab[gone] = np.nan
    frame = pd.DataFrame(
        {"age": age, "colour": pd.Categorical(colour), "lab": lab, "noise": rng.normal(size=n)}
    )
    return frame, y


def test_it_learns_bends_categories_and_gaps():
    train, y = survey()
    test, truth = survey(seed=1)
    model = ScorecardClassifier().fit(train, y)
    p = model.predict_proba(test)[:, 1]
    assert roc_auc_score(truth, p) > 0.82  # 0.85 with the probabilities themselves
    assert abs(p.mean() / truth.mean() - 1) < 0.1
    most = list(dict.fromkeys(row.feature for row in model.card_))
    assert most[-1] == "noise"
    points = {(row.feature, row.bin): row.points for row in model.card_}
    assert points["colour", "red"] > points["colour", "blue"] + 5
    assert points["lab", "missing"] > 0


def test_a_card_on_paper_gives_the_same_answer():
    train, y = survey()
    model = ScorecardClassifier(whole_points=True).fit(train, y)
    for row in (0, 5, 99):
        score = model.card_.base[True]
        for f, bins in enumerate(model.points_.bins):
            code = int(bins.codes(model.reader_.read(train.iloc[[row]])[:, f])[0])
            name = bins.names(model.reader_.categories[f])[code]
            here = [r for r in model.card_ if r.feature == train.columns[f] and r.bin == name]
            score += sum(r.points for r in here)
        assert all(r.points == pytest.approx(round(r.points), abs=1e-9) for r in model.card_)
        odds = 2 ** (score / 10)
        p = model.predict_proba(train.iloc[[row]])[0, 1]
        assert p == pytest.approx(odds / (1 + odds), abs=1e-9)


def test_a_category_never_seen_and_a_gap_never_seen_are_neutral():
    train, y = survey()
    model = ScorecardClassifier().fit(train[["age", "colour"]], y)
    stranger = pd.DataFrame({"age": [50.0, np.nan], "colour": ["violet", "red"]})
    whole = model.points_
    age = whole.points[0][whole.bins[0].codes(np.array([50.0]))[0], 0]
    red = whole.points[1][model.reader_.categories[1].index("red"), 0]
    expected = whole.intercepts[0] + np.array([age, red])
    assert model.decision_function(stranger) == pytest.approx(expected)


def test_rare_categories_share_a_bin():
    values = np.repeat([0.0, 1.0, 2.0, 3.0], [50, 40, 3, 2])
    bins = make_bins(values, np.ones(95), category=True)
    assert bins.groups == ((0.0,), (1.0,), (2.0, 3.0))
    assert bins.codes(np.array([2.0, 3.0, 7.0])).tolist() == [2, 2, NOWHERE]


def test_more_than_two_classes():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(500, 3))
    noisy = X[:, 0] + 0.3 * rng.normal(size=500)
    y = np.array(["low", "mid", "high"])[np.digitize(noisy, [-0.5, 0.5])]
    model = ScorecardClassifier().fit(X, y)
    assert (model.predict(X) == y).mean() > 0.8
    assert model.predict_proba(X).sum(axis=1) == pytest.approx(np.ones(500))
    assert set(model.card_.base) == {"low", "mid", "high"}
    columns = ["feature", "bin", "class", "share", "points"]
    assert str(model.card_).splitlines()[0].split() == columns


def test_weights_are_repetitions_and_probabilities_follow_them():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = (X[:, 0] + rng.normal(size=300) > 1).astype(int)
    weights = np.where(y == 1, 1.0, 9.0)
    p = ScorecardClassifier().fit(X, y, sample_weight=weights).predict_proba(X)[:, 1]
    assert np.average(p, weights=weights) == pytest.approx(np.average(y, weights=weights), rel=1e-3)


def test_infinite_values_fall_into_the_outermost_bins():
    X = np.linspace(0, 1, 100)[:, None]
    y = X[:, 0] > 0.5
    model = ScorecardClassifier().fit(np.vstack([X, [[np.inf]], [[-np.inf]]]), [*y, True, False])
    assert model.predict([[np.inf], [-np.inf]]).tolist() == [True, False]


def test_constant_features_and_features_without_a_value_get_no_points():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=80), np.full(80, 7.0), np.full(80, np.nan)])
    model = ScorecardClassifier().fit(X, X[:, 0] > 0)
    assert {row.feature for row in model.card_} == {"x0"}


def test_a_class_of_one_row():
    X = np.arange(30.0)[:, None]
    y = np.zeros(30, dtype=int)
    y[29] = 1
    model = ScorecardClassifier().fit(X, y)
    assert model.predict_proba(X)[29, 1] > model.predict_proba(X)[0, 1]


def test_json_and_back():
    train, y = survey()
    model = ScorecardClassifier().fit(train, y)
    again = ScorecardClassifier.from_dict(json.loads(json.dumps(model.to_dict())))
    test, _ = survey(seed=2)
    assert (again.predict_proba(test) == model.predict_proba(test)).all()
    assert str(again.card_) == str(model.card_)


def test_exports_say_the_same():
    train, y = survey(200)
    card = ScorecardClassifier().fit(train, y).card_
    frame = card.to_frame()
    assert list(frame["points"]) == [row.points for row in card]
    lines = card.to_csv().strip().split("\n")
    assert len(lines) == len(card) + 2 and lines[1].startswith("base,")
    assert len(json.loads(card.to_json())["rows"]) == len(card)
    assert card._repr_html_().count("<tr>") == len(card) + 2
    curves = scorecard_curves(card, top=2)
    assert len(curves) == 2 and curves[0]["points"] == [
        row.points for row in card if row.feature == card[0].feature
    ]
    assert len(plot_scorecard(card, top=2).axes) == 2


@pytest.mark.parametrize("change", [{"max_bins": 1}, {"shrinkage": 0}, {"doubling": "ten"}])
def test_parameters_outside_their_range(change):
    with pytest.raises(BadParameter, match=next(iter(change))):
        ScorecardClassifier(**change).fit([[0.0], [1.0]], [0, 1])


def test_data_that_no_card_takes():
    with pytest.raises(BadInput, match="two classes"):
        ScorecardClassifier().fit([[0.0], [1.0]], [1, 1])
    frame = pd.DataFrame({"when": pd.to_datetime(["2020-01-01", "2021-01-01"]), "c": ["a", "b"]})
    with pytest.raises(BadInput, match="'when' holds dates"):
        ScorecardClassifier().fit(frame, [0, 1])
    with pytest.raises(BadParameter, match="nobody"):
        ScorecardClassifier(categorical_features=["nobody"]).fit([[0.0], [1.0]], [0, 1])


def test_limits_of_a_card_are_written_short():
    """Two values that differ by their last bit have no short number between them."""
    age = np.array([50.3374999999999, 50.33749999999991] * 40)
    card = ScorecardClassifier(max_bins=2).fit(age[:, None], age > age.min()).card_
    assert {row.bin for row in card} == {"< 50.3375", ">= 50.3375"}
