"""Metafeatures that are monomials, and products of them: shared by both streams of powers."""

from __future__ import annotations

import numpy as np

from thrifty.errors import BadParameter

__all__ = ["metafeatures", "product"]

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
