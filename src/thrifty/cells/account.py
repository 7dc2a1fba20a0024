"""Tables that are free to read: their cells are counted, and cost what the user says.

Of named tables they are counted once, whichever task looks at them first, and kept like bought
ones, with their values: a table that says something else of a cell the next time is noticed, and
what was billed can be exported. The other account, of a source that is paid for, is
:mod:`thrifty.cells.ledger.paid`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from thrifty import kernels
from thrifty.cells.ledger.book import Column, Pages
from thrifty.cells.ledger.categories import Places, categories_in_store
from thrifty.cells.ledger.compacted import Facts, read_column, write_column
from thrifty.cells.ledger.known import Known
from thrifty.cells.ledger.ledger import Ledger
from thrifty.cells.ledger.meter import Meter, Owned, absent_cells
from thrifty.cells.ledger.receipt import BillLine, Lines, lines_of_bill, lines_of_counts
from thrifty.cells.prices.money import Limits, limits_of, product, refuse_too_large
from thrifty.cells.prices.price_list import PricesLike, as_price_list
from thrifty.cells.prices.tariff import Holdings, OwnedCells, PriceOfCells, Tariff
from thrifty.cells.sources import Source
from thrifty.errors import ChangedValue
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
        self._row_costs = np.zeros(source.n_examples, dtype=np.int64)

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
            each = bill.per_row(len(self._row_costs))
            limits.check_examples(each, self._spent_before + self._row_costs)
            self._row_costs += each
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

    def row_costs(self) -> Ints:
        """What each example has cost, in minor units; kept where orders fill columns."""
        return self._row_costs


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
