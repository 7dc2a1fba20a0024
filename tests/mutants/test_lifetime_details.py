"""Details of lifetimes that a small change would break unnoticed."""

from __future__ import annotations

import numpy as np
import pytest

from thrifty.lifetime.booking import _hashed
from thrifty.lifetime.inputs import bins_of
from thrifty.lifetime.monitoring import Reference
from thrifty.lifetime.outcomes import _days, _periods
from thrifty.models.table import Table

DAY = 86_400.0


def outcomes(days):
    when = np.repeat(np.asarray(days, dtype=float), 4) * DAY + 3600
    scores = np.tile([0.2, 0.7, 0.4, 0.9], len(days))
    return scores, np.tile([False, True, False, True], len(days)), when


def test_a_day_counts_all_outcomes_up_to_it():
    found = _days(*outcomes([100, 101, 105]))
    assert [(at / DAY, n) for at, n, _ in found] == [(100, 4), (101, 8), (105, 12)]


@pytest.mark.parametrize(
    ("days", "begins"),
    [
        ([100, 103], [100, 103]),  # by the day
        ([100, 103, 118], [98, 112]),  # by the week
        ([100, 103, 190], [90, 181]),  # by the month: April and July of 1970
    ],
)
def test_periods_are_as_long_as_outcomes_reach(days, begins):
    found = _periods(*outcomes(days))
    assert [one.begins / DAY for one in found] == begins
    assert sum(one.outcomes for one in found) == 4 * len(days)


def test_names_have_the_key_that_stores_know():
    assert _hashed(["age", "weight"]) == "8ed9f3bb2f92023f"


@pytest.mark.parametrize("weight", [1.0, 3.0])
def test_rows_that_all_weigh_the_same_count_once_each(weight):
    values = np.arange(40.0)[:, None]
    table = Table(
        np.array([0]), np.arange(40), values, np.ones((40, 1), bool), np.full(40, weight),
        np.zeros(40, np.int64),
    )  # fmt: skip
    bins = bins_of(table)
    assert bins.counted.tolist() == [pytest.approx(40)]
    assert bins.shares.sum() == pytest.approx(1)


def test_the_middle_of_the_reference_is_a_normal_score_of_0():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=400)
    here = Reference(scores[:200], scores[200:])
    middle = here._normal(np.array([np.median(scores)]))
    assert abs(middle[0]) < 0.1
    assert np.std(here._normal(scores)) == pytest.approx(1, abs=0.1)
