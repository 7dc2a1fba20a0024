"""The laws of features: given as frozen scipy.stats laws, or as values that are free to see."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from scipy import stats

from thrifty.attempt import Failure
from thrifty.errors import BadParameter

__all__ = ["Laws", "estimated", "laws_from_dict", "mismatch", "read_laws"]

#: One law for all features, or one per feature. A law is a frozen scipy.stats one, or an array.
Laws: TypeAlias = Any
Law: TypeAlias = Any

#: Data that a given law would produce less often than this do not come from it.
UNLIKELY = 1e-6


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
        if p_value * len(features) < UNLIKELY:
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
