"""Cells as bits: a view of a reader that learners which read Booleans can be given."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from thrifty import kernels
from thrifty.cells.cells import Cells
from thrifty.cells.features import FeatureColumns, checked_indices
from thrifty.errors import UnknownFeature
from thrifty.typing import AnyArray, Bools, Floats, Ints, Words


class _BitColumns(FeatureColumns):
    """Bits as features, each in the column of its cell."""

    def __init__(self, inner: FeatureColumns, parents: Ints, bits: Sequence[Bit]) -> None:
        self.names, self.n = tuple(bit.name for bit in bits), len(bits)
        self.place, self.only, self.n_offered = inner.columns(parents), inner.only, inner.n_offered
        self._inner, self._parents = inner, parents
        self._plain = [bit.test == "value" for bit in bits]
        self._boolean = np.where(self._plain, inner.boolean[parents], True)

    @property
    def categories(self) -> Mapping[int, tuple[str, ...]]:
        there, parents = self._inner.categories, enumerate(self._parents.tolist())
        return {i: there[f] for i, f in parents if f in there and self._plain[i]}

    @property
    def offered(self) -> Ints:
        """Of the cells behind the bits: it is they that are bought."""
        return self._inner.offered


class BitCells(Cells):
    """The bits of another reader's cells, which are charged there.

    >>> cells = Cells(np.array([[1.5], [2.5]]), prices=[3.0])
    >>> bits = BitCells(cells, [Bit("x0"), Bit("x0", "missing")])
    >>> bits.get([0, 1], [0, 1]).tolist(), bits.receipt().cost
    ([[1.5, 0.0], [2.5, 0.0]], 6.0)
    """

    def __init__(self, cells: Cells, bits: Sequence[Bit]) -> None:
        self.cells, self.bits = cells, tuple(bits)
        place = {name: f for f, name in enumerate(cells.feature_names)}
        lost = next((bit.feature for bit in bits if bit.feature not in place), None)
        if lost is not None:
            raise UnknownFeature(
                f"the feature {lost!r} is needed and is not there; there are "
                f"{', '.join(map(repr, cells.feature_names[:8]))}. Bring it under that name."
            )
        self.parents = np.array([place[bit.feature] for bit in bits], dtype=np.int64)
        self._share(cells, _BitColumns(cells.features, self.parents, self.bits))

    @property
    def fees(self) -> tuple[tuple[float, tuple[int, ...]], ...]:
        """A cell is paid once for all its bits; a fee, once for the bits of all its features."""
        own = [
            (float(self.cells.prices[f]), tuple(np.flatnonzero(self.parents == f).tolist()))
            for f in np.unique(self.parents).tolist()
        ]
        return tuple([pair for pair in own if len(pair[1]) > 1]) + super().fees

    @property
    def shared_prices(self) -> Floats:
        """The bits of a cell share its price evenly."""
        n_bits = np.bincount(self.parents, minlength=self.cells.n_features)
        return np.asarray((self.cells.shared_prices / np.maximum(n_bits, 1))[self.parents])

    @property
    def depends(self) -> Bools:
        """The bits of a cell are free once one of them was read."""
        several = np.bincount(self.parents, minlength=self.cells.n_features) > 1
        return np.asarray((self.cells.depends | several)[self.parents])

    def row_keys(self) -> Words:
        return self.cells.row_keys()

    def get(self, rows: ArrayLike, features: ArrayLike) -> AnyArray:
        which = checked_indices(features, self.n_features, "feature")
        parents, back = np.unique(self.parents[which], return_inverse=True)
        values = np.asarray(self.cells.get(rows, parents), dtype=np.float64)
        out = np.empty((len(values), len(which)))
        for j, i in enumerate(which.tolist()):
            out[:, j] = self._answers(i, values[:, back[j]])
        return out if not self.boolean[which].all() else out.astype(np.bool_)

    def _answers(self, i: int, values: Floats) -> AnyArray:
        bit = self.bits[i]
        if bit.test == "value":
            return values
        if bit.test == "missing":
            return np.isnan(values)
        there = self.cells.categories.get(int(self.parents[i]), ())
        code = there.index(str(bit.what)) if bit.what in there else -1
        return np.asarray(values == code)

    def columns(self, features: Ints, mask: Words) -> Words:
        rows = kernels.rows_of_mask(mask)
        some = [
            kernels.mask_of_rows(rows[yes != 0], self.n_examples)
            for yes in self.get(rows, features).T
        ]
        return np.array(some, dtype=np.uint64).reshape(len(features), -1)

    def everything(self) -> Words:
        return kernels.pack_tiles(self.table() != 0)


#: bits for the categories that come first; the others are told by none of them
_MOST_CATEGORIES = 32

Test = Literal["value", "is", "missing"]


@dataclass(frozen=True, slots=True)
class Bit:
    """One question about one cell.

    >>> Bit("age").name, Bit("colour", "is", "red").name, Bit("colour", "missing").name
    ('age', 'colour == red', 'colour is missing')
    """

    feature: str
    test: Test = "value"
    what: str | None = None

    @property
    def name(self) -> str:
        if self.test == "is":
            return f"{self.feature} == {self.what}"
        return self.feature if self.test == "value" else f"{self.feature} is missing"


def bits_of(cells: Cells, known: Iterable[Bit] = ()) -> tuple[Bit, ...]:
    """The bits of a reader's features: those known, and new ones for what was never met."""
    old = tuple(known)
    met = {bit.feature for bit in old}
    new: list[Bit] = []
    for f, name in enumerate(cells.feature_names):
        categories = cells.categories.get(f)
        if name in met:
            new += _new_categories(old, name, categories or ())
        elif categories is not None:
            new += [Bit(name, "is", c) for c in categories[:_MOST_CATEGORIES]]
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


def bits_to_dict(bits: Iterable[Bit]) -> list[list[object]]:
    """Plain data, for JSON."""
    return [[bit.feature, bit.test, bit.what] for bit in bits]


def read_bits(data: Iterable[Sequence[Any]]) -> tuple[Bit, ...]:
    """The inverse of :func:`bits_to_dict`."""
    return tuple(Bit(str(feature), test, what) for feature, test, what in data)
