"""The laws of features, frozen scipy.stats laws or free values, and their orthonormal polynomials.

Moment matrices lose every digit at degree 8. Instead the law is replaced by a discrete one with
thousands of nodes, exact on polynomials to rounding, and the three-term recurrence

    sqrt(b_{k+1}) H_{k+1}(x) = (x - a_k) H_k(x) - sqrt(b_k) H_{k-1}(x)

is read off it by Stieltjes' procedure, for x in units of its standard deviation. Panels are cut at
quantiles, so that tails and endpoint singularities get as many nodes as they need.

>>> from scipy import stats
>>> legendre = Orthonormal.of(stats.uniform(-1, 2), degree=4)
>>> round(float(legendre.leading[2]), 12)             # sqrt(5) * 3 / 2
3.35410196625
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy import stats

from thrifty.attempt import Failure
from thrifty.errors import BadParameter

#: One law for all features, or one per feature. A law is a frozen scipy.stats one, or an array.
Laws: TypeAlias = Any
Law: TypeAlias = Any


def estimated(data: object) -> tuple[np.ndarray, ...]:
    """Empirical laws of every feature, from examples that cost nothing (no labels needed).

    >>> import numpy as np
    >>> estimated(np.array([[1.0, 5.0], [2.0, 6.0]]))[1].tolist()
    [5.0, 6.0]
    """
    table = np.asarray(data, dtype=np.float64)
    if table.ndim != 2 or not np.isfinite(table).all():
        raise BadParameter(
            "free data for a distribution must be a finite table, examples x features; got "
            f"shape {table.shape}."
        )
    return tuple(np.sort(table[:, column]) for column in range(table.shape[1]))


def read_laws(given: object) -> Laws:
    """Check what a user gave as ``distribution``: None, a law, or a sequence of laws."""
    if given is None or _is_law(given):
        return given
    if isinstance(given, Sequence):
        laws = tuple(
            np.asarray(law, dtype=np.float64) if isinstance(law, np.ndarray | list) else law
            for law in given
        )
        if laws and all(_is_law(law) for law in laws):
            return laws
    raise BadParameter(
        "distribution must be a frozen scipy.stats law such as scipy.stats.uniform(1, 1), a "
        "sequence with one law per feature, or thrifty.powers.estimated(free_data); got "
        f"{given!r}."
    )


def _is_law(given: object) -> bool:
    if isinstance(given, np.ndarray):
        return given.ndim == 1 and len(given) > 1
    frozen = hasattr(given, "dist") and hasattr(given, "args")
    return frozen and (hasattr(given, "pdf") or hasattr(given, "pmf"))


def law_of(laws: Laws, feature: int) -> Law:
    """The law of one feature."""
    if not isinstance(laws, tuple):
        return laws
    if feature >= len(laws):
        raise BadParameter(
            f"distribution holds {len(laws)} laws, but the task has a feature {feature}. Give one "
            "law per feature, or one law for all."
        )
    return laws[feature]


def mismatch(laws: Laws, features: np.ndarray, values: np.ndarray) -> Failure | None:
    """A failure that says so when bought values do not follow their law (Kolmogorov-Smirnov).

    ``values`` must be random rows: rows chosen by their labels follow another law.
    """
    unlikely = 1e-6  # Data that a given law would produce less often than this do not come from it.
    if laws is None or len(values) < 2:
        return None
    for column, feature in enumerate(features.tolist()):
        law = law_of(laws, feature)
        if isinstance(law, np.ndarray):
            p_value = float(stats.ks_2samp(values[:, column], law).pvalue)
        elif hasattr(law, "pmf"):
            continue  # the test is for continuous laws
        elif _outside(law, values[:, column]):
            p_value = 0.0
        else:
            p_value = float(stats.kstest(values[:, column], law.cdf).pvalue)
        if p_value * len(features) < unlikely:
            return Failure(
                "distribution-mismatch",
                f"feature {feature} does not follow the distribution given for it: values like "
                f"its {len(values)} would be seen with probability {p_value:.1g}",
                {"feature": feature, "p_value": p_value, "rows": len(values)},
            )
    return None


def _outside(law: Law, column: np.ndarray) -> bool:
    """Whether a value lies where the law has none, by more than rounding."""
    low, high = (float(end) for end in law.support())
    slack = 1e-9 * float(np.abs(column).max())
    return bool(column.min() < low - slack or column.max() > high + slack)


def laws_to_dict(laws: Laws) -> object:
    """Laws as JSON: name and parameters, or the values."""
    if laws is None:
        return None
    if isinstance(laws, tuple):
        return [laws_to_dict(law) for law in laws]
    if isinstance(laws, np.ndarray):
        return {"values": laws.tolist()}
    numbers = [float(argument) for argument in laws.args]
    return {
        "law": laws.dist.name,
        "args": numbers,
        "kwds": {key: float(value) for key, value in laws.kwds.items()},
    }


def laws_from_dict(data: object) -> Laws:
    """The inverse of :func:`laws_to_dict`; only names of scipy.stats laws are accepted."""
    if data is None:
        return None
    if isinstance(data, list):
        return tuple(laws_from_dict(law) for law in data)
    if not isinstance(data, Mapping):
        raise BadParameter(f"a law must be stored as a mapping; got {data!r}.")
    if "values" in data:
        return np.asarray(data["values"], dtype=np.float64)
    family = getattr(stats, str(data["law"]), None)
    if not isinstance(family, stats.rv_continuous | stats.rv_discrete):
        raise BadParameter(f"{data['law']!r} is not a law of scipy.stats.")
    return family(*data["args"], **data["kwds"])


NODES_PER_PANEL = 64

#: Quantiles at which panels are cut, on either side: fine near the ends, out to 1e-300.
_DECADES = np.concatenate([[300.0, 200.0, 150.0, 100.0, 70.0, 50.0, 40.0, 30.0, 25.0]])
TAILS = 10.0 ** -np.concatenate([_DECADES, np.arange(20.0, 0.4, -0.5)])


def nodes_and_weights(law: Law) -> tuple[np.ndarray, np.ndarray]:
    """A discrete law that agrees with ``law`` on polynomials."""
    if isinstance(law, np.ndarray):
        values, counts = np.unique(law, return_counts=True)
        return values.astype(np.float64), counts / counts.sum()
    if hasattr(law, "pmf"):
        # Far beyond the last quantile that can be computed: high powers look there.
        low, high = float(law.ppf(1e-12)), float(law.isf(1e-12))
        reach = 3 * (high - low) + 10
        ends = law.support()
        whole = np.arange(max(low - reach, ends[0]), min(high + reach, ends[1]) + 1)
        mass = np.asarray(law.pmf(whole))
        return whole, mass / mass.sum()
    return _continuous(law)


def _continuous(law: Law) -> tuple[np.ndarray, np.ndarray]:
    low, high = (float(end) for end in law.support())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # quantiles at 1e-300 that a law cannot give are dropped
        quantiles = [law.ppf(TAILS), law.ppf([0.4, 0.5]), law.isf(np.append(TAILS, 0.4)[::-1])]
    cuts = np.concatenate([[low], *quantiles, [high]])
    cuts = np.unique(cuts[np.isfinite(cuts)])
    # Neighbouring cuts that differ by rounding only would make empty panels.
    cuts = cuts[np.append(True, np.diff(cuts) > 1e-15 * np.abs(cuts[1:]))]
    if np.isfinite(high):
        cuts[-1] = high
    places, sizes = np.polynomial.legendre.leggauss(NODES_PER_PANEL)
    half = np.diff(cuts)[:, None] / 2.0
    nodes = (cuts[:-1, None] + half * (1.0 + places)).ravel()
    with np.errstate(all="ignore"):
        panels = half * sizes * np.asarray(law.pdf(nodes)).reshape(len(half), -1)
    # Where a density has a singularity at an end, the mass of the last panels is known better
    # from the distribution function than from quadrature.
    middle = float(law.median())
    mass = np.where(cuts[1:] <= middle, np.diff(law.cdf(cuts)), -np.diff(law.sf(cuts)))
    found = panels.sum(axis=1)
    lost = ~np.isfinite(found) & (mass > 0)
    panels[lost] = mass[lost, None] * sizes / 2.0
    off = (np.abs(mass - found) > 1e-9 * mass) & (mass > 0) & (found > 0) & ~lost
    panels[off] *= (mass[off] / found[off])[:, None]
    weights = panels.ravel()
    keep = np.isfinite(weights) & (weights > 0)
    return nodes[keep], weights[keep] / weights[keep].sum()


@dataclass(frozen=True)
class Orthonormal:
    """H_0, H_1, ..., orthonormal under one law."""

    centres: np.ndarray  # a_k, of the standardised variable
    norms: np.ndarray  # sqrt(b_k), with norms[0] = 1
    nodes: np.ndarray
    weights: np.ndarray
    shift: float
    scale: float

    @classmethod
    def of(cls, law: Law, degree: int) -> Orthonormal:
        """The polynomials up to ``degree`` of a frozen scipy.stats law or of sample values."""
        nodes, weights = nodes_and_weights(law)
        if len(nodes) <= degree:
            raise BadParameter(
                f"a law with {len(nodes)} distinct values has orthogonal polynomials up to degree "
                f"{len(nodes) - 1} only; degree {degree} is needed. Give more data, or a lower "
                "max_degree."
            )
        _check_moments(nodes, weights, degree)
        shift = float(np.sum(weights * nodes))
        scale = float(np.sqrt(np.sum(weights * (nodes - shift) ** 2)))
        standard = (nodes - shift) / scale
        centres, norms = np.zeros(degree + 1), np.ones(degree + 1)
        before, now = np.zeros(len(nodes)), np.ones(len(nodes))
        for k in range(degree + 1):
            centres[k] = float(np.sum(weights * standard * now * now))
            if k == degree:
                break
            after = (standard - centres[k]) * now - (norms[k] * before if k else 0.0)
            norms[k + 1] = float(np.sqrt(np.sum(weights * after * after)))
            before, now = now, after / norms[k + 1]
        return cls(centres, norms, nodes, weights, shift, scale)

    @property
    def degree(self) -> int:
        """The highest degree there is."""
        return len(self.norms) - 1

    @property
    def leading(self) -> np.ndarray:
        """The coefficient of x^k in H_k, the paper's b_k."""
        return np.asarray(1.0 / np.cumprod(self.norms) / self.scale ** np.arange(self.degree + 1))

    def values(self, x: np.ndarray) -> np.ndarray:
        """H_k(x) for every k: shape (degree + 1, *x.shape)."""
        points = (np.asarray(x, dtype=np.float64) - self.shift) / self.scale
        table = np.ones((self.degree + 1, *points.shape))
        for k in range(self.degree):
            lower = self.norms[k] * table[k - 1] if k else 0.0
            table[k + 1] = ((points - self.centres[k]) * table[k] - lower) / self.norms[k + 1]
        return table

    def mean(self, values_at_nodes: np.ndarray) -> float:
        """The expectation of a function given by its values at the nodes."""
        return float(np.sum(self.weights * values_at_nodes))


def _check_moments(nodes: np.ndarray, weights: np.ndarray, degree: int) -> None:
    """Refuse laws whose moments up to twice the degree do not exist or were not reached."""
    scale = float(np.sqrt(np.sum(weights * nodes**2))) or 1.0
    with np.errstate(over="ignore"):
        parts = weights * np.abs(nodes / scale) ** (2 * degree)
    ends = NODES_PER_PANEL
    outer = parts[:ends].sum() + parts[-ends:].sum()
    heavy = len(nodes) > 20 * ends and max(abs(nodes[0]), abs(nodes[-1])) > 1e3 * scale
    if not np.isfinite(parts).all() or (heavy and outer > 1e-9 * parts.sum()):
        raise BadParameter(
            f"this law has no finite moments up to {2 * degree}, which polynomials of degree "
            f"{degree} need. Use a law with lighter tails, or a lower max_degree."
        )
