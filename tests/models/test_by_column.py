"""A user's pipeline that names the columns it works on, as scikit-learn's users write it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import thrifty

N = 400


def customers(seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({f"noise {i}": rng.normal(size=N) for i in range(4)})
    frame["plan"] = rng.choice(["basic", "family", "business"], N)
    frame["debt"] = rng.normal(size=N)
    left = frame["debt"] + 2 * (frame["plan"] == "basic") + 0.3 * rng.normal(size=N) > 1
    frame.loc[rng.random(N) < 0.1, "debt"] = np.nan
    return frame, np.where(left, "left", "stayed")


NUMBERS = ["noise 3", "debt", "noise 0"]
WORDS = OneHotEncoder(handle_unknown="ignore")
FILLED = make_pipeline(SimpleImputer(), StandardScaler())


def columns(numbers, words) -> ColumnTransformer:
    return ColumnTransformer([("numbers", FILLED, numbers), ("words", WORDS, words)])


WAYS = {
    "names": columns(NUMBERS, ["plan"]),
    "places": columns([3, 5, 0], [4]),
    "a mask": columns(np.isin(np.arange(6), [0, 3, 5]), [False] * 4 + [True, False]),
    "a slice": ColumnTransformer(
        [
            ("numbers", FILLED, slice("noise 0", "noise 3")),
            ("one", FILLED, slice(5, 6)),
            ("words", WORDS, ["plan"]),
        ]
    ),
    "dtypes": columns(
        make_column_selector(dtype_include="number"), make_column_selector(dtype_exclude="number")
    ),
    "gaps that nobody fills": ColumnTransformer(
        [("words", WORDS, ["plan"])], remainder="passthrough"
    ),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("spend", ["100 %", "30 %"])
def test_a_pipeline_finds_its_columns_by(way, spend, tmp_path):
    """However few were bought, in whatever order, before and after the store is opened again."""
    pipeline = make_pipeline(WAYS[way], LogisticRegression())
    frame, left = customers()
    new, truth = customers(1)
    life = thrifty.Lifetime(thrifty.Models(pipeline), store=tmp_path / "s.db", random_state=0)
    life.learn("churn", frame, left, spend=spend)
    said = life.predict("churn", new)
    assert (said.values == truth).mean() > 0.8
    life.close()
    family = thrifty.Models(pipeline)
    with thrifty.Lifetime.open(tmp_path / "s.db", family=family) as again:
        p = again.predict("churn", new).probabilities
        np.testing.assert_allclose(p, said.probabilities, atol=1e-5)
        again["churn"].update(new, truth, spend="50 %")
        assert (again.predict("churn", frame).values == left).mean() > 0.8


def test_a_word_is_given_as_it_was_brought_and_an_unknown_one_is_none():
    frame, left = customers()
    only = make_pipeline(ColumnTransformer([("words", WORDS, ["plan"])]), LogisticRegression())
    model = thrifty.ModelClassifier(only, spend="100 %").fit(frame, left)
    inside = model.estimator_.fitted[0].named_transformers_["words"]
    assert inside.categories_[0].tolist() == ["basic", "business", "family"]
    p = model.predict_proba(frame.assign(plan="new plan"))
    assert (p == p[0]).all(), "nothing is known of it"


def test_numbers_asked_in_order_and_scores_of_scikit_learn():
    from sklearn.model_selection import cross_val_score

    frame, left = customers()
    rule = make_pipeline(columns(NUMBERS, ["plan"]), Ridge())
    life = thrifty.Lifetime(thrifty.Models(rule), random_state=0)
    life.learn("debt", frame, frame["debt"].fillna(0) * 2 + frame["noise 1"], spend="100 %")
    assert life.predict("debt", frame, per_row=3).receipt.cells_per_row.max() <= 3
    pipeline = make_pipeline(columns(NUMBERS, ["plan"]), LogisticRegression())
    model = thrifty.ModelClassifier(pipeline, spend="60 %")
    assert cross_val_score(model, frame, left, cv=3, scoring="roc_auc").mean() > 0.85
