"""Derived bits: numbers, categories and gaps for learners that read Booleans.

A bit is a question about one cell: ``value >= t``, ``value == c``, ``is missing``. One bought cell
answers all bits of its feature, so the door behind them charges for cells, never for bits. Which
bits there are is a plain value, kept with what was learned: a bit must mean the same in every task.

Where to cut a number is not known before some of its cells are; the first task that meets the
feature buys a few random rows of it (:data:`FIRST_ROWS`), and the cuts at their even ranks stay.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thrifty import kernels
from thrifty.cells.door import Cells
from thrifty.cells.ledger.receipt import Receipt
from thrifty.errors import UnknownFeature
from thrifty.typing import AnyArray

__all__ = ["FIRST_ROWS", "Bit", "BitCells", "bits_of", "bits_to_dict", "read_bits"]

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
    cells: Cells,
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


def _first_cuts(cells: Cells, numbers: list[int], seed: int) -> dict[int, list[float]]:
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


class BitCells(Cells):
    """A door to the bits of another door's cells, which charges there."""

    def __init__(self, cells: Cells, bits: Sequence[Bit]) -> None:
        self.cells, self.bits = cells, tuple(bits)
        self.row_seed = cells.row_seed
        place = {name: f for f, name in enumerate(cells.feature_names)}
        lost = next((bit.feature for bit in bits if bit.feature not in place), None)
        if lost is not None:
            raise UnknownFeature(
                f"the feature {lost!r} is needed and is not there; there are "
                f"{', '.join(map(repr, cells.feature_names[:8]))}. Bring it under that name."
            )
        self.parents = np.array([place[bit.feature] for bit in bits], dtype=np.int64)
        self.prices = cells.prices[self.parents]
        plain = [bit.test == "value" for bit in bits]
        self._boolean = np.where(plain, cells.boolean[self.parents], True)
        self._names = tuple(bit.name for bit in bits)

    @property
    def meter(self) -> object:  # type: ignore[override]
        return self.cells.meter

    @property
    def n_examples(self) -> int:
        return self.cells.n_examples

    @property
    def n_features(self) -> int:
        return len(self.bits)

    @property
    def feature_names(self) -> tuple[str, ...]:
        return self._names

    @property
    def boolean(self) -> NDArray[np.bool_]:
        return self._boolean

    @property
    def categories(self) -> Mapping[int, tuple[str, ...]]:
        there = self.cells.categories
        return {
            i: there[f] for i, f in enumerate(self.parents.tolist())
            if f in there and self.bits[i].test == "value"
        }  # fmt: skip

    @property
    def fees(self) -> tuple[tuple[float, tuple[int, ...]], ...]:
        """A cell is paid once for all its bits; a fee, once for the bits of all its features."""
        own = [
            (float(self.cells.prices[f]), tuple(np.flatnonzero(self.parents == f).tolist()))
            for f in np.unique(self.parents).tolist()
        ]
        shared = [
            (fee, tuple(np.flatnonzero(np.isin(self.parents, members)).tolist()))
            for fee, members in self.cells.fees
        ]
        return tuple([pair for pair in own if len(pair[1]) > 1] + shared)

    @property
    def orders(self) -> tuple[tuple[int, ...], ...]:
        """The bits of all features of an order, or of one test."""
        shared = (np.isin(self.parents, members) for members in self.cells.orders)
        return tuple(tuple(np.flatnonzero(bits).tolist()) for bits in shared)

    @property
    def sells_together(self) -> bool:
        return self.cells.sells_together

    @property
    def call_price(self) -> float:
        return self.cells.call_price

    def price_of_an_example(self) -> int:
        return self.cells.price_of_an_example()

    def price_between(self, owned: Sequence[int], wanted: Sequence[int]) -> float:
        had, new = (self.parents[np.asarray(some, dtype=np.int64)] for some in (owned, wanted))
        return self.cells.price_between(had.tolist(), new.tolist())

    def prices_after(self, features: Sequence[int]) -> NDArray[np.float64]:
        """Where prices depend on what is owned, the bits of a cell that is there are free."""
        found = self.cells.prices_after(self.parents[np.asarray(features, dtype=np.int64)].tolist())
        return self.prices if found is self.cells.prices else found[self.parents]

    @property
    def depends(self) -> NDArray[np.bool_]:
        """The bits of a cell are free once one of them was read."""
        several = np.bincount(self.parents, minlength=self.cells.n_features) > 1
        return np.asarray((self.cells.depends | several)[self.parents])

    def cell_of(self, features: object) -> NDArray[np.int64]:
        return np.asarray(self.parents[self._indices(features, self.n_features, "feature")])

    def _margins(
        self, rows: NDArray[np.int64], features: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        parents, back = np.unique(self.parents[features], return_inverse=True)
        return np.asarray(self.cells.margins(rows, parents)[:, back.ravel()])

    def get(self, rows: ArrayLike, features: ArrayLike) -> AnyArray:
        which = self._indices(features, self.n_features, "feature")
        parents, back = np.unique(self.parents[which], return_inverse=True)
        values = np.asarray(self.cells.get(rows, parents), dtype=np.float64)
        out = np.empty((len(values), len(which)))
        for j, i in enumerate(which.tolist()):
            out[:, j] = self._answers(i, values[:, back[j]])
        return out if not self._boolean[which].all() else out.astype(np.bool_)

    def _answers(self, i: int, values: NDArray[np.float64]) -> AnyArray:
        bit = self.bits[i]
        if bit.test == "value":
            return values
        if bit.test == "missing":
            return np.isnan(values)
        if bit.test == "at least":
            return np.asarray(values >= float(bit.what or 0.0))
        there = self.cells.categories.get(int(self.parents[i]), ())
        code = there.index(str(bit.what)) if bit.what in there else -1
        return np.asarray(values == code)

    def columns(self, features: NDArray[np.int64], mask: NDArray[np.uint64]) -> NDArray[np.uint64]:
        rows = kernels.rows_of_mask(mask)
        answers = self.get(rows, features)
        return np.array(
            [kernels.mask_of_rows(rows[answers[:, j] != 0], self.n_examples)
             for j in range(len(features))], dtype=np.uint64,
        ).reshape(len(features), -1)  # fmt: skip

    def everything(self) -> NDArray[np.uint64]:
        return kernels.pack_tiles(self.table() != 0)

    def table(self) -> AnyArray:
        return self.get(np.arange(self.n_examples), np.arange(self.n_features))

    def _row_costs(
        self, rows: NDArray[np.int64], features: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        return self.cells.row_costs(rows, self.parents[features])

    def row_keys(self) -> NDArray[np.uint64]:
        return self.cells.row_keys()

    def owned_rows(self, features: object) -> NDArray[np.int64]:
        return self.cells.owned_rows(self.parents[np.atleast_1d(np.asarray(features))])

    def paid_on(self, row: int, features: Sequence[int]) -> list[float]:
        """A cell is paid with the first of its bits."""
        parents = self.parents[np.asarray(features, dtype=np.int64)].tolist()
        first = [f not in parents[:i] for i, f in enumerate(parents)]
        paid = iter(self.cells.paid_on(row, [f for f, new in zip(parents, first) if new]))
        return [next(paid) if new else 0.0 for new in first]

    def looked_at(self, row: int, feature: int) -> bool:
        return self.cells.looked_at(row, int(self.parents[feature]))

    def cells_per_row(self) -> NDArray[np.int64]:
        return self.cells.cells_per_row()

    def cost_per_row(self) -> NDArray[np.float64]:
        return self.cells.cost_per_row()

    @property
    def absent(self) -> NDArray[np.bool_]:
        return self.cells.absent[self.parents]

    @property
    def allowance(self) -> float | None:
        return self.cells.allowance

    @property
    def spend(self) -> float | None:
        return self.cells.spend

    @property
    def currency(self) -> str:
        return self.cells.currency

    @property
    def everything_is_bought(self) -> bool:
        return self.cells.everything_is_bought

    @property
    def counted(self) -> int:
        return self.cells.counted

    @property
    def n_bought(self) -> int:
        return self.cells.n_bought

    def receipt(self) -> Receipt:
        return self.cells.receipt()
