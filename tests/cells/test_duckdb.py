"""A table in a DuckDB file: rows in their order, kinds by column, no more read than is bought."""

import numpy as np
import pytest

import thrifty

duckdb = pytest.importorskip("duckdb")


@pytest.fixture
def file(tmp_path):
    """300 patients: numbers with gaps, bits, words; the label needs one number."""
    rng = np.random.default_rng(0)
    path = tmp_path / "clinic.duckdb"
    rows = [
        (f"p{i}", float(x), None if i % 7 == 0 else float(z), i % 2, i % 3 == 0, "ab"[i % 2])
        for i, (x, z) in enumerate(rng.normal(size=(300, 2)).tolist())
    ]
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            'CREATE TABLE "the patients" (id VARCHAR, "x ""1""" DOUBLE, z FLOAT, odd INTEGER, '
            "third BOOLEAN, word VARCHAR)"
        )
        connection.executemany('INSERT INTO "the patients" VALUES (?, ?, ?, ?, ?, ?)', rows)
    return path, rows


def source_of(path, **how):
    return thrifty.Source.from_sql(f"duckdb:///{path}", "the patients", **how)


@pytest.mark.parametrize("kept", [10**9, 100])
def test_values_are_those_of_the_table_in_its_order(file, monkeypatch, kept):
    """Whether it fits into memory or not."""
    monkeypatch.setattr("thrifty.cells.sources.parquet._KEPT", kept)
    path, rows = file
    source = source_of(path, without=["id"], allow_missing=True)
    assert source.feature_names == ('x "1"', "z", "odd", "third", "word")
    assert source.boolean.tolist() == [False, False, True, True, False]
    some = np.array([250, 3, 7, 3])
    got = source.read(some, np.array([1, 0, 3, 2]))
    for i, row in enumerate(some.tolist()):
        _, x, z, odd, third, _ = rows[row]
        assert got[i, 1:].tolist() == [x, third, odd]
        assert np.isnan(got[i, 0]) if z is None else got[i, 0] == np.float32(z)
    words = source.read(some, np.array([4]))[:, 0].astype(int)
    assert [source.categories[4][w] for w in words.tolist()] == [rows[r][5] for r in some.tolist()]


def test_it_is_learned_from_known_by_its_ids(file):
    path, rows = file
    source = source_of(path, id="id", features=['x "1"', "z", "odd"], allow_missing=True)
    assert source.examples[:2] == ("p0", "p1") and source.name == "the patients"
    life = thrifty.Lifetime(random_state=0)
    learned = life.learn("ill", source, [int(row[1] > 0) for row in rows])
    assert learned.model.feature_names_[learned.model.features_[0]] == 'x "1"'


def test_what_is_wrong_is_said(file, tmp_path):
    path, _ = file
    (tmp_path / "odd.duckdb").write_bytes(b"no database" * 1000)
    for url, said in (
        (f"duckdb:///{path}", "no table 'others'; it has 'the patients'"),
        (f"duckdb:///{tmp_path}/none.duckdb", "no file"),
        (f"duckdb:///{tmp_path}/odd.duckdb", "cannot be read by DuckDB"),
        ("sqlite://", "give id="),
    ):
        with pytest.raises(thrifty.errors.BadInput, match=said):
            thrifty.Source.from_sql(url, "others")
    with pytest.raises(thrifty.errors.BadInput, match="no column 'nothing'"):
        source_of(path, features=["nothing"])
    with duckdb.connect(str(path)) as connection:
        connection.execute("DELETE FROM \"the patients\" WHERE id = 'p5'")
        connection.execute("CHECKPOINT")
    with pytest.raises(thrifty.errors.BadInput, match="rows were deleted"):
        source_of(path)
