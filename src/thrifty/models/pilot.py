"""The simplest way to buy: a class-balanced pilot of every feature, then the best columns."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thrifty.array_types import Floats
from thrifty.cells import Cells
from thrifty.models.memory import Lesson, Memory
from thrifty.models.policy import Bought
from thrifty.models.table import Table
from thrifty.trees.labels import Labels

__all__ = ["Pilot"]

#: the share of the bill that the pilot takes
_SHARE = 0.5
#: rows of the other classes bought for each row of the rarest
_OTHERS = 5


class Pilot:
    """Half of the bill for a balanced pilot, the rest for the columns that tell classes apart."""

    def buy(
        self,
        cells: Cells,
        labels: Labels,
        memory: Memory,
        allowance: float,
        rng: np.random.Generator,
    ) -> Bought:
        order = rng.permutation(len(labels))
        codes = labels.codes[order]
        rare = int(np.bincount(codes).argmin())
        few, many = order[codes == rare], order[codes != rare]
        row_price = float(cells.prices.sum())
        half = max(2, int(_SHARE * allowance / row_price / 2))
        pilot = np.concatenate([few[:half], many[:half]])
        seen = cells.get(pilot, np.arange(cells.n_features)).astype(np.float64)
        best = np.argsort(-_separation(seen, labels.codes[pilot] == rare), kind="stable")
        rows = np.unique(np.concatenate([few, many[: _OTHERS * len(few)], pilot]))
        left = allowance - len(pilot) * row_price
        costs = np.cumsum(cells.prices[best]) * max(1, len(rows) - len(pilot))
        k = max(1, int(np.searchsorted(costs, left, side="right")))
        features = best[:k].astype(np.int64)
        values = cells.get(rows, features).astype(np.float64)
        weights = np.where(labels.codes[rows] == rare, 1.0, len(many) / (len(rows) - len(few)))
        table = Table(
            features, rows, values, np.ones(values.shape, bool), weights, labels.codes[rows]
        )
        return Bought(table, Lesson(useful=features[:20]))


def _separation(X: Floats, rare: NDArray[np.bool_]) -> Floats:
    """How many standard deviations the class means are apart; gaps count as a value."""
    gaps = np.isnan(X)
    found = np.zeros(X.shape[1])
    for part in (np.where(gaps, np.nanmean(X, axis=0), X), gaps.astype(np.float64)):
        apart = np.abs(part[rare].mean(axis=0) - part[~rare].mean(axis=0))
        found = np.maximum(found, apart / (part.std(axis=0) + 1e-3))
    return found
