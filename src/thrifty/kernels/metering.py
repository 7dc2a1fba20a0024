"""Counting what is bought: bitmaps per feature, vertical counters per example."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thrifty.kernels.counting import popcount
from thrifty.kernels.jit import jit

__all__ = ["add_to_planes", "charge", "largest_in_planes", "tally"]


Words = NDArray[np.uint64]
Ints = NDArray[np.int64]


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
def tally(bought, reused):  # type: ignore[no-untyped-def]
    """(cells bought, cells reused, features with a purchase) in one pass over the features."""
    cells = again = np.int64(0)
    some = np.empty(len(bought), dtype=np.int64)
    n = 0
    for f in range(len(bought)):
        again += reused[f]
        if bought[f] != 0:
            cells += bought[f]
            some[n] = f
            n += 1
    return cells, again, some[:n]


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
