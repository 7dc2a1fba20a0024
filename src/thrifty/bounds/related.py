"""Trees and lists: the rows of the paper's first table, as numbers.

Every function returns the largest number of cells that the theory allows over a whole stream of m
tasks of S examples and N features, so that a measured bill can be held against it.
"""

from __future__ import annotations

import math

__all__ = [
    "anchored_families",
    "anchors",
    "lists",
    "lists_scratch",
    "trees",
    "trees_features",
    "trees_per_example",
    "warm_up",
    "warm_up_tasks",
]


def trees_per_example(*, n_metafeatures: int, max_depth: int) -> int:
    """Cells on one example of a reused task: 2 (|F~| + d), here with |F~| = K d (Lemma 2).

    >>> trees_per_example(n_metafeatures=5, max_depth=4)
    48
    """
    return 2 * (n_metafeatures * max_depth + max_depth)


def trees(
    *, n_tasks: int, n_features: int, n_metafeatures: int, n_examples: int, max_depth: int
) -> int:
    """Theorem 1 (trees): S (K N + (m - K) min(N, 2 d (K + 1))).

    At most K tasks are learned from scratch for S N cells each; every other buys at most
    2 (|F~| + d) cells an example, and |F~| <= K d.

    >>> trees(n_tasks=200, n_features=2000, n_metafeatures=8, n_examples=1000, max_depth=5)
    33280000
    """
    scratch = min(n_metafeatures, n_tasks)
    each = min(n_features, trees_per_example(n_metafeatures=n_metafeatures, max_depth=max_depth))
    return n_examples * (scratch * n_features + (n_tasks - scratch) * each)


def trees_features(
    *, n_tasks: int, n_features: int, n_metafeatures: int, n_examples: int, max_nodes: int
) -> int:
    """The naive baseline: S (K N + (m - K) min(N, K s)), s being the size of a whole tree."""
    scratch = min(n_metafeatures, n_tasks)
    each = min(n_features, n_metafeatures * max_nodes)
    return n_examples * (scratch * n_features + (n_tasks - scratch) * each)


def _stream(n_tasks: int, n_features: int, n_examples: int, scratch: int, each: int) -> int:
    """S (min(m, scratch) N + the other tasks' min(N, each))."""
    first = min(scratch, n_tasks)
    return n_examples * (first * n_features + (n_tasks - first) * min(n_features, each))


def lists_scratch(*, n_metafeatures: int, max_depth: int | None = None) -> int:
    """Lists learned from scratch: K + 2 K^2 (once per f, twice per pair f, f'), at most K d.

    K d is ours: a failure stores the suffix that begins where UseRep went wrong, with a feature
    that was the root of nothing stored. From then on it is one, and a candidate everywhere. So
    there are at most as many failures as features in the K metafeatures.

    >>> lists_scratch(n_metafeatures=4), lists_scratch(n_metafeatures=4, max_depth=6)
    (36, 24)
    """
    pairs = n_metafeatures + 2 * n_metafeatures**2
    return pairs if max_depth is None else min(pairs, n_metafeatures * max_depth)


def lists(
    *, n_tasks: int, n_features: int, n_metafeatures: int, n_examples: int, max_depth: int
) -> int:
    """Theorem on lists: with R = min(K + 2 K^2, K d), S (R N + (m - R) min(N, 2 (R + d))).

    One suffix is added per list learned from scratch, so |F~| <= R.

    >>> lists(n_tasks=200, n_features=2000, n_metafeatures=4, n_examples=100, max_depth=6)
    5856000
    """
    scratch = lists_scratch(n_metafeatures=n_metafeatures, max_depth=max_depth)
    return _stream(n_tasks, n_features, n_examples, scratch, 2 * (scratch + max_depth))


def anchors(
    *, n_tasks: int, n_features: int, n_metafeatures: int, n_examples: int, max_depth: int
) -> int:
    """Theorem on anchors: S (K N + (m - K) min(N, 2 (K + d))); one subtree per failure.

    >>> anchors(n_tasks=200, n_features=2000, n_metafeatures=8, n_examples=1000, max_depth=5)
    20992000
    """
    return _stream(
        n_tasks, n_features, n_examples, n_metafeatures, 2 * (n_metafeatures + max_depth)
    )


def warm_up_tasks(*, p_min: float, n_metafeatures: int, delta: float) -> int:
    """Tasks of a first phase: ceil(ln(K / delta) / p_min).

    >>> warm_up_tasks(p_min=0.1, n_metafeatures=8, delta=0.05)
    51
    """
    return math.ceil(math.log(n_metafeatures / delta) / p_min)


def warm_up(
    *,
    n_tasks: int,
    n_features: int,
    n_metafeatures: int,
    n_examples: int,
    max_depth: int,
    p_min: float,
    delta: float,
) -> int:
    """Semi-adversarial model: with W = ceil(ln(K / delta) / p_min), with probability 1 - delta,
    S (W N + (m - W) min(N, 2 (K + d))).

    What is stored is made of K metafeatures, so K takes the place of |F~| in Lemma 2.

    >>> warm_up(n_tasks=200, n_features=2000, n_metafeatures=8, n_examples=1000, max_depth=5,
    ...         p_min=0.125, delta=0.05)
    86134000
    """
    first = warm_up_tasks(p_min=p_min, n_metafeatures=n_metafeatures, delta=delta)
    return _stream(n_tasks, n_features, n_examples, first, 2 * (n_metafeatures + max_depth))


def anchored_families(
    *,
    n_tasks: int,
    n_features: int,
    n_families: int,
    per_family: int,
    max_per_path: int,
    n_examples: int,
    max_depth: int,
    p_min: float,
    delta: float,
) -> int:
    """Overcomplete representations: with W = ceil(ln(K2 / delta) / p_min) and R = K1 K2 + W, with
    probability 1 - delta, S (R N + (m - R) min(N, K2 + K1 t + 2 d)).

    K2 roots to look at, K1 t metafeatures that may lie on one path, and twice the depth for the
    two ways a node can be served by what was laid above it (Lemma 2, cases a and b).

    >>> anchored_families(n_tasks=200, n_features=2000, n_families=4, per_family=5,
    ...                   max_per_path=2, n_examples=100, max_depth=5, p_min=0.25, delta=0.05)
    7988800
    """
    first = warm_up_tasks(p_min=p_min, n_metafeatures=n_families, delta=delta)
    each = n_families + per_family * max_per_path + 2 * max_depth
    return _stream(n_tasks, n_features, n_examples, per_family * n_families + first, each)
