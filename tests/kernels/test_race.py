"""The kernels of the race against every table written out: the same tables are ruled out."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.kernels.plain import entropy_gain, gini_gain
from thrifty import kernels
from thrifty.kernels.race import ruled_out


def log_choose(n, k):
    return math.lgamma(n + 1.0) - math.lgamma(k + 1.0) - math.lgamma(n - k + 1.0)


def log_p(a, n, k, m):
    """The probability of one sequence of m rows with k true, when a of n rows are true."""
    if a < k or a > n - m + k:
        return -math.inf
    return log_choose(n - m, a - k) - log_choose(n, a)


def log_own(k, m):
    return math.lgamma(k + 1.0) + math.lgamma(m - k + 1.0) - math.lgamma(m + 2.0)


def log_q(k, m):
    """Half: one rate for both classes; half: a rate for each."""
    x, y = log_own(sum(k), sum(m)), sum(log_own(*pair) for pair in zip(k, m))
    return max(x, y) + math.log(0.5 + 0.5 * math.exp(-abs(x - y)))


def plain_ruled_out(k, m, n, good, log_delta):
    """Every good table has Q / P >= 1 / delta."""
    limit = log_q(k, m) + log_delta
    return all(log_p(a, n[0], k[0], m[0]) + log_p(b, n[1], k[1], m[1]) <= limit for a, b in good)


@st.composite
def samples(draw):
    """Two classes, a sample of each, and how much evidence is asked for."""
    n = [draw(st.integers(1, 14)) for _ in range(2)]
    m = [draw(st.integers(0, size)) for size in n]
    k = [draw(st.integers(0, size)) for size in m]
    return k, m, n, math.log(draw(st.sampled_from([0.3, 0.01, 1e-4])))


def everything_exact(n, height, gini):
    """Cells of one count each: nothing is rounded."""
    edges = np.arange(n[0] + 2)
    totals = np.array(n)
    table = kernels.xlogx_table(sum(n))
    return edges, *kernels.good_enough(totals, edges, height, gini, table)


def test_log_factorials():
    assert kernels.log_factorials(50)[:51].tolist() == [math.lgamma(i + 1.0) for i in range(51)]


@given(samples(), st.floats(0.001, 0.9), st.booleans())
def test_good_enough_finds_every_winning_table(case, share, gini):
    _, _, n, _ = case
    gain = gini_gain if gini else entropy_gain
    height = share * gain([0, n[1]], n)
    _, least, most = everything_exact(n, height, gini)
    for a in range(n[0] + 1):
        wins = [b for b in range(n[1] + 1) if gain([a, b], n) >= height]
        assert wins == [b for b in range(n[1] + 1) if b >= least[a] or b <= most[a]]


@given(samples(), st.floats(0.001, 0.99), st.booleans())
def test_ruled_out_is_what_every_table_says(case, share, gini):
    k, m, n, log_delta = case
    gain = gini_gain if gini else entropy_gain
    height = share * gain([0, n[1]], n)
    edges, least, most = everything_exact(n, height, gini)
    good = [(a, b) for a in range(n[0] + 1) for b in range(n[1] + 1) if gain([a, b], n) >= height]
    expected = plain_ruled_out(k, m, n, good, log_delta)
    args = (np.array(m), np.array(n), (edges, least, most), log_delta)
    table = kernels.log_factorials(sum(n) + 1)
    assert ruled_out(*k, *args, table) == expected
    counts = np.array([k, k]).T.copy()
    found = kernels.ruled_out_two_classes(counts, *args, table)
    assert found.tolist() == [expected, expected]


@given(samples(), st.floats(0.01, 0.99), st.integers(1, 5))
def test_coarse_cells_never_rule_out_more(case, share, cells):
    k, m, n, log_delta = case
    height = share * entropy_gain([0, n[1]], n)
    xlogx, table = kernels.xlogx_table(sum(n)), kernels.log_factorials(sum(n) + 1)
    answers = []
    for edges in (np.arange(n[0] + 2), np.arange(cells + 1) * (n[0] + 1) // cells):
        edges = np.unique(edges)
        least, most = kernels.good_enough(np.array(n), edges, height, False, xlogx)
        answers.append(
            ruled_out(*k, np.array(m), np.array(n), (edges, least, most), log_delta, table)
        )
    exact, coarse = answers
    assert exact or not coarse


@given(st.integers(1, 25), st.data(), st.sampled_from([0.3, 0.01, 1e-4]))
def test_count_interval(n, data, delta):
    m = data.draw(st.integers(0, n))
    found = kernels.count_interval(m, n, math.log(delta), kernels.log_factorials(n + 1))
    for k in range(m + 1):
        limit = log_own(k, m) + math.log(delta)
        inside = [a for a in range(n + 1) if log_p(a, n, k, m) > limit]
        assert found[:, k].tolist() == [inside[0], inside[-1]]
        assert inside == list(range(inside[0], inside[-1] + 1))


def plain_leaning(counts, m, n, lead):
    C, k = counts.shape
    out = np.empty((C, 3 * k), dtype=np.int64)
    for f in range(k):
        mean = 0.0
        for c in range(C):
            mean += n[c] * (int(counts[c, f]) / max(m[c], 1))
        mean /= float(sum(n))
        for c in range(C):
            seen = max(m[c], 1)
            rate = int(counts[c, f]) / seen
            smooth = (int(counts[c, f]) + 0.5) / (seen + 1.0)
            error = lead * math.sqrt(smooth * (1 - smooth) / seen * (1 - m[c] / max(n[c], 1)))
            away = 1 if rate >= mean else -1
            inward = max(rate - error, mean) if away > 0 else min(rate + error, mean)
            outward = min(max(rate + away * error, 0.0), 1.0)
            out[c, f], out[c, k + f], out[c, 2 * k + f] = (
                int(x * n[c] + 0.5) for x in (rate, inward, outward)
            )
    return out


@given(st.integers(2, 4), st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.5, 2.0]))
def test_leaning_tables(C, seed, lead):
    rng = np.random.default_rng(seed)
    n = rng.integers(0, 40, C)
    n[0] += 1
    m = rng.integers(0, n + 1)
    counts = np.stack([rng.integers(0, size + 1, 7) for size in m])
    found = kernels.leaning_tables(counts, m, n, lead)
    assert found.tolist() == plain_leaning(counts, m.tolist(), n.tolist(), lead).tolist()
