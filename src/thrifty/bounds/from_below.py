"""Streams with unrelated tasks, from below: what every learner pays (paper, Section 5).

The constant. A target is one feature out of a pool of n, each equally likely whatever was learned
before. A learner that is never wrong must look at features until it meets the target, or until one
is left: on average at least (n - 1) / 2 of them, in whatever order, at one cell each or more. (The
paper's lemma is about a learner that fixes its features in advance: n - 1, or it may well fail
with some probability.) S does not enter: a lower bound counts features, an upper bound cells.

All are expectations over the adversary's coins, on good tasks only. In ``intermediate`` and
``large`` the good features are named after the tasks were posed, so a random K / N of them is good.
"""

from __future__ import annotations

import math

from thrifty.bounds.unrelated import r_max, r_min
from thrifty.errors import BadParameter

__all__ = ["lower", "lower_intermediate", "lower_large", "lower_realizable"]


def lower_realizable(*, n_tasks: int, n_features: int, n_metafeatures: int) -> float:
    """r <= r_min: (K N - K (K + 1) / 2) / 2 + (m - K) (K - 1) / 2, that is Omega(K N + m K).

    The j-th of the first K tasks hides one of N - j + 1 features, every later one of K.

    >>> lower_realizable(n_tasks=100, n_features=64, n_metafeatures=4)
    267.0
    """
    k = n_metafeatures
    first = (k * n_features - k * (k + 1) / 2) / 2
    return first + max(n_tasks - k, 0) * _pool(k)


def lower_intermediate(
    *, n_tasks: int, n_features: int, n_metafeatures: int, n_unrelated: int
) -> float:
    """r_min <= r <= r_max: r K / (N - K) tasks over all N, and m over K.

    (r K / (N - K)) (N - 1) / 2 + m (K - 1) / 2 where r > N - K, that is Omega(r K + m K);
    below that the realizable bound.

    >>> lower_intermediate(n_tasks=500, n_features=64, n_metafeatures=4, n_unrelated=600)
    2010.0
    """
    m, big, k, r = n_tasks, n_features, n_metafeatures, n_unrelated
    most = r_max(n_tasks=m, n_features=big, n_metafeatures=k)
    if r > most:
        raise BadParameter(f"this bound needs r <= r_max = {most:g}; got r = {r}.")
    if r <= big - k:
        return lower_realizable(n_tasks=m, n_features=big, n_metafeatures=k)
    return r * k / (big - k) * _pool(big) + m * _pool(k)


def lower_large(*, n_tasks: int, n_features: int, n_metafeatures: int, n_unrelated: int) -> float:
    """r >= r_max: m (N - 1) / 2, or sqrt(r K m / N) (N - 1) / 2 + m (K - 1) / 2 below m N / K.

    Either is Omega(m N).

    >>> lower_large(n_tasks=50, n_features=64, n_metafeatures=4, n_unrelated=800)
    1575.0
    """
    m, big, k, r = n_tasks, n_features, n_metafeatures, n_unrelated
    most = max(
        r_max(n_tasks=m, n_features=big, n_metafeatures=k),
        r_min(n_tasks=m, n_features=big, n_metafeatures=k),
    )
    if r < most:
        raise BadParameter(f"this bound needs r >= max(r_min, r_max) = {most:g}; got r = {r}.")
    if r >= m * big / k:
        return m * _pool(big)
    return math.sqrt(r * k * m / big) * _pool(big) + m * _pool(k)


def lower(*, n_tasks: int, n_features: int, n_metafeatures: int, n_unrelated: int) -> float:
    """The second table's lower bound for any r.

    >>> lower(n_tasks=100, n_features=64, n_metafeatures=4, n_unrelated=0)
    267.0
    """
    m, big, k, r = n_tasks, n_features, n_metafeatures, n_unrelated
    if r <= r_min(n_tasks=m, n_features=big, n_metafeatures=k):
        return lower_realizable(n_tasks=m, n_features=big, n_metafeatures=k)
    bound = lower_intermediate
    if r > r_max(n_tasks=m, n_features=big, n_metafeatures=k):
        bound = lower_large
    return bound(n_tasks=m, n_features=big, n_metafeatures=k, n_unrelated=r)


def _pool(n: int) -> float:
    return (n - 1) / 2
