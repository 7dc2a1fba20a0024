"""Weighted and price-aware gains against their formulas."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from thrifty import kernels


@st.composite
def counted(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    C, k = draw(st.integers(2, 4)), draw(st.integers(1, 5))
    totals = rng.integers(1, 40, C)
    counts = rng.integers(0, totals[:, None] + 1, (C, k))
    return counts, totals


def inside(counts, totals):
    n_true = counts.sum(axis=0)
    return (n_true > 0) & (n_true < totals.sum())


@given(counted(), st.integers(1, 5))
def test_a_weight_is_so_many_rows(case, times):
    """Weight w on a class is the class repeated w times."""
    counts, totals = case
    weights = np.ones(len(totals))
    weights[0] = times
    repeated, whole = counts.copy(), totals.copy()
    repeated[0] *= times
    whole[0] *= times
    table = kernels.xlogx_table(int(whole.sum()))
    ok = inside(counts, totals)
    expected = kernels.entropy_gains(repeated, whole, table)
    weighted = counts * weights[:, None], totals * weights
    assert np.allclose(expected[ok], kernels.weighted_entropy_gains(*weighted)[ok], atol=1e-12)
    gini = kernels.weighted_gini_gains(*weighted)
    assert np.allclose(kernels.gini_gains(repeated, whole)[ok], gini[ok], atol=1e-12)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=5), st.floats(0, 100), st.floats(0, 2))
def test_eg2_and_split_information(gains, price, weight):
    prices = np.full(len(gains), price)
    found = kernels.eg2_gains(np.array(gains), prices, weight)
    for gain, value in zip(gains, found):
        assert math.isclose(value, (2**gain - 1) / (price + 1) ** weight, abs_tol=1e-12)
    assert kernels.eg2_gains(np.array([-np.inf]), np.ones(1), 1.0)[0] == -np.inf
    shares = kernels.split_information(np.array([0.0, 5.0, 10.0]), 10.0)
    assert np.allclose(shares, [0.0, 1.0, 0.0])


def test_place_in_the_array_does_not_matter():
    rng = np.random.default_rng(0)
    counts, totals = rng.integers(0, 50, (2, 97)) * 1.37, np.array([68.5, 68.5])
    whole = kernels.weighted_entropy_gains(counts, totals)
    for f in range(97):
        assert kernels.weighted_entropy_gains(counts[:, f : f + 1], totals)[0] == whole[f]
