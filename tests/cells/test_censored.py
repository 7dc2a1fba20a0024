"""Values beyond a limit of detection, and numbers as laboratories write them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import thrifty
from thrifty.cells.sources.kinds import read_column
from thrifty.errors import Censored


def column(*values):
    return np.array(values, dtype=object)


def test_a_value_beyond_a_limit_is_the_limit_and_said():
    with pytest.warns(
        Censored, match=r"'crp' holds 3 of 6 values beyond a limit \(< 5, <5, >100\)"
    ):
        read = read_column(column("<5", "7.5", ">100", "-", "12", "< 5"), "crp")
    assert read.categories is None and not read.boolean
    assert read.values[[0, 1, 2, 4, 5]].tolist() == [5, 7.5, 100, 12, 5] and np.isnan(
        read.values[3]
    )


def test_numbers_beside_texts_commas_and_exponents():
    with pytest.warns(Censored):
        read = read_column(column("<0,5", "1,5", "2,25", "1,5e3"), "tsh", "number")
    assert read.values.tolist() == [0.5, 1.5, 2.25, 1500]
    with pytest.warns(Censored):
        assert read_column(column(3.5, "<2", 4.0, None), "x").values[:3].tolist() == [3.5, 2, 4]


def test_bands_stay_categories_and_codes_stay_gaps():
    with warnings.catch_warnings():
        warnings.simplefilter("error", Censored)
        assert read_column(column("<5", "5-10", ">10"), "age").categories is not None
        assert read_column(column("<5", ">10", "<5"), "band").categories is not None
        read = read_column(column("<5", "7.5", "8.5"), "crp", na={"crp": ["<5"]})
    assert np.isnan(read.values[0]) and read.values[1:].tolist() == [7.5, 8.5]


@pytest.mark.parametrize(("said", "number"), [("1,5", 1.5), ("<2", 2.0), ("3", 3.0), (0.5, 0.5)])
def test_an_interview_takes_what_learning_took(said, number):
    X = np.random.default_rng(0).normal(size=(200, 2))
    life = thrifty.Lifetime(random_state=0)
    life.learn("ill", X, X[:, 0] > 0, spend="100 %")
    asked, plain = life.ask("ill"), life.ask("ill")
    asked.tell(said)
    plain.tell(number)
    assert asked.answers == plain.answers and asked.known == plain.known
    with pytest.raises(thrifty.errors.BadInput, match="is a number"):
        life.ask("ill").tell("high")
