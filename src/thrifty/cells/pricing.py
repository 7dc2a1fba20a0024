"""What cells would cost, by the source's columns: nothing is bought by asking."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from thrifty import kernels
from thrifty.cells.account import Account
from thrifty.cells.prices.margins import depends_on_owned, margins, prices_after
from thrifty.cells.prices.money import UNIT, read_amount, to_units, total

__all__ = ["Pricing"]

#: cells that are priced at once
_AT_ONCE = 1 << 20


class Pricing:
    """Prices of an account's cells, given what is owned."""

    def __init__(self, account: Account, n_examples: int, n_columns: int) -> None:
        self._account, self._n_examples, self._n_columns = account, n_examples, n_columns

    def of_an_example(self, offered: NDArray[np.int64]) -> int:
        """What these columns cost on an example that has none of them, in minor units."""
        tariff = self._account.tariff
        if tariff is None:
            return read_amount(round(float(self._account.each[offered].sum()), 6), "price")[0]
        if tariff.parts or tariff.roots:
            return tariff.one_price(frozenset(), frozenset(offered.tolist()))
        drawn = {d for f in offered.tolist() for d in tariff.needs[f]}
        fees: int = sum(tariff.draws[d].fee for d in drawn)
        return total(tariff.own[offered]) + fees

    def fees(self) -> list[tuple[float, tuple[int, ...]]]:
        """Paid once per example for several columns: (fee, columns)."""
        tariff = self._account.tariff
        if tariff is None:
            return []
        some = [(d.fee, d.members) for d in tariff.draws if d.kind != "order"]
        some.append((tariff.usual_call, tuple(range(self._n_columns))))
        return [(to_units(fee), members) for fee, members in some if fee]

    def orders(self) -> list[tuple[int, ...]]:
        """Columns that are bought together: by one order, or all from one test."""
        tariff = self._account.tariff
        draws = () if tariff is None else tariff.draws
        together = (draw.members for draw in draws if draw.kind in ("order", "test"))
        return [members for members in together if len(members) > 1]

    def call(self) -> float:
        """What a call costs for the usual example, whatever is asked."""
        tariff = self._account.tariff
        return 0.0 if tariff is None else to_units(tariff.usual_call)

    def of_all_ordered(self) -> float | None:
        """What all columns cost together where orders fill some; None where none do."""
        tariff = self._account.tariff
        if tariff is None or not tariff.parts:
            return None
        return to_units(tariff.one_price(frozenset(), frozenset(range(self._n_columns))))

    def between(self, owned: Sequence[int], wanted: Sequence[int]) -> float:
        """What an example that has some columns pays for others."""
        had = {f for f in owned if f >= 0}
        new = {f for f in wanted if f >= 0} - had
        if self._account.tariff is None:
            return float(sum(self._account.each[f] for f in new))
        return to_units(self._account.tariff.one_price(frozenset(had), frozenset(new)))

    def after(self, asked: Sequence[int]) -> NDArray[np.float64] | None:
        """What each column costs on an example that was asked some; None: as it costs anyway."""
        tariff = self._account.tariff
        if not asked or tariff is None or not depends_on_owned(tariff):
            return None
        return prices_after(tariff, asked)

    def sold_together(self) -> bool:
        """Whether some columns are filled by orders."""
        tariff = self._account.tariff
        return tariff is not None and bool(tariff.parts or tariff.roots)

    def depending(self) -> list[int]:
        """Columns whose prices depend on what else is owned of the same example."""
        tariff = self._account.tariff
        if tariff is None:
            return []
        return sorted({*tariff.tied.tolist(), *tariff.roots, *tariff.computed})

    def margins(self, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> NDArray[np.float64]:
        """What each column alone would cost on each row, given what is owned."""
        account = self._account
        if account.tariff is None:
            known = kernels.unpack_columns(account.meter.had(columns), rows)
            return np.asarray((known == 0) * account.each[columns], dtype=np.float64)
        there = account.holdings(columns)
        minor = margins(account.tariff, columns, rows, self._n_examples, there)
        return np.asarray(minor / UNIT, dtype=np.float64)

    def row_costs(self, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> NDArray[np.float64]:
        """What these columns together would cost on each row, given what is owned."""
        account = self._account
        if account.tariff is None:
            costs = np.zeros(len(rows))
            some = max(1, _AT_ONCE // max(len(rows), 1))
            for start in range(0, len(columns), some):  # a wide table takes no table of prices
                part = columns[start : start + some]
                known = kernels.unpack_columns(account.meter.had(part), rows)
                costs += (known == 0) @ account.each[part]
            return costs
        there = account.holdings(columns)
        mask = kernels.mask_of_rows(rows, self._n_examples)
        bill = account.tariff.bill(columns, mask, there)
        return np.asarray(bill.per_row(self._n_examples)[rows] / UNIT, dtype=np.float64)
