"""What cells would cost: nothing is bought by asking."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from thrifty import kernels
from thrifty.cells.ledger.plan import known_cells
from thrifty.cells.open_door import OpenDoor
from thrifty.cells.prices.margins import depends_on_owned, margins, prices_after
from thrifty.cells.prices.money import UNIT, read_amount, to_units, total
from thrifty.cells.prices.tariff import Holdings, OwnedCells

__all__ = ["PricedDoor"]

#: cells that are priced at once
_AT_ONCE = 1 << 20


class PricedDoor(OpenDoor):
    """A door that says what cells would cost, given what is owned."""

    def price_of_an_example(self) -> int:
        """What all features cost on an example that has none of them, in minor units."""
        offered = self.offered
        if self._tariff is None:
            return read_amount(round(float(self._each[offered].sum()), 6), "price")[0]
        if self._tariff.parts or self._tariff.roots:
            return self._tariff.one_price(frozenset(), frozenset(offered.tolist()))
        drawn = {d for f in offered.tolist() for d in self._tariff.needs[f]}
        fees: int = sum(self._tariff.draws[d].fee for d in drawn)
        return total(self._tariff.own[offered]) + fees

    @property
    def fees(self) -> tuple[tuple[float, tuple[int, ...]], ...]:
        """Paid once per example for several features: (fee, features); ``prices`` hold it too."""
        if self._tariff is None:
            return ()
        some = [(d.fee, d.members) for d in self._tariff.draws if d.kind != "order"]
        some.append((self._tariff.usual_call, tuple(range(self._source.n_features))))
        return tuple((to_units(fee), members) for fee, members in some if fee)

    @property
    def orders(self) -> tuple[tuple[int, ...], ...]:
        """Features that are bought together: by one order, or all from one test."""
        draws = () if self._tariff is None else self._tariff.draws
        together = (draw.members for draw in draws if draw.kind in ("order", "test"))
        return tuple(members for members in together if len(members) > 1)

    @property
    def call_price(self) -> float:
        """What a call costs for the usual example whatever is asked, every time; ``fees`` hold it.

        The tokens of a text in front of the questions, for instance.
        """
        return 0.0 if self._tariff is None else to_units(self._tariff.usual_call)

    @property
    def shared_prices(self) -> NDArray[np.float64]:
        """What a cell costs in company: ``prices``, scaled so that they sum to the price of a row.

        Where fees, orders or calls are shared by features the prices of single cells sum to far
        more than all of them cost together.

        >>> import thrifty
        >>> prices = thrifty.PriceList([1, 1], fees={"draw": (8, ["x0", "x1"])})
        >>> cells = thrifty.Cells(np.eye(2), prices)
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

    def row_costs(self, rows: object, features: object) -> NDArray[np.float64]:
        """What these features would cost on each row, given what is owned; nothing is bought."""
        at = self._indices(rows, self.n_examples, "row")
        which = np.unique(self._indices(features, self.n_features, "feature"))
        return self._row_costs(at, which)

    def price_of(self, rows: object, features: object) -> float:
        """What rows x features would cost, given what is owned; nothing is bought.

        >>> import thrifty
        >>> cells = thrifty.Cells(np.array([[0, 1], [1, 1]], dtype=bool), prices=[2, 3])
        >>> _ = cells.get([0], [1])
        >>> cells.price_of([0, 1], [0, 1])
        7.0
        """
        return float(self.row_costs(rows, features).sum())

    def price_between(self, owned: Sequence[int], wanted: Sequence[int]) -> float:
        """What an example that has some features pays for others, as cheaply as can be.

        >>> import thrifty
        >>> cells = thrifty.Cells(np.array([[0, 1]], dtype=bool), prices=[2, 3])
        >>> cells.price_between([0], [0, 1])
        3.0
        """
        had = {f for f in self._here(owned) if f >= 0}
        new = {f for f in self._here(wanted) if f >= 0} - had
        if self._tariff is None:
            return float(sum(self._each[f] for f in new))
        return to_units(self._tariff.one_price(frozenset(had), frozenset(new)))

    def prices_after(self, features: Sequence[int]) -> NDArray[np.float64]:
        """What each feature costs on an example that was asked some: at a node below them.

        As ``prices`` where every feature is sold by itself.

        >>> import thrifty
        >>> prices = thrifty.PriceList([1, 1], fees={"draw": (8, ["x0", "x1"])})
        >>> thrifty.Cells(np.eye(2), prices).prices_after([0]).tolist()
        [0.0, 1.0]
        """
        asked = [f for f in self._here(features) if f >= 0]
        if not asked or self._tariff is None or not depends_on_owned(self._tariff):
            return self.prices
        return prices_after(self._tariff, asked)

    @property
    def sells_together(self) -> bool:
        """Whether some features are filled by orders, so that they may come with others."""
        return self._tariff is not None and bool(self._tariff.parts or self._tariff.roots)

    @property
    def depends(self) -> NDArray[np.bool_]:
        """Which features' prices depend on what else is owned of the same example."""
        out = np.zeros(self.n_features, dtype=np.bool_)
        if self._tariff is not None:
            out[self._depending(self._tariff.tied)] = True
        return out

    def _depending(self, tied: NDArray[np.int64]) -> NDArray[np.int64]:
        assert self._tariff is not None
        followers = np.array([*self._tariff.roots, *self._tariff.computed], dtype=np.int64)
        return np.union1d(tied, followers)

    def cell_of(self, features: object) -> NDArray[np.int64]:
        """Which cell each feature is read from; bits of one cell have the same."""
        return self._indices(features, self.n_features, "feature")

    def margins(self, rows: object, features: object) -> NDArray[np.float64]:
        """What each feature alone would cost on each row, given what is owned: (rows, features).

        >>> import thrifty
        >>> both = {"both": (5, ["x0", "x1"])}
        >>> cells = thrifty.Cells(np.eye(2), thrifty.PriceList(None, orders=both))
        >>> _ = cells.get([0], [1])  # the order fills x0 beside
        >>> cells.margins([0, 1], [0, 1]).tolist()
        [[0.0, 0.0], [5.0, 5.0]]
        """
        at = self._indices(rows, self.n_examples, "row")
        which = self._indices(features, self.n_features, "feature")
        return self._margins(at, which)

    def _margins(
        self, rows: NDArray[np.int64], features: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        tariff = self._tariff
        if tariff is None:
            known = kernels.unpack_columns(self.meter.had(features), rows)
            return np.asarray((known == 0) * self._each[features], dtype=np.float64)
        if self._paid is not None:
            self._paid.load(np.union1d(tariff.wanted(features), tariff.tied))
        minor = margins(tariff, features, rows, self.n_examples, self._holdings())
        return np.asarray(minor / UNIT, dtype=np.float64)

    def _row_costs(
        self, rows: NDArray[np.int64], features: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        if self._tariff is None:
            costs = np.zeros(len(rows))
            some = max(1, _AT_ONCE // max(len(rows), 1))
            for start in range(0, len(features), some):  # a wide table takes no table of prices
                part = features[start : start + some]
                known = kernels.unpack_columns(self.meter.had(part), rows)
                costs += (known == 0) @ self._each[part]
            return costs
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

    def owned_rows(self, features: object) -> NDArray[np.int64]:
        """Examples on which all of these features can be looked at for nothing.

        >>> import thrifty
        >>> cells = thrifty.Cells(np.array([[0, 1], [1, 1], [1, 0]], dtype=bool))
        >>> _ = cells.get([0, 2], [1])
        >>> cells.owned_rows([1]).tolist(), cells.owned_rows([0, 1]).tolist()
        ([0, 2], [])
        """
        which = self._indices(features, self.n_features, "feature")
        here = [f for f in self._here(which.tolist()) if f >= 0]
        return self.meter.known_rows(np.array(here, dtype=np.int64))

    def owns_any_of(self, row: int) -> bool:
        """Whether something of an example was paid for before this door was opened."""
        owned = self.meter.owned
        if owned.everything or not len(owned.bitmap):
            return owned.everything
        return bool((owned.bitmap[:, row >> 6] >> np.uint64(row & 63) & np.uint64(1)).any())
