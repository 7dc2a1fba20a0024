"""A door that is open: to which source, at which prices, under which limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from thrifty.cells.ledger.allowance import limits_of
from thrifty.cells.ledger.ledger import Ledger
from thrifty.cells.ledger.meter import Meter, Owned
from thrifty.cells.ledger.paid import PaidCells
from thrifty.cells.ledger.purse import Purse
from thrifty.cells.prices.budget import Limits
from thrifty.cells.prices.money import to_units
from thrifty.cells.prices.per_feature import read_prices
from thrifty.cells.prices.price_list import PriceList, PricesLike, as_price_list
from thrifty.cells.prices.tariff import Tariff
from thrifty.cells.sources import Source, as_source
from thrifty.cells.sources.callable import CallableSource
from thrifty.errors import BadInput
from thrifty.typing import TableLike

__all__ = ["OpenDoor", "Opening"]


class Opening(TypedDict, total=False):
    """What a door may be opened with beside a source and its prices."""

    owned: Owned | None
    ledger: Ledger | None
    task: str
    spend: float | None
    is_task: bool
    to_buy: bool


class OpenDoor:
    """What a door is opened with, and what can be said of it before anything goes through."""

    def __init__(
        self,
        source: TableLike,
        prices: PricesLike = None,
        owned: Owned | None = None,
        *,
        ledger: Ledger | None = None,
        task: str = "",
        spend: float | None = None,
        is_task: bool = True,
        to_buy: bool = True,
    ) -> None:
        self._source: Source = as_source(source, categories=True)
        self._spend, self._is_task, self._to_buy = spend, is_task, to_buy
        self._paid: PaidCells | None = None
        self._purse: Purse | None = None
        self._tariff: Tariff | None = None
        self._one_each = False
        self._keys: NDArray[np.uint64] | None = None
        if isinstance(self._source, CallableSource):
            self._open_paid(self._source, prices, ledger, task)
        else:
            self._open_free(prices, owned, ledger)
        #: what a cell of each feature costs, where nothing is bought yet
        self.prices: NDArray[np.float64] = self._each

    def _open_paid(
        self, source: CallableSource, prices: PricesLike, ledger: Ledger | None, task: str
    ) -> None:
        if ledger is None:
            raise BadInput(
                f"{source.name!r} costs, and is only read through a ledger, which pays for each "
                "cell once: learn with life.learn, predict with life.predict(task, source) or, for "
                "trees of other libraries, life.metered(model, source)."
            )
        self._paid = PaidCells(source, ledger, prices, task, to_buy=self._to_buy)
        self._tariff = self._paid.tariff
        limits = ledger.limits(self._tariff.currency)
        self._paid.limit(limits_of(limits, self._spend, is_task=self._is_task))
        self._each = self._tariff.marginal
        self.meter = self._paid.meter

    def _open_free(self, prices: PricesLike, owned: Owned | None, ledger: Ledger | None) -> None:
        """Free to read: counted in memory, nothing is logged until the task is learned."""
        source = self._source
        budget = ledger.budget if ledger is not None else None
        limited = budget is not None or self._spend is not None
        if isinstance(prices, PriceList) or limited:
            self._tariff = as_price_list(prices).tariff(source.feature_names)
            self._each = self._tariff.marginal
        else:
            self._each = read_prices(prices, source.feature_names)
            self._one_each = prices is None
        self._owned_before = owned.count() if owned is not None else 0
        self.meter = Meter(source.n_examples, source.n_features, owned)
        if limited and self._tariff is not None:
            used, limits = 0, Limits(currency=self._tariff.currency)
            if ledger is not None and budget is not None:
                used = ledger.book.read(lambda pages: sum(pages.balance(None)))
                limits = ledger.limits(self._tariff.currency)
            limits = limits_of(limits, self._spend, is_task=self._is_task)
            self._purse = Purse(limits, self._tariff, self.meter, used, source.feature_names)
        elif self._tariff is not None and self._tariff.parts:
            # What an order costs depends on what was there before it: counted look by look.
            self._purse = Purse(Limits(), self._tariff, self.meter, 0, source.feature_names)

    @property
    def allowance(self) -> float | None:
        """What may still be spent through this door, in the unit of the prices; None: no limit.

        The least of what the user said for this task, and what the budget leaves.
        """
        left = self._paid.left() if self._paid else self._purse.left() if self._purse else None
        return None if left is None else to_units(max(left, 0))

    @property
    def spend(self) -> float | None:
        """What the user said this task may spend, in the unit of the prices; None: nothing said."""
        return self._spend

    @property
    def is_free(self) -> bool:
        """Whether reading costs nothing, and is counted all the same."""
        return self._paid is None

    @property
    def currency(self) -> str:
        """The currency of the prices; "" where they have none."""
        return "" if self._tariff is None else self._tariff.currency

    @property
    def n_examples(self) -> int:
        return self._source.n_examples

    @property
    def n_features(self) -> int:
        return self._source.n_features

    @property
    def offered(self) -> NDArray[np.int64]:
        """The source's columns that can be had through this door."""
        return np.arange(self._source.n_features)

    @property
    def n_offered(self) -> int:
        """How many there are."""
        return self._source.n_features

    @property
    def feature_names(self) -> tuple[str, ...]:
        return self._source.feature_names

    @property
    def boolean(self) -> NDArray[np.bool_]:
        """Which features are Boolean; the others are numbers or categories."""
        return self._source.boolean

    @property
    def categories(self) -> Mapping[int, tuple[str, ...]]:
        """Of each feature that is a category, by index: what its cells' numbers stand for."""
        return self._source.categories

    @property
    def absent(self) -> NDArray[np.bool_]:
        """Features that are known elsewhere and that this source lacks: constant 0, free."""
        return np.zeros(self.n_features, dtype=np.bool_)

    def _here(self, features: Sequence[int]) -> list[int]:
        """The source's columns of these features."""
        return [int(f) for f in features]

    @staticmethod
    def _indices(given: object, n: int, what: str) -> NDArray[np.int64]:
        at = np.atleast_1d(np.asarray(given, dtype=np.int64))
        if len(at) and (at.min() < 0 or at.max() >= n):
            raise BadInput(
                f"{what} indices must lie in 0..{n - 1}; got {int(at.min())}..{int(at.max())}."
            )
        return at
