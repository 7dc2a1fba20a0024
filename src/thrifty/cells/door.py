"""What every door says and does: the protocol that learners and models are written for.

:class:`~thrifty.cells.cells.Cells` is the door to a source; a
:class:`~thrifty.cells.bit_cells.BitCells` shows another door's cells as bits. Each protocol here is
one page of :class:`Door`; who only asks prices may take :class:`Quoted` alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thrifty.cells.ledger.meter import Meter
from thrifty.cells.ledger.receipt import Receipt
from thrifty.typing import AnyArray

__all__ = ["Billed", "Described", "Door", "Quoted"]


class Described(Protocol):
    """What there is behind a door."""

    @property
    def n_examples(self) -> int: ...
    @property
    def n_features(self) -> int: ...
    @property
    def feature_names(self) -> tuple[str, ...]: ...
    @property
    def boolean(self) -> NDArray[np.bool_]:
        """Which features are Boolean; the others are numbers or categories."""

    @property
    def categories(self) -> Mapping[int, tuple[str, ...]]:
        """Of each feature that is a category, by index: what its cells' numbers stand for."""

    @property
    def absent(self) -> NDArray[np.bool_]:
        """Features that are known elsewhere and that this source lacks: constant 0, free."""

    @property
    def offered(self) -> NDArray[np.int64]:
        """The source's columns that can be had through this door."""

    @property
    def n_offered(self) -> int:
        """How many there are."""

    @property
    def is_free(self) -> bool:
        """Whether reading costs nothing, and is counted all the same."""

    @property
    def row_seed(self) -> int:
        """Of the order in which learners take rows; 0: the same for everybody."""

    def row_order(self, salt: int) -> NDArray[np.int64]:
        """All rows in an order that data cannot be laid out against."""

    def row_keys(self) -> NDArray[np.uint64]:
        """Which examples these are, for whoever must know them again; shows no value."""

    def cell_of(self, features: object) -> NDArray[np.int64]:
        """Which cell each feature is read from; bits of one cell have the same."""


class Quoted(Protocol):
    """What cells would cost: nothing is bought by asking."""

    @property
    def prices(self) -> NDArray[np.float64]:
        """What a cell of each feature costs, where nothing is bought yet."""

    @property
    def shared_prices(self) -> NDArray[np.float64]:
        """What a cell costs in company: together they cost what a row costs."""

    @property
    def fees(self) -> tuple[tuple[float, tuple[int, ...]], ...]:
        """Paid once per example for several features: (fee, features); ``prices`` hold it too."""

    @property
    def orders(self) -> tuple[tuple[int, ...], ...]:
        """Features that are bought together: by one order, or all from one test."""

    @property
    def call_price(self) -> float:
        """What a call costs for the usual example whatever is asked, every time."""

    @property
    def sells_together(self) -> bool:
        """Whether some features are filled by orders, so that they may come with others."""

    @property
    def depends(self) -> NDArray[np.bool_]:
        """Which features' prices depend on what else is owned of the same example."""

    def price_of_an_example(self) -> int:
        """What all features cost on an example that has none of them, in minor units."""

    def price_of(self, rows: object, features: object) -> float:
        """What rows x features would cost, given what is owned."""

    def row_costs(self, rows: object, features: object) -> NDArray[np.float64]:
        """What these features would cost on each row, given what is owned."""

    def margins(self, rows: object, features: object) -> NDArray[np.float64]:
        """What each feature alone would cost on each row, given what is owned."""

    def price_between(self, owned: Sequence[int], wanted: Sequence[int]) -> float:
        """What an example that has some features pays for others, as cheaply as can be."""

    def prices_after(self, features: Sequence[int]) -> NDArray[np.float64]:
        """What each feature costs on an example that was asked some: at a node below them."""


class Billed(Protocol):
    """What went through a door, what it has cost, and what may still be spent."""

    @property
    def meter(self) -> Meter:
        """What went through, a bit per cell."""

    @property
    def currency(self) -> str:
        """The currency of the prices; "" where they have none."""

    @property
    def spend(self) -> float | None:
        """What the user said this task may spend, in the unit of the prices."""

    @property
    def allowance(self) -> float | None:
        """What may still be spent, in the unit of the prices; None: no limit."""

    @property
    def counted(self) -> int:
        """What was counted and not bought from a provider, in minor units, rounded up."""

    @property
    def n_bought(self) -> int:
        """How many distinct cells were bought so far."""

    @property
    def everything_is_bought(self) -> bool:
        """Whether every cell of the task was looked at."""

    def receipt(self) -> Receipt:
        """What has been bought so far."""

    def looked_at(self, row: int, feature: int) -> bool:
        """Whether a cell has gone through."""

    def cells_per_row(self) -> NDArray[np.int64]:
        """How many cells were bought on each example so far."""

    def cost_per_row(self) -> NDArray[np.float64]:
        """What was bought on each example so far, at its price."""

    def paid_on(self, row: int, features: Sequence[int]) -> list[float]:
        """What was paid for each of these cells of one row; a fee with the first of them."""

    def owned_rows(self, features: object) -> NDArray[np.int64]:
        """Examples on which all of these features can be looked at for nothing."""

    def owns_any_of(self, row: int) -> bool:
        """Whether something of an example was paid for before this door was opened."""


class Door(Described, Quoted, Billed, Protocol):
    """The way to values: each distinct cell is charged once, however often it is asked for."""

    def get(self, rows: ArrayLike, features: ArrayLike) -> AnyArray:
        """Values of rows x features, shape (len(rows), len(features))."""

    def columns(self, features: NDArray[np.int64], mask: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Boolean features on the rows of a mask, packed over the examples: (k, W)."""

    def everything(self) -> NDArray[np.uint64]:
        """Buy every cell; all features, which must be Boolean, in tiles."""

    def table(self) -> AnyArray:
        """Buy every cell; all values (S, N), whatever their kind. Not to be written to."""
