"""What stands behind a reader: a table that is free to read, or a source that is paid for.

Cells of a table are counted, and cost what the user says; of named tables they are counted once,
whichever task looks at them first, and kept like bought ones, with their values: a table that says
something else of a cell the next time is noticed, and what was billed can be exported. Cells of a
source that costs are served from the ledger; what is missing is bought first.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from thrifty import kernels
from thrifty.cells.ledger.book import Column, Pages
from thrifty.cells.ledger.buying import Buyer
from thrifty.cells.ledger.categories import Places, categories_in_store
from thrifty.cells.ledger.compacted import Facts, read_column, write_column
from thrifty.cells.ledger.known import Known
from thrifty.cells.ledger.ledger import Ledger
from thrifty.cells.ledger.meter import Meter, Owned, absent_cells
from thrifty.cells.ledger.purchase import Purchase
from thrifty.cells.ledger.receipt import BillLine, Lines, lines_of_bill, lines_of_counts
from thrifty.cells.prices.money import Limits, limits_of, product, refuse_too_large, total
from thrifty.cells.prices.price_list import PricesLike, as_price_list
from thrifty.cells.prices.tariff import Holdings, OwnedCells, PriceOfCells, Tariff
from thrifty.cells.sources import Source
from thrifty.cells.sources.base import tiles_by_columns
from thrifty.cells.sources.callable import CallableSource
from thrifty.errors import BadInput, ChangedValue
from thrifty.typing import AnyArray, Floats, Ints, Numbers, Words


class FreeAccount:
    """Cells that are counted, with no provider behind them, and paid for within limits."""

    def __init__(
        self,
        source: Source,
        prices: PricesLike,
        owned: Owned | None,
        ledger: Ledger | None,
        *,
        only: Ints | None,
        spend: float | None,
        is_task: bool,
    ) -> None:
        self._source, self._only = source, only
        budget = ledger.budget if ledger is not None else None
        limited = budget is not None or spend is not None
        #: what cells cost, in minor units, and each by itself in the unit of the prices
        self.tariff: Tariff = as_price_list(prices).tariff(source.feature_names)
        self.each = self.tariff.marginal
        self._absent = absent_cells(source.present, self.tariff)
        self._limits, self._used = Limits(), 0
        if limited:
            self._limits = Limits(currency=self.tariff.currency)
            if ledger is not None and budget is not None:
                self._limits = ledger.limits(self.tariff.currency)
                self._used = ledger.book.read(lambda pages: sum(pages.balance(None)) + pages.over())
            self._limits = limits_of(self._limits, spend, is_task=is_task)
        #: what was spent on each example before
        self._spent_before = np.zeros(source.n_examples, dtype=np.int64)
        if self._limits.per_example is not None and ledger is not None and source.examples:
            self._spent_before = ledger.book.read(lambda pages: _costs_of(pages, source))
        # Without a limit too: what an order costs depends on what was there before it.
        self._pays = limited or bool(self.tariff.parts)
        self._begin(owned)

    def _begin(self, owned: Owned | None) -> None:
        source = self._source
        self._owned_before = owned.count(self._only) if owned is not None else 0
        #: what went through, a bit per cell
        self.meter = Meter(source.n_examples, source.n_features, owned, self._absent)
        #: reads that cost something, in their order, where orders make that matter
        self.paid_charges: list[tuple[Ints, Words]] = []
        self._spent, self._lines = 0, Lines()
        #: what each example has cost, in minor units; kept where orders fill columns
        self.row_costs = np.zeros(source.n_examples, dtype=np.int64)

    def own(self, owned: Owned) -> None:
        """Others have paid for some of it meanwhile: what was looked at is counted again."""
        before, charges = self.meter, self.paid_charges
        self._limits, self._used = Limits(), 0  # it was within its limits when it cost more
        self._begin(owned)
        for columns, mask in charges:
            self.charge(columns, mask)
        if before.everything:
            self._charge_everything()
        for f in before.touched_features.tolist():
            self.charge(np.array([f]), before.touched[f])

    def left(self) -> int | None:
        """What may still be spent, in minor units; None: no limit."""
        return self._limits.left(self._used + self._spent, self._spent)

    def get(self, rows: Ints, columns: Ints) -> AnyArray:
        """Values of rows x columns."""
        self.charge(columns, kernels.mask_of_rows(rows, self._source.n_examples))
        return self._source.read(rows, columns)

    def columns(self, columns: Ints, mask: Words) -> Words:
        """Boolean columns, packed; bits outside the mask are 0."""
        self.charge(columns, mask)
        return self._source.columns(columns) & mask

    def charge(self, columns: Ints, mask: Words) -> None:
        """Pay for columns on the rows of a mask, and count them; nothing is read."""
        bill = self._pay(columns, mask)
        for filled in bill.orders if bill is not None else ():
            # what an order fills beside is owned for nothing
            rows = kernels.mask_of_rows(filled.rows, self._source.n_examples)
            self.meter.charge(filled.features, rows)
        self.meter.charge(columns, mask)

    def _pay(self, columns: Ints, mask: Words) -> PriceOfCells | None:
        """Refuse a look that would cost more than is left; otherwise note what it costs."""
        tariff, limits, spent = self.tariff, self._limits, self._spent
        if not self._pays or self.meter.everything:
            return None
        bill = tariff.bill(columns, mask, self.holdings(columns))
        cost = bill.total()
        if not cost:
            return bill
        refuse_too_large(self._used + spent + cost, "the sum of all purchases")
        limits.check("total", cost, self._used + spent)
        limits.check("task", cost, spent)
        if limits.per_example is not None or tariff.parts:
            each = bill.per_row(len(self.row_costs))
            limits.check_examples(each, self._spent_before + self.row_costs)
            self.row_costs += each
        self._spent += cost
        if tariff.parts:
            self.paid_charges.append((columns, mask))
            self._lines.add(lines_of_bill(bill, tariff, self._source.feature_names))
        return bill

    def tiles(self) -> Words:
        """Every cell, all of them Boolean, in tiles."""
        self._charge_everything()
        return self._source.tiles()

    def table(self) -> AnyArray:
        """Every cell, whatever its kind."""
        self._charge_everything()
        return self._source.table()

    def _charge_everything(self) -> None:
        n, N = self._source.n_examples, self._source.n_features
        if self._pays:
            self._pay(np.arange(N), kernels.mask_of_rows(np.arange(n), n))
        self.meter.charge_everything()

    def holdings(self, columns: Ints) -> Holdings:
        """What is there already, as the tariff asks for it."""
        return OwnedCells(self.tariff, self.meter.had, self.meter.lacking)

    def owned_cells(self, only: Ints | None) -> int:
        """How many of the cells on offer somebody else has paid for."""
        return self._owned_before

    def cost(self) -> int:
        """What was counted so far, in minor units."""
        tariff = self.tariff
        if tariff.parts:
            return self._spent
        fees = sum(tariff.draws[d].fee * n for d, n in self._draws().items())
        return product(self.meter.bought_per_feature, tariff.own) + fees

    def _draws(self) -> dict[int, int]:
        """How often each was paid that is paid once per example."""
        needing = enumerate(map(self.tariff.needing, range(len(self.tariff.draws))))
        return {d: self.meter.count_any(features) for d, features in needing}

    def lines(self) -> list[BillLine]:
        """What was counted, line by line."""
        tariff = self.tariff
        if tariff.parts:
            return self._lines.sorted()
        cells, names = self.meter.bought_per_feature, self._source.feature_names
        return Lines(lines_of_counts(tariff, names, cells, self._draws())).sorted()

    def gaps(self) -> int:
        """A table answers whatever it holds."""
        return 0


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
        #: what each example has cost since this reader was opened, in minor units
        self.row_costs = self._buyer.row_costs
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


# -- tables in the ledger -----------------------------------------------------------------------


def _costs_of(pages: Pages, source: Source) -> Ints:
    """What was spent on each example of a source, in minor units; 0 on those nobody knows."""
    numbers = pages.numbers("example", source.examples or ())
    costs: Ints = pages.example_costs(np.maximum(numbers, 0))
    return np.where(numbers >= 0, costs, 0)


def charge_examples(pages: Pages, source: Source, costs: Ints, limits: Limits) -> None:
    """Book what was spent on each example, within the limit on one; of what was counted now."""
    assert source.examples is not None
    rows = np.flatnonzero(costs)
    ids = [source.examples[i] for i in rows.tolist()]
    limits.check_examples(costs[rows], _costs_of(pages, source)[rows], lambda row: repr(ids[row]))
    numbers = pages.number("example", ids)
    pages.add_example_costs(numbers, costs[rows])


class OwnedMeanwhile(Exception):
    """Others have paid for something that a task counts as its own: it has to be counted again."""

    def __init__(self, owned: Owned) -> None:
        super().__init__()
        self.owned = owned


def owned_by_id(pages: Pages, source: Source, features: Ints | None = None) -> Owned:
    """What was paid for before, of the examples and features of this source, or some of them."""
    assert source.examples is not None
    owned = Owned(source.n_examples, source.n_features)
    numbered = pages.numbered("feature", source.name)
    if not numbered:
        return owned
    names = source.feature_names
    some = range(len(names)) if features is None else features.tolist()
    at = {numbered[names[f]]: f for f in some if names[f] in numbered}
    columns = pages.columns("feature", at)
    if not columns:
        return owned
    examples = pages.numbers("example", source.examples).tolist()
    row_of = {n: r for r, n in enumerate(examples) if n >= 0}
    words = kernels.words_for(source.n_examples)
    owned.bitmap = np.zeros((source.n_features, words), dtype=np.uint64)
    for column in columns:
        numbers = read_column(column).examples.tolist()
        rows = np.array([row_of[n] for n in numbers if n in row_of], dtype=np.int64)
        owned.bitmap[at[column.number]] = kernels.mask_of_rows(rows, source.n_examples)
    return owned


def values_by_id(pages: Pages, source: Source, valid: Floats, now: float) -> dict[int, float | str]:
    """What is owned of a source's one example, by feature: numbers, and words of categories.

    NaN is a gap that is known; what has expired by ``valid`` seconds is not owned.
    """
    assert source.examples is not None
    example = pages.numbers("example", source.examples)
    features = pages.numbers("feature", source.feature_names, source.name)
    none, no_bits = np.zeros(0, dtype=np.int32), np.zeros(len(features), dtype=bool)
    known = Known(example, features, none, no_bits, valid, now)
    known.follow(pages)
    row, words, out = np.zeros(1, dtype=np.int64), pages.words(), {}
    for f in np.flatnonzero(features >= 0).tolist():
        if example[0] >= 0 and known.is_known(f, row)[0]:
            value, listed = float(known.column(f, row)[0]), words.get(int(features[f]))
            out[f] = listed[int(value)] if listed and value == value else value
    return out


def refuse_what_is_owned(pages: Pages, source: Source, meter: Meter, tied: Ints) -> None:
    """Who was first has bought a cell: raise where others were, since this task began.

    ``tied``: features whose fees or orders another may have paid on the same rows.
    """
    looked = meter.touched_features
    some = np.union1d(looked, tied)
    now = owned_by_id(pages, source, some)
    if not len(now.bitmap):
        return
    rows = np.bitwise_or.reduce(meter.touched[looked], axis=0)
    if meter.everything:
        rows = ~np.zeros_like(rows)
    if (now.bitmap[some] & rows & ~meter.owned_before(some)).any():
        raise OwnedMeanwhile(owned_by_id(pages, source))


def count_as_owned(
    pages: Pages, source: Source, meter: Meter, now: float, without: Sequence[int] = ()
) -> ChangedValue | None:
    """What was looked at is owned from now on, with its value.

    Cells that the store knows otherwise keep their value, and come back as the error to raise; of
    a source whose ``values`` are the newest they have the new one from now on.
    """
    assert source.examples is not None
    touched = meter.touched.any(axis=1) | meter.everything
    features = np.flatnonzero(touched)
    if not len(features):
        return None
    changed: list[tuple[str, str, float, float]] = []
    everything = np.setdiff1d(np.arange(source.n_examples), without)
    examples = np.full(source.n_examples, -1, dtype=np.int32)
    examples[everything] = pages.number("example", [source.examples[i] for i in everything])
    names = [source.feature_names[f] for f in features.tolist()]
    numbers = pages.number("feature", names, source.name)
    before = {c.number: c for c in pages.columns("feature", numbers.tolist())}
    kept = pages.words()
    columns: list[Column] = []
    for f, number in zip(features.tolist(), numbers.tolist()):
        rows = everything
        if not meter.everything:
            rows = np.intersect1d(kernels.rows_of_mask(meter.touched[f]), everything)
        values = np.asarray(source.read(rows, np.array([f]))[:, 0], dtype=np.float64)
        if f in source.categories and (number in kept or number not in before):
            # by word: its place differs from table to table
            words = categories_in_store(pages, number, source.categories[f], write=True)
            values = Places(source.feature_names[f], source.categories[f], words).here(values)
        order = np.argsort(examples[rows], kind="stable")
        facts = Facts(examples[rows][order], values[order], np.full(len(rows), now))
        boolean, old = bool(source.boolean[f]), before.get(number)
        if old is not None:
            had = read_column(old)
            new = ~np.isin(facts.examples, had.examples)  # who was first has bought it
            if f not in source.categories or number in kept:
                other, found = _changed(pages, source.feature_names[f], had, facts)
                if source.values == "newest":
                    new |= np.isin(facts.examples, other)
                else:
                    changed += found
            facts = Facts(facts.examples[new], facts.values[new], facts.times[new]).merged(had)
            boolean = boolean and old.boolean
        columns.append(write_column("feature", number, boolean, facts))
    pages.put_columns(columns)
    pages.columns_were_told()
    return _said(source, changed) if changed else None


def _changed(
    pages: Pages, feature: str, had: Facts, facts: Facts
) -> tuple[Numbers, list[tuple[str, str, float, float]]]:
    """Examples whose value is another one now; the cells in full."""
    _, i, j = np.intersect1d(had.examples, facts.examples, return_indices=True)
    old, new = had.values[i], facts.values[j]
    differs = np.flatnonzero(~((old == new) | (np.isnan(old) & np.isnan(new))))
    numbers = had.examples[i[differs]]
    ids = pages.names("example", numbers.tolist())
    found = [(id, feature, float(old[k]), float(new[k])) for id, k in zip(ids, differs.tolist())]
    return numbers, found


def _said(source: Source, changed: list[tuple[str, str, float, float]]) -> ChangedValue:
    example, feature, old, new = changed[0]
    return ChangedValue(
        f"{feature} of example {example!r} in {source.name!r} is {old:g} in the store and {new:g} "
        f"here{ChangedValue.also(changed)}. These cells keep the value they have. Where values may "
        "change, give the source values='newest'; if this is another table, another name=; if one "
        "was mended, purge the example first: thrifty store purge STORE EXAMPLE.",
        cells=tuple(changed),
    )
