"""Which tasks are asked for together, and what each counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from thrifty.errors import BadParameter

__all__ = ["distinct", "read_weights"]


def distinct(names: Sequence[str]) -> list[str]:
    """Names of tasks, each once, at least one.

    >>> distinct(["a", "b"])
    ['a', 'b']
    """
    given = list(names)
    if not given or not all(isinstance(name, str) for name in given):
        raise BadParameter(f"name must be a task or several, as a list of names; got {names!r}.")
    twice = sorted({name for name in given if given.count(name) > 1})
    if twice:
        raise BadParameter(f"each task is asked for once; named twice: {', '.join(twice)}.")
    return given


def read_weights(names: Sequence[str], weights: Mapping[str, float] | None) -> dict[str, float]:
    """What each task counts; 1 where nothing is said.

    >>> read_weights(["a", "b"], {"b": 3})
    {'a': 1.0, 'b': 3.0}
    """
    given = dict(weights or {})
    for name, weight in given.items():
        if name not in names:
            raise BadParameter(f"weights names {name!r}, which is not asked for: {list(names)}.")
        number = isinstance(weight, int | float | np.number) and not isinstance(weight, bool)
        if not number or not 0 < weight < np.inf:
            raise BadParameter(f"the weight of {name!r} must be above 0; got {weight!r}.")
    return {name: float(given.get(name, 1.0)) for name in names}
