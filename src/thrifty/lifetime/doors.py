"""Doors to what a user brought: under the lifetime's prices and budget, through its ledger."""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from thrifty.cells import Cells, Ledger, Owned, Source, as_source
from thrifty.cells.ledger.counted import count_as_owned, owned_by_id, values_by_id
from thrifty.cells.ledger.meter import PartOwned, RememberedTables
from thrifty.cells.ledger.purge import purged_rows
from thrifty.cells.prices.price_list import as_price_list
from thrifty.cells.sources.callable import CallableSource
from thrifty.cells.sources.gaps import read_na, with_na
from thrifty.errors import BadInput, ChangedValue, ExamplePurged, MixedCurrencies
from thrifty.lifetime.feature_matching import kinds_here, known_categories
from thrifty.protocol import AnyFamily, traits_of
from thrifty.stores import MemoryStore
from thrifty.stores.pages import SqlPages
from thrifty.stores.saved import SavedLifetime
from thrifty.stores.settings import Settings
from thrifty.typing import Fields, KindsLike, NaLike, TableLike

__all__ = ["Doors", "Opened", "Words"]

#: the categories of each feature, in the places that they have in this lifetime
Words = Mapping[str, Sequence[str]]
_MAKING = threading.Lock()


class Opened(Protocol):
    """What goes on behind a door: a task, or a prediction."""

    @property
    def source(self) -> Source: ...
    @property
    def cells(self) -> Cells: ...
    @property
    def owned(self) -> Owned: ...


class Doors:
    """Ledger, prices and memory of one lifetime, and the doors that are opened with them."""

    def __init__(self, family: AnyFamily, settings: Settings, saved: SavedLifetime | None) -> None:
        self.family, self.settings, self.saved = family, settings, saved
        self._ledger: Ledger | None = None
        self.remembered = RememberedTables()

    def use(self, family: AnyFamily, settings: Settings) -> None:
        """From now on, this family and these settings."""
        self.family, self.settings = family, settings
        if self._ledger is not None:
            self._ledger.budget = settings.budget

    @property
    def has_ledger(self) -> bool:
        """Whether there is anything in a ledger, or may be."""
        return self._ledger is not None or self.saved is not None

    @property
    def ledger(self) -> Ledger:
        """The lifetime's ledger, in its store or in memory."""
        if self._ledger is None:
            with _MAKING:  # two threads with a ledger each would pay twice
                if self._ledger is None:
                    saved = self.saved
                    book = saved.book if saved is not None else MemoryStore().book("memory", {}, {})
                    self._ledger = Ledger(book, self.settings.budget)
        return self._ledger

    def labels_of(self, source: Source) -> set[str]:
        """Columns of a named source that were noted as labels of tasks before."""
        if not (source.name and self.has_ledger):
            return set()
        found: set[str] = self.ledger.book.read(lambda pages: pages.labels_of(source.name))
        return found

    def source_of(self, X: TableLike, kinds: KindsLike, words: Words, na: NaLike = None) -> Source:
        """What a user brought as a source, its columns read as this lifetime knows them."""
        if na is not None and isinstance(X, Source):
            raise BadInput("a Source says what stands for a gap when it is made: na= there.")
        if isinstance(X, CallableSource) and X.limits.on_failure == "gap":
            self._refuse_gaps()
        kept: Fields = {**known_categories(words, X), **kinds_here(self.settings.kinds, X)}
        return as_source(
            X,
            allow_missing=traits_of(self.family).allows_missing,
            categories=traits_of(self.family).reads_categories,
            kinds={**kept, **(kinds or {})} or None,
            lazily=True,
            na=with_na(self.settings.na, read_na(na)) or None,
        )

    def _refuse_gaps(self) -> None:
        if not traits_of(self.family).allows_missing:
            raise BadInput(
                f"{type(self.family).__name__} reads no gaps, and the source makes gaps of what "
                "fails: give it on_failure='stop', or learn with thrifty.Models()."
            )

    def one_currency(self, source: Source, counted: bool) -> None:
        """Refuse to count cells without a price beside money: a cell is no dollar.

        ``counted``: whether some are, or would be; what is owned costs nothing, whatever its price.
        """
        if not counted or not source.free:
            return
        if self.settings.prices is not None or not self.has_ledger:
            return
        paid_in = self.ledger.book.read(lambda pages: str(pages.currency("")))
        if paid_in:
            raise MixedCurrencies(
                f"this lifetime pays in {paid_in}, and this table has no prices: each of its cells "
                f"would count as 1 {paid_in}. Where they cost nothing say life.change(prices=0), "
                f"else give prices in {paid_in}: life.change(prices=...)."
            )

    def ledger_for(self, source: Source) -> Ledger | None:
        """The ledger, where cells of this source are bought, limited or known by their ids."""
        return self.ledger if self.needs_ledger(source) else None

    def needs_ledger(self, source: Source) -> bool:
        """Whether cells of this source are bought, limited by a budget or known by their ids."""
        budget = self.settings.budget
        return budget is not None or not source.free or source.examples is not None

    def owned_of(
        self, X: TableLike, source: Source, rows: NDArray[np.int64] | None = None, n: int = 0
    ) -> tuple[Owned, str]:
        """What was paid for before: of this very object, or of its examples by their ids.

        ``rows``: the source holds only these of the object's ``n``.
        """
        if source.examples is None and rows is not None:
            whole, place = self.remembered.of(X, source, n)
            return PartOwned(whole, rows), place
        if source.examples is None:
            return self.remembered.of(X, source)
        if not source.free:
            return Owned(source.n_examples, source.n_features), source.name
        read = self.ledger.book.read
        return read(lambda pages: owned_by_id(pages, source)), source.name

    def values_owned(self, source: Source) -> dict[str, float | str]:
        """What is owned of a source's one example, by feature; NaN is a gap that is known."""
        names, ledger = source.feature_names, self.ledger
        valid = as_price_list(self.settings.prices).tariff(names).valid
        found = ledger.book.read(lambda pages: values_by_id(pages, source, valid, ledger.now()))
        return {names[f]: value for f, value in found.items()}

    def say_purged(self, source: Source, cells: Cells, stacklevel: int) -> None:
        """Warn of examples whose values were taken out of the store, and are not owned again."""
        if source.examples is None or self.saved is None:
            return
        ids = source.examples
        rows = self.saved.book.read(lambda pages: purged_rows(pages, ids))
        for row, at in rows.items():
            if not cells.owns_any_of(row):
                warnings.warn(
                    f"the values of {ids[row]!r} were taken out of the store on "
                    f"{time.strftime('%Y-%m-%d', time.gmtime(at))} (thrifty purge): what is asked "
                    "of it is bought again.",
                    ExamplePurged,
                    stacklevel=stacklevel,
                )

    @staticmethod
    def count(pages: SqlPages, task: Opened, account: str, now: float) -> ChangedValue | None:
        """Note what was looked at in a free source as owned, under the examples' ids.

        Returns the error that names the cells of which the store knows another value.
        """
        if not task.source.free or task.source.examples is None:
            return None
        changed = count_as_owned(pages, task.source, task.cells.meter, now)
        pages.note_booking(account, now)
        return changed

    def count_all(self, pages: SqlPages, task: Opened, account: str, now: float) -> None:
        """The same for what must not be learned from values that contradict the store."""
        changed = self.count(pages, task, account, now)
        if changed is not None:
            raise changed

    def keep(self, opened: Opened) -> None:
        """What was looked at is owned from now on."""
        if opened.source.examples is None:
            opened.owned.add(opened.cells.meter)
