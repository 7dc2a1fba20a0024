"""Monomials and polynomials: the last rows of the paper's first table.

S is the number of rows a task offers: a learner may do with fewer. Both hold when no power is
misread; the learners' ``delta`` says how rarely one is.
"""

from __future__ import annotations

__all__ = ["monomials", "polynomials", "powers_features"]


def monomials(
    *, n_tasks: int, n_features: int, n_metafeatures: int, n_examples: int, max_degree: int
) -> int:
    """S (K N + (m - K) min(N, K + d)): K features of a row basis, d more to verify.

    The paper verifies on one row, S K + d; a learner that needs several rows stays below this.

    >>> monomials(n_tasks=100, n_features=200, n_metafeatures=4, n_examples=10, max_degree=6)
    17600
    """
    return _bill(n_tasks, n_features, n_metafeatures, n_examples, n_metafeatures + max_degree)


def polynomials(
    *,
    n_tasks: int,
    n_features: int,
    n_metafeatures: int,
    n_examples: int,
    max_degree: int,
    max_terms: int,
) -> int:
    """S (K N + (m - K) min(N, K + t d)): K features of a row basis, d for each of t terms.

    >>> polynomials(n_tasks=100, n_features=200, n_metafeatures=4, n_examples=10, max_degree=3,
    ...             max_terms=2)
    17600
    """
    each = n_metafeatures + max_terms * max_degree
    return _bill(n_tasks, n_features, n_metafeatures, n_examples, each)


def powers_features(
    *,
    n_tasks: int,
    n_features: int,
    n_metafeatures: int,
    n_examples: int,
    max_degree: int,
    max_terms: int = 1,
) -> int:
    """The naive baseline for both: S (K N + (m - K) min(N, K t d)), all features seen.

    K targets from scratch have at most K t d features between them.

    >>> powers_features(n_tasks=100, n_features=200, n_metafeatures=4, n_examples=10, max_degree=6)
    31040
    """
    each = n_metafeatures * max_terms * max_degree
    return _bill(n_tasks, n_features, n_metafeatures, n_examples, each)


def _bill(m: int, n_features: int, k: int, n_examples: int, each: int) -> int:
    k = min(k, m)
    return n_examples * (k * n_features + (m - k) * min(n_features, each))
