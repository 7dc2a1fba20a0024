"""What went through a door, and what it has cost."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from thrifty import kernels
from thrifty.cells.ledger.receipt import Receipt
from thrifty.cells.priced_door import PricedDoor
from thrifty.cells.prices.bill_lines import BillLine, Lines, lines_of_counts
from thrifty.cells.prices.money import UNIT, product, to_units

__all__ = ["BilledDoor"]


class BilledDoor(PricedDoor):
    """A door that keeps the bill of what went through it."""

    def receipt(self) -> Receipt:
        """What has been bought through this door so far."""
        bought, names = self.meter.bought_per_feature, self._source.feature_names
        cells, reused, some = kernels.tally(bought, self.meter.reused_per_feature)  # type: ignore[no-untyped-call]
        whole = self.n_examples * self.n_offered
        lines = self._lines()
        return Receipt(
            cells=int(cells),
            cost=float(cells) if self._one_each else self._cost(),  # 1 each: as many as there are
            reused_cells=int(reused),
            avoided_cells=whole - self._owned_cells() - int(cells),
            max_cells_per_example=self.meter.max_per_example(),
            n_examples=self.n_examples,
            n_features=self.n_offered,
            currency=self.currency,
            per_feature=dict(zip(map(names.__getitem__, some.tolist()), bought[some].tolist())),
            lines=tuple((x.what, x.count, to_units(x.amount)) for x in lines) if lines else (),
        )

    def _owned_cells(self) -> int:
        """How many of the cells on offer somebody else has paid for."""
        if self._paid is None:
            return self._owned_before
        looked_up = np.flatnonzero(self._paid.known.loaded)
        if self.n_offered < self._source.n_features:
            looked_up = np.intersect1d(looked_up, self.offered)
        return self._paid.meter.owned.count(looked_up)

    def _lines(self) -> list[BillLine]:
        """The bill line by line; none where nothing but cells has a price."""
        tariff = self._tariff
        if tariff is None or not (tariff.draws or tariff.parts or tariff.per_call is not None):
            return []
        if self._paid is not None:
            return self._paid.lines.sorted()
        if tariff.parts and self._purse is not None:
            return self._purse.lines.sorted()
        draws = {d: self.meter.count_any(tariff.needing(d)) for d in range(len(tariff.draws))}
        cells = self.meter.bought_per_feature
        return Lines(lines_of_counts(tariff, self._source.feature_names, cells, draws)).sorted()

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

    @property
    def counted(self) -> int:
        """What was counted and not bought from a provider, in minor units, rounded up."""
        return 0 if self._paid is not None else -int(-self._cost() * UNIT // 1)

    @property
    def n_bought(self) -> int:
        """How many distinct cells were bought through this door so far."""
        return int(self.meter.bought_per_feature.sum())

    @property
    def everything_is_bought(self) -> bool:
        """Whether every cell of the task was looked at through this door."""
        seen = self.meter.bought_per_feature.sum() + self.meter.reused_per_feature.sum()
        return int(seen) >= self.n_examples * self.n_features

    def looked_at(self, row: int, feature: int) -> bool:
        """Whether a cell has gone through this door."""
        (f,) = self._here([feature])
        if f < 0:
            return False
        touched = self.meter.touched[f, row >> 6] >> np.uint64(row & 63)
        return self.meter.everything or bool(touched & np.uint64(1))

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
