"""Columns that next month's file lacks, or has for the first time: named, with what they mean."""

import warnings

import numpy as np
import pytest

import thrifty
from thrifty.errors import ColumnsChanged, FeaturesChanged

pd = pytest.importorskip("pandas")

NAMES = [f"t{i}" for i in range(10)]


@pytest.fixture(scope="module")
def clinic():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(500, 10)), columns=NAMES)
    odds = 4 * frame["t0"] + frame["t1"] + 0.5 * frame["t2"]
    ill = (odds + rng.logistic(size=500) > 0).to_numpy()
    life = thrifty.Lifetime(random_state=0)
    life.learn("ill", frame, ill, spend="100 %")
    return life, frame


def test_a_few_that_mean_little_are_named_with_what_they_mean(clinic):
    life, frame = clinic
    with pytest.warns(
        ColumnsChanged, match=r"X lacks t1, t2: \d+% of the importance .*'ill'"
    ) as said:
        made = life.predict("ill", frame.drop(columns=["t1", "t2"]))
    assert said[0].filename == __file__
    assert set(made.receipt.lacking) == {"t1", "t2"}


def test_more_than_half_of_the_importance_is_refused_unless_it_is_meant(clinic):
    life, frame = clinic
    spent = life.balance().spent
    with pytest.raises(FeaturesChanged, match=r"X lacks t0: \d\d% .*missing='ignore'"):
        life.predict("ill", frame.drop(columns="t0"))
    with pytest.raises(FeaturesChanged, match="t8, t9|t0"):
        life.predict("ill", frame[["t3"]])  # nine of ten columns absent
    assert life.balance().spent == spent
    with warnings.catch_warnings():
        warnings.simplefilter("error", ColumnsChanged)
        made = life.predict("ill", frame.drop(columns="t0"), missing="ignore")
    assert made.receipt.lacking == ("t0",)
    with pytest.raises(thrifty.errors.BadParameter, match="missing"):
        life.predict("ill", frame, missing="guess")


def test_new_columns_are_named_too(clinic):
    life, frame = clinic
    with pytest.warns(ColumnsChanged, match=r"new columns.*'ill'.*: crp, urea"):
        life.predict("ill", frame.assign(crp=1.0, urea=2.0))
    with pytest.warns(ColumnsChanged, match=r"lacks t9, which .* does without.*columns: crp"):
        life.predict("ill", frame.drop(columns="t9").assign(crp=1.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error", ColumnsChanged)
        life.predict("ill", frame[NAMES[::-1]])
        life.predict("ill", frame.to_numpy())
