"""What was paid for of arrays and frames without ids: owned for as long as the object lives."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from secrets import token_hex

import numpy as np
from numpy.typing import NDArray

from thrifty import kernels
from thrifty.cells.ledger.meter import Meter, Owned
from thrifty.cells.sources import Source
from thrifty.typing import TableLike

__all__ = ["PartOwned", "RememberedTables"]


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

    def __init__(self, whole: Owned, rows: NDArray[np.int64]) -> None:
        super().__init__(len(rows), whole.n_features)
        self._whole, self._rows = whole, rows
        self.everything = whole.everything
        if not self.everything and len(whole.bitmap):
            bits = np.unpackbits(whole.bitmap.view(np.uint8), axis=1, bitorder="little")
            packed = np.packbits(bits[:, rows], axis=1, bitorder="little")
            words = np.zeros((whole.n_features, 8 * kernels.words_for(len(rows))), dtype=np.uint8)
            words[:, : packed.shape[1]] = packed
            self.bitmap = words.view(np.uint64)

    def add(self, meter: Meter) -> None:
        whole = Meter(self._whole.n_examples, self.n_features)
        touched = range(self.n_features) if meter.everything else meter.touched_features.tolist()
        for f in touched:
            here = (
                self._rows
                if meter.everything
                else self._rows[kernels.rows_of_mask(meter.touched[f])]
            )
            mask = kernels.mask_of_rows(np.sort(here), whole.n_examples)
            whole.charge(np.array([f]), mask)
        self._whole.add(whole)


@dataclass(eq=False)
class _Kept:
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
        self._entries: dict[int, _Kept] = {}

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
        self._entries[key] = _Kept(gone, owned, place)
        return owned, place
