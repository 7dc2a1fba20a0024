"""What a few rows say of a feature: is it useful, how much, and how much more could it be?

Letters: C classes, F features looked at, k ones among n rows of a class. A feature is *useless*
(one rate p in all classes, p ~ Beta) or *useful* (a rate of its own p_c ~ Beta in each class). Its
gain at a node whose class shares are w is the mutual information of feature and label,

    G(p) = H(sum_c w_c p_c) - sum_c w_c H(p_c),        H the binary entropy in bits,

and 0 when it is useless. The posterior of "useful" is exact (Beta-binomial likelihoods); the means
of G and of (G - incumbent)+ are averages over a fixed set of quasi-random draws, the same for every
feature, so equal evidence gives equal numbers. A Beta draw is X / (X + Y) of two Gamma draws by
Wilson and Hilferty's cube, and below 1 by Gamma(a) = Gamma(a + 1) U^(1/a).
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray

from thrifty.kernels.jit import jit

__all__ = ["count_ones", "judge", "rate_draws"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

_DRAWS = 32
_PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53)


@cache
def rate_draws(n_classes: int) -> Floats:
    """(32, C, 2, 2): for each draw and class, for both Gammas a normal deviate and a log uniform.

    >>> rate_draws(2).shape
    (32, 2, 2, 2)
    """
    wide = 4 * n_classes
    steps = np.sqrt(np.array([_PRIMES[j % 16] + 60.0 * (j // 16) for j in range(wide)]))
    u = (0.5 + np.outer(np.arange(1, _DRAWS + 1), steps)) % 1.0
    u = np.clip(u, 1e-3, 1 - 1e-3).reshape(_DRAWS, n_classes, 2, 2)
    from scipy.special import ndtri

    draws = np.stack([ndtri(u[..., 0]), np.log(u[..., 1])], axis=-1)
    draws.flags.writeable = False
    return draws


@jit
def _log_gamma(x: float) -> float:
    """Stirling's series above 7; below, by the recurrence. Written out for the twin's sake."""
    below = 1.0
    while x < 7.0:
        below *= x
        x += 1.0
    z = 1.0 / (x * x)
    tail = (1.0 / 12.0 - z * (1.0 / 360.0 - z * (1.0 / 1260.0 - z / 1680.0))) / x
    return (x - 0.5) * math.log(x) - x + 0.9189385332046727 + tail - math.log(below)


@jit
def _log_beta(a: float, b: float) -> float:
    return _log_gamma(a) + _log_gamma(b) - _log_gamma(a + b)


@jit
def _entropy(p: float) -> float:
    if p <= 0.0 or p >= 1.0:
        return 0.0
    return -(p * math.log2(p) + (1.0 - p) * math.log2(1.0 - p))


@jit
def _gamma_draw(a: float, normal: float, log_uniform: float) -> float:
    shape = a if a >= 1.0 else a + 1.0
    cube = 1.0 - 1.0 / (9.0 * shape) + normal / (3.0 * math.sqrt(shape))
    value = shape * cube * cube * cube if cube > 0.0 else 1e-12
    return value if a >= 1.0 else value * math.exp(max(log_uniform / a, -60.0)) + 1e-30


@jit
def judge(
    ones: Ints,
    looked: Ints,
    prior: Floats,
    useful: Floats,
    shares: Floats,
    incumbent: float,
    floor: float,
    draws: Floats,
) -> Floats:
    """(3, F): the probability that a feature is useful, its mean gain, its mean improvement.

    ``ones`` and ``looked`` are (C, F); ``prior`` (C + 1, 2, F) holds the Beta of each class and,
    last, of a useless feature; ``useful`` the prior probability. A feature that could not gain
    ``floor`` even if it told the label for sure is not drawn for: both its means are 0.
    """
    C, F = ones.shape
    out = np.zeros((3, F), dtype=np.float64)
    most = 0.0
    for c in range(C):
        if shares[c] > 0.0:
            most -= shares[c] * math.log2(shares[c])
    a = np.empty(C, dtype=np.float64)
    b = np.empty(C, dtype=np.float64)
    for f in range(F):
        k, n, log_odds = 0, 0, 0.0
        for c in range(C):
            a[c] = prior[c, 0, f] + ones[c, f]
            b[c] = prior[c, 1, f] + (looked[c, f] - ones[c, f])
            k += ones[c, f]
            n += looked[c, f]
            if looked[c, f] > 0:
                log_odds += _log_beta(a[c], b[c]) - _log_beta(prior[c, 0, f], prior[c, 1, f])
        if n > 0:
            one, other = prior[C, 0, f], prior[C, 1, f]
            log_odds -= _log_beta(one + k, other + (n - k)) - _log_beta(one, other)
        log_odds += math.log(useful[f]) - math.log(1.0 - useful[f])
        likely = 1.0 / (1.0 + math.exp(-min(max(log_odds, -40.0), 40.0)))
        out[0, f] = likely
        if likely * most <= floor:
            continue
        mean, better = 0.0, 0.0
        for i in range(draws.shape[0]):
            pooled, gain = 0.0, 0.0
            for c in range(C):
                x = _gamma_draw(a[c], draws[i, c, 0, 0], draws[i, c, 0, 1])
                y = _gamma_draw(b[c], draws[i, c, 1, 0], draws[i, c, 1, 1])
                rate = x / (x + y)
                pooled += shares[c] * rate
                gain -= shares[c] * _entropy(rate)
            gain += _entropy(pooled)
            mean += gain
            if gain > incumbent:
                better += gain - incumbent
        out[1, f] = likely * mean / draws.shape[0]
        out[2, f] = likely * better / draws.shape[0]
    return out


@jit
def count_ones(
    which: Ints, values: NDArray[np.uint8], rows: Ints, starts: Ints, looked: Ints
) -> Ints:
    """(C, F): ones among the rows looked at.

    ``values`` is (N, S); ``rows`` holds the node's rows, those of class c from ``starts[c]`` on in
    buying order; of them feature ``which[f]`` was looked at on the first ``looked[c, which[f]]``.
    """
    C = looked.shape[0]
    out = np.zeros((C, len(which)), dtype=np.int64)
    for f in range(len(which)):
        column = values[which[f]]
        for c in range(C):
            total = 0
            for i in range(starts[c], starts[c] + looked[c, which[f]]):
                total += column[rows[i]]
            out[c, f] = total
    return out
