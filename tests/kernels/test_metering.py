"""What is bought, against sets of pairs."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.kernels.plain import pack
from thrifty import kernels
from thrifty.kernels.counting import add_to_planes

N, S = 6, 130


@st.composite
def purchases(draw):
    """A few requests, features x rows, as a learner may make them: overlapping, repeated."""
    features = st.lists(st.integers(0, N - 1), min_size=1, max_size=4, unique=True)
    rows = st.sets(st.integers(0, S - 1), max_size=40)
    return draw(st.lists(st.tuples(features, rows), max_size=6))


def mask_of(rows):
    bits = np.zeros(S, dtype=np.uint8)
    bits[sorted(rows)] = 1
    return pack(bits)


@given(purchases(), purchases(), st.booleans())
def test_charge(earlier, now, something_owned):
    words = kernels.words_for(S)
    had = {(f, r) for features, rows in earlier for f in features for r in rows}
    owned = np.zeros((N if something_owned else 0, words), dtype=np.uint64)
    if something_owned:
        for f in range(N):
            owned[f] = mask_of([r for g, r in had if g == f])
    else:
        had = set()
    touched = np.zeros((N, words), dtype=np.uint64)
    planes = np.zeros((N.bit_length() + 1, words), dtype=np.uint64)
    bought, reused = np.zeros(N, dtype=np.int64), np.zeros(N, dtype=np.int64)
    asked = set()
    for features, rows in now:
        kernels.charge(touched, owned, np.array(features), mask_of(rows), planes, bought, reused)
        asked |= {(f, r) for f in features for r in rows}
    for f in range(N):
        assert np.array_equal(touched[f], mask_of([r for g, r in asked if g == f]))
        assert bought[f] == sum(1 for g, r in asked - had if g == f)
        assert reused[f] == sum(1 for g, r in asked & had if g == f)
    per_example = [sum(1 for f, r in asked - had if r == row) for row in range(S)]
    assert kernels.largest_in_planes(planes) == max(per_example)


@given(st.lists(st.integers(0, 2**64 - 1), max_size=12))
def test_planes_add_up(words):
    planes = np.zeros((5, 1), dtype=np.uint64)
    for word in words:
        add_to_planes(planes, np.uint64(word), 0)
    counts = [sum(word >> b & 1 for word in words) for b in range(64)]
    held = [sum(int(planes[p, 0]) >> b & 1 and 1 << p for p in range(5)) for b in range(64)]
    assert held == counts
    assert kernels.largest_in_planes(planes) == max(counts)
