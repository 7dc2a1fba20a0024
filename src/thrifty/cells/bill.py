"""What cells would cost, and what those that went through a door did cost, by source column."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from thrifty import kernels
from thrifty.array_types import Bools, Floats, Ints
from thrifty.cells.account import Account
from thrifty.cells.features import Features
from thrifty.cells.ledger.receipt import Receipt
from thrifty.cells.prices.money import UNIT, read_amount, to_units, total
from thrifty.cells.prices.tariff import Holdings, Part, Tariff
from thrifty.cells.sources import Source

__all__ = ["Bill", "Calls", "Pricing", "depends_on_owned", "margins", "prices_after"]

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
            known = kernels.unpack_columns(account.meter.settled(columns), rows)
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
                known = kernels.unpack_columns(account.meter.settled(part), rows)
                costs += (known == 0) @ account.each[part]
            return costs
        there = account.holdings(columns)
        mask = kernels.mask_of_rows(rows, self._n_examples)
        bill = account.tariff.bill(columns, mask, there)
        return np.asarray(bill.per_row(self._n_examples)[rows] / UNIT, dtype=np.float64)


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
            avoided_cells=n * n_offered
            - meter.n_absent(features.only)
            - account.owned_cells(features.only)
            - int(cells),
            max_cells_per_example=meter.max_per_example(),
            n_examples=n,
            n_features=n_offered,
            currency=currency,
            per_feature=dict(zip(map(names.__getitem__, some.tolist()), bought[some].tolist())),
            lines=self._lines(),
            gaps=account.gaps(),
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


def depends_on_owned(tariff: Tariff) -> bool:
    """Whether anything on this list costs less where something else is owned."""
    return bool(tariff.draws or tariff.parts or tariff.roots)


def prices_after(tariff: Tariff, asked: Sequence[int]) -> Floats:
    """What each feature costs on an example that was asked some, in units of the currency.

    These were bought one after the other, each as cheaply as can be; what orders filled beside them
    is there as well.

    >>> from thrifty import PriceList
    >>> prices = PriceList({"na": 4, "k": 3}, fees={"draw": (9, ["na", "k"])})
    >>> prices_after(prices.tariff(["na", "k"]), [0]).tolist()
    [0.0, 3.0]
    """
    out = tariff.marginal.copy()
    if not asked:
        return out
    owned: frozenset[int] = frozenset()
    for f in asked:
        owned |= tariff.one_step(owned, f)[1]
    paid = {
        d
        for d, draw in enumerate(tariff.draws)
        if draw.root in owned or not owned.isdisjoint(tariff.needing(d).tolist())
    }
    searched = {*tariff.roots, *tariff.computed, *np.flatnonzero(tariff.part_of >= 0).tolist()}
    for f, needs in enumerate(tariff.needs):
        if f in owned:
            out[f] = 0.0
        elif f in searched:
            out[f] = tariff.one_price(owned, frozenset({f})) / UNIT
        elif needs:
            due = sum(tariff.draws[d].fee for d in needs if d not in paid)
            out[f] = (int(tariff.own[f]) + due + tariff.usual_call) / UNIT
    return out


def margins(tariff: Tariff, features: Ints, rows: Ints, n: int, holdings: Holdings) -> Floats:
    """What each feature alone costs on each of some rows: (rows, features), in minor units.

    The same as one bill per feature, for all features at once.
    """
    lacks = _unpacked(holdings.cells(features), rows) == 0
    paid = _paid(tariff, features, rows, holdings)
    out = np.zeros(lacks.shape)
    alike: dict[tuple[int, tuple[int, ...]], list[int]] = {}
    for j, f in enumerate(features.tolist()):
        if f in tariff.roots or f in tariff.computed:
            mask = kernels.mask_of_rows(rows, n)
            out[:, j] = tariff.bill(np.array([f]), mask, holdings, calls=False).per_row(n)[rows]
        else:
            alike.setdefault((int(tariff.part_of[f]), tariff.needs[f]), []).append(j)
    for (p, needs), columns in alike.items():
        some = features[columns]
        due = sum((tariff.draws[d].fee * ~paid[d] for d in needs), np.zeros(len(rows)))
        if p < 0:
            prices = tariff.own[some][None, :].astype(np.float64)
        else:
            prices = _of_part(tariff.parts[p], some, needs, paid, len(rows))
        out[:, columns] = (prices + due[:, None]) * lacks[:, columns]
    if tariff.per_call is not None:
        out += tariff.per_call[rows][:, None] * (lacks & tariff.pays_call(features))
    return out


def _of_part(
    part: Part, features: Ints, needs: tuple[int, ...], paid: dict[int, Bools], n: int
) -> Floats:
    """The cheapest order that fills each feature, by what each row has begun: (rows, features)."""
    begun = np.zeros(n, dtype=np.int64)
    for k, d in enumerate(part.begins):
        begun |= (paid[d] | (d in needs)).astype(np.int64) << k
    bits = [1 << i for i in np.searchsorted(part.features, features).tolist()]
    kinds, which = np.unique(begun, return_inverse=True)
    each = [[float(part.cover.cheapest(bit, k).price) for bit in bits] for k in kinds.tolist()]
    return np.array(each)[which.ravel()]


def _paid(tariff: Tariff, features: Ints, rows: Ints, holdings: Holdings) -> dict[int, Bools]:
    """Of what is paid once per example and these features may need: on which rows it is."""
    needed = {d for f in features.tolist() for d in tariff.needs[f]}
    for p in np.unique(tariff.part_of[features]).tolist():
        needed.update(tariff.parts[p].begins if p >= 0 else ())
    which = np.array(sorted(needed), dtype=np.int64)
    if not len(which):
        return {}
    out = dict(zip(which.tolist(), _unpacked(holdings.draws(which), rows).T.astype(np.bool_)))
    for d in which.tolist():
        root = tariff.draws[d].root
        if root >= 0:
            out[d] = out[d] | (_unpacked(holdings.cells(np.array([root])), rows)[:, 0] != 0)
    return out


def _unpacked(words: NDArray[np.uint64], rows: Ints) -> NDArray[np.uint8]:
    return kernels.unpack_columns(words, rows)
