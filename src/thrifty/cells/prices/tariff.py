"""A price list laid over the features of a source, and the bill of wanting cells.

Three kinds of things are paid. A *cell* of a feature that is sold alone. A *draw*, once per example
before some features can be had: the needle of a blood panel, the first test of a group, the test
behind all its thresholds. And an *order* that fills several features at once, where orders may
overlap. Features that orders tie together are :class:`TiedFeatures`; what is cheapest there is
found by :mod:`thrifty.cells.prices.cover`. These share nothing but draws that are due in any case,
so their optima add up to the optimum.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np

from thrifty import kernels
from thrifty.cells.prices.cover import Cover, OrderChoice
from thrifty.cells.prices.money import UNIT
from thrifty.typing import AnyArray, Bools, Floats, Ints, Words

Derive = Callable[..., AnyArray]
Set = frozenset[int]

#: how a draw is called in a ledger; fees keep the word that the first stores know them by
_WORDS = {"fee": "panel", "group": "group", "test": "test", "order": "order"}


@dataclass(frozen=True, slots=True)
class Draw:
    """What is paid once per example.

    A fee, the first of a group, or a test opens its members and stays open; an ``order`` fills its
    members, and the ledger notes it for the bill. ``root`` is the feature that a test measures.
    """

    title: str
    fee: int
    members: tuple[int, ...]
    kind: str = "fee"
    root: int = -1

    @property
    def name(self) -> str:
        return f"{_WORDS[self.kind]} {self.title}"


@dataclass(frozen=True, eq=False)
class TiedFeatures:
    """Features that orders tie together.

    Bit i of the cover is ``features[i]``; offer o is order ``orders[o]`` of the tariff's draws, or
    -1 where ``single[o]`` is sold alone; what an offer may begin is ``begins[k]``, a draw.
    """

    features: Ints
    cover: Cover
    orders: tuple[int, ...]
    single: tuple[int, ...]
    begins: tuple[int, ...]

    def filled(self, choice: OrderChoice) -> Ints:
        """The features that some orders fill."""
        bits = 0
        for o in choice.offers:
            bits |= self.cover.offers[o].fills
        return np.array(
            [f for i, f in enumerate(self.features.tolist()) if bits >> i & 1], dtype=np.int64
        )

    def begun(self, choice: OrderChoice) -> tuple[int, ...]:
        """The draws that these orders begin, whether or not they are paid already."""
        return tuple(
            sorted({self.begins[k] for o in choice.offers for k in self.cover.offers[o].begins})
        )


@dataclass(frozen=True, slots=True, eq=False)
class Filled:
    """Some orders on some rows: what each row pays for them and what they fill."""

    part: TiedFeatures
    choice: OrderChoice
    rows: Ints
    features: Ints


@dataclass(frozen=True, slots=True, eq=False)
class PriceOfCells:
    """What it costs to have some cells that are not there yet, in minor units."""

    own: Ints
    features: Ints
    fresh: Words
    fees: Mapping[int, tuple[int, Words]]
    orders: tuple[Filled, ...] = ()
    #: what asking anything at all costs, example by example
    calls: Ints | None = None

    def total(self) -> int:
        """The whole sum."""
        cells = np.bitwise_count(self.fresh).sum(axis=1, dtype=np.int64)
        draws = sum(fee * int(np.bitwise_count(rows).sum()) for fee, rows in self.fees.values())
        orders = sum(filled.choice.price * len(filled.rows) for filled in self.orders)
        asked = sum(self.calls.tolist()) if self.calls is not None else 0
        return int(sum(int(n) * int(p) for n, p in zip(cells, self.own)) + draws + orders + asked)

    def per_row(self, n: int) -> Ints:
        """What each of the n examples costs."""
        out = np.zeros(n, dtype=np.int64)
        some = max(1, (1 << 20) // max(n, 1))
        for i in range(0, len(self.own), some):  # a wide table takes no table of prices
            out += self.own[i : i + some] @ _unpacked(self.fresh[i : i + some], n)
        for fee, words in self.fees.values():
            out += fee * _unpacked(words, n)
        for filled in self.orders:
            out[filled.rows] += filled.choice.price
        return out if self.calls is None else out + self.calls


class Holdings(Protocol):
    """What is there already, a bit per example."""

    def there(self, features: Ints) -> Words: ...
    def paid(self, which: Ints) -> Words: ...


class OwnedCells:
    """Holdings of a source that is free to read: a draw is paid where a feature shows that it was.

    ``cells`` gives the rows on which features are owned: (k, W); ``absent`` those on which they do
    not exist, so that nothing is due, and nothing was paid either.
    """

    def __init__(
        self,
        tariff: Tariff,
        cells: Callable[[Ints], Words],
        absent: Callable[[Ints], Words | None] | None = None,
    ) -> None:
        self._tariff, self._owned, self._absent = tariff, cells, absent

    def there(self, features: Ints) -> Words:
        owned = self._owned(features)
        absent = None if self._absent is None else self._absent(features)
        return owned if absent is None else owned | absent

    def paid(self, which: Ints) -> Words:
        rows = [
            np.bitwise_or.reduce(self._owned(self._tariff.needing(d)), axis=0)
            for d in which.tolist()
        ]
        return np.array(rows, dtype=np.uint64)


@dataclass(frozen=True, eq=False)
class Tariff:
    """Prices of the features of a source; amounts in minor units.

    ``own`` is what a cell costs by itself, 0 where orders fill the feature; ``needs`` are the draws
    that a feature cannot be had without; ``roots`` are the features, filled by orders, that a
    derived feature follows from; ``computed`` is how some features follow from others.
    """

    own: Ints
    draws: tuple[Draw, ...]
    needs: tuple[tuple[int, ...], ...]
    valid: Floats
    draw_valid: tuple[float, ...]
    computed: Mapping[int, tuple[tuple[int, ...], Derive]]
    failed: float
    currency: str
    parts: tuple[TiedFeatures, ...] = ()
    roots: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    #: what each call costs for an example, whatever is asked: the tokens of a text
    per_call: Ints | None = None
    #: who is asked for each feature, where not everybody answers all of them: a call is to one
    asker: Ints | None = None
    #: of them the one whose calls cost ``per_call``; what the others' cost is in their features
    caller: int = 0
    #: features that answer the same, the cheapest first
    alternatives: tuple[tuple[int, ...], ...] = ()

    @cached_property
    def part_of(self) -> Ints:
        """Which part each feature belongs to, -1 for those that are sold alone."""
        out = np.full(len(self.own), -1, dtype=np.int64)
        for p, part in enumerate(self.parts):
            out[part.features] = p
        return out

    @cached_property
    def alone(self) -> tuple[int, ...]:
        """What a single cell costs where nothing is bought yet, in minor units."""
        calls = (self.usual_call * self.pays_call(np.arange(len(self.own)))).tolist()
        out = [
            p + sum(self.draws[d].fee for d in n) + call
            for p, n, call in zip(self.own.tolist(), self.needs, calls)
        ]
        for f in {*self.roots, *np.flatnonzero(self.part_of >= 0).tolist()}:
            out[f] = self.priced(frozenset(), frozenset({f}))[0]
        return tuple(out)

    def pays_call(self, features: Ints) -> Bools:
        """Which features are asked for in calls that cost by themselves."""
        if self.asker is None:
            return np.ones(len(features), dtype=np.bool_)
        return np.asarray(self.asker[features] == self.caller)

    @property
    def usual_call(self) -> int:
        """What a call costs for the average example, in minor units."""
        if self.per_call is None or not len(self.per_call):
            return 0
        calls: list[int] = self.per_call.tolist()
        return round(sum(calls) / len(calls))

    @property
    def marginal(self) -> Floats:
        """What a single cell costs where nothing is bought yet, in units of the currency."""
        if not self.draws and not self.parts and not self.roots and not self.usual_call:
            return np.asarray(self.own / UNIT, dtype=np.float64)
        return np.array(self.alone, dtype=np.float64) / UNIT

    @cached_property
    def _needing(self) -> dict[int, Ints]:
        found: dict[int, list[int]] = {d: [] for d in range(len(self.draws))}
        for f, needs in enumerate(self.needs):
            for d in needs:
                found[d].append(f)
        for d, draw in enumerate(self.draws):
            if not found[d]:
                found[d] = list(draw.members)
        return {d: np.array(some, dtype=np.int64) for d, some in found.items()}

    @cached_property
    def tied(self) -> Ints:
        """Features whose price depends on what else is there: members of draws, roots, parts."""
        found = {f for draw in self.draws for f in (*draw.members, draw.root) if f >= 0}
        found |= {f for part in self.parts for f in part.features.tolist()}
        found |= {r for roots in self.roots.values() for r in roots}
        return np.array(sorted(found), dtype=np.int64)

    @cached_property
    def follows(self) -> dict[int, set[int]]:
        """Of features that are made of others, which: without these they do not exist."""
        found = {f: set(parents) for f, (parents, _) in self.computed.items()}
        for f, roots in self.roots.items():
            found[f] = found.get(f, set()) | set(roots)
        for f, needs in enumerate(self.needs):
            tests = {self.draws[d].root for d in needs if self.draws[d].root not in (-1, f)}
            if tests:
                found[f] = found.get(f, set()) | tests
        return found

    def needing(self, draw: int) -> Ints:
        """The features that cannot be had without this draw."""
        return self._needing[draw]

    def wanted(self, features: Ints) -> Ints:
        """The features that must be there for these: what they are computed from or follow from."""
        found: set[int] = set()
        stack = list(set(features.tolist()))  # the result is sorted
        while stack:
            f = stack.pop()
            if f in self.computed:
                stack.extend(self.computed[f][0])
            elif f not in found:
                found.add(f)
            stack.extend(r for r in self.roots.get(f, ()) if r not in found)
        return np.array(sorted(found), dtype=np.int64)

    def bill(
        self, features: Ints, mask: Words, holdings: Holdings, *, calls: bool = True
    ) -> PriceOfCells:
        """What the cells of features x mask cost that are not there, as cheaply as can be.

        ``calls``: with what asking costs by itself, each example in one call.
        """
        wanted = self.wanted(features)
        missing = mask & ~holdings.there(wanted)
        fees: dict[int, tuple[int, Words]] = {}
        for i, f in enumerate(wanted.tolist()):
            for d in self.needs[f]:
                fee, due = fees.get(d, (self.draws[d].fee, np.zeros_like(mask)))
                fees[d] = (fee, due | missing[i])
        if fees:
            which = np.array(sorted(fees), dtype=np.int64)
            paid = holdings.paid(which)
            for d, had in zip(which.tolist(), paid):
                root = self.draws[d].root
                if root >= 0:
                    had = had | holdings.there(np.array([root]))[0]
                fees[d] = (fees[d][0], fees[d][1] & ~had)
        parts = self.part_of[wanted]
        plain = parts < 0
        orders: list[Filled] = []
        for p in np.unique(parts[~plain]).tolist():
            mine = parts == p
            orders += self._orders(self.parts[p], wanted[mine], missing[mine], fees, holdings)
        asking = None
        if calls and self.per_call is not None:
            asked = np.bitwise_or.reduce(missing[self.pays_call(wanted)], axis=0)
            asking = self.per_call * _unpacked(asked, len(self.per_call))
        return PriceOfCells(
            self.own[wanted[plain]], wanted[plain], missing[plain], fees, tuple(orders), asking
        )

    def _orders(
        self,
        part: TiedFeatures,
        wanted: Ints,
        missing: Words,
        fees: Mapping[int, tuple[int, Words]],
        holdings: Holdings,
    ) -> list[Filled]:
        """The cheapest orders of one part, row by row of the same kind."""
        rows = kernels.rows_of_mask(np.bitwise_or.reduce(missing, axis=0))
        if not len(rows):
            return []
        at = np.searchsorted(part.features, wanted).tolist()
        begun: Words = np.zeros((0, missing.shape[1]), dtype=np.uint64)
        if part.begins:
            begun = holdings.paid(np.array(part.begins, dtype=np.int64)).copy()
            for k, d in enumerate(part.begins):
                if d in fees:  # due in any case: it is paid with the rest
                    begun[k] |= fees[d][1]
        by_choice: dict[OrderChoice, list[Ints]] = {}
        for kind, some in _alike(np.vstack([missing, begun]), rows):
            lacks = sum(1 << f for i, f in enumerate(at) if kind >> i & 1)
            choice = part.cover.cheapest(lacks, kind >> len(at))
            by_choice.setdefault(choice, []).append(some)
        return [
            Filled(part, choice, np.sort(np.concatenate(some)), part.filled(choice))
            for choice, some in by_choice.items()
        ]

    def priced(self, owned: Set, wanted: Set) -> tuple[int, Set]:
        """What features cost on one example, in minor units, and all that is there with them."""
        key = (owned, wanted)
        kept = self._one_prices.get(key)
        if kept is None:
            if len(self._one_prices) > 100_000:
                self._one_prices.clear()
            one = np.ones(1, dtype=np.uint64)

            def cells(features: Ints) -> Words:
                had = [f in owned for f in features.tolist()]
                return np.array(had, dtype=np.uint64)[:, None]

            holdings = OwnedCells(self, cells)
            bill = self.bill(np.array(sorted(wanted), dtype=np.int64), one, holdings, calls=False)
            asked = bool(bill.fresh.any()) or bool(bill.orders)
            filled = {f for order in bill.orders for f in order.features.tolist()}
            price = bill.total() + (self.usual_call if asked else 0)
            kept = self._one_prices[key] = (price, wanted | filled)
        return kept

    @cached_property
    def _one_prices(self) -> dict[tuple[Set, Set], tuple[int, Set]]:
        return {}


def _alike(columns: Words, rows: Ints) -> list[tuple[int, Ints]]:
    """Rows that show the same bits in all columns: (the bits as a number, the rows)."""
    bits = kernels.unpack_columns(columns, rows).astype(np.bool_)
    places: dict[bytes, list[int]] = {}
    for i, kind in enumerate(map(bytes, np.packbits(bits, axis=1))):
        places.setdefault(kind, []).append(i)
    return [
        (sum(1 << j for j in np.flatnonzero(bits[at[0]]).tolist()), rows[at])
        for _, at in sorted(places.items(), reverse=True)
    ]


def _unpacked(words: Words, n: int) -> Ints:
    flat = np.ascontiguousarray(words).view(np.uint8)
    return np.unpackbits(flat, axis=-1, bitorder="little", count=n).astype(np.int64)


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
    owned: frozenset[int] = frozenset()
    for f in asked:
        owned |= tariff.priced(owned, frozenset({f}))[1]
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
            out[f] = tariff.priced(owned, frozenset({f}))[0] / UNIT
        elif needs:
            due = sum(tariff.draws[d].fee for d in needs if d not in paid)
            out[f] = (int(tariff.own[f]) + due + tariff.usual_call) / UNIT
    return out


def margins(tariff: Tariff, features: Ints, rows: Ints, n: int, holdings: Holdings) -> Floats:
    """What each feature alone costs on each of some rows: (rows, features), in minor units.

    The same as one bill per feature, for all features at once.
    """
    lacks = kernels.unpack_columns(holdings.there(features), rows) == 0
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
    part: TiedFeatures, features: Ints, needs: tuple[int, ...], paid: dict[int, Bools], n: int
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
    out = dict(
        zip(which.tolist(), kernels.unpack_columns(holdings.paid(which), rows).T.astype(np.bool_))
    )
    for d in which.tolist():
        root = tariff.draws[d].root
        if root >= 0:
            out[d] = out[d] | (
                kernels.unpack_columns(holdings.there(np.array([root])), rows)[:, 0] != 0
            )
    return out
