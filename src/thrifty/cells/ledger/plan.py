"""From cells that are missing to calls: rectangles that a provider is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thrifty import kernels
from thrifty.cells.ledger.known import Known
from thrifty.cells.prices.money import refuse_too_large, total
from thrifty.cells.prices.price_list import Tariff
from thrifty.cells.sources.callable import CallLimits
from thrifty.errors import BadInput

__all__ = ["Call", "plan_calls", "price_call"]


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """Rows x features of a source, to be asked for at once."""

    rows: NDArray[np.int64]
    features: NDArray[np.int64]


def plan_calls(
    features: NDArray[np.int64],
    mask: NDArray[np.uint64],
    known: Known,
    tariff: Tariff,
    limits: CallLimits,
) -> list[Call]:
    """Calls that fill every missing cell of features x mask, each cell once."""
    wanted = np.unique(features)
    if tariff.computed:
        wanted = np.unique([tariff.computed.get(int(f), (int(f),))[0] for f in wanted])
    missing = known.missing(wanted, mask)
    some = missing.any(axis=1)
    wanted, missing = wanted[some], missing[some]
    calls: list[Call] = []
    together = {m: d for d in tariff.draws if d.together for m in d.members}
    whole: dict[str, NDArray[np.uint64]] = {}
    alone: dict[bytes, list[int]] = {}
    for i, f in enumerate(wanted.tolist()):
        if f in together:
            name = together[f].name
            whole[name] = whole.get(name, np.zeros_like(mask)) | missing[i]
        else:
            alone.setdefault(missing[i].tobytes(), []).append(f)
    for bits, members in alone.items():
        rows = kernels.rows_of_mask(np.frombuffer(bits, dtype=np.uint64))
        calls.extend(_split(rows, np.array(members, dtype=np.int64), limits))
    for draw in tariff.draws:
        if draw.name in whole:
            calls.extend(_together(kernels.rows_of_mask(whole[draw.name]), draw.members, limits))
    return calls


def _split(
    rows: NDArray[np.int64], features: NDArray[np.int64], limits: CallLimits
) -> Iterator[Call]:
    wide = min(len(features), limits.max_features or len(features))
    if limits.max_cells is not None:
        wide = min(wide, limits.max_cells)
    high = min(len(rows), limits.max_examples or len(rows))
    if limits.max_cells is not None:
        high = max(1, min(high, limits.max_cells // wide))
    for r in range(0, len(rows), high):
        for f in range(0, len(features), wide):
            yield Call(rows[r : r + high], features[f : f + wide])


def _together(
    rows: NDArray[np.int64], members: tuple[int, ...], limits: CallLimits
) -> Iterator[Call]:
    """One call fills all members, so they are not split."""
    most = min(limits.max_features or len(members), limits.max_cells or len(members))
    if len(members) > most:
        raise BadInput(
            f"a call that fills {len(members)} features cannot be made: the provider takes "
            f"{most} at once. Raise max_features or max_cells."
        )
    whole = CallLimits(max_examples=limits.max_examples, max_cells=limits.max_cells)
    yield from _split(rows, np.array(members, dtype=np.int64), whole)


def price_call(
    call: Call, known: Known, tariff: Tariff
) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.int64]]:
    """(draws, which rows pay each of them, what each row costs) as things stand now."""
    needed = sorted({d for f in call.features.tolist() for d in tariff.needs[f]})
    own = total(tariff.own[call.features])
    refuse_too_large(own + sum(tariff.draws[d].fee for d in needed), "the price of one example")
    costs = np.full(len(call.rows), own, dtype=np.int64)
    draws, who = [], []
    for d in needed:
        column = known.known[known.n_features + d]
        drawn = kernels.unpack_columns(column[None, :], call.rows)[:, 0].astype(np.bool_)
        if drawn.all():
            continue
        draws.append(d)
        who.append(~drawn)
        costs[~drawn] += tariff.draws[d].fee
    rows = np.array(who, dtype=np.bool_).reshape(len(draws), len(call.rows))
    return np.array(draws, dtype=np.int64), rows, costs
