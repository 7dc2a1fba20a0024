"""Derived bits: numbers, categories and gaps for learners that read Booleans.

A bit is a question about one cell: ``value >= t``, ``value == c``, ``is missing``. One bought cell
answers all bits of its feature, so the door behind them charges for cells, never for bits. Which
bits there are is a plain value, kept with what was learned: a bit must mean the same in every task.

Where to cut a number is not known before some of its cells are; the first task that meets the
feature buys a few random rows of it (:data:`FIRST_ROWS`), and the cuts at their even ranks stay.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from thrifty.cells.door import Door

__all__ = ["FIRST_ROWS", "Bit", "bits_of", "bits_to_dict", "read_bits"]

#: rows bought of a number that was never met, to see where to cut it
FIRST_ROWS = 32
_CUTS = 7
#: bits for the categories that come first; the others are told by none of them
_MOST_CATEGORIES = 32

Test = Literal["value", "at least", "is", "missing"]


@dataclass(frozen=True, slots=True)
class Bit:
    """One question about one cell.

    >>> Bit("age", "at least", 50.5).name, Bit("colour", "is", "red").name
    ('age >= 50.5', 'colour == red')
    """

    feature: str
    test: Test = "value"
    what: float | str | None = None

    @property
    def name(self) -> str:
        if self.test == "at least":
            return f"{self.feature} >= {self.what:g}"
        if self.test == "is":
            return f"{self.feature} == {self.what}"
        return self.feature if self.test == "value" else f"{self.feature} is missing"


def bits_of(
    cells: Door,
    known: Iterable[Bit] = (),
    *,
    reads: frozenset[str] = frozenset({"boolean"}),
    random_state: int = 0,
) -> tuple[Bit, ...]:
    """The bits of a door's features: those known, and new ones for what was never met.

    Parameters
    ----------
    reads : frozenset of str
        The kinds a learner takes as they are; of the others it gets bits.
    """
    old = tuple(known)
    met = {bit.feature for bit in old}
    names, categories = cells.feature_names, cells.categories
    numbers = [
        f
        for f in np.flatnonzero(~cells.boolean).tolist()
        if names[f] not in met and f not in categories and "number" not in reads
    ]
    cuts = _first_cuts(cells, numbers, random_state)
    new: list[Bit] = []
    for f, name in enumerate(names):
        if name in met:
            new += _new_categories(old, name, categories.get(f, ()))
        elif f in categories and "category" not in reads:
            new += [Bit(name, "is", c) for c in categories[f][:_MOST_CATEGORIES]]
            new.append(Bit(name, "missing"))
        elif f in cuts:
            new += [Bit(name, "at least", t) for t in cuts[f]]
            new.append(Bit(name, "missing"))
        else:
            new.append(Bit(name))
    return old + tuple(new)


def _new_categories(old: Sequence[Bit], name: str, here: Sequence[str]) -> list[Bit]:
    mine = {bit.what for bit in old if bit.feature == name and bit.test == "is"}
    if not mine:
        return []
    room = max(0, _MOST_CATEGORIES - len(mine))
    return [Bit(name, "is", c) for c in here if c not in mine][:room]


def _first_cuts(cells: Door, numbers: list[int], seed: int) -> dict[int, list[float]]:
    if not numbers:
        return {}
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.permutation(cells.n_examples)[:FIRST_ROWS])
    values = np.asarray(cells.get(rows, np.array(numbers)), dtype=np.float64)
    return {f: _cuts(values[:, j]) for j, f in enumerate(numbers)}


def _cuts(values: NDArray[np.float64]) -> list[float]:
    """Thresholds at even ranks, halfway between neighbouring values.

    >>> _cuts(np.array([1.0, 1.0, 2.0, 5.0, np.nan]))
    [1.5, 3.5]
    """
    there = np.sort(values[~np.isnan(values)])
    steps = np.flatnonzero(there[:-1] < there[1:])
    if len(steps) > _CUTS:
        wanted = (np.arange(1, _CUTS + 1) * len(there)) // (_CUTS + 1)
        nearest = np.abs(steps[None, :] + 1 - wanted[:, None]).argmin(axis=1)
        steps = steps[np.unique(nearest)]
    return [float(there[i] / 2 + there[i + 1] / 2) for i in steps]


def bits_to_dict(bits: Iterable[Bit]) -> list[list[object]]:
    """Plain data, for JSON."""
    return [[bit.feature, bit.test, bit.what] for bit in bits]


def read_bits(data: Iterable[Sequence[Any]]) -> tuple[Bit, ...]:
    """The inverse of :func:`bits_to_dict`."""
    return tuple(Bit(str(feature), test, what) for feature, test, what in data)
