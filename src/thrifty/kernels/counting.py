"""How often is each feature true in each class: the only question a gain asks of the data.

Two ways, for two shapes of the question. :func:`count_columns` serves few features on any rows
(UseRep): the popcount of column AND mask. :func:`count_segments` serves all features on any rows
(scratch): rows are added up bit by bit in *vertical counters*, planes whose p-th word holds bit p
of 64 counts, fed through carry-save adders sixteen rows at a time.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thrifty.kernels.jit import jit

__all__ = ["count_columns", "count_segments", "popcount"]

Words = NDArray[np.uint64]
Ints = NDArray[np.int64]

_ONE = np.uint64(1)
_TWO = np.uint64(2)
_FOUR = np.uint64(4)
_M1 = np.uint64(0x5555555555555555)
_M2 = np.uint64(0x3333333333333333)
_M4 = np.uint64(0x0F0F0F0F0F0F0F0F)
_BYTES = np.uint64(0x0101010101010101)
_TOP = np.uint64(56)


@jit
def popcount(word: np.uint64) -> np.int64:
    """Number of set bits of one word (the compiler turns this pattern into one instruction)."""
    x = word - ((word >> _ONE) & _M1)
    x = (x & _M2) + ((x >> _TWO) & _M2)
    x = (x + (x >> _FOUR)) & _M4
    return np.int64((x * _BYTES) >> _TOP)


@jit
def count_columns(columns: Words, masks: Words) -> Ints:
    """counts[c, j]: in how many rows of masks[c] the packed column j is true."""
    k, W = columns.shape
    C = masks.shape[0]
    counts = np.zeros((C, k), dtype=np.int64)
    for j in range(k):
        for c in range(C):
            total = np.int64(0)
            for w in range(W):
                total += popcount(columns[j, w] & masks[c, w])
            counts[c, j] = total
    return counts


@jit
def _eight_rows(tile: Words, rows: Ints, at: int, planes: Words, eights: Words) -> None:
    """Add eight rows to planes 0..2; what overflows plane 2 is left in ``eights``."""
    r0, r1, r2, r3 = rows[at], rows[at + 1], rows[at + 2], rows[at + 3]
    r4, r5, r6, r7 = rows[at + 4], rows[at + 5], rows[at + 6], rows[at + 7]
    for j in range(8):
        ones, twos, fours = planes[0, j], planes[1, j], planes[2, j]
        a, b = tile[r0, j], tile[r1, j]
        u = ones ^ a
        two_a = (ones & a) | (u & b)
        ones = u ^ b
        a, b = tile[r2, j], tile[r3, j]
        u = ones ^ a
        two_b = (ones & a) | (u & b)
        ones = u ^ b
        u = twos ^ two_a
        four_a = (twos & two_a) | (u & two_b)
        twos = u ^ two_b
        a, b = tile[r4, j], tile[r5, j]
        u = ones ^ a
        two_a = (ones & a) | (u & b)
        ones = u ^ b
        a, b = tile[r6, j], tile[r7, j]
        u = ones ^ a
        two_b = (ones & a) | (u & b)
        ones = u ^ b
        u = twos ^ two_a
        four_b = (twos & two_a) | (u & two_b)
        twos = u ^ two_b
        u = fours ^ four_a
        eights[j] = (fours & four_a) | (u & four_b)
        planes[0, j], planes[1, j], planes[2, j] = ones, twos, u ^ four_b


@jit
def _ripple(planes: Words, carry: Words, first: int, last: int) -> None:
    """Add a carry of weight 2**first into the planes above it."""
    for p in range(first, last):
        for j in range(8):
            t = planes[p, j] & carry[j]
            planes[p, j] ^= carry[j]
            carry[j] = t


@jit
def _spill(planes: Words, n_planes: int, counts: NDArray[np.int32], base: int) -> None:
    """Write the 512 counts that the planes hold."""
    for j in range(8):
        at = base + 64 * j
        for b in range(64):
            counts[at + b] = 0
        for p in range(n_planes):
            word = planes[p, j]
            for b in range(64):
                counts[at + b] += np.int32((word >> np.uint64(b)) & _ONE) << np.int32(p)


@jit
def count_segments(
    tiles: Words,
    rows: Ints,
    starts: Ints,
    first_tile: int,
    last_tile: int,
    counts: NDArray[np.int32],
) -> None:
    """counts[g, f]: in how many rows of segment g the feature f is true.

    ``rows[starts[g]:starts[g + 1]]`` are the rows of segment g. ``counts`` (G, 512 B) is written
    for the tiles first_tile <= b < last_tile only, so threads may share the work. A tile is read
    once for all segments while it is in cache.
    """
    planes = np.zeros((34, 8), dtype=np.uint64)
    eights_a = np.zeros(8, dtype=np.uint64)
    eights_b = np.zeros(8, dtype=np.uint64)
    for block in range(first_tile, last_tile):
        tile = tiles[block]
        for g in range(len(starts) - 1):
            lo, hi = starts[g], starts[g + 1]
            n_planes = 0
            while (hi - lo) >> n_planes:
                n_planes += 1
            planes[: n_planes + 4] = np.uint64(0)
            at = lo
            while at + 16 <= hi:
                _eight_rows(tile, rows, at, planes, eights_a)
                _eight_rows(tile, rows, at + 8, planes, eights_b)
                for j in range(8):
                    eights = planes[3, j]
                    u = eights ^ eights_a[j]
                    carry = (eights & eights_a[j]) | (u & eights_b[j])
                    planes[3, j] = u ^ eights_b[j]
                    eights_a[j] = carry
                _ripple(planes, eights_a, 4, n_planes)
                at += 16
            if at + 8 <= hi:
                _eight_rows(tile, rows, at, planes, eights_a)
                _ripple(planes, eights_a, 3, n_planes)
                at += 8
            while at < hi:
                for j in range(8):
                    eights_a[j] = tile[rows[at], j]
                _ripple(planes, eights_a, 0, n_planes)
                at += 1
            _spill(planes, n_planes, counts[g], block * 512)
