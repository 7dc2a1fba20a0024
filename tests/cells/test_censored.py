"""Values beyond a limit of detection, and numbers as laboratories write them."""

import warnings

import numpy as np
import pandas as pd
import pytest

import thrifty
from tests.shell import run
from thrifty import Source
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


FIVES = {"limit": 5.0, "half": 2.5, "gap": np.nan}


@pytest.mark.parametrize(("censored", "five"), FIVES.items())
def test_a_user_says_how_limits_are_read(censored, five):
    frame = pd.DataFrame({"crp": ["<5", "7,5", ">100", "12", "<-5", "< 0,5", "3"]})
    with warnings.catch_warnings():
        warnings.simplefilter("error", Censored)
        source = Source.from_frame(frame, censored=censored, na=["12"], allow_missing=True)
    beyond = {"gap": [np.nan] * 3}.get(censored, [100, -5, five / 10])
    wanted = [five, 7.5, beyond[0], np.nan, *beyond[1:], 3]
    np.testing.assert_array_equal(source.table()[:, 0].astype(float), wanted)
    with pytest.raises(thrifty.errors.BadParameter, match="'limit', 'half' or 'gap'"):
        Source.from_frame(frame, censored="twice")


@pytest.mark.parametrize(("censored", "five"), FIVES.items())
def test_what_was_said_is_kept_for_interviews_predictions_and_updates(tmp_path, censored, five):
    rng = np.random.default_rng(0)
    crp = rng.uniform(0, 50, 200)
    frame = pd.DataFrame({"crp": [f"{v:.1f}" if v > 5 else "<5" for v in crp]})
    life = thrifty.Lifetime(random_state=0, store=tmp_path / "s.db")
    life.learn("ill", frame, crp > 9, spend="100 %", censored="limit")
    life["ill"].update(frame[:50], crp[:50] > 9, censored=censored)
    life.close()
    life = thrifty.Lifetime.open(tmp_path / "s.db")
    numbers = pd.DataFrame({"crp": [five, 7.5, 20]})
    with warnings.catch_warnings():
        warnings.simplefilter("error", Censored)
        said = life.predict("ill", pd.DataFrame({"crp": ["<5", "7.5", "20"]}))
    np.testing.assert_array_equal(said.probabilities, life.predict("ill", numbers).probabilities)
    for known, more in (({}, {}), ({}, {"paid": True}), ({"id": "p1"}, {})):
        asked = life.ask("ill", **known)
        asked.tell("<5", **more)
        assert asked.known == {"crp": None if censored == "gap" else five} and asked.next is None


def test_a_command_says_how_limits_are_read_and_its_store_keeps_it(tmp_path):
    crp = np.random.default_rng(0).uniform(0, 50, 200)
    texts = [f"{v:.1f}" if v > 5 else "<5" for v in crp]
    table = pd.DataFrame({"crp": texts, "ill": crp > 9})
    path = tmp_path / "t.csv"
    table.to_csv(path, index=False)
    learn = ["learn", path, "--label", "ill", "--spend", "100 %"]
    plain = run(*learn, "--store", tmp_path / "plain.db")
    assert "--censored 'half'" in plain.output
    assert "beyond a limit" not in run(*learn, "--censored", "half").output
    asked = thrifty.Lifetime.open(tmp_path / "t.db").ask("ill")
    asked.tell("<5")
    assert asked.known == {"crp": 2.5}
    run(*learn, "--censored", "twice", ok=False)


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
