"""Small files that grow large: of whatever they claim, little memory is taken."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import thrifty
from thrifty.errors import BadInput

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

READ = """
import json, pathlib, resource, sys
import numpy as np, pandas, pyarrow.parquet
import thrifty
from thrifty.lifetime.prediction_parts import parts_of, read_part
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
path, how = sys.argv[1:]
try:
    if how == "source":
        source = thrifty.Source.from_parquet(path)
        said = source.read(np.arange(3), np.arange(source.n_features)).tolist()
    elif how == "parts":
        frame, _ = read_part(parts_of(path)[0], ["c0", "c1"], None)
        said = frame.head(3).map(lambda one: str(one)[:3]).to_numpy().tolist()
    else:
        from thrifty.commands.task_file import read_any_file
        from thrifty.commands.task_source import open_source
        opened = open_source(read_any_file(pathlib.Path(path), ["c0"]))
        said = [str(one)[:3] for one in opened._columns["c0"][:3]]
except thrifty.errors.ThriftyError as error:
    said = type(error).__name__
grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
print(json.dumps([said, grown]))
"""


def read_elsewhere(path, how):
    """What a process of its own read, and how many KB more it took for it."""
    done = subprocess.run(
        [sys.executable, "-c", READ, str(path), how], capture_output=True, text=True, env=os.environ
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def bombs(tmp_path_factory):
    """Small files: long texts that repeat, more rows than can be, many columns; and a fair one."""
    folder = tmp_path_factory.mktemp("bombs")
    text = pyarrow.DictionaryArray.from_arrays(np.zeros(600_000, np.int32), ["x" * 2500])
    tables = {
        "text": ({"c0": text, "c1": text}, {}),
        "long": ({f"c{j}": np.zeros(9_900_000) for j in range(1)}, {"use_dictionary": False}),
        "wide": ({f"c{j}": np.zeros(900_000) for j in range(60)}, {}),
        "fair": ({f"c{j}": np.zeros(900_000) for j in range(10)}, {}),
    }
    for name, (columns, more) in tables.items():
        table = pyarrow.table(columns)
        whole = {"row_group_size": 10**7, "data_page_size": 2**30, "store_schema": False}
        path = folder / f"{name}.parquet"
        parquet.write_table(table, path, compression="zstd", **whole, **more)
        assert (folder / f"{name}.parquet").stat().st_size < 400_000, name
    return folder


@pytest.mark.parametrize("how", ["source", "parts", "command"])
@pytest.mark.parametrize("name", ["text", "long", "wide", "fair"])
def test_a_small_parquet_file_takes_little_memory(bombs, name, how):
    said, grown = read_elsewhere(bombs / f"{name}.parquet", how)
    assert grown < 400_000, f"{said} took {grown / 1000:.0f} MB"
    assert (
        said == "BadInput" if name == "long" else np.ravel(said).tolist()[0] in (0.0, "xxx", "0.0")
    )


def test_texts_of_a_parquet_file_are_what_was_written(tmp_path):
    words = ["red", None, "green", "red", "blau", None, "green", "red"]
    table = pyarrow.table({"word": words, "other.name": words[::-1], "n": np.arange(8.0)})
    path = tmp_path / "words.parquet"
    parquet.write_table(table, path, row_group_size=3)
    source = thrifty.Source.from_parquet(path, allow_missing=True)
    for f, column in enumerate((words, words[::-1])):
        got = source.read(np.arange(8), np.array([f]))[:, 0]
        named = source.categories[f]
        assert [None if np.isnan(v) else named[int(v)] for v in got] == column
    from thrifty.lifetime.prediction_parts import parts_of, read_part

    frame, ids = read_part(parts_of(path)[0], ["word"], "n")
    assert ids[:2] == ["0.0", "1.0"]
    assert [None if one != one else one for one in frame["word"]] == words


# -- tables of text ----------------------------------------------------------------------------


@pytest.mark.parametrize("mark", [",", ";"])
def test_a_long_header_is_read(tmp_path, mark):
    """csv.reader ends above 131,072 characters between two marks."""
    from thrifty.commands.task_source import read_csv

    names = [f"feature number {j:05d}" for j in range(9000)]
    path = tmp_path / "wide.csv"
    path.write_text(mark.join(names) + "\n" + mark.join(["1"] * 9000) + "\n")
    frame = read_csv(path)
    assert list(frame.columns) == names
    path.write_text('"a;b";' + "n" * 140_000 + "\n1;2\n")
    assert list(read_csv(path).columns) == ["a;b", "n" * 140_000]


def test_a_header_that_cannot_be_packed_is_said(tmp_path):
    from thrifty.packed import read_input

    path = tmp_path / "wide.csv"
    path.write_text("n" * 140_000 + ",b\n1,0\n")
    with pytest.raises(BadInput, match="header"):
        read_input(path)
