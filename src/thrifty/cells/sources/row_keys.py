"""Which examples a source has, as numbers: the same example has the same number in every task.

An example with an id is known by it, under the source's name. One without is known by its values:
by those of a few hundred features at most, each under its name, in whatever order they stand.
Examples that agree in all of these are not told apart, which errs towards "seen before".
Only sources that are free to read have examples without ids, so nothing is bought for it.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["row_keys"]

Keys = NDArray[np.uint64]

#: features that examples without ids are told apart by, at most
_FEATURES = 256


def row_keys(source: Any) -> Keys:
    """A number of 64 bits for each example.

    >>> from thrifty.cells.sources import Source
    >>> keys = row_keys(Source.from_array(np.array([[0, 1], [1, 0], [1, 1]]), feature_names="ab"))
    >>> turned = row_keys(Source.from_array(np.array([[1, 1], [0, 1]]), feature_names="ba"))
    >>> [int(np.flatnonzero(keys == key)[0]) for key in turned]
    [2, 1]
    """
    if source.examples is not None:
        named = [f"{source.name}\0{example}" for example in source.examples]
        return np.array([_of_text(text) for text in named], dtype=np.uint64)
    salts = [_of_text(name) for name in source.feature_names]
    told_by = sorted(range(len(salts)), key=salts.__getitem__)[:_FEATURES]
    rows = np.arange(source.n_examples)
    total = np.zeros(source.n_examples, dtype=np.uint64)
    for f in told_by:
        values = np.asarray(source.read(rows, np.array([f]))[:, 0], dtype=np.float64) + 0.0
        values[np.isnan(values)] = np.nan  # one of the many spellings of a gap
        total += _mixed(values.view(np.uint64) ^ np.uint64(salts[f]))
    return _mixed(total)


def _of_text(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def _mixed(x: Keys) -> Keys:
    """Every bit depends on every other: the last steps of SplitMix64 (Steele et al., 2014)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
