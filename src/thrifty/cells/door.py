"""The one door to values.

A learner asks for ``(rows, features)`` and gets values; the door charges each distinct cell once,
however often and in whatever shape it is asked for. A learner never sees the source behind it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty import kernels
from thrifty.cells.ledger.allowance import limits_of
from thrifty.cells.ledger.ledger import Ledger
from thrifty.cells.ledger.meter import Meter, Owned
from thrifty.cells.ledger.paid import PaidCells
from thrifty.cells.ledger.plan import known_cells
from thrifty.cells.ledger.purse import Purse
from thrifty.cells.ledger.receipt import Receipt
from thrifty.cells.prices.budget import Limits
from thrifty.cells.prices.lines import Line, lines_of_counts, sum_lines
from thrifty.cells.prices.money import UNIT, product, read_amount, to_units, total
from thrifty.cells.prices.per_feature import read_prices
from thrifty.cells.prices.price_list import PriceList, as_price_list
from thrifty.cells.prices.tariff import Holdings, OwnedCells, Tariff
from thrifty.cells.sources import Source, as_source
from thrifty.cells.sources.callable import CallableSource
from thrifty.cells.sources.row_keys import row_keys
from thrifty.errors import BadInput

__all__ = ["Cells"]


class Cells:
    """The cells of one task.

    >>> cells = Cells(np.array([[0, 1], [1, 1], [1, 0]], dtype=bool))
    >>> cells.get([0, 2], [1]).tolist()
    [[True], [False]]
    >>> _ = cells.get([0, 1], [1])                      # example 0 was paid for already
    >>> cells.receipt().cells
    3
    """

    def __init__(
        self,
        source: Any,
        prices: Any = None,
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
        self._keys: NDArray[np.uint64] | None = None
        if isinstance(self._source, CallableSource):
            self._open_paid(self._source, prices, ledger, task)
        else:
            self._open_free(prices, owned, ledger)
        #: what a cell of each feature costs, where nothing is bought yet
        self.prices: NDArray[np.float64] = self._each

    def _open_paid(
        self, source: CallableSource, prices: Any, ledger: Ledger | None, task: str
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
        self.meter, self._owned_before = self._paid.meter, self._paid.owned_before

    def _open_free(self, prices: Any, owned: Owned | None, ledger: Ledger | None) -> None:
        """Free to read: counted in memory, nothing is logged until the task is learned."""
        source = self._source
        budget = ledger.budget if ledger is not None else None
        limited = budget is not None or self._spend is not None
        if isinstance(prices, PriceList) or limited:
            self._tariff = as_price_list(prices).tariff(source.feature_names)
            self._each = self._tariff.marginal
        else:
            self._each = read_prices(prices, source.feature_names)
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

    def price_of_an_example(self) -> int:
        """What all features of an example cost that has none of them, in minor units."""
        if self._tariff is None:
            return read_amount(round(float(self._each.sum()), 6), "price")[0]
        everything = frozenset(range(self._source.n_features))
        if self._tariff.parts or self._tariff.roots:
            return self._tariff.one_price(frozenset(), everything)
        fees = {d for needs in self._tariff.needs for d in needs}
        return total(self._tariff.own) + sum(self._tariff.draws[d].fee for d in fees)

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
    def everything_is_bought(self) -> bool:
        """Whether every cell of the task was looked at through this door."""
        seen = self.meter.bought_per_feature.sum() + self.meter.reused_per_feature.sum()
        return int(seen) >= self.n_examples * self.n_features

    @property
    def fees(self) -> tuple[tuple[float, tuple[int, ...]], ...]:
        """Paid once per example for several features: (fee, features); ``prices`` hold it too."""
        if self._tariff is None:
            return ()
        some = [(d.fee, d.members) for d in self._tariff.draws if d.kind != "order"]
        some.append((self._tariff.usual_call, tuple(range(self._source.n_features))))
        return tuple((to_units(fee), members) for fee, members in some if fee)

    @property
    def shared_prices(self) -> NDArray[np.float64]:
        """What a cell costs in company: ``prices``, scaled so that they sum to the price of a row.

        Where fees, orders or calls are shared by features the prices of single cells sum to far
        more than all of them cost together.

        >>> cells = Cells(np.eye(2), PriceList([1, 1], fees={"draw": (8, ["x0", "x1"])}))
        >>> cells.prices.tolist(), cells.shared_prices.tolist()
        ([9.0, 9.0], [5.0, 5.0])
        """
        fees, prices = self.fees, np.asarray(self.prices, dtype=np.float64)
        tied = self._tariff is not None and bool(self._tariff.parts)
        if (not fees and not tied) or not prices.sum() > 0:
            return prices
        whole = float(prices.sum()) - sum(fee * (len(members) - 1) for fee, members in fees)
        if tied and self._tariff is not None:
            every = frozenset(range(self._source.n_features))
            whole = to_units(self._tariff.one_price(frozenset(), every))
        return np.asarray(prices * (whole / float(prices.sum())), dtype=np.float64)

    @property
    def absent(self) -> NDArray[np.bool_]:
        """Features that are known elsewhere and that this source lacks: constant 0, free."""
        return np.zeros(self.n_features, dtype=np.bool_)

    def get(self, rows: Any, features: Any) -> NDArray[Any]:
        """Values of rows x features, shape (len(rows), len(features))."""
        at = self._indices(rows, self.n_examples, "row")
        which = self._indices(features, self._source.n_features, "feature")
        if self._paid is not None:
            return self._paid.get(at, which)
        self._look(which, kernels.mask_of_rows(at, self.n_examples))
        return self._source.read(at, which)

    def columns(self, features: NDArray[np.int64], mask: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Boolean features on the rows of a mask, packed over the examples: (k, W).

        Bits outside the mask are 0: what was not paid for is not shown.
        """
        if self._paid is not None:
            return self._paid.columns(features, mask)
        self._look(features, mask)
        return self._source.columns(features) & mask

    def _look(self, features: NDArray[np.int64], mask: NDArray[np.uint64]) -> None:
        bill = self._purse.pay(features, mask) if self._purse is not None else None
        for filled in bill.orders if bill is not None else ():
            # what an order fills beside is owned for nothing
            rows = kernels.mask_of_rows(filled.rows, self.n_examples)
            self.meter.charge(filled.features, rows)
        self.meter.charge(features, mask)

    def everything(self) -> NDArray[np.uint64]:
        """Buy every cell; all features, which must be Boolean, in tiles."""
        if self._paid is not None:
            return self._paid.tiles()
        self._look_at_everything()
        return self._source.tiles()

    def table(self) -> NDArray[Any]:
        """Buy every cell; all values (S, N), whatever their kind. Not to be written to."""
        if self._paid is not None:
            return self._paid.get(np.arange(self.n_examples), np.arange(self._source.n_features))
        self._look_at_everything()
        return self._source.table()

    def _look_at_everything(self) -> None:
        if self._purse is not None:
            all_rows = kernels.mask_of_rows(np.arange(self.n_examples), self.n_examples)
            self._purse.pay(np.arange(self._source.n_features), all_rows)
        self.meter.charge_everything()

    def _cost(self) -> float:
        if self._paid is not None:
            return self._paid.cost
        bought = self.meter.bought_per_feature
        if self._tariff is None:
            return float(bought @ self._each)
        if self._tariff.parts and self._purse is not None:
            return to_units(self._purse.spent)
        minor = product(bought, self._tariff.own)
        for d, draw in enumerate(self._tariff.draws):
            minor += draw.fee * self.meter.count_any(self._tariff.needing(d))
        return to_units(minor)

    def row_costs(self, rows: Any, features: Any) -> NDArray[np.float64]:
        """What these features would cost on each row, given what is owned; nothing is bought."""
        at = self._indices(rows, self.n_examples, "row")
        which = np.unique(self._indices(features, self.n_features, "feature"))
        return self._row_costs(at, which)

    def price_of(self, rows: Any, features: Any) -> float:
        """What rows x features would cost, given what is owned; nothing is bought.

        >>> cells = Cells(np.array([[0, 1], [1, 1]], dtype=bool), prices=[2, 3])
        >>> _ = cells.get([0], [1])
        >>> cells.price_of([0, 1], [0, 1])
        7.0
        """
        return float(self.row_costs(rows, features).sum())

    def price_between(self, owned: Sequence[int], wanted: Sequence[int]) -> float:
        """What an example that has some features pays for others, as cheaply as can be.

        >>> Cells(np.array([[0, 1]], dtype=bool), prices=[2, 3]).price_between([0], [0, 1])
        3.0
        """
        had = {f for f in self._here(owned) if f >= 0}
        new = {f for f in self._here(wanted) if f >= 0} - had
        if self._tariff is None:
            return float(sum(self._each[f] for f in new))
        return to_units(self._tariff.one_price(frozenset(had), frozenset(new)))

    @property
    def orders(self) -> tuple[tuple[int, ...], ...]:
        """Features that are bought together: by one order, or all from one test."""
        draws = () if self._tariff is None else self._tariff.draws
        together = (draw.members for draw in draws if draw.kind in ("order", "test"))
        return tuple(members for members in together if len(members) > 1)

    def _row_costs(
        self, rows: NDArray[np.int64], features: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        if self._tariff is None:
            known = kernels.unpack_columns(self.meter.had(features), rows)
            return np.asarray((known == 0) @ self._each[features], dtype=np.float64)
        if self._paid is not None:
            self._paid.load(np.union1d(self._tariff.wanted(features), self._tariff.tied))
        mask = kernels.mask_of_rows(rows, self.n_examples)
        bill = self._tariff.bill(features, mask, self._holdings())
        return np.asarray(bill.per_row(self.n_examples)[rows] / UNIT, dtype=np.float64)

    def _holdings(self) -> Holdings:
        """What is there already, as the tariff asks for it."""
        if self._paid is not None:
            return known_cells(self._paid.known)
        assert self._tariff is not None
        return OwnedCells(self._tariff, self.meter.had)

    @property
    def counted(self) -> int:
        """What was counted and not bought from a provider, in minor units, rounded up."""
        return 0 if self._paid is not None else -int(-self._cost() * UNIT // 1)

    @property
    def n_bought(self) -> int:
        """How many distinct cells were bought through this door so far."""
        return int(self.meter.bought_per_feature.sum())

    def owned_rows(self, features: Any) -> NDArray[np.int64]:
        """Examples on which all of these features can be looked at for nothing.

        >>> cells = Cells(np.array([[0, 1], [1, 1], [1, 0]], dtype=bool))
        >>> _ = cells.get([0, 2], [1])
        >>> cells.owned_rows([1]).tolist(), cells.owned_rows([0, 1]).tolist()
        ([0, 2], [])
        """
        which = self._indices(features, self.n_features, "feature")
        here = [f for f in self._here(which.tolist()) if f >= 0]
        return self.meter.known_rows(np.array(here, dtype=np.int64))

    def cells_per_row(self) -> NDArray[np.int64]:
        """How many cells were bought on each example so far."""
        return self.meter.bought_per_example()

    def cost_per_row(self) -> NDArray[np.float64]:
        """What was bought on each example so far, at its price."""
        if self._tariff is not None and self._tariff.parts:
            minor = self._paid.row_costs if self._paid else self._purse.row_costs  # type: ignore[union-attr]
            return np.asarray(minor / UNIT, dtype=np.float64)
        features = np.flatnonzero(self.meter.bought_per_feature)
        bought = self.meter.bought_bits(features)
        each = self._tariff.own / UNIT if self._tariff is not None else self._each
        costs = bought.T @ each[features]
        if self._tariff is not None:
            for d, draw in enumerate(self._tariff.draws):
                if draw.fee:
                    costs += to_units(draw.fee) * self.meter.first_bits(self._tariff.needing(d))
        return np.asarray(costs, dtype=np.float64)

    def paid_on(self, row: int, features: Sequence[int]) -> list[float]:
        """What this door paid for each of these cells of one row; a fee with the first of them."""
        if self._tariff is not None and self._tariff.parts:
            return self._paid_in_turn(row, self._here(features))
        out: list[float] = []
        seen: set[int] = set()
        for f in self._here(features):
            bought = f >= 0 and bool(self.meter.bought_bits(np.array([f]))[0, row])
            if not bought:
                out.append(0.0)
                continue
            if self._tariff is None:
                out.append(float(self._each[f]))
                continue
            minor = int(self._tariff.own[f])
            for d in set(self._tariff.needs[f]) - seen:
                seen.add(d)
                if self.meter.first_bits(self._tariff.needing(d))[row]:
                    minor += self._tariff.draws[d].fee
            out.append(to_units(minor))
        return out

    def _paid_in_turn(self, row: int, features: Sequence[int]) -> list[float]:
        """Of features that orders fill: each at its price after those before it."""
        assert self._tariff is not None
        every = np.arange(self._source.n_features)
        bought = self.meter.bought_bits(every)[:, row].astype(np.bool_)
        had = kernels.unpack_columns(self.meter.had(every), np.array([row]))[0].astype(np.bool_)
        owned = frozenset(np.flatnonzero(had & ~bought).tolist())
        out: list[float] = []
        for f in features:
            price, filled = (0, frozenset()) if f < 0 else self._tariff.one_step(owned, f)
            out.append(to_units(price))
            owned |= filled
        return out

    def looked_at(self, row: int, feature: int) -> bool:
        """Whether a cell has gone through this door."""
        (f,) = self._here([feature])
        if f < 0:
            return False
        touched = self.meter.touched[f, row >> 6] >> np.uint64(row & 63)
        return self.meter.everything or bool(touched & np.uint64(1))

    def _here(self, features: Sequence[int]) -> list[int]:
        """The source's columns of these features."""
        return [int(f) for f in features]

    def row_keys(self) -> NDArray[np.uint64]:
        """Which examples these are, for whoever must know them again; shows no value."""
        if self._keys is None:
            self._keys = row_keys(self._source)
        return self._keys

    def receipt(self) -> Receipt:
        """What has been bought through this door so far."""
        bought = self.meter.bought_per_feature
        cells, reused, some = kernels.tally(bought, self.meter.reused_per_feature)  # type: ignore[no-untyped-call]
        names = self._source.feature_names
        whole = self.n_examples * self._source.n_features - self._owned_before
        return Receipt(
            cells=int(cells),
            cost=self._cost(),
            reused_cells=int(reused),
            avoided_cells=whole - int(cells),
            max_cells_per_example=self.meter.max_per_example(),
            n_examples=self.n_examples,
            n_features=self._source.n_features,
            currency=self.currency,
            per_feature={names[f]: n for f, n in zip(some.tolist(), bought[some].tolist())},
            lines=tuple((x.what, x.count, to_units(x.amount)) for x in self._lines()),
        )

    def _lines(self) -> list[Line]:
        """The bill line by line; none where nothing but cells has a price."""
        tariff = self._tariff
        if tariff is None or not (tariff.draws or tariff.parts or tariff.per_call is not None):
            return []
        if self._paid is not None:
            return self._paid.lines
        if tariff.parts and self._purse is not None:
            return self._purse.lines
        draws = {d: self.meter.count_any(tariff.needing(d)) for d in range(len(tariff.draws))}
        cells = self.meter.bought_per_feature
        return sum_lines(lines_of_counts(tariff, self._source.feature_names, cells, draws))

    @staticmethod
    def _indices(given: Any, n: int, what: str) -> NDArray[np.int64]:
        at = np.atleast_1d(np.asarray(given, dtype=np.int64))
        if len(at) and (at.min() < 0 or at.max() >= n):
            raise BadInput(
                f"{what} indices must lie in 0..{n - 1}; got {int(at.min())}..{int(at.max())}."
            )
        return at
