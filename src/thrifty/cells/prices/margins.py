"""What one feature alone costs where something is owned: after a path, and row by row.

Learners that compare features ask for these. What is owned, bought or filled beside something else,
costs nothing; a fee that was paid is not due again; a derived feature costs what its parents lack.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from thrifty import kernels
from thrifty.array_types import Bools, Floats, Ints
from thrifty.cells.prices.money import UNIT
from thrifty.cells.prices.tariff import Holdings, Part, Tariff

__all__ = ["depends_on_owned", "margins", "prices_after"]


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
        out += tariff.per_call[rows][:, None] * lacks
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
