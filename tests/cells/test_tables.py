"""Parquet files and tables of a database: a column at a time, names checked against the schema."""

import numpy as np
import pandas as pd
import pytest
import sqlalchemy as sa

import thrifty
from thrifty import Source
from thrifty.errors import BadInput
from thrifty.protocol import Cells

FEATURES = ["f0", "f1", "weird \"'; DROP TABLE t; --"]


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 2, (70, 3)), columns=FEATURES)
    frame["age"] = rng.normal(50, 9, 70)
    frame.insert(0, "pid", [f"p{i:02d}" for i in range(70)])
    return frame


@pytest.fixture(params=["parquet", "sql", "postgres"])
def source(request, frame, tmp_path):
    """The same table from a file, from SQLite and from PostgreSQL."""

    def make(**options):
        if request.param == "parquet":
            frame.to_parquet(tmp_path / "t.parquet")
            options.setdefault("without", ["pid"])
            return Source.from_parquet(tmp_path / "t.parquet", **options)
        if request.param == "sql":
            url = f"sqlite:///{tmp_path / 't.db'}"
        else:
            url = request.getfixturevalue("postgres").new_database()
            url = url.replace("postgresql://", "postgresql+psycopg://")
        engine = sa.create_engine(url)
        frame.to_sql('patients "; --', engine, index=False, if_exists="replace")
        return Source.from_sql(engine, 'patients "; --', id="pid", **options)

    return make


def test_a_table_gives_what_the_frame_gives(source, frame):
    table = source()
    features = [*FEATURES, "age"]
    assert list(table.feature_names) == features
    assert table.boolean.tolist() == [True, True, True, False]
    cells = Cells(table)
    assert (cells.get(range(70), range(4)) == frame[features].to_numpy()).all()
    booleans = Cells(source(features=FEATURES))
    twin = Cells(Source.from_array(frame[FEATURES].to_numpy(dtype=bool)))
    mask = thrifty.kernels.mask_of_rows(np.arange(5, 60), 70)
    at = np.array([2, 0])
    assert (booleans.columns(at, mask) == twin.columns(at, mask)).all()
    assert (booleans.everything() == twin.everything()).all()


def test_only_the_columns_that_are_looked_at_are_read(source, monkeypatch):
    table = source()
    asked = []
    fetch = table.fetch
    monkeypatch.setattr(table, "fetch", lambda names: asked.extend(names) or fetch(names))
    cells = Cells(table)
    cells.get([1, 2], [0])
    cells.get([3], [0, 3])
    assert asked == ["f0", "age"]


def test_a_broken_promise_names_the_value(source):
    with pytest.raises(BadInput, match="'age' must be yes or no"):
        Cells(source(kinds={"age": "boolean"})).get([0], [3])


def test_a_column_that_is_not_there(source):
    with pytest.raises(BadInput, match="no column 'nobody'"):
        source(features=["f0", "nobody"])


def test_gaps_are_errors_unless_they_are_allowed(tmp_path):
    gappy = pd.DataFrame({"a": [1.5, None, 2.5], "b": [True, None, False]})
    gappy.to_parquet(tmp_path / "t.parquet")
    gaps = Source.from_parquet(tmp_path / "t.parquet", features=["a"])
    with pytest.raises(BadInput, match="finite number"):
        Cells(gaps).get([0], [0])
    allowed = Source.from_parquet(tmp_path / "t.parquet", features=["a"], allow_missing=True)
    assert np.isnan(Cells(allowed).get([1], [0])).all()
    with pytest.raises(BadInput, match="0 or 1"):
        Cells(Source.from_parquet(tmp_path / "t.parquet", features=["b"])).get([0], [0])


def test_dates_are_no_feature(tmp_path):
    pd.DataFrame({"a": pd.to_datetime(["2020-01-01"])}).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(BadInput, match="holds timestamp"):
        Source.from_parquet(tmp_path / "t.parquet")


def test_files_that_are_no_tables(tmp_path):
    (tmp_path / "t.parquet").write_text("hello")
    with pytest.raises(BadInput, match="not a Parquet file"):
        Source.from_parquet(tmp_path / "t.parquet")
    with pytest.raises(BadInput, match="no file"):
        Source.from_parquet(tmp_path / "nowhere.parquet")


def test_tables_that_are_not_there(tmp_path):
    url = f"sqlite:///{tmp_path / 't.db'}"
    pd.DataFrame({"id": [1, 1], "a": [0, 1]}).to_sql("t", sa.create_engine(url), index=False)
    with pytest.raises(BadInput, match="no table"):
        Source.from_sql(url, "t; DROP TABLE t", id="id")
    with pytest.raises(BadInput, match="no column"):
        Source.from_sql(url, "t", id="id; --")
    with pytest.raises(BadInput, match="gaps or repeats"):
        Source.from_sql(url, "t", id="id")
    with pytest.raises(BadInput) as caught:
        Source.from_sql("postgresql+psycopg://me:hunter2@127.0.0.1:1/x", "t", id="id")
    assert "hunter2" not in str(caught.value)


def test_a_table_that_changes_under_the_reader(tmp_path):
    engine = sa.create_engine(f"sqlite:///{tmp_path / 't.db'}")
    pd.DataFrame({"id": [1, 2], "a": [0, 1]}).to_sql("t", engine, index=False)
    table = Source.from_sql(engine, "t", id="id")
    with engine.begin() as connection:
        connection.execute(sa.text("DELETE FROM t WHERE id = 1"))
    with pytest.raises(BadInput, match="has changed"):
        Cells(table).get([0], [0])
