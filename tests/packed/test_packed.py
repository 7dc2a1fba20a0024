"""Packed column files: what goes in comes out, and nothing damaged is believed."""

import json
import os
import shutil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import thrifty
from tests.shell import run
from thrifty import packed as packing
from thrifty.cells.sources.packed_file import seal_of
from thrifty.errors import BadInput, DamagedFile
from thrifty.packed import pack

pandas = pytest.importorskip("pandas")


def table(rows=130, features=70, seed=0, reals=()):
    X = np.random.default_rng(seed).integers(0, 2, (rows, features)).astype(float)
    for f in reals:
        X[:, f] = np.random.default_rng(f).normal(size=rows)
    return X


@pytest.fixture
def packed(tmp_path):
    X = table(reals=(3, 69))
    np.save(tmp_path / "x.npy", X)
    return X, pack(tmp_path / "x.npy", tmp_path / "x.cells").path


@settings(deadline=None, max_examples=20)
@given(st.integers(1, 200), st.integers(1, 600), st.integers(0, 9999), st.booleans())
def test_what_goes_in_comes_out(rows, features, seed, with_reals):
    import tempfile

    X = table(rows, features, seed, reals=(0, features // 2) if with_reals else ())
    with tempfile.TemporaryDirectory() as folder:
        made = pack(sparse.csr_matrix(X), f"{folder}/x.cells")
        source = thrifty.Source.from_packed(made.path)
        assert (source.n_examples, source.n_features) == X.shape
        assert np.array_equal(source.table(), X)
        plain = thrifty.Source.from_array(X)
        assert np.array_equal(source.boolean, plain.boolean)
        some = np.flatnonzero(source.boolean)[:5]
        assert np.array_equal(source.columns(some), plain.columns(some))
        if source.boolean.all():
            assert np.array_equal(source.tiles(), plain.tiles())


@pytest.mark.parametrize("ending", ["csv", "parquet", "npy", "npz"])
def test_every_input_gives_the_same_file(tmp_path, ending, monkeypatch):
    monkeypatch.setattr(packing, "_BLOCK", 70 * 8 * 64)  # many small blocks
    X = table(reals=(5,))
    names = [f"x{i}" for i in range(70)]
    frame = pandas.DataFrame(X, columns=names)
    path = tmp_path / f"data.{ending}"
    if ending == "csv":
        frame.to_csv(path, index=False)
    elif ending == "parquet":
        frame.to_parquet(path, row_group_size=50)
    elif ending == "npy":
        np.save(path, X)
    else:
        sparse.save_npz(path, sparse.csr_matrix(X))
    shares = []
    source = thrifty.Source.from_packed(
        pack(path, tmp_path / "out.cells", progress=shares.append).path
    )
    assert source.feature_names == tuple(names)
    assert np.array_equal(source.table(), X)
    assert shares == sorted(shares) and shares[-1] == 1.0 and len(shares) > 3


def test_a_bit_per_boolean_cell(tmp_path):
    X = table(6400, 200)
    np.save(tmp_path / "x.npy", X.astype(np.uint8))
    pack(tmp_path / "x.npy", tmp_path / "x.cells")
    assert (tmp_path / "x.cells" / "bits.bin").stat().st_size == X.size / 8


def test_learning_from_a_packed_file_is_learning_from_its_table(tmp_path):
    stream = thrifty.streams.trees(4, 60, 2, 300, 3, random_state=1)
    plain = thrifty.Lifetime(thrifty.Trees(max_depth=4))
    lazy = thrifty.Lifetime(thrifty.Trees(max_depth=4))
    for task in stream:
        np.save(tmp_path / "x.npy", task.X)
        source = thrifty.Source.from_packed(
            pack(tmp_path / "x.npy", tmp_path / f"{task.name}.cells").path
        )
        one = plain.learn(task.name, task.X, task.y)
        other = lazy.learn(task.name, source, task.y)
        assert (one.route, one.receipt) == (other.route, other.receipt)
        assert one.model.tree_ == other.model.tree_


def flip(path, at):
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(bytes(data))


@pytest.mark.parametrize("name", ["bits.bin", "reals.bin", "sums.bin", "kinds.bin", "names.bin"])
def test_an_altered_file_is_refused(packed, name):
    _, path = packed
    flip(path / name, 5)
    with pytest.raises(DamagedFile, match="altered"):
        source = thrifty.Source.from_packed(path)
        source.feature_names  # noqa: B018
        source.table()


@pytest.mark.parametrize("name", ["bits.bin", "reals.bin", "sums.bin", "names.bin"])
def test_a_truncated_or_missing_file_is_refused_when_opened(packed, name):
    _, path = packed
    os.truncate(path / name, (path / name).stat().st_size - 1)
    with pytest.raises(DamagedFile, match="truncated"):
        thrifty.Source.from_packed(path)
    (path / name).unlink()
    with pytest.raises(DamagedFile, match="not there"):
        thrifty.Source.from_packed(path)


def change_meta(path, **changes):
    meta = json.loads((path / "meta.json").read_text())
    meta.update(changes)
    (path / "meta.json").write_text(json.dumps(meta))
    return meta


def test_meta_is_sealed(packed):
    _, path = packed
    change_meta(path, n_boolean=3)
    with pytest.raises(DamagedFile, match="altered"):
        thrifty.Source.from_packed(path)


def test_another_version_is_refused_with_what_to_do(packed):
    _, path = packed
    meta = change_meta(path, version=2)
    change_meta(path, seal=seal_of(meta))
    with pytest.raises(DamagedFile, match=r"version 2 .* reads version 1.*Pack the data again"):
        thrifty.Source.from_packed(path)


def test_what_is_not_a_packed_file(tmp_path):
    with pytest.raises(DamagedFile, match="thrifty store pack"):
        thrifty.Source.from_packed(tmp_path)
    (tmp_path / "meta.json").write_text("{")
    with pytest.raises(DamagedFile, match="cannot be read"):
        thrifty.Source.from_packed(tmp_path)
    (tmp_path / "meta.json").write_text('{"format": "other", "version": 1, "seal": 0}')
    with pytest.raises(DamagedFile, match="other"):
        thrifty.Source.from_packed(tmp_path)


def test_bad_inputs_leave_nothing_behind(tmp_path):
    frame = pandas.DataFrame({"a": [0, 1], "b": ["red", "blue"]})
    frame.to_csv(tmp_path / "bad.csv", index=False)
    with pytest.raises(BadInput, match="--without"):
        pack(tmp_path / "bad.csv", tmp_path / "bad.cells")
    frame.to_parquet(tmp_path / "bad.parquet")
    with pytest.raises(BadInput, match="'b' must hold numbers"):
        pack(tmp_path / "bad.parquet", tmp_path / "bad.cells")
    np.save(tmp_path / "nan.npy", np.array([[0.0, np.nan]]))
    with pytest.raises(BadInput, match="got nan for x1 on row 0"):
        pack(tmp_path / "nan.npy", tmp_path / "bad.cells")
    with pytest.raises(BadInput, match="no file"):
        pack(tmp_path / "absent.csv", tmp_path / "bad.cells")
    with pytest.raises(BadInput, match="must end in"):
        pack(shutil.copy(tmp_path / "bad.csv", tmp_path / "bad.xls"), tmp_path / "bad.cells")
    assert not list(tmp_path.glob("*.cells*"))


def test_the_command(tmp_path):
    frame = pandas.DataFrame({"fever": [True, False], "age": [41, 7], "label": [1, 0]})
    frame.to_parquet(tmp_path / "clinic.parquet")
    call = ["store", "pack", tmp_path / "clinic.parquet", "--without", "label"]
    assert "2 examples x 2 features (1 Boolean)" in run(*call).output
    source = thrifty.Source.from_packed(tmp_path / "clinic.cells")
    assert source.feature_names == ("fever", "age")
    assert isinstance(run(*call, ok=False).exception, BadInput)
    assert json.loads(run(*call, "--replace", "--json").stdout)["boolean"] == 1
