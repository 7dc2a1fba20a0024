"""A Parquet file too long for memory: rows are read, columns are not kept."""

import numpy as np
import pandas
import pytest

import thrifty
from thrifty.errors import BadInput


@pytest.fixture
def long(tmp_path, monkeypatch):
    """A file that counts as too long, in seven row groups."""
    monkeypatch.setattr("thrifty.cells.sources.parquet._KEPT", 1000)
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame(rng.normal(size=(640, 4)).astype(np.float32), columns=list("abcd"))
    frame["word"] = rng.choice(["x", "y", "z"], 640)
    frame["flag"] = rng.integers(0, 2, 640)
    frame.loc[630, "c"] = np.nan
    frame.to_parquet(tmp_path / "long.parquet", row_group_size=100)
    return frame, tmp_path / "long.parquet"


def test_any_rows_in_any_order_are_the_table_s(long):
    frame, path = long
    source = thrifty.Source.from_parquet(path, allow_missing=True)
    rows = np.array([639, 0, 630, 99, 100, 0, 555])
    got = source.read(rows, np.array([3, 0, 2]))
    np.testing.assert_array_equal(got, frame.iloc[rows][["d", "a", "c"]].to_numpy())
    words = source.read(rows, np.array([4]))[:, 0].astype(int)
    assert [source.categories[4][i] for i in words] == frame["word"].iloc[rows].tolist()
    assert not {0, 2, 3} & set(source._table), "of numbers nothing is kept"


def test_a_task_is_the_same_as_in_memory(long, monkeypatch):
    frame, path = long
    y = (frame["a"] + frame["b"] > 0).to_numpy().astype(int)
    rare = thrifty.Lifetime(random_state=0)
    source = thrifty.Source.from_parquet(path, allow_missing=True)
    one = rare.learn("t", source, y, spend="30 %")
    assert not {0, 1, 2, 3} & set(source._table)
    monkeypatch.setattr("thrifty.cells.sources.parquet._KEPT", 10**9)
    usual = thrifty.Lifetime(random_state=0)
    other = usual.learn("t", thrifty.Source.from_parquet(path, allow_missing=True), y, spend="30 %")
    assert one.receipt == other.receipt
    X = frame[list(one.model.feature_names_)]
    assert np.array_equal(one.model.predict_proba(X), other.model.predict_proba(X))


def test_a_gap_that_is_looked_at_is_an_error_that_names_its_row(long):
    _, path = long
    source = thrifty.Source.from_parquet(path)
    source.read(np.array([0, 629]), np.array([2]))
    with pytest.raises(BadInput, match="'c' must be a finite number; got nan on example 630"):
        source.read(np.array([0, 630]), np.array([2]))


@pytest.mark.parametrize(
    ("column", "is_bit"),
    [
        ([0, 1] * 100, True),
        ([0.0, 1.0] * 100, True),
        ([True, False] * 100, True),
        ([0, 1] * 99 + [0, 2], False),
        ([0.0, 1.0] * 99 + [0.0, 0.5], False),
        ([0.0, 1.0] * 99 + [0.0, np.nan], False),
        ([0.0, 1.0] * 99 + [0.0, None], False),
    ],
)
@pytest.mark.parametrize("statistics", [True, False])
def test_what_is_a_bit_is_found_with_and_without_statistics(column, is_bit, statistics, tmp_path):
    path = tmp_path / "x.parquet"
    frame = pandas.DataFrame({"first": np.arange(200.0), "x": column})
    frame.to_parquet(path, row_group_size=64, write_statistics=statistics)
    source = thrifty.Source.from_parquet(path, allow_missing=True)
    assert source.boolean.tolist() == [False, is_bit]
