"""Details of lifetimes that a small change would break unnoticed."""

from contextlib import nullcontext
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest

import thrifty
from tests.models.tables import table_of
from thrifty.lifetime.many import _learn
from thrifty.lifetime.monitoring import _moved_down, bins_of
from thrifty.lifetime.outcomes import _periods
from thrifty.lifetime.prediction_parts import parts_of, read_part
from thrifty.lifetime.state import _features_key, _hashed
from thrifty.stores import saved

DAY = 86_400.0


def outcomes(days):
    when = np.repeat(np.asarray(days, dtype=float), 4) * DAY + 3600
    scores = np.tile([0.2, 0.7, 0.4, 0.9], len(days))
    return scores, np.tile([False, True, False, True], len(days)), when


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
    for one in found:
        wilson = binomtest(one.positives, one.outcomes).proportion_ci(method="wilson")
        assert (one.seen_low, one.seen_high) == pytest.approx(tuple(wilson), abs=1e-4)


def test_names_have_the_key_that_stores_know():
    assert _hashed(["age", "weight"]) == "8ed9f3bb2f92023f"


@pytest.mark.parametrize("weight", [1.0, 3.0])
def test_rows_that_all_weigh_the_same_count_once_each(weight):
    values = np.arange(40.0)[:, None]
    table = table_of(values, np.zeros(40, np.int64), weights=np.full(40, weight))
    bins = bins_of(table)
    assert bins.counted.tolist() == [pytest.approx(40)]
    assert bins.shares.sum() == pytest.approx(1)


def test_the_variance_of_a_comparison_is_that_over_all_draws():
    """Which five of nine values came after is chance: mean 0, and the variance that is said."""
    values = np.array([0.1, 0.4, 0.4, 0.5, 0.7, 0.9, 1.3, 2.0, 2.0])
    drawn = [_moved_down(np.delete(values, after), values[list(after)])
             for after in combinations(range(9), 5)]  # fmt: skip
    falls = np.array([fall for fall, _ in drawn])
    assert falls.mean() == pytest.approx(0, abs=1e-12)
    assert [variance for _, variance in drawn] == pytest.approx([falls.var()] * len(drawn))


def test_tasks_that_were_offered_other_features_have_another_key():
    source = SimpleNamespace(feature_names=["weight", "age"])
    some = SimpleNamespace(n_offered=1, offered=np.array([1]))
    everything = SimpleNamespace(n_offered=2, offered=np.arange(2))
    assert _features_key(source, some) == _hashed(["age"])
    assert _features_key(source, everything) == _hashed(["age", "weight"])


def test_a_notebook_shows_how_sure_each_answer_is():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 3))
    life = thrifty.Lifetime(random_state=0)
    life.learn("ill", X, X[:, 0] > 0)
    found = life.predict("ill", rng.normal(size=(5, 3)))
    shown = found._repr_html_()
    assert all(f"{p:.2f}" in shown for p in found.probabilities.max(axis=1))


def test_what_fails_on_a_worker_is_left_to_its_turn():
    class Fails:
        def use_rep(self, representation, cells, labels):
            raise RuntimeError("no")

    assert _learn(Fails(), None, None, None) is None


def test_columns_that_a_part_lacks_are_not_asked_of_it(tmp_path):
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0], "who": ["x", "y"]})
    frame.to_parquet(tmp_path / "part.parquet")
    (part,) = parts_of(tmp_path / "part.parquet")
    found, ids = read_part(part, ["a", "z", "who"], "who")
    assert list(found) == ["a"] and ids == ["x", "y"]


@pytest.mark.parametrize("quicker", [False, True])
def test_new_columns_wait_for_another_process_that_was_quicker(quicker):
    put = []
    pages = SimpleNamespace(
        n_features=lambda: 2,
        version=lambda: 8 if quicker else 7,
        put_features=lambda names, named: put.append(names),
    )
    after = SimpleNamespace(version=7, features=("a", "b", "c"), named=True)
    with pytest.raises(saved.FeaturesMoved) if quicker else nullcontext():
        saved.SavedLifetime.grow_features(SimpleNamespace(), pages, after)
    assert put == ([] if quicker else [("a", "b", "c")])
