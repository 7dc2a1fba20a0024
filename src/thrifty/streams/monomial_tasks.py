"""Streams of monomial tasks that share metafeatures (Sec. 3)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from thrifty.errors import BadParameter
from thrifty.streams.products import metafeatures, product
from thrifty.streams.task import Task

__all__ = ["monomials"]


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
) -> Iterator[Task]:
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
        yield Task(f"monomial-{number}", X, y, target)
