"""Which examples a source has, as numbers: the same example has the same number in every task.

An example with an id is known by it, under the source's name. One without is known by its values:
by those of a few hundred features at most, each under its name, in whatever order they stand.
Examples that agree in all of these are not told apart, which errs towards "seen before".
Only sources that are free to read have examples without ids, so nothing is bought for it.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from thrifty.cells.sources.base import Source

__all__ = ["key_of", "row_keys"]

Keys = NDArray[np.uint64]

#: features that examples without ids are told apart by, at most
_FEATURES = 256


def row_keys(source: Source) -> Keys:
    """A number of 64 bits for each example.

    >>> from thrifty.cells.sources import Source
    >>> keys = row_keys(Source.from_array(np.array([[0, 1], [1, 0], [1, 1]]), feature_names="ab"))
    >>> turned = row_keys(Source.from_array(np.array([[1, 1], [0, 1]]), feature_names="ba"))
    >>> [int(np.flatnonzero(keys == key)[0]) for key in turned]
    [2, 1]
    """
    if source.examples is not None:
        keys = [key_of(source.name, example) for example in source.examples]
        return np.array(keys, dtype=np.uint64)
    features, salts = _told_by(source.feature_names)
    total = np.zeros(source.n_examples, dtype=np.uint64)
    whole = len(features) == source.n_features
    block = source.table() if whole else source.read(np.arange(source.n_examples), features)
    bits = source.boolean[features] & (block.dtype.kind in "biu")
    if bits.any():
        of_bits = block if bits.all() else block[:, bits]
        _add_bits(total, of_bits != 0, salts[bits])
    for i in np.flatnonzero(~bits).tolist():
        values = np.asarray(block[:, i], dtype=np.float64) + 0.0
        values[np.isnan(values)] = np.nan  # one of the many spellings of a gap
        total += _mixed(values.view(np.uint64) ^ salts[i])
    return _mixed(total)


def key_of(source: str, example: str) -> int:
    """The number of an example that has an id."""
    return _of_text(f"{source}\0{example}")


@lru_cache(maxsize=8)
def _told_by(names: tuple[str, ...]) -> tuple[NDArray[np.int64], Keys]:
    """The features that examples are told apart by, ascending, and a number for each name."""
    salts = np.array([_of_text(name) for name in names], dtype=np.uint64)
    features = np.sort(np.argsort(salts, kind="stable")[:_FEATURES])
    return features, salts[features]


def _add_bits(total: Keys, bits: NDArray[np.bool_], salts: Keys) -> None:
    """What zeros and ones add, eight features at a time: 256 sums that are looked up."""
    zero, one = (_mixed(np.float64(v).view(np.uint64) ^ salts) for v in (0.0, 1.0))
    total += zero.sum(dtype=np.uint64)
    packed = np.packbits(bits, axis=1, bitorder="little")
    more = np.zeros(packed.shape[1] * 8, dtype=np.uint64)
    more[: len(salts)] = one - zero  # of 64 bits that run over, which is meant
    more = more.reshape(-1, 8)
    sums = np.zeros((len(more), 256), dtype=np.uint64)
    for bit in range(8):
        half = 1 << bit
        sums[:, half : 2 * half] = sums[:, :half] + more[:, bit : bit + 1]
    for byte, sums_of_byte in zip(packed.T, sums):
        total += sums_of_byte[byte]


def _of_text(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def _mixed(x: Keys) -> Keys:
    """Every bit depends on every other: the last steps of SplitMix64 (Steele et al., 2014)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
