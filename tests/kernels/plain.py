"""The plain twins: what each kernel says, in the fewest words, on unpacked 0/1 tables."""

import math

import numpy as np
from hypothesis import strategies as st


def pack(bits):
    """Bits along the last axis into words, the first bit lowest."""
    n = bits.shape[-1]
    padded = np.zeros((*bits.shape[:-1], -(-n // 64) * 64), dtype=np.uint8)
    padded[..., :n] = bits
    words = np.zeros((*bits.shape[:-1], padded.shape[-1] // 64), dtype=np.uint64)
    for b in range(64):
        words |= padded[..., b::64].astype(np.uint64) << np.uint64(b)
    return words


def tiles_of(X):
    """Tile b holds features 512 b .. 512 b + 511 of every example."""
    S, N = X.shape
    B = -(-N // 512)
    wide = np.zeros((S, B * 512), dtype=np.uint8)
    wide[:, :N] = X
    return np.stack([pack(wide[:, 512 * b : 512 * (b + 1)]) for b in range(B)])


def xlogx(n):
    return n * math.log2(n) if n else 0.0


def entropy_gain(true, totals):
    """One feature, class counts as lists of integers."""
    n, m = sum(totals), sum(true)
    if m in (0, n):
        return -math.inf
    pure = whole = 0.0
    for a, t in zip(true, totals):
        pure += xlogx(a) + xlogx(t - a)
        whole += xlogx(t)
    return ((xlogx(n) - whole) - ((xlogx(m) + xlogx(n - m)) - pure)) / n


def gini_gain(true, totals):
    n, m = sum(totals), sum(true)
    if m in (0, n):
        return -math.inf
    before = sum(t * t for t in totals) / n
    squares = sum(a * a for a in true) / m + sum((t - a) ** 2 for a, t in zip(true, totals)) / (
        n - m
    )
    return (squares - before) / n


@st.composite
def tables(draw, max_rows=200, max_features=700):
    """A random 0/1 table whose shape hypothesis picks; shapes at the edges of words and tiles."""
    edges = st.sampled_from([1, 2, 15, 16, 17, 63, 64, 65, 127, 128, 129])
    rows = draw(st.one_of(edges, st.integers(1, max_rows)))
    features = draw(
        st.one_of(st.sampled_from([1, 63, 64, 65, 511, 512, 513]), st.integers(1, max_features))
    )
    seed = draw(st.integers(0, 2**32 - 1))
    share = draw(st.sampled_from([0.0, 0.02, 0.5, 0.98, 1.0]))
    rng = np.random.default_rng(seed)
    return (rng.random((rows, features)) < share).astype(np.uint8)
