"""Into bits and back: columns over examples, tiles over features, masks over rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thrifty.kernels.jit import jit
from thrifty.typing import AnyArray, Ints, Words

#: features in one tile: eight words, one cache line
TILE = 512


def words_for(n: int) -> int:
    """How many 64-bit words hold n bits.

    >>> words_for(0), words_for(64), words_for(65)
    (0, 1, 2)
    """
    return (n + 63) // 64


def empty_tiles(n_features: int, n_examples: int) -> Words:
    """Zeroed tiles that start on a cache line: a line that straddles two is read twice.

    >>> tiles = empty_tiles(600, 3)
    >>> tiles.shape, tiles.ctypes.data % 64
    ((2, 3, 8), 0)
    """
    shape = (-(-n_features // TILE), n_examples, TILE // 64)
    n_words = shape[0] * shape[1] * shape[2]
    room = np.zeros(n_words + 7, dtype=np.uint64)
    start = (-room.ctypes.data % 64) // 8
    return room[start : start + n_words].reshape(shape)


def pack_tiles(X: NDArray[np.uint8], rows_at_once: int = 256, *, as_bool: bool = False) -> Words:
    """Pack a 0/1 matrix (S, N) into tiles (ceil(N / 512), S, 8), in bounded extra memory.

    ``as_bool`` is for 0/1 floats, which are compared with 0 a few rows at a time.

    >>> pack_tiles(np.array([[1, 0, 1]], dtype=np.uint8))[0, 0, 0]
    np.uint64(5)
    """
    S, N = X.shape
    B = -(-N // TILE)
    tiles = empty_tiles(N, S)
    buffer = np.zeros((min(rows_at_once, max(S, 1)), B * TILE // 8), dtype=np.uint8)
    for start in range(0, S, rows_at_once):
        block = X[start : start + rows_at_once]
        if as_bool:
            block = (block != 0).view(np.uint8)
        n = len(block)
        buffer[:n, : -(-N // 8)] = np.packbits(block, axis=1, bitorder="little")
        words = buffer[:n].view("<u8").reshape(n, B, TILE // 64)
        tiles[:, start : start + n, :] = words.transpose(1, 0, 2)
    return tiles


@jit
def pack_columns(X: AnyArray, features: Ints) -> Words:
    """Pack the named columns of a 0/1 matrix (S, N) over the examples: (k, W) words."""
    S = X.shape[0]
    out = np.zeros((len(features), (S + 63) // 64), dtype=np.uint64)
    for i in range(len(features)):
        f = features[i]
        for r in range(S):
            if X[r, f] != 0:
                out[i, r >> 6] |= np.uint64(1) << np.uint64(r & 63)
    return out


@jit
def columns_of_tiles(tiles: Words, features: Ints) -> Words:
    """The named columns of tiled data, packed over the examples: (k, W) words."""
    S = tiles.shape[1]
    out = np.zeros((len(features), (S + 63) // 64), dtype=np.uint64)
    for i in range(len(features)):
        f = features[i]
        block, word, bit = f >> 9, (f & 511) >> 6, np.uint64(f & 63)
        for r in range(S):
            value = (tiles[block, r, word] >> bit) & np.uint64(1)
            out[i, r >> 6] |= value << np.uint64(r & 63)
    return out


@jit
def _transpose(block: Words) -> None:
    """A 64 x 64 square of bits in place: bit c of word r becomes bit r of word c."""
    width = 32
    mask = np.uint64(0x00000000FFFFFFFF)
    while width:
        shift = np.uint64(width)
        k = 0
        while k < 64:
            t = ((block[k] >> shift) ^ block[k + width]) & mask
            block[k] ^= t << shift
            block[k + width] ^= t
            k = (k + width + 1) & ~width
        width >>= 1
        mask ^= mask << np.uint64(width)


@jit
def tile_of_columns(columns: Words, tile: Words) -> None:
    """Write up to 512 packed columns (k, W) into one tile (S, 8)."""
    k, W = columns.shape
    S = tile.shape[0]
    block = np.zeros(64, dtype=np.uint64)
    for j in range((k + 63) // 64):
        n = min(64, k - 64 * j)
        for w in range(W):
            for i in range(n):
                block[i] = columns[64 * j + i, w]
            for i in range(n, 64):
                block[i] = np.uint64(0)
            _transpose(block)
            for r in range(min(64, S - 64 * w)):
                tile[64 * w + r, j] = block[r]


@jit
def unpack_columns(columns: Words, rows: Ints) -> NDArray[np.uint8]:
    """Values (len(rows), k) as uint8 from packed columns (k, W)."""
    out = np.empty((len(rows), columns.shape[0]), dtype=np.uint8)
    for i in range(len(rows)):
        word, bit = rows[i] >> 6, np.uint64(rows[i] & 63)
        for j in range(columns.shape[0]):
            out[i, j] = np.uint8((columns[j, word] >> bit) & np.uint64(1))
    return out


@jit
def mask_of_rows(rows: Ints, n_examples: int) -> Words:
    """A bit per example, set for the given rows."""
    mask = np.zeros((n_examples + 63) // 64, dtype=np.uint64)
    for r in rows:
        mask[r >> 6] |= np.uint64(1) << np.uint64(r & 63)
    return mask


def rows_of_mask(mask: Words) -> Ints:
    """The rows whose bit is set, in ascending order."""
    return np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little"))


@jit
def partition_rows(
    tiles: Words, rows: Ints, starts: Ints, feature: int
) -> tuple[Ints, Ints, Ints, Ints]:
    """Split a node's rows by one feature, keeping their order and their classes together.

    ``rows[starts[c]:starts[c + 1]]`` are the rows of class c. Returns (rows, starts) of the false
    child and of the true child.
    """
    C = len(starts) - 1
    block, word, bit = feature >> 9, (feature & 511) >> 6, np.uint64(feature & 63)
    false, true = np.empty_like(rows), np.empty_like(rows)
    false_starts, true_starts = np.zeros_like(starts), np.zeros_like(starts)
    n_false = n_true = 0
    for c in range(C):
        for i in range(starts[c], starts[c + 1]):
            r = rows[i]
            if (tiles[block, r, word] >> bit) & np.uint64(1):
                true[n_true] = r
                n_true += 1
            else:
                false[n_false] = r
                n_false += 1
        false_starts[c + 1], true_starts[c + 1] = n_false, n_true
    return false[:n_false].copy(), false_starts, true[:n_true].copy(), true_starts
