"""Streams of monomials, and of sparse polynomials, that are products of metafeatures (Sec. 3)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from thrifty.errors import BadParameter
from thrifty.streams.tree_tasks import StreamTask

Powers = dict[int, int]


def metafeatures(
    random: np.random.Generator, n_features: int, n_metafeatures: int, degrees: tuple[int, int]
) -> list[Powers]:
    """Distinct random monomials with a degree in ``degrees``, both ends included."""
    lowest, highest = degrees
    chosen: list[Powers] = []
    for _attempt in range(1000 * n_metafeatures):
        size = int(random.integers(lowest, highest + 1))
        picked = random.integers(n_features, size=size).tolist()
        powers = {feature: picked.count(feature) for feature in picked}
        if powers not in chosen:
            chosen.append(powers)
        if len(chosen) == n_metafeatures:
            return chosen
    raise BadParameter(
        f"there are fewer than {n_metafeatures} monomials of degree {lowest}..{highest} over "
        f"{n_features} features. Ask for fewer metafeatures, or more features."
    )


def product(random: np.random.Generator, factors: list[Powers], max_degree: int) -> Powers:
    """A random product of metafeatures, repeats allowed, of degree at most ``max_degree``."""
    total: Powers = {}
    for _factor in range(int(random.integers(1, max_degree + 1))):
        factor = factors[int(random.integers(len(factors)))]
        if sum(total.values()) + sum(factor.values()) > max_degree:
            break
        for feature, power in factor.items():
            total[feature] = total.get(feature, 0) + power
    return total or product(random, factors, max_degree)


def monomials(
    n_tasks: int,
    n_features: int,
    n_metafeatures: int,
    n_examples: int,
    max_degree: int,
    random_state: int | None = None,
    *,
    metafeature_degree: int | None = None,
    low: float = 1.0,
    high: float = 2.0,
    noise: float = 0.0,
    decimals: int | None = None,
) -> Iterator[StreamTask]:
    """Tasks y = product of metafeatures, features uniform on [low, high], one at a time.

    The metafeatures are random monomials of degree ``metafeature_degree`` (3, or less where the
    limit is lower); a target multiplies random ones up to ``max_degree``. ``noise`` is the relative
    standard error of labels, ``decimals`` rounds the features. ``target`` is {feature: power}.

    >>> task = next(monomials(5, 100, 4, 50, 6, random_state=1))
    >>> task.name, task.X.shape, sorted(task.target.items())
    ('monomial-0', (50, 100), [(3, 1), (14, 1), (31, 1), (42, 1), (86, 1), (95, 1)])
    >>> bool(np.allclose(task.y, task.X[:, [3, 14, 31, 42, 86, 95]].prod(axis=1)))
    True
    """
    size = min(3, max_degree) if metafeature_degree is None else metafeature_degree
    if not 1 <= size <= max_degree:
        raise BadParameter(f"metafeature_degree must lie in 1..{max_degree}; got {size}.")
    if not 0 < low < high:
        raise BadParameter(f"monomials need 0 < low < high; got low={low}, high={high}.")
    random = np.random.default_rng(random_state)
    factors = metafeatures(random, n_features, n_metafeatures, (size, size))
    for number in range(n_tasks):
        target = product(random, factors, max_degree)
        X = random.uniform(low, high, (n_examples, n_features))
        if decimals is not None:
            X = np.round(X, decimals)
        used = list(target)
        y = np.prod(X[:, used] ** np.array([target[feature] for feature in used]), axis=1)
        if noise:
            y = y * np.exp(noise * random.standard_normal(n_examples))
        yield StreamTask(f"monomial-{number}", X, y, target)


Term = tuple[tuple[int, int], ...]


def polynomials(
    n_tasks: int,
    n_features: int,
    n_metafeatures: int,
    n_examples: int,
    max_degree: int,
    max_terms: int,
    random_state: int | None = None,
    *,
    metafeature_degree: int | None = None,
    low: float = -1.0,
    high: float = 1.0,
    noise: float = 0.0,
    one_by_one: bool = False,
) -> Iterator[StreamTask]:
    """Tasks y = sum of terms, each a product of metafeatures; features uniform on [low, high].

    The metafeatures are random monomials of degree 1 up to ``metafeature_degree`` (half the
    limit); a target has ``max_terms`` distinct terms with coefficients between 0.5 and 2, of
    either sign. ``noise`` is the relative standard error of labels. ``target`` is
    {((feature, power), ...): coefficient}.

    ``one_by_one`` is the order that is hardest for a learner: the first tasks bring one new
    metafeature each, so that K of them must be learned from scratch, where a random order shows
    several at once. Those tasks may have fewer terms.

    >>> task = next(polynomials(3, 20, 4, 100, 4, 2, random_state=1))
    >>> task.name, task.X.shape, sorted(task.target)
    ('polynomial-0', (100, 20), [((0, 2), (19, 2)), ((10, 2),)])
    """
    size = max(1, max_degree // 2) if metafeature_degree is None else metafeature_degree
    if not 1 <= size <= max_degree:
        raise BadParameter(f"metafeature_degree must lie in 1..{max_degree}; got {size}.")
    if not low < high:
        raise BadParameter(f"low must be below high; got low={low}, high={high}.")
    random = np.random.default_rng(random_state)
    factors = metafeatures(random, n_features, n_metafeatures, (1, size))
    for number in range(n_tasks):
        if one_by_one and number < n_metafeatures:
            target = _with_new(random, factors[: number + 1], max_degree, max_terms)
        else:
            target = _terms(random, factors, max_degree, max_terms)
        X = random.uniform(low, high, (n_examples, n_features))
        y = np.zeros(n_examples)
        for term, coefficient in target.items():
            used = [feature for feature, _power in term]
            y += coefficient * np.prod(X[:, used] ** [power for _feature, power in term], axis=1)
        if noise:
            y = y * (1.0 + noise * random.standard_normal(n_examples))
        yield StreamTask(f"polynomial-{number}", X, y, target)


def _terms(
    random: np.random.Generator, factors: list[dict[int, int]], max_degree: int, max_terms: int
) -> dict[Term, float]:
    chosen: dict[Term, float] = {}
    for _attempt in range(1000 * max_terms):
        term = tuple(sorted(product(random, factors, max_degree).items()))
        if term not in chosen:
            chosen[term] = _coefficient(random)
        if len(chosen) == max_terms:
            return chosen
    raise BadParameter(
        f"these metafeatures have fewer than {max_terms} products of degree <= {max_degree}. "
        "Ask for fewer terms, or more metafeatures."
    )


def _with_new(
    random: np.random.Generator, factors: list[dict[int, int]], max_degree: int, max_terms: int
) -> dict[Term, float]:
    """The last metafeature as one term, and products of those before it as the others."""
    *known, new = factors
    chosen = {tuple(sorted(new.items())): _coefficient(random)}
    for _attempt in range(20 * max_terms if known else 0):
        if len(chosen) == max_terms:
            break
        term = tuple(sorted(product(random, known, max_degree).items()))
        chosen.setdefault(term, _coefficient(random))
    return chosen


def _coefficient(random: np.random.Generator) -> float:
    return float(random.choice([-1.0, 1.0]) * random.uniform(0.5, 2.0))
