"""How often is each feature true, against adding up a plain table."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kernels.plain import pack, tables, tiles_of
from thrifty import kernels
from thrifty.kernels.counting import popcount


def segments(n_rows, n_segments, seed):
    """Rows in random order, cut at random places; empty segments and repeats happen."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, n_rows, rng.integers(0, 2 * n_rows + 1))
    cuts = np.sort(rng.integers(0, len(rows) + 1, n_segments - 1))
    return rows, np.concatenate([[0], cuts, [len(rows)]])


@given(st.integers(0, 2**64 - 1))
def test_popcount(word):
    assert popcount(np.uint64(word)) == word.bit_count()


@given(tables(), st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_count_segments(X, n_segments, seed):
    rows, starts = segments(len(X), n_segments, seed)
    tiles = tiles_of(X)
    counts = np.full((n_segments, tiles.shape[0] * kernels.TILE), -1, dtype=np.int32)
    kernels.count_segments(tiles, rows, starts, counts)
    for g in range(n_segments):
        expected = X[rows[starts[g] : starts[g + 1]]].sum(axis=0, dtype=np.int64)
        assert np.array_equal(counts[g, : X.shape[1]], expected)
        assert not counts[g, X.shape[1] :].any()


@pytest.mark.parametrize("n", [15, 16, 17, 31, 32, 33, 255, 256, 1023, 1024, 1025, 2047])
def test_carries_at_powers_of_two(n):
    """All ones: every carry happens, up to the topmost plane."""
    tiles = tiles_of(np.ones((n, 3), dtype=np.uint8))
    counts = np.empty((1, kernels.TILE), dtype=np.int32)
    kernels.count_segments(tiles, np.arange(n), np.array([0, n]), counts)
    assert counts[0, :4].tolist() == [n, n, n, 0]


def test_read_only_and_unaligned_tiles():
    X = np.random.default_rng(0).integers(0, 2, (40, 70), dtype=np.uint8)
    room = np.zeros(40 * 8 + 1, dtype=np.uint64)
    tiles = room[1:].reshape(1, 40, 8)
    tiles[:] = tiles_of(X)
    tiles.flags.writeable = False
    counts = np.empty((1, kernels.TILE), dtype=np.int32)
    kernels.count_segments(tiles, np.arange(40), np.array([0, 40]), counts)
    assert np.array_equal(counts[0, :70], X.sum(axis=0))


@given(tables(max_features=40), st.integers(1, 3), st.integers(0, 2**32 - 1))
def test_count_columns(X, C, seed):
    members = np.random.default_rng(seed).integers(0, 2, (C, len(X)), dtype=np.uint8)
    counts = kernels.count_columns(pack(X.T), pack(members))
    assert np.array_equal(counts, members.astype(np.int64) @ X)
