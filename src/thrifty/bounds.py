"""The paper's bounds as numbers, with explicit constants.

Every function returns the largest number of cells that the theory allows over a whole stream of m
tasks of S examples and N features, so that a measured bill can be held against it.
"""

from __future__ import annotations

__all__ = ["trees", "trees_features", "trees_per_example"]


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
    each = min(
        n_features, trees_per_example(n_metafeatures=n_metafeatures, max_depth=max_depth)
    )
    return n_examples * (scratch * n_features + (n_tasks - scratch) * each)


def trees_features(
    *, n_tasks: int, n_features: int, n_metafeatures: int, n_examples: int, max_nodes: int
) -> int:
    """The naive baseline: S (K N + (m - K) min(N, K s)), s being the size of a whole tree."""
    scratch = min(n_metafeatures, n_tasks)
    each = min(n_features, n_metafeatures * max_nodes)
    return n_examples * (scratch * n_features + (n_tasks - scratch) * each)
