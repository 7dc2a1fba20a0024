"""Gains against the formula written out: equal to the last bit, whatever the shape."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.kernels.plain import entropy_gain, gini_gain, xlogx
from thrifty import kernels


@st.composite
def counts_and_totals(draw):
    """Counts of the true side that are possible; many or few features compared to rows."""
    C = draw(st.integers(2, 4))
    totals = draw(st.lists(st.integers(0, 60), min_size=C, max_size=C).filter(any))
    k = draw(st.sampled_from([1, 3, 300]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    counts = np.stack([rng.integers(0, t + 1, k) for t in totals])
    counts[:, rng.random(k) < 0.1] = 0
    return counts, np.array(totals, dtype=np.int64)


@given(counts_and_totals(), st.sampled_from([np.int32, np.int64]))
def test_entropy_gains(case, dtype):
    counts, totals = case
    table = kernels.xlogx_table(int(totals.sum()))
    gains = kernels.entropy_gains(counts.astype(dtype), totals, table)
    expected = [entropy_gain(column.tolist(), totals.tolist()) for column in counts.T]
    assert gains.tolist() == expected


@given(counts_and_totals(), st.sampled_from([np.int32, np.int64]))
def test_gini_gains(case, dtype):
    counts, totals = case
    gains = kernels.gini_gains(counts.astype(dtype), totals)
    expected = [gini_gain(column.tolist(), totals.tolist()) for column in counts.T]
    assert gains.tolist() == expected


def test_the_table():
    table = kernels.xlogx_table(3000)
    assert len(table) > 3000 and not table.flags.writeable
    assert all(table[n] == xlogx(n) for n in range(3001))


def test_a_perfect_split_and_a_useless_one():
    table = kernels.xlogx_table(8)
    totals = np.array([4, 4])
    gains = kernels.entropy_gains(np.array([[0, 2, 0], [4, 2, 0]]), totals, table)
    assert gains.tolist() == [1.0, 0.0, -math.inf]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=5), st.floats(0, 100), st.floats(0, 2))
def test_eg2_and_split_information(gains, price, weight):
    prices = np.full(len(gains), price)
    found = kernels.eg2_gains(np.array(gains), prices, weight)
    for gain, value in zip(gains, found):
        assert math.isclose(value, (2**gain - 1) / (price + 1) ** weight, abs_tol=1e-12)
    assert kernels.eg2_gains(np.array([-np.inf]), np.ones(1), 1.0)[0] == -np.inf
    shares = kernels.split_information(np.array([0.0, 5.0, 10.0]), 10.0)
    assert np.allclose(shares, [0.0, 1.0, 0.0])
