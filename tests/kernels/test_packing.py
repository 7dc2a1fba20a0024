"""Into bits and back, against the plain twins."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.kernels.plain import pack, tables, tiles_of
from thrifty import kernels


@given(tables(), st.sampled_from([np.uint8, np.bool_, np.int64]))
def test_pack_tiles(X, dtype):
    tiles = kernels.pack_tiles(X.astype(dtype), rows_at_once=50)
    assert np.array_equal(tiles, tiles_of(X))
    assert tiles.ctypes.data % 64 == 0
    assert np.array_equal(kernels.pack_tiles(X.astype(float), as_bool=True), tiles_of(X))


@given(tables(), st.data())
def test_columns(X, data):
    some = data.draw(st.lists(st.integers(0, X.shape[1] - 1), max_size=5))
    features = np.array(some, dtype=np.int64)
    expected = pack(X[:, features].T)
    assert np.array_equal(kernels.pack_columns(X, features), expected)
    assert np.array_equal(kernels.columns_of_tiles(tiles_of(X), features), expected)
    rows = np.array(data.draw(st.lists(st.integers(0, len(X) - 1), max_size=9)), dtype=np.int64)
    values = kernels.unpack_columns(expected, rows)
    assert np.array_equal(values, X[np.ix_(rows, features)])


@given(tables(max_features=512))
def test_tile_of_columns(X):
    X = X[:, :512]
    tile = np.full((len(X), 8), 2**63, dtype=np.uint64)
    kernels.tile_of_columns(pack(X.T), tile[:, :8])
    used = -(-X.shape[1] // 64)
    assert np.array_equal(tile[:, :used], tiles_of(X)[0, :, :used])


@given(st.integers(1, 300), st.data())
def test_masks(n, data):
    rows = sorted(data.draw(st.sets(st.integers(0, n - 1))))
    bits = np.zeros(n, dtype=np.uint8)
    bits[rows] = 1
    mask = kernels.mask_of_rows(np.array(rows, dtype=np.int64), n)
    assert np.array_equal(mask, pack(bits))
    assert kernels.rows_of_mask(mask).tolist() == rows


@given(tables(), st.data())
def test_partition_rows(X, data):
    C = data.draw(st.integers(1, 3))
    feature = data.draw(st.integers(0, X.shape[1] - 1))
    codes = np.random.default_rng(data.draw(st.integers(0, 99))).integers(0, C, len(X))
    rows = np.argsort(codes, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=C))])
    false, false_starts, true, true_starts = kernels.partition_rows(
        tiles_of(X), rows, starts, feature
    )
    for side, side_starts, answer in ((false, false_starts, 0), (true, true_starts, 1)):
        for c in range(C):
            expected = [r for r in range(len(X)) if codes[r] == c and X[r, feature] == answer]
            assert side[side_starts[c] : side_starts[c + 1]].tolist() == expected


def test_words_for_no_bits_and_one_too_many():
    assert [kernels.words_for(n) for n in (0, 1, 64, 65)] == [0, 1, 1, 2]
