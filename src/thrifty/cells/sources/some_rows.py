"""Some of a source's examples: those that have a label, those that come once."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

import numpy as np

from thrifty.cells.sources.base import Source, SourceView
from thrifty.cells.sources.callable import CallableSource
from thrifty.cells.sources.checks import checked_ids
from thrifty.cells.sources.questions import QuestionSource
from thrifty.errors import BadInput, BadParameter
from thrifty.typing import AnyArray, Bools, Ints, Words

#: what to do with an id that comes more than once
Duplicates = Literal["refuse", "first", "newest"]


def of_rows(source: Source, rows: Ints) -> Source:
    """A source with some of its examples, in the order of ``rows``; nothing is read.

    >>> some = of_rows(Source.from_array(np.eye(3)), np.array([2, 0]))
    >>> some.read(np.arange(2), np.arange(3)).tolist()
    [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
    """
    rows = np.asarray(rows, dtype=np.int64)
    if isinstance(source, CallableSource):
        some = copy.copy(source)
        some.examples = tuple(source.examples[i] for i in rows.tolist())
        some.n_examples = len(rows)
        some.present = None if source.present is None else source.present[rows]
        if isinstance(some, QuestionSource):
            some.per_call = some.per_call[rows]
            some.fn = some._answer  # what it learns of its server is reserved by itself
        return some
    return SomeRows(source, rows)


class SomeRows(SourceView):
    """Some examples of a source that is free to read; made by :func:`of_rows`."""

    def __init__(self, source: Source, rows: Ints) -> None:
        super().__init__(source, source.boolean)
        ids, self._rows, self.n_examples, self.kept = source.examples, rows, len(rows), None
        self.examples = None if ids is None else tuple(ids[i] for i in rows.tolist())
        self.index = None if source.index is None else source.index[rows]
        self.present = None if source.present is None else source.present[rows]

    def read(self, rows: Ints, features: Ints) -> AnyArray:
        return self._source.read(self._rows[rows], features)

    # of the rows that are here, not of those behind it
    columns, tiles = Source.columns, Source.tiles


def rows_to_keep(ids: Sequence[object], duplicates: Duplicates) -> Ints | None:
    """Rows of a table of which each id is kept once; None: all of them.

    "newest" is the last row of an id, as tables are written down in time.

    >>> rows_to_keep(["a", "b", "a"], "newest").tolist()
    [1, 2]
    """
    if duplicates not in ("refuse", "first", "newest"):
        raise BadParameter(f"duplicates must be 'refuse', 'first' or 'newest'; got {duplicates!r}.")
    texts = [str(i) for i in ids]
    if len(set(texts)) == len(texts):
        return None
    if duplicates == "refuse":
        try:
            checked_ids(ids, len(texts))
        except BadInput as error:
            raise BadInput(
                f"{error} Where an example was written down several times, "
                "duplicates='first' or 'newest' takes one of its rows."
            ) from error
    at: dict[str, int] = {}
    for i, text in enumerate(texts):
        if duplicates == "newest" or text not in at:
            at[text] = i
    return np.array(sorted(at.values()), dtype=np.int64)


Keys = Words


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
def _told_by(names: tuple[str, ...]) -> tuple[Ints, Keys]:
    """The features that examples are told apart by, 256 at most, and a number for each name."""
    salts = np.array([_of_text(name) for name in names], dtype=np.uint64)
    features = np.sort(np.argsort(salts, kind="stable")[:256])
    return features, salts[features]


def _add_bits(total: Keys, bits: Bools, salts: Keys) -> None:
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
