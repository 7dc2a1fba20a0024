"""Counting cells in memory: a bit per cell, never a set of pairs.

Bitmaps are allocated as zeroed memory that the operating system hands out page by page, so a
task that touches few features costs little memory, and a task that buys everything sets one flag.
What was paid for of arrays and frames without ids is owned for as long as the object lives.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from secrets import token_hex

import numpy as np
from numpy.typing import NDArray

from thrifty import kernels
from thrifty.cells.prices.tariff import Tariff
from thrifty.cells.sources import Source
from thrifty.typing import Bools, Ints, TableLike, Words


class Owned:
    """The cells of one source that earlier tasks paid for.

    A table that one task looked at keeps the columns it looked at and no more: a bitmap of the
    whole would be memory that every new task has to be given by the operating system, which
    costs more than all the counting. The whole is laid out where a second task asks for it.
    """

    def __init__(self, n_examples: int, n_features: int) -> None:
        self.n_examples, self.n_features = n_examples, n_features
        self.everything = False
        self._bitmap = _NO_CELLS
        self._few: tuple[Ints, Words] | None = None

    @property
    def bitmap(self) -> Words:
        """A bit per cell: (N, W); no rows where nothing is owned, or everything."""
        if self._few is not None:
            features, columns = self._few
            words = kernels.words_for(self.n_examples)
            self._bitmap = np.zeros((self.n_features, words), dtype=np.uint64)
            self._bitmap[features] = columns
            self._few = None
        return self._bitmap

    @bitmap.setter
    def bitmap(self, bitmap: Words) -> None:
        self._bitmap, self._few = bitmap, None

    def add(self, meter: Meter) -> None:
        """What a finished task touched is owned from now on."""
        if self.everything or meter.everything:
            self.everything, self.bitmap = True, _NO_CELLS
            return
        features = meter.touched_features
        if self._few is None and self._bitmap is _NO_CELLS:
            self._few = features, meter.touched[features]
        else:
            self.bitmap[features] |= meter.touched[features]

    @property
    def memory(self) -> int:
        """How many bytes it takes to remember this."""
        return self._bitmap.nbytes if self._few is None else sum(x.nbytes for x in self._few)

    def count(self, features: Ints | None = None) -> int:
        """How many cells are owned; with ``features``, of these alone."""
        if self.everything:
            return self.n_examples * (self.n_features if features is None else len(features))
        if features is None:
            owned = self._bitmap if self._few is None else self._few[1]
        else:
            owned = self.bitmap[features] if len(self.bitmap) else _NO_CELLS
        return int(np.bitwise_count(owned).sum())


def absent_cells(present: Bools | None, tariff: Tariff) -> Words | None:
    """The cells that are known not to exist, a bit per example: (N, W); None: nothing is known.

    ``present``: (S, N) which exist. What follows from others by the price list does not exist
    without them.

    >>> import thrifty
    >>> tariff = thrifty.PriceList([0, 1], derived={"a": ["b"]}).tariff(["a", "b"])
    >>> bits = absent_cells(np.array([[True, False], [True, True]]), tariff)
    >>> bits.ravel().tolist()
    [1, 1]
    """
    if present is None:
        return None
    n, follows = len(present), tariff.follows
    columns = [kernels.mask_of_rows(np.flatnonzero(~column), n) for column in present.T]
    absent = np.array(columns, dtype=np.uint64)
    for _ in follows:  # one may follow from another that follows
        for f, parents in follows.items():
            for parent in parents:
                absent[f] |= absent[parent]
    return absent


class Meter:
    """What one task touches: bought where it is new, reused where an earlier task paid."""

    def __init__(
        self,
        n_examples: int,
        n_features: int,
        owned: Owned | None = None,
        absent: Words | None = None,
    ) -> None:
        self.n_examples, self.n_features = n_examples, n_features
        self.owned = owned if owned is not None else Owned(n_examples, n_features)
        self._absent = absent  # cells that do not exist: (N, W)
        words = kernels.words_for(n_examples)
        self.touched = np.zeros((n_features, words), dtype=np.uint64)
        self.everything = False
        self._planes = np.zeros((n_features.bit_length() + 1, words), dtype=np.uint64)
        self._bought = np.zeros(n_features, dtype=np.int64)
        self._reused = np.zeros(n_features, dtype=np.int64)
        self._owned_before = self.owned.bitmap

    def charge(self, features: Ints, mask: Words) -> None:
        """Touch the features on the rows of the mask."""
        if self.everything:
            return
        if self._absent is not None and (self._absent[features] & mask).any():
            for f in features.tolist():  # what does not exist is not touched
                self._charge(np.array([f]), mask & ~self._absent[f])
            return
        self._charge(features, mask)

    def _charge(self, features: Ints, mask: Words) -> None:
        if self.owned.everything:
            self._charge_owned(features, mask)
            return
        kernels.charge(
            self.touched,
            self._owned_before,
            features,
            mask,
            self._planes,
            self._bought,
            self._reused,
        )

    def _charge_owned(self, features: Ints, mask: Words) -> None:
        """All is owned already: nothing is bought, what is touched for the first time is reused."""
        fresh = mask & ~self.touched[features]
        self._reused[features] += np.bitwise_count(fresh).sum(axis=1, dtype=np.int64)
        self.touched[features] |= mask

    def charge_everything(self) -> None:
        """Touch every cell of the task; what the failed attempt bought is part of it."""
        if self.everything:
            return
        if self._absent is not None:
            every = kernels.mask_of_rows(np.arange(self.n_examples), self.n_examples)
            self.charge(np.arange(self.n_features), every)
            return
        self.everything = True
        if self.owned.everything:
            self._reused[:] = self.n_examples
            return
        if self._owned_before.shape[0]:
            self._reused[:] = np.bitwise_count(self._owned_before).sum(axis=1, dtype=np.int64)
        self._bought[:] = self.n_examples - self._reused

    @property
    def touched_features(self) -> Ints:
        """The features this task looked at on some example."""
        return np.flatnonzero(self._bought | self._reused)

    @property
    def bought_per_feature(self) -> Ints:
        return self._bought

    @property
    def reused_per_feature(self) -> Ints:
        return self._reused

    def count_any(self, features: Ints) -> int:
        """Examples on which this task was the first to buy one of these features."""
        return int(np.count_nonzero(self.first_bits(features)))

    def known_rows(self, features: Ints) -> Ints:
        """Examples on which every one of these features is owned, or was bought by this task."""
        if self.everything or self.owned.everything or not len(features):
            return np.arange(self.n_examples)
        known = self.settled(features)
        return np.asarray(kernels.rows_of_mask(np.bitwise_and.reduce(known, axis=0)))

    def _all_or(self, everything: bool, bits: Words, features: Ints) -> Words:
        """Some of these bits; all where it is everything, none where nothing is laid out."""
        if everything or not len(bits):
            fill = ~np.uint64(0) if everything else np.uint64(0)
            return np.full((len(features), kernels.words_for(self.n_examples)), fill)
        return np.asarray(bits[features])

    def looked_at(self, features: Ints) -> Words:
        """Where each feature was touched by this task: (k, W)."""
        return self._all_or(self.everything, self.touched, features)

    def owned_before(self, features: Ints) -> Words:
        """Where each feature was owned when this task began: (k, W)."""
        return self._all_or(self.owned.everything, self._owned_before, features)

    def had(self, features: Ints) -> Words:
        """Where each feature is bought by this task or owned from before: (k, W)."""
        if not (self._owned_before.shape[0] or self.owned.everything):
            return self.looked_at(features)
        return self.looked_at(features) | self.owned_before(features)

    def lacking(self, features: Ints) -> Words | None:
        """Where each feature is known not to exist: (k, W); None where nothing is known of that."""
        return None if self._absent is None else self._absent[features]

    def n_absent(self, features: Ints | None = None) -> int:
        """How many cells are known not to exist; with ``features``, of these alone."""
        if self._absent is None:
            return 0
        some = self._absent if features is None else self._absent[features]
        return int(np.bitwise_count(some).sum())

    def settled(self, features: Ints) -> Words:
        """Where nothing is due for a feature: it is had, or known not to exist."""
        had, absent = self.had(features), self.lacking(features)
        return had if absent is None else had | absent

    def bought_bits(self, features: Ints) -> NDArray[np.uint8]:
        """Which examples these features were bought on by this task: (k, S), 0 or 1."""
        return self._unpacked(self.looked_at(features) & ~self.owned_before(features))

    def bought_per_example(self) -> Ints:
        """How many cells this task bought on each example."""
        bits = self.bought_bits(np.flatnonzero(self._bought))
        return np.asarray(bits.sum(axis=0, dtype=np.int64))

    def first_bits(self, features: Ints) -> NDArray[np.uint8]:
        """Examples on which this task was the first to buy one of these features: 0 or 1."""
        looked_at, before = self.looked_at(features), self.owned_before(features)
        either = [np.bitwise_or.reduce(bits, axis=0)[None] for bits in (looked_at, before)]
        return np.asarray(self._unpacked(either[0] & ~either[1])[0])

    def _unpacked(self, words: Words) -> NDArray[np.uint8]:
        flat = np.ascontiguousarray(words).view(np.uint8)
        return np.unpackbits(flat, axis=1, bitorder="little", count=self.n_examples)

    def max_per_example(self) -> int:
        """The largest number of cells bought on one example."""
        if not self.everything:
            return int(kernels.largest_in_planes(self._planes))
        if self.owned.everything:
            return 0
        owned = np.zeros(self.n_examples, dtype=np.int64)
        for column in self._owned_before:  # a wide table takes no table of bits
            owned += self._unpacked(column[None])[0]
        return self.n_features - int(owned.min())


class PartOwned(Owned):
    """What is owned of some rows of an object; what is added belongs to the whole of it.

    >>> whole = Owned(3, 1)
    >>> part = PartOwned(whole, np.array([0, 2]))
    >>> meter = Meter(2, 1, part)
    >>> meter.charge(np.array([0]), kernels.mask_of_rows(np.array([1]), 2))
    >>> part.add(meter)
    >>> kernels.rows_of_mask(whole.bitmap[0]).tolist()
    [2]
    """

    def __init__(self, whole: Owned, rows: Ints) -> None:
        super().__init__(len(rows), whole.n_features)
        self._whole, self.rows = whole, rows
        self.everything = whole.everything
        if not self.everything and len(whole.bitmap):
            bits = np.unpackbits(whole.bitmap.view(np.uint8), axis=1, bitorder="little")
            packed = np.packbits(bits[:, rows], axis=1, bitorder="little")
            words = np.zeros((whole.n_features, 8 * kernels.words_for(len(rows))), dtype=np.uint8)
            words[:, : packed.shape[1]] = packed
            self.bitmap = words.view(np.uint64)

    def by_now(self) -> PartOwned:
        """With what was added to the whole since."""
        return PartOwned(self._whole, self.rows)

    def add(self, meter: Meter) -> None:
        whole = Meter(self._whole.n_examples, self.n_features)
        touched = range(self.n_features) if meter.everything else meter.touched_features.tolist()
        for f in touched:
            here = (
                self.rows if meter.everything else self.rows[kernels.rows_of_mask(meter.touched[f])]
            )
            mask = kernels.mask_of_rows(np.sort(here), whole.n_examples)
            whole.charge(np.array([f]), mask)
        self._whole.add(whole)


@dataclass(eq=False)
class _KeptTable:
    object: weakref.ref[object]
    owned: Owned
    place: str


class RememberedTables:
    """Objects that were learned from, by who they are; nothing keeps them alive.

    >>> import numpy as np
    >>> X, memory = np.eye(3, dtype=bool), RememberedTables()
    >>> first, _ = memory.of(X, Source.from_array(X))
    >>> memory.of(X, Source.from_array(X))[0] is first
    True
    >>> del X
    >>> len(memory)
    0
    """

    def __init__(self) -> None:
        self._entries: dict[int, _KeptTable] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def of(self, X: TableLike, source: Source, n: int = 0) -> tuple[Owned, str]:
        """What is owned of an object, and a name for it that no other object has.

        ``n``: how many rows the object has, where the source holds some of them.
        """
        key = id(X)
        found = self._entries.get(key)
        if found is not None and found.object() is X:
            return found.owned, found.place
        owned, place = Owned(n or source.n_examples, source.n_features), f"array {token_hex(16)}"
        try:
            kept: object = X
            gone = weakref.ref(kept, lambda _: self._entries.pop(key, None))
        except TypeError:  # a list cannot be told from another one in its place
            return owned, place
        self._entries[key] = _KeptTable(gone, owned, place)
        return owned, place


_NO_CELLS = np.zeros((0, 0), dtype=np.uint64)
