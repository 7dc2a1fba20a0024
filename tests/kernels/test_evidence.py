"""The kernels of evidence against plain Python: the same numbers to the last bit."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import betaln
from scipy.stats import beta as beta_law

from thrifty import kernels


def log_gamma(x):
    below = 1.0
    while x < 7.0:
        below *= x
        x += 1.0
    z = 1.0 / (x * x)
    tail = (1.0 / 12.0 - z * (1.0 / 360.0 - z * (1.0 / 1260.0 - z / 1680.0))) / x
    return (x - 0.5) * math.log(x) - x + 0.9189385332046727 + tail - math.log(below)


def log_beta(a, b):
    return log_gamma(a) + log_gamma(b) - log_gamma(a + b)


def entropy(p):
    return 0.0 if p <= 0 or p >= 1 else -(p * math.log2(p) + (1.0 - p) * math.log2(1.0 - p))


def gamma_draw(a, normal, log_uniform):
    shape = a if a >= 1.0 else a + 1.0
    cube = 1.0 - 1.0 / (9.0 * shape) + normal / (3.0 * math.sqrt(shape))
    value = shape * cube * cube * cube if cube > 0.0 else 1e-12
    return value if a >= 1.0 else value * math.exp(max(log_uniform / a, -60.0)) + 1e-30


def plain_judge(ones, looked, prior, useful, shares, incumbent, floor, draws):
    """One feature at a time."""
    C, F = ones.shape
    out = np.zeros((3, F))
    most = 0.0
    for w in shares:
        most -= w * math.log2(w) if w > 0 else 0.0
    for f in range(F):
        a = [prior[c, 0, f] + ones[c, f] for c in range(C)]
        b = [prior[c, 1, f] + (looked[c, f] - ones[c, f]) for c in range(C)]
        odds = 0.0
        for c in range(C):
            if looked[c, f]:
                odds += log_beta(a[c], b[c]) - log_beta(prior[c, 0, f], prior[c, 1, f])
        k, n = int(ones[:, f].sum()), int(looked[:, f].sum())
        if n:
            x, y = prior[C, 0, f], prior[C, 1, f]
            odds -= log_beta(x + k, y + (n - k)) - log_beta(x, y)
        odds += math.log(useful[f]) - math.log(1.0 - useful[f])
        likely = 1.0 / (1.0 + math.exp(-min(max(odds, -40.0), 40.0)))
        out[0, f] = likely
        if likely * most <= floor:
            continue
        mean = better = 0.0
        for draw in draws:
            pooled = gain = 0.0
            for c in range(C):
                x, y = (gamma_draw(s, *d) for s, d in zip((a[c], b[c]), draw[c].tolist()))
                rate = x / (x + y)
                pooled += shares[c] * rate
                gain -= shares[c] * entropy(rate)
            gain += entropy(pooled)
            mean += gain
            better += gain - incumbent if gain > incumbent else 0.0
        out[1, f], out[2, f] = likely * mean / len(draws), likely * better / len(draws)
    return out


@st.composite
def evidence(draw):
    C, F = draw(st.integers(2, 3)), draw(st.integers(1, 5))
    looked = np.array([[draw(st.integers(0, 40)) for _ in range(F)] for _ in range(C)])
    ones = np.array([[draw(st.integers(0, int(n))) for n in row] for row in looked])
    number = st.floats(0.02, 60.0)
    prior = np.array([[[draw(number) for _ in range(F)] for _ in "ab"] for _ in range(C + 1)])
    useful = np.array([draw(st.floats(0.001, 0.9)) for _ in range(F)])
    weights = np.array([draw(st.integers(1, 50)) for _ in range(C)], dtype=float)
    bar, floor = draw(st.floats(0, 0.3)), draw(st.sampled_from([0.0, 0.01]))
    return ones, looked, prior, useful, weights / weights.sum(), bar, floor


@given(evidence())
def test_judge_is_its_twin(case):
    C = len(case[0])
    draws = kernels.rate_draws(C)
    assert (kernels.judge(*case, draws) == plain_judge(*case, draws)).all()


def test_log_beta_is_scipys():
    for a, b in ((0.02, 3.0), (0.5, 0.5), (7.0, 40.0), (123.4, 0.7)):
        assert log_beta(a, b) == pytest.approx(betaln(a, b), rel=1e-9, abs=1e-9)


def test_draws_follow_the_beta_law():
    """Mean and spread of a rate, from the 32 draws, lie near the law's."""
    draws = kernels.rate_draws(2)
    for a, b in ((0.5, 2.0), (3.0, 5.0), (20.0, 80.0)):
        rates = []
        for draw in draws[:, 0]:
            x, y = gamma_draw(a, *draw[0]), gamma_draw(b, *draw[1])
            rates.append(x / (x + y))
        law = beta_law(a, b)
        assert np.mean(rates) == pytest.approx(law.mean(), abs=0.25 * law.std())
        assert np.std(rates) == pytest.approx(law.std(), rel=0.35)


def test_a_telling_feature_beats_a_silent_one():
    ones = np.array([[1, 4], [9, 4]])
    looked = np.full((2, 2), 10)
    prior = np.ones((3, 2, 2))
    verdict = kernels.judge(
        ones, looked, prior, np.full(2, 0.1), np.array([0.5, 0.5]), 0.0, 0.0, kernels.rate_draws(2)
    )
    assert (verdict[:, 0] > verdict[:, 1]).all()


@given(st.integers(0, 2**32 - 1))
def test_count_ones_counts_what_was_looked_at(seed):
    rng = np.random.default_rng(seed)
    values = (rng.random((6, 30)) < 0.4).astype(np.uint8)
    codes = np.sort(rng.integers(0, 3, 30))
    starts, sizes = np.searchsorted(codes, np.arange(3)), np.bincount(codes, minlength=3)
    rows = np.concatenate([rng.permutation(np.flatnonzero(codes == c)) for c in range(3)])
    looked = rng.integers(0, sizes[:, None] + 1, (3, 6))
    which = np.array([4, 1])
    plain = [
        [sum(int(values[f, r]) for r in rows[starts[c] :][: looked[c, f]]) for f in which]
        for c in range(3)
    ]
    assert kernels.count_ones(which, values, rows, starts, looked).tolist() == plain
