"""What went through a door, and what it has cost, by the source's columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from thrifty import kernels
from thrifty.cells.account import Account
from thrifty.cells.features import Features
from thrifty.cells.ledger.receipt import Receipt
from thrifty.cells.prices.money import UNIT, to_units
from thrifty.cells.sources import Source

__all__ = ["Bill", "Calls"]

#: rows and columns that were asked for together, in turn
Calls = Sequence[tuple[NDArray[np.int64], NDArray[np.int64]]]


class Bill:
    """The bill of an account."""

    def __init__(self, account: Account, source: Source) -> None:
        self._account, self._source = account, source

    def receipt(self, features: Features, currency: str) -> Receipt:
        """What has been bought so far, of the features on offer."""
        account, names = self._account, self._source.feature_names
        meter, n, n_offered = account.meter, self._source.n_examples, features.n_offered
        bought = meter.bought_per_feature
        cells, reused, some = kernels.tally(bought, meter.reused_per_feature)  # type: ignore[no-untyped-call]
        return Receipt(
            cells=int(cells),
            cost=float(cells) if account.one_each else account.cost(),  # 1 each: as many
            reused_cells=int(reused),
            avoided_cells=n * n_offered - account.owned_cells(features.only) - int(cells),
            max_cells_per_example=meter.max_per_example(),
            n_examples=n,
            n_features=n_offered,
            currency=currency,
            per_feature=dict(zip(map(names.__getitem__, some.tolist()), bought[some].tolist())),
            lines=self._lines(),
        )

    def _lines(self) -> tuple[tuple[str, int, float], ...]:
        """The bill line by line; none where nothing but cells has a price."""
        tariff = self._account.tariff
        if tariff is None or not (tariff.draws or tariff.parts or tariff.per_call is not None):
            return ()
        return tuple((x.what, x.count, to_units(x.amount)) for x in self._account.lines())

    def looked_at(self, row: int, column: int) -> bool:
        """Whether a cell has gone through the door."""
        meter = self._account.meter
        touched = meter.touched[column, row >> 6] >> np.uint64(row & 63)
        return meter.everything or bool(touched & np.uint64(1))

    def cost_per_row(self) -> NDArray[np.float64]:
        """What was bought on each example so far, at its price."""
        account, tariff, meter = self._account, self._account.tariff, self._account.meter
        if tariff is not None and (tariff.parts or account.is_paid):
            return np.asarray(account.row_costs() / UNIT, dtype=np.float64)
        columns = np.flatnonzero(meter.bought_per_feature)
        bought = meter.bought_bits(columns)
        each = tariff.own / UNIT if tariff is not None else account.each
        costs = bought.T @ each[columns]
        if tariff is not None:
            for d, draw in enumerate(tariff.draws):
                if draw.fee:
                    costs += to_units(draw.fee) * meter.first_bits(tariff.needing(d))
        return np.asarray(costs, dtype=np.float64)

    def paid_on(self, row: int, columns: Sequence[int], calls: Calls | None = None) -> list[float]:
        """What was paid for each of these cells of one row; a fee with the first of them.

        ``calls``: what was asked for, in turn, where orders fill several columns; None: column by
        column.
        """
        tariff, meter = self._account.tariff, self._account.meter
        if tariff is not None and tariff.parts:
            asked = [np.array([f]) for f in columns]
            if calls is not None:
                asked = [wanted for rows, wanted in calls if row in rows]
            return self._paid_in_turn(row, columns, asked)
        out: list[float] = []
        seen: set[int] = set()
        for f in columns:
            bought = f >= 0 and bool(meter.bought_bits(np.array([f]))[0, row])
            if not bought:
                out.append(0.0)
                continue
            if tariff is None:
                out.append(float(self._account.each[f]))
                continue
            minor = int(tariff.own[f])
            for d in set(tariff.needs[f]) - seen:
                seen.add(d)
                if meter.first_bits(tariff.needing(d))[row]:
                    minor += tariff.draws[d].fee
            out.append(to_units(minor))
        return out

    def _paid_in_turn(
        self, row: int, columns: Sequence[int], asked: Sequence[NDArray[np.int64]]
    ) -> list[float]:
        """Of columns that orders fill: call by call, each column what it adds to its call."""
        tariff, meter = self._account.tariff, self._account.meter
        assert tariff is not None
        every = np.arange(self._source.n_features)
        bought = meter.bought_bits(every)[:, row].astype(np.bool_)
        had = kernels.unpack_columns(meter.had(every), np.array([row]))[0].astype(np.bool_)
        owned = frozenset(np.flatnonzero(had & ~bought).tolist())
        paid: dict[int, int] = {}
        for call in asked:
            wanted: frozenset[int] = frozenset()
            before, filled = 0, owned
            for f in [f for f in call.tolist() if f >= 0 and f not in owned]:
                wanted |= {f}
                price, filled = tariff.priced(owned, wanted)
                paid[f], before = paid.get(f, 0) + price - before, price
            owned |= filled
        return [to_units(paid.get(f, 0)) for f in columns]
