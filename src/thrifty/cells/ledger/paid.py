"""Cells of a source that costs, served from the ledger; what is missing is bought first."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from thrifty import kernels
from thrifty.cells.ledger.book import Pages
from thrifty.cells.ledger.buying import Buyer
from thrifty.cells.ledger.ledger import Ledger
from thrifty.cells.ledger.meter import Meter, Owned, absent_cells
from thrifty.cells.ledger.purchase import Purchase
from thrifty.cells.ledger.receipt import BillLine, Lines
from thrifty.cells.prices.money import limits_of, total
from thrifty.cells.prices.price_list import PricesLike
from thrifty.cells.prices.tariff import Holdings
from thrifty.cells.sources.base import tiles_by_columns
from thrifty.cells.sources.callable import CallableSource
from thrifty.errors import BadInput
from thrifty.typing import AnyArray, Floats, Ints, Words


class PaidAccount:
    """Cells that a provider is paid for, once, whichever task asks: reads, and buys what lacks."""

    def __init__(
        self,
        source: CallableSource,
        ledger: Ledger | None,
        prices: PricesLike,
        task: str,
        *,
        to_buy: bool = True,
        buyer: Buyer | None = None,
        spend: float | None = None,
        is_task: bool = True,
    ) -> None:
        if ledger is None:
            raise BadInput(
                f"{source.name!r} costs, and is only read through a ledger, which pays for each "
                "cell once: learn with life.learn, predict with life.predict(task, source) or, for "
                "trees of other libraries, life.metered(model, source)."
            )
        self.source, self.ledger, self.task, self._to_buy = source, ledger, task, to_buy
        self._buyer = buyer or ledger.open(source, prices, task, to_buy=to_buy)
        self.tariff, self.known = self._buyer.tariff, self._buyer.known
        self.each = self.tariff.marginal
        n, N = source.n_examples, source.n_features
        #: rows that were asked for and are gaps, by feature
        self._gaps: dict[int, Words] = {}
        owned = Owned(n, N)
        owned.bitmap = np.zeros_like(self.known.known[:N])
        absent = absent_cells(source.present, self.tariff)
        self.known.never(absent)
        self.meter = Meter(n, N, owned, absent)
        self._take_as_own()
        asking = self._buyer.asking
        asking.own = partial(limits_of, spend=spend, is_task=is_task)
        asking.limits = asking.own(asking.limits)

    def _take_as_own(self) -> None:
        """What an earlier run of this task has paid, where it can be seen, is its own purchase."""
        mine = [(f, mask) for own, f, mask in self._news() if own]
        self._own(np.flatnonzero(self.known.loaded), mine)
        for features, mask in mine:
            for f in np.atleast_1d(features):
                self.meter.charge(np.array([f]), mask & self.known.known[f])

    def hold_no_more(self) -> None:
        """This is another call than the one that broke off: what that has bought can be seen."""
        self._buyer.hold_no_more()
        self._take_as_own()

    def _own(self, at: Ints, mine: Sequence[tuple[Ints, Words]] = ()) -> None:
        """Features that were just looked up: what is known of them was paid for before."""
        bitmap = self.meter.owned.bitmap
        bitmap[at] = self.known.known[at]
        for f in self.known.gaps.keys() & set(at.tolist()):
            bitmap[f] &= ~self.known.gaps[f]  # nobody has paid for a gap
        if self.known.absent is not None:
            bitmap[at] &= ~self.known.absent[at]
        for features, mask in mine:
            bitmap[features] &= ~mask

    def load(self, features: Ints) -> None:
        """Look up features before anybody asks what is known of them."""
        if not self.known.loaded[features].all():
            self._own(self.ledger.book.read(lambda pages: self.known.load(pages, features)))

    def _news(self) -> list[tuple[bool, Ints, Words]]:
        news, self._buyer.news = self._buyer.news, []
        return news

    def cost(self) -> int:
        """What this task has cost so far, earlier runs of it and late answers included."""
        mine = self._buyer.spent
        if not self.task:
            return mine

        def work(pages: Pages) -> int:
            account = pages.balance(self.task)[1]
            return account if account == mine else self._on_my_rows(pages.purchases_of(self.task))

        return self.ledger.book.read(work)

    def _on_my_rows(self, purchases: Sequence[Purchase]) -> int:
        """What was spent under this task's name on its examples: others may have taken its name."""
        found = 0
        for purchase in purchases:
            if purchase.spent and purchase.provider == self.source.name:
                _, rows = self.known.place(purchase.block)
                found += total(purchase.counted[rows >= 0])
        return found

    def left(self) -> int | None:
        """What may still be spent, in minor units; what is reserved may not."""
        limits = self._buyer.asking.limits
        if limits.total is limits.per_task is None:
            return None
        total, mine = self.ledger.book.read(
            lambda pages: (sum(pages.balance(None)) + pages.over(), sum(pages.balance(self.task)))
        )
        held, over = self._buyer.held
        return limits.left(total - held - over, mine - held)

    def ensure(self, features: Ints, mask: Words) -> None:
        """Make the cells known and count them."""
        wanted = self._bought_for(features)
        self.load(np.union1d(wanted, self.tariff.tied))
        self._buyer.replay(wanted, mask)
        try:
            if self.known.missing(wanted, mask).any():
                self._buy(wanted, mask)
        finally:
            for mine, at, where in self._news():
                if mine:
                    self.meter.charge(at, where)
                else:
                    self.meter.owned.bitmap[at] |= where & ~self.meter.touched[at]
        self._charge(features, mask)

    def _charge(self, features: Ints, mask: Words) -> None:
        """Count cells as looked at; gaps apart, since nothing was bought there."""
        gaps = self.known.gaps
        some = [f for f in features.tolist() if f in gaps and (gaps[f] & mask).any()]
        self.meter.charge(np.setdiff1d(features, some) if some else features, mask)
        for f in some:
            here = gaps[f] & mask
            self.meter.charge(np.array([f]), mask & ~here)
            self._gaps[f] = self._gaps.get(f, np.zeros_like(here)) | here

    def gaps(self) -> int:
        """Cells that this task asked for, that failed again and again, and count as gaps."""
        return sum(int(np.bitwise_count(mask).sum()) for mask in self._gaps.values())

    def row_costs(self) -> Ints:
        """What each example has cost since this reader was opened, in minor units."""
        return self._buyer.row_costs

    def lines(self) -> list[BillLine]:
        """What was paid for, line by line; what was before this reader was opened, as one."""
        found = Lines(self._buyer.lines.sorted())
        before = self.cost() - self._buyer.spent
        if before:
            found.add([BillLine("bought in an earlier try", 1, before)])
        return found.sorted()

    def _buy(self, wanted: Ints, mask: Words) -> None:
        if not self._to_buy:
            raise BadInput("this reader is for a quote; nothing is bought through it.")
        asked = np.union1d(wanted, self.tariff.tied)
        if (self.known.features[asked] < 0).any():
            self.ledger.book.write(lambda pages: self.known.number(pages, asked))
        self._buyer.buy(wanted, mask)

    def _bought_for(self, features: Ints) -> Ints:
        tariff = self.tariff
        return tariff.wanted(features) if tariff.computed or tariff.roots else features

    def columns(self, features: Ints, mask: Words) -> Words:
        """Boolean features, packed; bits outside the mask are 0."""
        self.ensure(features, mask)
        out = self.known.bits[features] & mask
        rows = None
        for i, f in enumerate(features.tolist()):
            if f in self.tariff.computed:
                rows = kernels.rows_of_mask(mask) if rows is None else rows
                values = self._computed(f, rows)
                out[i] = kernels.mask_of_rows(rows[values != 0], self.source.n_examples)
        return out

    def get(self, rows: Ints, features: Ints) -> AnyArray:
        """Values of rows x features."""
        self.ensure(features, kernels.mask_of_rows(rows, self.source.n_examples))
        if not self.tariff.computed and self.source.boolean[features].all():
            return np.asarray(kernels.unpack_columns(self.known.bits[features], rows))
        out = np.empty((len(rows), len(features)))
        for j, f in enumerate(features.tolist()):
            if f in self.tariff.computed:
                out[:, j] = self._computed(f, rows)
            else:
                out[:, j] = self._column(f, rows)
        return out

    def _column(self, f: int, rows: Ints) -> Floats:
        """Known values of one feature; a category in the places that the source lists."""
        values = self.known.column(f, rows)
        places = self._buyer.words.get(f)
        return values if places is None else places.here(values)

    def _computed(self, f: int, rows: Ints) -> Floats:
        parents, function = self.tariff.computed[f]
        given = [
            self._computed(p, rows) if p in self.tariff.computed else self._column(p, rows)
            for p in parents
        ]
        values = np.asarray(function(*given), dtype=np.float64)
        name = self.source.feature_names[f]
        absent = None if self.known.absent is None else self.known.absent[f : f + 1]
        if values.shape != rows.shape:
            raise BadInput(
                f"the function that computes {name} must give one value per example: expected "
                f"{len(rows)}, got shape {values.shape}."
            )
        good = np.isfinite(values)
        if not self.source.boolean[f]:  # what is computed from a gap is one
            lost = np.isnan(np.array(given)).any(axis=0)
            values, good = np.where(lost, np.nan, values), good | lost
        if absent is not None:
            gap = kernels.unpack_columns(absent, rows)[:, 0].astype(np.bool_)
            values, good = np.where(gap, np.nan, values), good | gap
        if self.source.boolean[f]:
            good &= (values == 0) | (values == 1)
        if not good.all():
            raise BadInput(
                f"the function that computes {name} gave {values[~good][0]:g}, which is not "
                f"{'0 or 1' if self.source.boolean[f] else 'a finite number'}."
            )
        return values

    def tiles(self) -> Words:
        """Buy everything; all features, which must be Boolean, in tiles."""
        n, N = self.source.n_examples, self.source.n_features
        everything = self.columns(np.arange(N), kernels.mask_of_rows(np.arange(n), n))
        return tiles_by_columns(everything.__getitem__, N, n)

    def table(self) -> AnyArray:
        """Every cell, whatever its kind."""
        return self.get(np.arange(self.source.n_examples), np.arange(self.source.n_features))

    def holdings(self, columns: Ints) -> Holdings:
        """What the ledger knows of these columns and of those that orders tie to them."""
        self.load(np.union1d(self.tariff.wanted(columns), self.tariff.tied))
        return self.known

    def owned_cells(self, only: Ints | None) -> int:
        """How many cells others have paid for, of the columns that were looked up."""
        looked_up = np.flatnonzero(self.known.loaded)
        if only is not None:
            looked_up = np.intersect1d(looked_up, only)
        return self.meter.owned.count(looked_up)
