"""Streams with unrelated tasks, from above: the second table's algorithms, on the m good tasks.

K metafeatures, r bad tasks wherever an adversary puts them, S examples and N features a task,
targets of depth d. A representation made from f tasks costs ``use(f)`` cells an example: f for
stumps, 2 d (f + 1) for deeper trees (Lemma 2 with |F~| <= f d), and never more than N. Two facts do
the rest:

* between two restarts at most K good tasks are learned from scratch, each of them for S N cells;
* a restart that comes after K + c tasks needs more than c bad ones. The task that causes it belongs
  to both sides, so c restarts cost c bad tasks, not c + 1: r / c restarts where c >= 1, and 2 r
  where c = 0, since a bad task can then spoil two periods. The paper's O(r K N) hides that 2.
"""

from __future__ import annotations

import math

from thrifty.agnostic import fewest_unrelated, most_unrelated, optimal_allowance

__all__ = ["balanced", "doubling", "expansion", "optimal_c", "r_max", "r_min", "restart", "scratch"]


def scratch(*, n_tasks: int, n_features: int, n_examples: int) -> int:
    """Every task from scratch: S m N. No learner of ours pays more."""
    return n_examples * n_tasks * n_features


def expansion(
    *,
    n_tasks: int,
    n_features: int,
    n_metafeatures: int,
    n_unrelated: int,
    n_examples: int,
    max_depth: int = 1,
) -> int:
    """Never forget: S (K N + (m - K) use(K + r)).

    >>> expansion(n_tasks=100, n_features=64, n_metafeatures=4, n_unrelated=8, n_examples=1)
    1408
    """
    size = n_metafeatures + n_unrelated
    return _bill(n_tasks, n_features, n_examples, n_metafeatures, size, max_depth)


def restart(
    *,
    n_tasks: int,
    n_features: int,
    n_metafeatures: int,
    n_unrelated: int,
    n_examples: int,
    max_depth: int = 1,
) -> int:
    """Forget after K tasks from scratch: S (K (2 r + 1) N + the other tasks' use(K)).

    >>> restart(n_tasks=100, n_features=64, n_metafeatures=4, n_unrelated=8, n_examples=1)
    4480
    """
    again = n_metafeatures * (2 * n_unrelated + 1)
    return _bill(n_tasks, n_features, n_examples, again, n_metafeatures, max_depth)


def balanced(
    *,
    n_tasks: int,
    n_features: int,
    n_metafeatures: int,
    n_unrelated: int,
    n_examples: int,
    max_depth: int = 1,
    c: int | None = None,
) -> int:
    """Forget after K + c tasks from scratch: S (K (r / c + 1) N + the other tasks' use(K + c)).

    With the optimal c, and for stumps, that is 2 sqrt(r K N m) + m K + K N, times S.

    >>> balanced(n_tasks=100, n_features=64, n_metafeatures=4, n_unrelated=8, n_examples=1)
    1340
    """
    c = (
        c
        if c is not None
        else optimal_c(
            n_tasks=n_tasks,
            n_features=n_features,
            n_metafeatures=n_metafeatures,
            n_unrelated=n_unrelated,
        )
    )
    periods = n_unrelated // c + 1 if c else 1
    again = n_metafeatures * periods
    return _bill(n_tasks, n_features, n_examples, again, n_metafeatures + c, max_depth)


def doubling(
    *,
    n_tasks: int,
    n_features: int,
    n_metafeatures: int,
    n_unrelated: int,
    n_examples: int,
    max_depth: int = 1,
    coincidences: bool = False,
) -> int:
    """Try the newest 1, 2, 4, ... metafeatures, never forget (ours, not the paper's).

    For stumps S (K N + (m - K) (2 K - 1) + 2 r K): a good task costs at most 1 + 2 x cells an
    example, where x features were used after its own; K - 1 of them are good, and a bad task is
    among them once for each of the K at most. This assumes that no other stored feature agrees
    with a good task's labels on its rows. Where ``coincidences`` of that kind are possible, only
    the cap is left, which needs no assumption: never above ``expansion``.

    For deeper trees only that it is not much above it: guesses of 1, 2, 4, ... and all f = (K + r)
    d metafeatures hold fewer than 3 f together, so 2 (3 f + d (log2 f + 2)) cells an example.

    >>> doubling(n_tasks=100, n_features=64, n_metafeatures=4, n_unrelated=8, n_examples=1)
    992
    >>> doubling(n_tasks=100, n_features=64, n_metafeatures=4, n_unrelated=8, n_examples=1,
    ...          coincidences=True)
    1408
    """
    good, bad, k = n_tasks, n_unrelated, n_metafeatures
    first = min(k, good)
    if max_depth == 1:
        capped = (good - first) * min(n_features, k + bad)
        sparing = (good - first) * min(n_features, 2 * k - 1) + 2 * bad * k
        reused = capped if coincidences else min(sparing, capped)
    else:
        kept = (k + bad) * max_depth
        each = 2 * (3 * kept + max_depth * (math.ceil(math.log2(kept)) + 2))
        reused = (good - first) * min(n_features, each)
    return n_examples * (first * n_features + reused)


def optimal_c(*, n_tasks: int, n_features: int, n_metafeatures: int, n_unrelated: int) -> int:
    """c* = sqrt(r K N / m), within [1, r]: the bad tasks ``Balanced`` tolerates between restarts.

    >>> optimal_c(n_tasks=100, n_features=100, n_metafeatures=4, n_unrelated=25)
    10
    """
    return optimal_allowance(
        n_tasks=n_tasks, n_features=n_features, k=n_metafeatures, r=n_unrelated
    )


def r_min(*, n_tasks: int, n_features: int, n_metafeatures: int) -> float:
    """max(m / N, K N / m, K): below it Expansion or Restart is as good as without bad tasks."""
    return fewest_unrelated(n_tasks=n_tasks, n_features=n_features, k=n_metafeatures)


def r_max(*, n_tasks: int, n_features: int, n_metafeatures: int) -> float:
    """min(m N / K, (N - K)^2 m / (K N)): above it no learner beats learning all from scratch."""
    return most_unrelated(n_tasks=n_tasks, n_features=n_features, k=n_metafeatures)


def _use(tasks: int, n_features: int, max_depth: int) -> int:
    """Cells an example when a representation made from that many tasks is used."""
    return min(n_features, tasks if max_depth == 1 else 2 * max_depth * (tasks + 1))


def _bill(
    n_tasks: int, n_features: int, n_examples: int, again: int, size: int, max_depth: int
) -> int:
    """``again`` good tasks from scratch, the others from a representation made from ``size``."""
    again = min(again, n_tasks)
    use = _use(size, n_features, max_depth)
    return n_examples * (again * n_features + (n_tasks - again) * use)
