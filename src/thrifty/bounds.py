"""The paper's two tables as numbers, with explicit constants.

Every upper bound is the largest number of cells that the theory allows over a whole stream of m
tasks of S examples and N features; every lower bound what no learner can do without. A measured
bill can be held against both.

The rows of the paper's first table as numbers: trees, lists, monomials and polynomials.

Every function returns the largest number of cells that the theory allows over a whole stream of m
tasks of S examples and N features, so that a measured bill can be held against it.

Of monomials and polynomials S is the number of rows a task offers: a learner may do with fewer.
Bills hold when no power is misread; the learners' ``delta`` says how rarely one is. The rows that
rule a misread power out by the paper's proof (logs to the base 2, values in [1, 2], variance of a
log at least c) are millions: learners name their own number, by the variance of a slope
(:mod:`thrifty.powers`).

Streams with unrelated tasks: the paper's second table, on the m good tasks.

From above. K metafeatures, r bad tasks wherever an adversary puts them, S examples and N features
a task, targets of depth d. A representation made from f tasks costs ``use(f)`` cells an example: f
for stumps, 2 d (f + 1) for deeper trees (Lemma 2 with |F~| <= f d), and never more than N. Two
facts do the rest:

* between two restarts at most K good tasks are learned from scratch, each of them for S N cells;
* a restart that comes after K + c tasks needs more than c bad ones. The task that causes it belongs
  to both sides, so c restarts cost c bad tasks, not c + 1: r / c restarts where c >= 1, and 2 r
  where c = 0, since a bad task can then spoil two periods. The paper's O(r K N) hides that 2.

From below: what every learner pays (Section 5). A target is one feature out of a pool of n, each
equally likely whatever was learned before. A learner that is never wrong must look at features
until it meets the target, or until one is left: on average at least (n - 1) / 2 of them, in
whatever order, at one cell each or more. (The paper's lemma is about a learner that fixes its
features in advance: n - 1, or it may well fail with some probability.) S does not enter: a lower
bound counts features, an upper bound cells.

All are expectations over the adversary's coins, on good tasks only. In ``intermediate`` and
``large`` the good features are named after the tasks were posed, so a random K / N of them is
good.
"""

from __future__ import annotations

import math

from thrifty.agnostic import optimal_allowance
from thrifty.errors import BadParameter

