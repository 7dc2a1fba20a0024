"""How often is each feature true in each class: the only question a gain asks of the data.

Two ways, for two shapes of the question. :func:`count_columns` serves few features on any rows
(UseRep): the popcount of column AND mask. :func:`count_segments` serves all features on any rows
(scratch): rows are added up bit by bit in *vertical counters*, planes whose p-th word holds bit p
of 64 counts, fed through carry-save adders sixteen rows at a time (:mod:`thrifty.kernels.lines`).

What is bought is counted the same way: bitmaps per feature, vertical counters per example.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thrifty.kernels.jit import deferred, jit
from thrifty.typing import Ints, Words

add_sixteen, merge, ripple, write_counts = (
    deferred("thrifty.kernels.lines", name)
    for name in ("add_sixteen", "merge", "ripple", "write_counts")
)

_ONE, _TWO, _FOUR, _TOP = np.uint64(1), np.uint64(2), np.uint64(4), np.uint64(56)
_M1, _M2 = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333)
_M4, _BYTES = np.uint64(0x0F0F0F0F0F0F0F0F), np.uint64(0x0101010101010101)


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
def _carry_up(planes: Words, waiting: Words, carry: Words, n_before: int) -> None:
    """Add a carry of weight 16, the n_before-th; two that meet at a plane become one above it."""
    p = 4
    while (n_before >> (p - 4)) & 1:
        merge(planes, p, waiting, carry)
        p += 1
    for i in range(len(carry)):  # a slice would take a second to compile
        waiting[p, i] = carry[i]


@jit
def _flush(planes: Words, waiting: Words, n_carries: int, n_planes: int) -> None:
    """Add the carries that still wait for a second one."""
    p = 4
    while n_carries >> (p - 4):
        if (n_carries >> (p - 4)) & 1:
            ripple(planes, p, n_planes, waiting[p])
        p += 1


@jit
def count_segments(tiles: Words, rows: Ints, starts: Ints, counts: NDArray[np.int32]) -> None:
    """counts[g, f]: in how many rows of segment g the feature f is true.

    ``rows[starts[g]:starts[g + 1]]`` are the rows of segment g; ``counts`` (G, 512 B) is filled. A
    tile is read once for all segments while it is in cache.
    """
    planes = np.zeros((36, 8), dtype=np.uint64)
    waiting = np.zeros((36, 8), dtype=np.uint64)
    carry = np.zeros(8, dtype=np.uint64)
    for block in range(len(tiles)):
        tile = tiles[block]
        for g in range(len(starts) - 1):
            lo, hi = starts[g], starts[g + 1]
            n_planes = 0
            while (hi - lo) >> n_planes:
                n_planes += 1
            planes[: n_planes + 4] = np.uint64(0)
            at, n_carries = lo, 0
            while at + 16 <= hi:
                add_sixteen(tile, rows, at, planes, carry)
                _carry_up(planes, waiting, carry, n_carries)
                at += 16
                n_carries += 1
            _flush(planes, waiting, n_carries, n_planes)
            while at < hi:
                ripple(planes, 0, n_planes, tile[rows[at]])
                at += 1
            write_counts(planes, n_planes, counts[g], block * 512)


@jit
def add_to_planes(planes: Words, word: np.uint64, w: int) -> None:
    """Count one more cell on each example whose bit is set in word w."""
    p = 0
    while word != np.uint64(0):
        carry = planes[p, w] & word
        planes[p, w] ^= word
        word = carry
        p += 1


@jit
def charge(
    touched: Words,
    owned: Words,
    features: Ints,
    mask: Words,
    planes: Words,
    bought: Ints,
    reused: Ints,
) -> None:
    """Touch features x the rows of mask; each cell counts once in the task's life.

    ``touched`` (N, W) is this task's bitmap, ``owned`` the one of earlier tasks (zero rows where
    nothing is owned). Cells new to both are added to ``bought`` (N,) and to the per-example planes;
    cells new to the task but owned go to ``reused`` (N,).
    """
    nothing_owned = owned.shape[0] == 0
    for f in features:
        for w in range(len(mask)):
            fresh = mask[w] & ~touched[f, w]
            if fresh == np.uint64(0):
                continue
            touched[f, w] |= fresh
            had = np.uint64(0)
            if not nothing_owned:
                had = fresh & owned[f, w]
                reused[f] += popcount(had)
            new = fresh & ~had
            bought[f] += popcount(new)
            add_to_planes(planes, new, w)


@jit
def largest_in_planes(planes: Words) -> int:
    """The largest of the counts that the planes hold."""
    P, W = planes.shape
    best = np.int64(0)
    for w in range(W):
        alive = ~np.uint64(0)
        value = np.int64(0)
        for i in range(P):
            p = P - 1 - i
            hit = alive & planes[p, w]
            if hit != np.uint64(0):
                alive = hit
                value |= np.int64(1) << p
        if value > best:
            best = value
    return int(best)
