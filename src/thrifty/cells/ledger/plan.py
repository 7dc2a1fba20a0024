"""From cells that are missing to calls: rectangles that a provider is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from thrifty import kernels
from thrifty.cells.ledger.known import Known
from thrifty.cells.prices.cover import OrderChoice
from thrifty.cells.prices.money import refuse_too_large, total
from thrifty.cells.prices.tariff import Filled, PriceOfCells, Tariff, TiedFeatures
from thrifty.cells.sources.callable import CallLimits
from thrifty.errors import BadInput
from thrifty.typing import Bools, Ints, Words


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """Rows x features of a source, to be asked for at once; with the orders that fill them."""

    rows: Ints
    features: Ints
    orders: tuple[tuple[TiedFeatures, OrderChoice], ...] = ()

    def on(self, rows: Ints) -> Call:
        """The same, on some of its rows."""
        return Call(rows, self.features, self.orders)


def plan_calls(
    features: Ints, mask: Words, known: Known, tariff: Tariff, limits: CallLimits
) -> list[Call]:
    """Calls that fill every missing cell of features x mask, each cell once."""
    if not tariff.parts and tariff.per_call is None:
        return _alone(tariff.wanted(features), mask, known, limits)
    bill = tariff.bill(features, mask, known)
    if tariff.per_call is not None:
        return [one for call in _row_by_row(bill, known, limits) for one in _to_each(call, tariff)]
    calls: list[Call] = []
    for filled in bill.orders:
        calls += _ordered(filled, known, limits)
    # What follows from an order is asked for after it.
    return calls + _alone(bill.features, mask, known, limits)


def _row_by_row(bill: PriceOfCells, known: Known, limits: CallLimits) -> list[Call]:
    """Each example in one call with all that it lacks, since a call costs by itself."""
    asked: dict[int, list[int]] = {}
    for f, words in zip(bill.features.tolist(), bill.fresh):
        for r in kernels.rows_of_mask(words).tolist():
            asked.setdefault(r, []).append(f)
    orders: dict[int, list[tuple[TiedFeatures, OrderChoice]]] = {}
    for filled in bill.orders:
        lacking = kernels.unpack_columns(known.known[filled.features], filled.rows) == 0
        for r, lacks in zip(filled.rows.tolist(), lacking):
            orders.setdefault(r, []).append((filled.part, filled.choice))
            asked.setdefault(r, []).extend(filled.features[lacks].tolist())
    alike: dict[tuple[object, ...], list[int]] = {}
    for r in sorted(asked):
        mine = tuple((id(part), choice.offers) for part, choice in orders.get(r, ()))
        alike.setdefault((tuple(sorted(set(asked[r]))), mine), []).append(r)
    calls: list[Call] = []
    for rows in alike.values():
        first = rows[0]
        features = np.array(sorted(set(asked[first])), dtype=np.int64)
        whole = Call(np.array(rows, dtype=np.int64), features, tuple(orders.get(first, ())))
        if whole.orders:
            calls += _rows_of(whole, limits)
        else:
            calls += _split(whole.rows, features, limits)
    return calls


def _to_each(call: Call, tariff: Tariff) -> list[Call]:
    """A call to each of those who answer its features."""
    if tariff.asker is None:
        return [call]
    who = tariff.asker[call.features]
    return [Call(call.rows, call.features[who == one], call.orders) for one in np.unique(who)]


def _alone(wanted: Ints, mask: Words, known: Known, limits: CallLimits) -> list[Call]:
    missing = known.missing(wanted, mask)
    some = missing.any(axis=1)
    alike: dict[bytes, list[int]] = {}
    for f, bits in zip(wanted[some].tolist(), missing[some]):
        alike.setdefault(bits.tobytes(), []).append(f)
    calls: list[Call] = []
    for bits, members in alike.items():
        rows = kernels.rows_of_mask(np.frombuffer(bits, dtype=np.uint64))
        calls.extend(_split(rows, np.array(members, dtype=np.int64), limits))
    return calls


def _ordered(filled: Filled, known: Known, limits: CallLimits) -> list[Call]:
    """One call for all the orders of rows that are alike; what is known is not asked for again."""
    most = min(limits.max_features or 10**9, limits.max_cells or 10**9)
    part, choice = filled.part, filled.choice
    had = kernels.unpack_columns(known.known[filled.features], filled.rows).astype(np.bool_)
    if known.absent is not None:
        had |= kernels.unpack_columns(known.absent[filled.features], filled.rows).astype(np.bool_)
    kinds, which = np.unique(had, axis=0, return_inverse=True)
    calls: list[Call] = []
    for i, kind in enumerate(kinds):
        rows, features = filled.rows[which.ravel() == i], filled.features[~kind]
        ordered = _asked_for(part, choice, features)
        if len(features) <= most:
            calls += _rows_of(Call(rows, features, ((part, ordered),)), limits)
            continue
        # Too many at once: an order each. The first of a group is the one with the least surplus.
        offers = part.cover.offers
        left = set(features.tolist())
        for o in sorted(ordered.offers, key=lambda o: sum(offers[o].begins.values())):
            one = OrderChoice((o,), offers[o].price)
            mine = np.array([f for f in part.filled(one).tolist() if f in left], dtype=np.int64)
            left -= set(mine.tolist())
            if len(mine) > most:
                raise BadInput(
                    f"a call that fills {len(mine)} features cannot be made: the provider takes "
                    f"{most} at once. Raise max_features or max_cells."
                )
            calls += _rows_of(Call(rows, mine, ((part, one),)), limits)
    return calls


def _asked_for(part: TiedFeatures, choice: OrderChoice, features: Ints) -> OrderChoice:
    """The orders that fill something which is asked for.

    A test that was to open a discount opens none where it is a gap, or unavailable: nobody is
    asked for it, and the others cost what they cost without it.
    """
    asked = set(features.tolist())

    def fills(o: int) -> bool:
        one = OrderChoice((o,), part.cover.offers[o].price)
        return not asked.isdisjoint(part.filled(one).tolist())

    kept = tuple(o for o in choice.offers if fills(o))
    return choice if kept == choice.offers else OrderChoice(kept, part.cover.price(kept))


def _rows_of(call: Call, limits: CallLimits) -> Iterator[Call]:
    high = min(len(call.rows), limits.max_examples or len(call.rows))
    if limits.max_cells is not None:
        high = max(1, min(high, limits.max_cells // max(1, len(call.features))))
    for r in range(0, len(call.rows), high):
        yield call.on(call.rows[r : r + high])


def _split(rows: Ints, features: Ints, limits: CallLimits) -> Iterator[Call]:
    wide = min(len(features), limits.max_features or len(features))
    if limits.max_cells is not None:
        wide = min(wide, limits.max_cells)
    high = min(len(rows), limits.max_examples or len(rows))
    if limits.max_cells is not None:
        high = max(1, min(high, limits.max_cells // wide))
    for r in range(0, len(rows), high):
        for f in range(0, len(features), wide):
            yield Call(rows[r : r + high], features[f : f + wide])


def draws_of(call: Call, tariff: Tariff) -> list[int]:
    """What a call may have to pay once per example."""
    needed = {d for f in call.features.tolist() for d in tariff.needs[f]}
    for part, choice in call.orders:
        needed |= {d for f in part.filled(choice).tolist() for d in tariff.needs[f]}
        needed.update(part.begun(choice))
    return sorted(needed)


def price_call(
    call: Call, known: Known, tariff: Tariff, paid: Words | None = None
) -> tuple[Ints, Bools, Ints]:
    """(draws, which rows pay each of them, what each row costs) as things stand now.

    ``paid`` says where each draw is paid, for calls that are to come after others.
    """
    paid = known.known[known.n_features :] if paid is None else paid
    amounts = {d: tariff.draws[d].fee for d in draws_of(call, tariff)}
    own = total(tariff.own[call.features])
    draws, who = [], []
    for part, choice in call.orders:
        offers = [part.cover.offers[o] for o in choice.offers]
        for k, d in enumerate(part.begins):
            begin = [offer.begins[k] for offer in offers if k in offer.begins]
            if begin:
                amounts[d] = min(begin)
        own += sum(offer.price for offer in offers)
        for o in choice.offers:
            if part.orders[o] >= 0:  # noted for the bill
                draws.append(part.orders[o])
                who.append(np.ones(len(call.rows), dtype=np.bool_))
    refuse_too_large(own + sum(amounts.values()), "the price of one example")
    costs = np.full(len(call.rows), own, dtype=np.int64)
    if tariff.per_call is not None and tariff.pays_call(call.features).any():
        costs += tariff.per_call[call.rows]
    for d, amount in amounts.items():
        column = paid[d][None, :]
        if tariff.draws[d].root >= 0:
            column = column | known.known[tariff.draws[d].root][None, :]
        drawn = kernels.unpack_columns(column, call.rows)[:, 0].astype(np.bool_)
        if drawn.all():
            continue
        draws.append(d)
        who.append(~drawn)
        costs[~drawn] += amount
    rows = np.array(who, dtype=np.bool_).reshape(len(draws), len(call.rows))
    return np.array(draws, dtype=np.int64), rows, costs


def still_missing(call: Call, known: Known) -> bool:
    """Whether a call is still worth its price: the last look before money is reserved."""
    mask = kernels.mask_of_rows(call.rows, known.n_examples)
    missing = known.missing(call.features, mask)
    return bool((missing == mask).all())


def waits_for(call: Call, known: Known, tariff: Tariff) -> bool:
    """Whether something that the call's features follow from is not there yet."""
    roots = {r for f in call.features.tolist() for r in tariff.roots.get(f, ())}
    if not roots:
        return False
    mask = kernels.mask_of_rows(call.rows, known.n_examples)
    return bool(known.missing(np.array(sorted(roots), dtype=np.int64), mask).any())