__all__ = [
    "anchored_families",
    "anchors",
    "balanced",
    "doubling",
    "error_for_power",
    "expansion",
    "lists",
    "lists_scratch",
    "lower",
    "lower_intermediate",
    "lower_large",
    "lower_realizable",
    "monomials",
    "optimal_c",
    "polynomials",
    "powers_features",
    "r_max",
    "r_min",
    "restart",
    "rows_for_correlation",
    "rows_for_monomial",
    "rows_for_power",
    "scratch",
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
    each = trees_per_example(n_metafeatures=n_metafeatures, max_depth=max_depth)
    return _bill(n_tasks, n_features, n_examples, n_metafeatures, each)


def trees_features(
    *, n_tasks: int, n_features: int, n_metafeatures: int, n_examples: int, max_nodes: int
) -> int:
    """The naive baseline: S (K N + (m - K) min(N, K s)), s being the size of a whole tree."""
    return _bill(n_tasks, n_features, n_examples, n_metafeatures, n_metafeatures * max_nodes)


def _bill(n_tasks: int, n_features: int, n_examples: int, scratch: int, each: int) -> int:
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
    return _bill(n_tasks, n_features, n_examples, scratch, 2 * (scratch + max_depth))


def anchors(
    *, n_tasks: int, n_features: int, n_metafeatures: int, n_examples: int, max_depth: int
) -> int:
    """Theorem on anchors: S (K N + (m - K) min(N, 2 (K + d))); one subtree per failure.

    >>> anchors(n_tasks=200, n_features=2000, n_metafeatures=8, n_examples=1000, max_depth=5)
    20992000
    """
    return _bill(n_tasks, n_features, n_examples, n_metafeatures, 2 * (n_metafeatures + max_depth))


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
    return _bill(n_tasks, n_features, n_examples, first, 2 * (n_metafeatures + max_depth))


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
    return _bill(n_tasks, n_features, n_examples, per_family * n_families + first, each)


def monomials(
    *, n_tasks: int, n_features: int, n_metafeatures: int, n_examples: int, max_degree: int
) -> int:
    """S (K N + (m - K) K) + m d: K features of a row basis on all rows, d on one row to verify.

    >>> monomials(n_tasks=100, n_features=200, n_metafeatures=4, n_examples=10, max_degree=6)
    12440
    """
    bill = _bill(n_tasks, n_features, n_examples, n_metafeatures, n_metafeatures)
    return bill + n_tasks * min(max_degree, n_features)


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
    return _bill(n_tasks, n_features, n_examples, n_metafeatures, each)


def powers_features(
    *, n_tasks: int, n_features: int, n_metafeatures: int, n_examples: int, max_degree: int
) -> int:
    """The naive baseline for both: S (K N + (m - K) min(N, K d)), all features seen.

    What is stored are at most K independent monomials of degree d, of however many terms targets
    are sums: K d features between them.

    >>> powers_features(n_tasks=100, n_features=200, n_metafeatures=4, n_examples=10, max_degree=6)
    31040
    """
    each = n_metafeatures * max_degree
    return _bill(n_tasks, n_features, n_examples, n_metafeatures, each)


def rows_for_correlation(*, max_degree: int, error: float, delta: float) -> int:
    """Lemma eps-1-3: d^2 / (2 eps^2) ln(2 / delta) rows know <log y, log x_i - E log x_i> to eps.

    By Hoeffding's inequality: each row's product lies in a range of d. The paper has d where the
    square is needed (x_1^d alone: ``tests/guarantees/test_powers_rows.py``).

    >>> rows_for_correlation(max_degree=4, error=0.3, delta=0.1)
    267
    """
    return math.ceil(max_degree**2 / (2 * error**2) * math.log(2 / delta))


def error_for_power(*, max_degree: int, variance: float) -> float:
    """Lemma g-hat-g: 0.07 c / d, the errors that move no power by half.

    Of the three estimates that a slope is made of, all at once: (2 + 3.1) x .07 from numerator and
    denominator, over 1 - 3.1 x .07, stay below 1/2. The paper's min(c^2 / d, c / d, 1) takes the
    numerator for up to d, where it is at most c d: c^2 is not needed, and c <= 1/4 in any case.

    >>> round(error_for_power(max_degree=2, variance=0.08), 6)
    0.0028
    """
    return 0.07 * variance / max_degree


def rows_for_power(*, max_degree: int, variance: float, delta: float) -> int:
    """Lemma g-hat-g: rows at which a rounded slope is the power with probability 1 - delta.

    >>> rows_for_power(max_degree=1, variance=0.2, delta=0.1)
    10445
    """
    error = error_for_power(max_degree=max_degree, variance=variance)
    return rows_for_correlation(max_degree=max_degree, error=error, delta=delta / 3)


def rows_for_monomial(
    *, max_degree: int, variance: float, n_features: int, n_tasks: int, delta: float
) -> int:
    """Theorem pm-scratch: rows at which all N powers of all m tasks are right with 1 - delta.

    >>> rows_for_monomial(max_degree=1, variance=0.2, n_features=50, n_tasks=20, delta=0.1)
    28067
    """
    each = delta / (n_features * n_tasks)
    return rows_for_power(max_degree=max_degree, variance=variance, delta=each)


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
    use = _use(n_metafeatures + n_unrelated, max_depth)
    return _bill(n_tasks, n_features, n_examples, n_metafeatures, use)


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
    return _bill(n_tasks, n_features, n_examples, again, _use(n_metafeatures, max_depth))


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
    if c is None:
        c = optimal_allowance(
            n_tasks=n_tasks, n_features=n_features, k=n_metafeatures, r=n_unrelated
        )
    again = n_metafeatures * (n_unrelated // c + 1 if c else 1)
    return _bill(n_tasks, n_features, n_examples, again, _use(n_metafeatures + c, max_depth))


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
    """max(m / N, K N / m, K): below it Expansion or Restart is as good as without bad tasks.

    >>> r_min(n_tasks=1000, n_features=100, n_metafeatures=4)
    10.0
    """
    k = n_metafeatures
    return max(n_tasks / n_features, k * n_features / n_tasks, k)


def r_max(*, n_tasks: int, n_features: int, n_metafeatures: int) -> float:
    """min(m N / K, (N - K)^2 m / (K N)): above it no learner beats learning all from scratch.

    The minimum is always the second, since N - K < N; the paper writes both.

    >>> r_max(n_tasks=1000, n_features=100, n_metafeatures=4)
    23040.0
    """
    k, spare = n_metafeatures, n_features - n_metafeatures
    return min(n_tasks * n_features / k, spare * spare * n_tasks / (k * n_features))


def _use(tasks: int, max_depth: int) -> int:
    """Cells an example when a representation made from that many tasks is used, N at most."""
    return tasks if max_depth == 1 else 2 * max_depth * (tasks + 1)


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
