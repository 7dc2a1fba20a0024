"""Which features tell most for their price, for several tasks together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np

from thrifty.array_types import Bools, Floats, Ints
from thrifty.cells import Cells
from thrifty.models.fits.folds import folds_in_turn
from thrifty.models.fits.number_mixture import NumberLine
from thrifty.models.fits.target import Target
from thrifty.models.known import OneTable, correlations
from thrifty.models.purses.purse import CENT

__all__ = ["better_half", "tells_as_much"]

#: the features that are bought on further rows make up this share of a row's price at most
_KEPT = 0.5
#: folds, rows that are judged at least and at most, features that can be halved
_FOLDS, _JUDGES, _JUDGED, _NARROWEST = 3, 24, 300, 8


def tells_as_much(
    values: Floats, bought: Bools, targets: Sequence[Target], prices: Floats, least: float
) -> bool:
    """Whether lines of the better half lose little on rows left out, ranked without those rows."""
    rows = np.flatnonzero(bought.all(axis=1))[:_JUDGED]
    if len(rows) < _JUDGES or values.shape[1] < _NARROWEST:
        return False
    folds, lost = folds_in_turn(len(rows), _FOLDS), np.zeros(2)
    for fold in range(_FOLDS):
        rest, out = rows[folds != fold], rows[folds == fold]
        told = correlations(values[rest], [target.of_rows(rest) for target in targets])
        half = _for_their_price(told, prices)
        for i, some in enumerate((np.arange(values.shape[1]), half)):
            part = values[:, some]
            lost[i] += _lost(part[rest], part[out], targets, rest, out)
    return bool(lost[1] <= least * lost[0])


def _lost(values: Floats, asked: Floats, targets: Sequence[Target], rest: Ints, out: Ints) -> float:
    """The square errors of lines on rows left out, as parts of what there is, summed.

    Targets that are known on the same rows share the work on their columns.
    """
    alike: dict[bytes, list[tuple[Target, Floats]]] = {}
    for target in targets:
        assert target.numbers is not None
        learn, y = target.known[rest], target.numbers[rest][target.known[rest]]
        if len(y) > 1 and target.known[out].any() and y.min() < y.max():
            alike.setdefault(learn.tobytes(), []).append((target, y))
    found = 0.0
    for some in alike.values():
        learn, labels = some[0][0].known[rest], [y for _, y in some]
        ones, no_sizes = np.ones(int(learn.sum())), (0,) * values.shape[1]
        lines = NumberLine.fit_all(values[learn], labels, ones, no_sizes)
        for (target, y), line in zip(some, lines):
            judge, numbers = target.known[out], cast(Floats, target.numbers)[out]
            wrong = line.predict(asked[judge]) - numbers[judge]
            found += float((wrong**2).sum() / y.var())
    return found


def _for_their_price(told: Floats, prices: Floats, square: float = np.inf) -> Ints:
    """The features that tell most for their price, free ones first, for half of what all cost.

    ``square``: their number times their price is at most that.
    """
    free = prices <= 0
    worth = np.where(free, np.inf, told / np.where(free, 1.0, prices))
    ranked = np.argsort(-worth, kind="stable")
    bill, paid = np.cumsum(prices[ranked]), np.cumsum(~free[ranked])
    fits = (bill <= _KEPT * float(prices.sum()) + CENT) & (paid * bill <= square + CENT)
    return ranked[: max(int(fits.sum()), 1)]


def better_half(cells: Cells, one: OneTable, among: Ints, square: float = np.inf) -> Ints:
    """Of some features those that tell most for their price; see :func:`_for_their_price`."""
    some = np.flatnonzero(np.isin(one.features, among))
    prices = np.asarray(cells.shared_prices, dtype=np.float64)[one.features[some]]
    return one.features[some[_for_their_price(one.importances[some], prices, square)]]
