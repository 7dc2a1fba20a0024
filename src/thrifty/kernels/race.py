"""Can a feature still win? Likelihoods of what a sample without replacement has shown.

A node holds ``n`` rows of a class, ``a`` of them with the feature true; ``a`` is unknown. Of ``m``
sampled rows ``k`` were true. The probability of that very sequence is

    P_a = C(n - m, a - k) / C(n, a),

zero where a cannot be, unimodal in a, and certain at m = n. Every sequence also has a probability
Q that does not depend on a (half: all classes share one rate; half: each has its own; rates
uniform). Q / P_a is a martingale that starts at 1 when a is the truth, so it ever reaches 1/delta
with probability at most delta, whenever one looks (Ville). Counts a with Q / P_a >= 1/delta may
therefore be ruled out, at any time and as often as one likes.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np

from thrifty.kernels.gains import GrownTable, entropy_gains, gini_gains
from thrifty.kernels.jit import jit
from thrifty.typing import Bools, Floats, Ints

#: edges, least, most
Reach: TypeAlias = tuple[Ints, Ints, Ints]
_LOG_FACTORIALS = GrownTable(lambda n: math.lgamma(n + 1.0))


def log_factorials(n: int) -> Floats:
    """ln 0!, ln 1! ... ln n! (at least).

    >>> log_factorials(3)[:4].round(3).tolist()
    [0.0, 0.0, 0.693, 1.792]
    """
    return _LOG_FACTORIALS.up_to(n)


@jit
def _log_p(a: int, n: int, k: int, m: int, lf: Floats) -> float:
    """ln P_a; minus infinity where a cannot be."""
    if a < k or a > n - m + k:
        return -np.inf
    more = a - k
    ways = lf[n - m] - lf[more] - lf[n - m - more]
    return float(ways - (lf[n] - lf[a] - lf[n - a]))


@jit
def _mode(n: int, k: int, m: int) -> int:
    """The most likely a: ln P_{a+1} >= ln P_a exactly as long as m (a + 1) <= k (n + 1)."""
    if m == 0:
        return 0
    return min((k * (n + 1)) // m, n)


@jit
def _best_between(low: int, high: int, n: int, k: int, m: int, lf: Floats) -> float:
    """The largest ln P_a over low <= a <= high."""
    if low > high:
        return -np.inf
    return _log_p(min(max(_mode(n, k, m), low), high), n, k, m, lf)


@jit
def _log_q_own(k: int, m: int, lf: Floats) -> float:
    """ln of the integral of p^k (1 - p)^(m - k): the sequence under a uniform rate."""
    return float(lf[k] + lf[m - k] - lf[m + 1])


@jit
def _log_mean_of(x: float, y: float) -> float:
    """ln((e^x + e^y) / 2)."""
    top = max(x, y)
    return top + math.log(0.5 * (math.exp(x - top) + math.exp(y - top)))


@jit
def ruled_out(
    k0: int, k1: int, m: Ints, n: Ints, reach: Reach, log_delta: float, lf: Floats
) -> bool:
    """Whether every pair (a_0, a_1) good enough to win has Q / P >= 1/delta.

    ``reach``: edges (J + 1,) cut 0..n_0 into cells edges[j] <= a_0 < edges[j + 1]; in a cell the
    pairs good enough to win have a_1 >= least[j] or a_1 <= most[j].
    """
    edges, least, most = reach
    q = _log_mean_of(
        _log_q_own(k0 + k1, m[0] + m[1], lf), _log_q_own(k0, m[0], lf) + _log_q_own(k1, m[1], lf)
    )
    limit = q + log_delta
    for j in range(len(edges) - 1):
        side = max(
            _best_between(least[j], n[1], n[1], k1, m[1], lf),
            _best_between(0, most[j], n[1], k1, m[1], lf),
        )
        if side <= limit:
            continue
        if side + _best_between(edges[j], edges[j + 1] - 1, n[0], k0, m[0], lf) > limit:
            return False
    return True


@jit
def ruled_out_two_classes(
    counts: Ints, m: Ints, n: Ints, reach: Reach, log_delta: float, lf: Floats
) -> Bools:
    """:func:`ruled_out` for many features; counts (2, k). Equal counts are looked at once."""
    known = np.zeros((m[0] + 1, m[1] + 1), dtype=np.int8)
    out = np.empty(counts.shape[1], dtype=np.bool_)
    for f in range(counts.shape[1]):
        k0, k1 = counts[0, f], counts[1, f]
        if known[k0, k1] == 0:
            gone = ruled_out(k0, k1, m, n, reach, log_delta, lf)
            known[k0, k1] = 2 if gone else 1
        out[f] = known[k0, k1] == 2
    return out


@jit
def _edge(out: int, inside: int, n: int, k: int, m: int, limit: float, lf: Floats) -> int:
    """Towards ``out``, the last a from ``inside`` on whose log P_a is above the limit."""
    while abs(inside - out) > 1:
        middle = (out + inside) // 2
        if _log_p(middle, n, k, m, lf) > limit:
            inside = middle
        else:
            out = middle
    return inside


@jit
def count_interval(m: int, n: int, log_delta: float, lf: Floats) -> Ints:
    """(2, m + 1): for each k the smallest and the largest a with Q / P_a < 1/delta (one class)."""
    out = np.empty((2, m + 1), dtype=np.int64)
    for k in range(m + 1):
        limit = _log_q_own(k, m, lf) + log_delta
        top = min(max(_mode(n, k, m), k), n - m + k)
        out[0, k] = _edge(k - 1, top, n, k, m, limit, lf)
        out[1, k] = _edge(n - m + k + 1, top, n, k, m, limit, lf)
    return out


@jit
def good_enough(
    n: Ints, edges: Ints, height: float, gini: bool, xlogx: Floats
) -> tuple[Ints, Ints]:
    """In each cell of a_0: from which a_1 on, and up to which, a gain of ``height`` is reached.

    Above the common rate a larger a_1 means a larger gain, below it a smaller one, so both are
    found by halving; both grow with a_0, so a cell's loosest answer is at one of its ends. None:
    n_1 + 1 and -1.
    """
    J = len(edges) - 1
    a = np.empty((2, 2 * J), dtype=np.int64)
    low, high = np.empty(2 * J, dtype=np.int64), np.empty(2 * J, dtype=np.int64)
    for j in range(J):
        a[0, j], a[0, J + j] = edges[j], edges[j + 1] - 1
        low[j], high[j] = -(-edges[j] * n[1] // n[0]) - 1, n[1] + 1
        low[J + j], high[J + j] = -1, (edges[j + 1] - 1) * n[1] // n[0] + 1
    more = True
    while more:
        for i in range(2 * J):
            a[1, i] = min(max((low[i] + high[i]) // 2, 0), n[1])
        if gini:
            gains = gini_gains(a, n)
        else:
            gains = entropy_gains(a, n, xlogx)
        more = False
        for i in range(2 * J):
            if high[i] - low[i] <= 1:
                continue
            if (gains[i] >= height) == (i < J):
                high[i] = a[1, i]
            else:
                low[i] = a[1, i]
            more = more or high[i] - low[i] > 1
    return high[:J].copy(), low[J:].copy()


@jit
def leaning_tables(counts: Ints, m: Ints, n: Ints, lead: float) -> Ints:
    """Three estimates of the true counts (C, k) from a sample, side by side: (C, 3 k).

    As seen; with every rate moved ``lead`` standard errors towards the common rate; and away.
    """
    C, k = counts.shape
    out = np.empty((C, 3 * k), dtype=np.int64)
    rows = 0.0
    for c in range(C):
        rows += n[c]
    for f in range(k):
        mean = 0.0
        for c in range(C):
            mean += n[c] * (counts[c, f] / max(m[c], 1))
        mean /= rows
        for c in range(C):
            seen = max(m[c], 1)
            rate = counts[c, f] / seen
            smooth = (counts[c, f] + 0.5) / (seen + 1.0)
            left = 1.0 - m[c] / max(n[c], 1)
            error = lead * math.sqrt(smooth * (1.0 - smooth) / seen * left)
            if rate >= mean:
                inward, outward = max(rate - error, mean), min(rate + error, 1.0)
            else:
                inward, outward = min(rate + error, mean), max(rate - error, 0.0)
            out[c, f] = int(rate * n[c] + 0.5)
            out[c, k + f] = int(inward * n[c] + 0.5)
            out[c, 2 * k + f] = int(outward * n[c] + 0.5)
    return out
