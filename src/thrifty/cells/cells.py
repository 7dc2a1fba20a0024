"""The reader: the only way to values, what they would cost, and what they did cost.

A learner asks for ``(rows, features)`` and gets values; each distinct cell is charged once, however
often and in whatever shape it is asked for. A learner never sees the source behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from thrifty import kernels
from thrifty.cells.account import FreeAccount, PaidAccount
from thrifty.cells.features import FeatureColumns, Match, checked_indices
from thrifty.cells.ledger.ledger import Ledger
from thrifty.cells.ledger.meter import Meter, Owned
from thrifty.cells.ledger.receipt import Receipt
from thrifty.cells.prices.money import UNIT, to_units, total
from thrifty.cells.prices.price_list import PricesLike
from thrifty.cells.prices.tariff import margins, prices_after
from thrifty.cells.sources import Source, as_source
from thrifty.cells.sources.base import row_keys, tiles_by_columns
from thrifty.cells.sources.callable import CallableSource
from thrifty.errors import BadInput
from thrifty.typing import AnyArray, Bools, Floats, Ints, TableLike, Words

#: columns of a source, and on which rows they were paid for
Charges: TypeAlias = tuple[tuple[Ints, Words], ...]


class Cells:
    """The cells of one task.

    Behind them stands an account that reads and counts by the source's own columns: of a table that
    is free to read, or of a source that is paid for through a ledger.

    Parameters
    ----------
    source : Source, array or DataFrame
        what the cells are read from
    prices : PriceList, sequence, mapping or None
        what a cell costs; None: 1 each
    owned : Owned or None
        cells of this table that earlier tasks have paid for
    ledger : Ledger or None
        what a source that costs is paid from, and whose budget holds
    task : str
        for whom cells are bought
    spend : float or None
        the most that may be spent through this reader, in the unit of the prices
    is_task : bool
        whether a task is learned, so that the budget's limit per task holds
    to_buy : bool
        whether cells may be bought of a source that costs; False: for a quote
    match : Match or None
        the features as somebody knows them; one that the source lacks is constant 0 and costs
        nothing, so no learner can gain by it. None: those of the source in its order

    Raises
    ------
    thrifty.errors.BadInput
        prices that do not fit the source
    thrifty.errors.BudgetExceeded
        on a read: the budget does not allow it; nothing of it was bought
    thrifty.errors.PurchaseInDoubt
        on a read: nobody knows whether these cells were billed

    See Also
    --------
    thrifty.Source : what is read
    thrifty.results.Receipt : what it cost

    Examples
    --------
    >>> cells = Cells(np.array([[0, 1], [1, 1], [1, 0]], dtype=bool))
    >>> cells.get([0, 2], [1]).tolist()
    [[True], [False]]
    >>> _ = cells.get([0, 1], [1])                      # example 0 was paid for already
    >>> cells.receipt().cells
    3

    Features may be asked for as somebody else knows them:

    >>> from thrifty.cells.features import match_features
    >>> frame = Source.from_array(np.array([[1, 0], [1, 1]]), feature_names=["b", "a"])
    >>> cells = Cells(frame, match=match_features(["a", "b"], frame))
    >>> cells.get([0, 1], [0]).tolist(), cells.receipt().per_feature
    ([[0], [1]], {'a': 2})
    """

    #: of the order in which learners take rows; 0: the same for everybody
    row_seed: int = 0
    #: sees what comes through: (rows, features, values)
    watch: Callable[[Ints, Ints, AnyArray], None] | None = None

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
        match: Match | None = None,
    ) -> None:
        self._source: Source = as_source(source, categories=True)
        self.features = FeatureColumns(self._source, match)
        #: what the user said this task may spend, in the unit of the prices; None: nothing said
        self.spend = spend
        self._account: FreeAccount | PaidAccount
        if isinstance(self._source, CallableSource):
            self._account = PaidAccount(
                self._source, ledger, prices, task, to_buy=to_buy, spend=spend, is_task=is_task
            )
        else:
            only = self.features.only
            self._account = FreeAccount(
                self._source, prices, owned, ledger, only=only, spend=spend, is_task=is_task
            )
        # what orders cost depends on what was asked before: a prediction is told call by call
        told = not is_task and bool(self._account.tariff.parts)
        self._calls: list[tuple[Ints, Ints]] | None = [] if told else None
        self._show(self.features)

    def _show(self, features: FeatureColumns) -> None:
        """Which features there are here, and their prices."""
        source, self._tariff = self._source, self._account.tariff
        #: the rows, and their ids where they have them
        self.n_examples, self.examples = source.n_examples, source.examples
        #: what the source is called; "" where it has no name
        self.source_name = source.name
        #: which there are, and where the source keeps them
        self.features = features
        #: their names and how many there are, and how many of them the source has
        self.feature_names, self.n_features = features.names, features.n
        self.n_offered = features.n_offered
        self._keys: Words | None = None
        #: what a cell of each feature costs, where nothing is bought yet
        self.prices: Floats
        self.prices = features.spread(self._account.each, np.ones(features.n))

    def _share(self, other: Cells, features: FeatureColumns) -> None:
        """Other features of the same cells, which are charged and limited together."""
        self._source, self._account, self.spend = other._source, other._account, other.spend
        self._calls, self.row_seed = other._calls, other.row_seed
        self._show(features)

    @property
    def meter(self) -> Meter:
        """What went through, a bit per cell."""
        return self._account.meter

    def is_another_call(self) -> None:
        """What an earlier run of this task bought is shown as bought, and not at its price.

        A reader shows it as not bought, so that a call that broke off ends as it would have ended
        when it is made again; one with other labels, rows or limits goes on from what is there.
        """
        if isinstance(self._account, PaidAccount):
            self._account.hold_no_more()

    def own(self, owned: Owned) -> None:
        """Others have paid for some of it meanwhile: what was looked at is counted again."""
        assert isinstance(self._account, FreeAccount)
        self._account.own(owned)

    @property
    def tied(self) -> Ints:
        """Columns of the source whose prices depend on what else is there."""
        return self._tariff.tied

    # What there is.

    @property
    def boolean(self) -> Bools:
        """Which features are Boolean; the others are numbers or categories."""
        return self.features.boolean

    @property
    def categories(self) -> Mapping[int, tuple[str, ...]]:
        """Of each feature that is a category, by index: what its cells' numbers stand for."""
        return self.features.categories

    @property
    def absent(self) -> Bools:
        """Features that are known elsewhere and that this source lacks: constant 0, free."""
        return self.features.absent

    @property
    def offered(self) -> Ints:
        """The source's columns that are available through this reader."""
        return self.features.offered

    @property
    def is_free(self) -> bool:
        """Whether reading costs nothing, and is counted all the same."""
        return not isinstance(self._account, PaidAccount)

    def row_keys(self) -> Words:
        """Which examples these are, for whoever must know them again; shows no value."""
        if self._keys is None:
            self._keys = row_keys(self._source)
        return self._keys

    def row_order(self, salt: int) -> Ints:
        """All rows in an order that data cannot be laid out against: the seed is a lifetime's own.

        Tasks of one lifetime with as many rows have the same order, and share what they bought.
        """
        seed = [salt, self.row_seed] if self.row_seed else salt
        return np.random.default_rng(seed).permutation(self.n_examples)

    def _which(self, features: object) -> Ints:
        return checked_indices(features, self.n_features, "feature")

    # Values.

    def get(self, rows: ArrayLike, features: ArrayLike) -> AnyArray:
        """Values of rows x features, shape (len(rows), len(features))."""
        at = checked_indices(rows, self.n_examples, "row")
        which = self._which(features)
        if self.features.place is None:
            out = self._read(at, which)
        else:
            columns = self.features.columns(which)
            here = columns >= 0
            block = self._read(at, columns[here])
            out = np.zeros((len(block), len(columns)), dtype=block.dtype)
            out[:, here] = block
        if self.watch is not None:
            self.watch(at, which, out)
        return out

    def _read(self, rows: Ints, columns: Ints) -> AnyArray:
        block = self._account.get(rows, columns)
        if self._calls is not None:
            self._calls.append((rows, columns))
        return block

    def columns(self, features: Ints, mask: Words) -> Words:
        """Boolean features on the rows of a mask, packed over the examples: (k, W).

        Bits outside the mask are 0: what was not paid for is not shown.
        """
        if self.features.place is None:
            return self._account.columns(features, mask)
        columns = self.features.columns(features)
        here = columns >= 0
        out = np.zeros((len(features), len(mask)), dtype=np.uint64)
        out[here] = self._account.columns(columns[here], mask)
        return out

    def everything(self) -> Words:
        """Buy every cell; all features, which must be Boolean, in tiles."""
        if self.features.place is None:
            return self._account.tiles()
        mask = kernels.mask_of_rows(np.arange(self.n_examples), self.n_examples)
        columns = lambda some: self.columns(some, mask)  # noqa: E731
        return tiles_by_columns(columns, self.n_features, self.n_examples)

    def table(self) -> AnyArray:
        """Buy every cell; all values (S, N), whatever their kind. Not to be written to."""
        if self.features.place is None:
            return self._account.table()
        return self.get(np.arange(self.n_examples), np.arange(self.n_features))

    # What cells would cost: nothing is bought by asking.

    @property
    def allowance(self) -> float | None:
        """What may still be spent through this reader, in the unit of the prices; None: no limit.

        The least of what the user said for this task, and what the budget leaves.
        """
        left = self._account.left()
        return None if left is None else to_units(max(left, 0))

    @property
    def currency(self) -> str:
        """The currency of the prices; "" where they have none."""
        return self._tariff.currency

    def price_of_an_example(self) -> int:
        """What all features cost on an example that has none of them, in minor units."""
        tariff, offered = self._tariff, self.offered
        if tariff.parts or tariff.roots:
            return tariff.priced(frozenset(), frozenset(offered.tolist()))[0]
        drawn = {d for f in offered.tolist() for d in tariff.needs[f]}
        fees: int = sum(tariff.draws[d].fee for d in drawn)
        return total(tariff.own[offered]) + fees

    @property
    def fees(self) -> tuple[tuple[float, tuple[int, ...]], ...]:
        """Paid once per example for several features: (fee, features); ``prices`` hold it too."""
        tariff = self._tariff
        some = [(d.fee, d.members) for d in tariff.draws if d.kind != "order"]
        some.append((tariff.usual_call, tuple(range(self._source.n_features))))
        return tuple((to_units(fee), self.features.of_columns(m)) for fee, m in some if fee)

    @property
    def orders(self) -> tuple[tuple[int, ...], ...]:
        """Features that are bought together: by one order, or all from one test."""
        draws = (draw for draw in self._tariff.draws if draw.kind in ("order", "test"))
        together = (draw.members for draw in draws)
        return tuple(self.features.of_columns(some) for some in together if len(some) > 1)

    @property
    def alternatives(self) -> tuple[tuple[int, ...], ...]:
        """Features that answer the same, the cheapest first: ``PriceList(alternatives=)``.

        >>> import thrifty
        >>> prices = thrifty.PriceList([9, 1], alternatives={"crp": ["x0", "x1"]})
        >>> thrifty.protocol.Cells(np.eye(2), prices).alternatives
        ((1, 0),)
        """
        found = tuple(map(self.features.of_columns, self._tariff.alternatives))
        for members in found:
            self._answered_alike(members)
        return tuple(members for members in found if len(members) > 1)

    def _answered_alike(self, members: Sequence[int]) -> None:
        kinds = [
            self.categories.get(f, "yes or no" if self.boolean[f] else "a number") for f in members
        ]
        for f, kind in zip(members, kinds):
            if kind != kinds[0] and (isinstance(kind, str) or set(kind) != set(kinds[0])):
                raise BadInput(
                    f"{self.feature_names[members[0]]!r} and {self.feature_names[f]!r} are "
                    f"alternatives with different answers: {kinds[0]} and {kind}. Alternatives "
                    "need the same answers: recode one of them, or leave one out."
                )

    @property
    def call_price(self) -> float:
        """What a call costs for the usual example whatever is asked, every time; ``fees`` hold it.

        The tokens of a text in front of the questions, for instance.
        """
        return to_units(self._tariff.usual_call)

    @property
    def shared_prices(self) -> Floats:
        """What a cell costs in company: ``prices``, scaled so that they sum to the price of a row.

        Where fees, orders or calls are shared by features the prices of single cells sum to far
        more than all of them cost together.

        >>> import thrifty
        >>> prices = thrifty.PriceList([1, 1], fees={"draw": (8, ["x0", "x1"])})
        >>> cells = thrifty.protocol.Cells(np.eye(2), prices)
        >>> cells.prices.tolist(), cells.shared_prices.tolist()
        ([9.0, 9.0], [5.0, 5.0])
        """
        fees, prices = self.fees, np.asarray(self.prices, dtype=np.float64)
        tariff = self._tariff
        if not prices.sum() > 0 or not (fees or tariff.parts):
            return prices
        whole = float(prices.sum()) - sum(fee * (len(members) - 1) for fee, members in fees)
        if tariff.parts:
            every = frozenset(range(self._source.n_features))
            whole = to_units(tariff.priced(frozenset(), every)[0])
        return np.asarray(prices * (whole / float(prices.sum())), dtype=np.float64)

    def row_costs(self, rows: object, features: object) -> Floats:
        """What these features would cost on each row, given what is owned; nothing is bought."""
        at = checked_indices(rows, self.n_examples, "row")
        columns = np.unique(self.features.columns(self._which(features)))
        columns = columns[columns >= 0]
        mask = kernels.mask_of_rows(at, self.n_examples)
        bill = self._tariff.bill(columns, mask, self._account.holdings(columns))
        return np.asarray(bill.per_row(self.n_examples)[at] / UNIT, dtype=np.float64)

    def price_of(self, rows: object, features: object) -> float:
        """What rows x features would cost, given what is owned; nothing is bought.

        >>> import thrifty
        >>> cells = thrifty.protocol.Cells(np.array([[0, 1], [1, 1]], dtype=bool), prices=[2, 3])
        >>> _ = cells.get([0], [1])
        >>> cells.price_of([0, 1], [0, 1])
        7.0
        """
        return float(self.row_costs(rows, features).sum())

    def price_between(self, owned: Sequence[int], wanted: Sequence[int]) -> float:
        """What an example that has some features pays for others, as cheaply as can be.

        >>> import thrifty
        >>> cells = thrifty.protocol.Cells(np.array([[0, 1]], dtype=bool), prices=[2, 3])
        >>> cells.price_between([0], [0, 1])
        3.0
        """
        had = frozenset(f for f in self.features.in_source(owned) if f >= 0)
        new = frozenset(f for f in self.features.in_source(wanted) if f >= 0) - had
        return to_units(self._tariff.priced(had, new)[0])

    def prices_after(self, features: Sequence[int]) -> Floats:
        """What each feature costs on an example that was asked some: at a node below them.

        As ``prices`` where every feature is sold by itself.

        >>> import thrifty
        >>> prices = thrifty.PriceList([1, 1], fees={"draw": (8, ["x0", "x1"])})
        >>> thrifty.protocol.Cells(np.eye(2), prices).prices_after([0]).tolist()
        [0.0, 1.0]
        """
        asked = [f for f in self.features.in_source(features) if f >= 0]
        tariff = self._tariff
        if not asked or not (tariff.draws or tariff.parts or tariff.roots):
            return self.prices
        return self.features.spread(prices_after(tariff, asked), self.prices)

    @property
    def sells_together(self) -> bool:
        """Whether some features are filled by orders, so that they may come with others."""
        return bool(self._tariff.parts or self._tariff.roots)

    @property
    def depends(self) -> Bools:
        """Which features' prices depend on what else is owned of the same example."""
        out, tariff = np.zeros(self.n_features, dtype=np.bool_), self._tariff
        columns = {*tariff.tied.tolist(), *tariff.roots, *tariff.computed}
        out[list(self.features.of_columns(columns))] = True
        return out

    def margins(self, rows: object, features: object) -> Floats:
        """What each feature alone would cost on each row, given what is owned: (rows, features).

        >>> import thrifty
        >>> both = {"both": (5, ["x0", "x1"])}
        >>> cells = thrifty.protocol.Cells(np.eye(2), thrifty.PriceList(None, orders=both))
        >>> _ = cells.get([0], [1])  # the order fills x0 beside
        >>> cells.margins([0, 1], [0, 1]).tolist()
        [[0.0, 0.0], [5.0, 5.0]]
        """
        at = checked_indices(rows, self.n_examples, "row")
        columns = self.features.columns(self._which(features))
        here = columns >= 0
        out, some = np.zeros((len(at), len(columns))), columns[here]
        there = self._account.holdings(some)
        out[:, here] = margins(self._tariff, some, at, self.n_examples, there) / UNIT
        return out

    def owned_rows(self, features: object) -> Ints:
        """Examples on which all of these features can be looked at for nothing.

        >>> import thrifty
        >>> cells = thrifty.protocol.Cells(np.array([[0, 1], [1, 1], [1, 0]], dtype=bool))
        >>> _ = cells.get([0, 2], [1])
        >>> cells.owned_rows([1]).tolist(), cells.owned_rows([0, 1]).tolist()
        ([0, 2], [])
        """
        columns = self.features.columns(self._which(features))
        return self.meter.known_rows(columns[columns >= 0])

    def owns_any_of(self, row: int) -> bool:
        """Whether something of an example was paid for before this reader was opened."""
        word, bit = row >> 6, np.uint64(1 << (row & 63))
        owned = self.meter.owned
        return owned.everything or bool((owned.bitmap[:, word : word + 1] & bit).any())

    # What went through, and what it has cost.

    def receipt(self) -> Receipt:
        """What has been bought so far."""
        account, names, meter = self._account, self._source.feature_names, self.meter
        n, n_offered, only = self.n_examples, self.n_offered, self.features.only
        bought = meter.bought_per_feature
        cells, some = int(bought.sum()), np.flatnonzero(bought)
        there_was = n * n_offered - meter.n_absent(only) - account.owned_cells(only)
        return Receipt(
            cells=cells,
            cost=to_units(account.cost()),
            reused_cells=int(meter.reused_per_feature.sum()),
            avoided_cells=there_was - cells,
            max_cells_per_example=meter.max_per_example(),
            n_examples=n,
            n_features=n_offered,
            currency=self.currency,
            per_feature=dict(zip(map(names.__getitem__, some.tolist()), bought[some].tolist())),
            lines=self._lines(),
            gaps=account.gaps(),
        )

    def _lines(self) -> tuple[tuple[str, int, float], ...]:
        """The bill line by line; none where nothing but cells has a price."""
        tariff = self._tariff
        if not (tariff.draws or tariff.parts or tariff.per_call is not None):
            return ()
        return tuple((x.what, x.count, to_units(x.amount)) for x in self._account.lines())

    @property
    def paid_charges(self) -> Charges:
        """What was paid for, in turn, where orders make their sequence matter; else empty."""
        return tuple(self._account.paid_charges) if isinstance(self._account, FreeAccount) else ()

    def charge_again(self, charges: Charges) -> None:
        """Pay for what was read through another reader of the same source; nothing is read."""
        assert isinstance(self._account, FreeAccount)
        for columns, mask in charges:
            self._account.charge(columns, mask)

    @property
    def counted(self) -> int:
        """What was counted and not bought from a provider, in minor units, as receipts say it."""
        return self._account.cost() if self.is_free else 0

    @property
    def n_bought(self) -> int:
        """How many distinct cells were bought through this reader so far."""
        return int(self.meter.bought_per_feature.sum())

    def looked_at(self, row: int, feature: int) -> bool:
        """Whether a cell has gone through."""
        (column,) = self.features.in_source([feature])
        word = self.meter.touched[column, row >> 6] >> np.uint64(row & 63)
        return column >= 0 and (self.meter.everything or bool(word & np.uint64(1)))

    def cells_per_row(self) -> Ints:
        """How many cells were bought on each example so far."""
        return self.meter.bought_per_example()

    def cost_per_row(self) -> Floats:
        """What was bought on each example so far, at its price."""
        account, tariff, meter = self._account, self._tariff, self.meter
        if tariff.parts or not self.is_free:
            return np.asarray(account.row_costs / UNIT, dtype=np.float64)
        columns = np.flatnonzero(meter.bought_per_feature)
        each = tariff.own / UNIT
        costs, some = np.zeros(self.n_examples), max(1, (1 << 20) // max(self.n_examples, 1))
        for start in range(0, len(columns), some):  # a wide table takes no table of bits
            part = columns[start : start + some]
            costs += meter.bought_bits(part).T @ each[part]
        for d, draw in enumerate(tariff.draws):
            if draw.fee:
                costs += to_units(draw.fee) * meter.first_bits(tariff.needing(d))
        return np.asarray(costs, dtype=np.float64)

    def paid_on(self, row: int, features: Sequence[int]) -> list[float]:
        """What was paid for each of these cells of one row: what it added to its call.

        A fee is paid with the first of them.
        """
        columns, every = self.features.in_source(features), np.arange(self._source.n_features)
        asked = [np.array([f]) for f in dict.fromkeys(columns)]
        if self._calls is not None:
            asked = [wanted for rows, wanted in self._calls if row in rows]
        bought = self.meter.bought_bits(every)[:, row].astype(np.bool_)
        had = kernels.unpack_columns(self.meter.had(every), np.array([row]))[0].astype(np.bool_)
        owned = frozenset(np.flatnonzero(had & ~bought).tolist())
        paid: dict[int, int] = {}
        for call in asked:
            wanted: frozenset[int] = frozenset()
            before, filled = 0, owned
            for f in [f for f in call.tolist() if f >= 0 and bought[f] and f not in owned]:
                wanted |= {f}
                price, filled = self._tariff.priced(owned, wanted)
                paid[f], before = paid.get(f, 0) + price - before, price
            owned |= filled
        return [to_units(paid.pop(f, 0)) for f in columns]
