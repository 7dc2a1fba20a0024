"""Of a long table nothing is read that nobody asked for: other columns and row groups are damaged.

A part whose head is damaged cannot be read: DuckDB's has a checksum, Parquet's says its length.
"""

from pathlib import Path

import numpy as np
import pytest

import thrifty

duckdb, parquet = pytest.importorskip("duckdb"), pytest.importorskip("pyarrow.parquet")
import pyarrow  # noqa: E402

N, GROUP = 400_000, 122_880  # rows, and of a group: what DuckDB takes
COLUMNS = "abc"


@pytest.fixture(autouse=True)
def counts_as_long(monkeypatch):
    monkeypatch.setattr("thrifty.cells.sources.parquet._KEPT", 1000)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    return {name: rng.normal(size=N) for name in COLUMNS}


def damage(path, parts):
    """Turn the first bytes of each part of a file."""
    data = bytearray(path.read_bytes())
    for start in parts:
        data[start : start + 64] = bytes(255 - b for b in data[start : start + 64])
    path.write_bytes(data)


def of_parquet(table, path):
    """A source, and where each column's part of each group lies in the file."""
    parquet.write_table(pyarrow.table(table), path, row_group_size=GROUP)
    file, where = parquet.ParquetFile(path), {}
    for group in range(file.metadata.num_row_groups):
        for at, name in enumerate(COLUMNS):
            part = file.metadata.row_group(group).column(at)
            where[name, group] = {part.dictionary_page_offset or part.data_page_offset}
    return lambda: thrifty.Source.from_parquet(path), where


def of_duckdb(table, path):
    with duckdb.connect(str(path)) as connection:
        connection.register("frame", pyarrow.table(table))
        connection.execute("CREATE TABLE t AS SELECT * FROM frame")
        connection.execute("CHECKPOINT")
        segments = connection.execute(
            "SELECT column_name, row_group_id, block_id FROM pragma_storage_info('t') "
            "WHERE segment_type <> 'VALIDITY' AND block_id >= 0"
        ).fetchall()
    head, block, where = 3 * 4096, 262_144, {}  # bytes before the first block, and of each
    for name, group, at in segments:
        where.setdefault((name, group), set()).add(head + at * block)
    numbers = dict.fromkeys(COLUMNS, "number")  # else the first rows say whether they are bits
    return lambda: thrifty.Source.from_sql(f"duckdb:///{path}", "t", kinds=numbers), where


@pytest.mark.parametrize("kind", [of_parquet, of_duckdb])
def test_what_is_not_asked_for_is_not_read(kind, table, tmp_path: Path):
    path = tmp_path / "long"
    made, where = kind(table, path)
    rows = np.array([GROUP + 20_000, GROUP + 40, GROUP + 100_000])
    needed = where["b", 1]
    damage(path, set().union(*where.values()) - needed)
    np.testing.assert_array_equal(made().read(rows, np.array([1]))[:, 0], table["b"][rows])
    for others, feature in ((rows, 0), (rows, 2), (rows - GROUP, 1), (rows + GROUP, 1)):
        with pytest.raises(thrifty.errors.BadInput, match="cannot be read"):
            made().read(others, np.array([feature]))
