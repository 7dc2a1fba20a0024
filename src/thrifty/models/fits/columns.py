"""How the values of a table become columns of a linear model: numbers, steps, gaps, categories."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thrifty.errors import StoreError
from thrifty.typing import Bools, Floats, Ints, Json, JsonLike

#: what a column holds: a number, a gap, one category, whether a number is above a limit
NUMBER, GAP, CATEGORY, STEP = range(4)
#: numbers are cut off at these quantiles; a step begins at each of the second
_OUTER = (0.02, 0.98)
_STEPS = (0.2, 0.5, 0.8)
#: rows that a category, and that a gap needs for a column of its own: a few gaps here and there
#: are noise (72 rows, a twentieth missing at random: AUROC .755 with 3 rows, .790 with 10)
_ROWS, _GAPS = 3, 10

_KEPT = ("feature", "holds", "low", "high", "centre", "spread")


@dataclass(frozen=True, eq=False)
class Columns:
    """Of each column its feature, what it holds, limits, mean and spread.

    Attributes
    ----------
    feature, holds : array of int
        (m,) the feature of a column and what it holds
    low, high : array of float
        (m,) limits of a number; of a category both are the category, of a step the limit
    centre, spread : array of float
        (m,) what is taken off, and divided by
    """

    feature: Ints
    holds: Ints
    low: Floats
    high: Floats
    centre: Floats
    spread: Floats

    @classmethod
    def of(
        cls, values: Floats, categories: Bools, *, known: Bools | None = None, steps: bool = False
    ) -> Columns:
        """Columns of these values; ``known``: the cells that were bought, the others are holes."""
        rows: list[tuple[int, int, float, float, float, float]] = []
        for f, category in enumerate(categories.tolist()):
            x = values[:, f] if known is None else values[known[:, f], f]
            gaps = np.isnan(x)
            if _GAPS <= gaps.sum() <= len(x) - _GAPS:
                rows.append((f, GAP, 0.0, 0.0, *_mean_and_spread(gaps.astype(np.float64))))
            seen = x[~gaps]
            if category:
                rows.extend(_of_category(f, x, seen))
            elif np.isfinite(seen).any():
                rows.extend(_of_number(f, seen, steps))
        kept = [row for row in rows if row[5] > 0]
        parts = np.array(kept, dtype=np.float64).reshape(-1, 6).T
        return cls(parts[0].astype(np.int64), parts[1].astype(np.int64), *parts[2:])

    def matrix(self, values: Floats) -> Floats:
        """(rows, m) the columns of these values, standardised; a gap is at the mean."""
        x = values[:, self.feature]
        gaps = np.isnan(x)
        found = np.where(gaps, self.centre, np.clip(x, self.low, self.high))
        is_gap, is_category, is_step = (self.holds == kind for kind in (GAP, CATEGORY, STEP))
        found[:, is_gap] = gaps[:, is_gap]
        found[:, is_category] = x[:, is_category] == self.low[is_category]
        above = x[:, is_step] >= self.low[is_step]
        found[:, is_step] = np.where(gaps[:, is_step], self.centre[is_step], above)
        return np.asarray((found - self.centre) / self.spread)

    def to_dict(self) -> Json:
        """Plain data, for JSON."""
        return {name: getattr(self, name).tolist() for name in _KEPT}


def _of_category(
    f: int, x: Floats, seen: Floats
) -> list[tuple[int, int, float, float, float, float]]:
    distinct, counts = np.unique(seen, return_counts=True)
    some = distinct[counts >= _ROWS].tolist()
    return [(f, CATEGORY, v, v, *_mean_and_spread((x == v).astype(float))) for v in some]


def _of_number(
    f: int, seen: Floats, steps: bool
) -> list[tuple[int, int, float, float, float, float]]:
    finite = seen[np.isfinite(seen)]
    low, high = _limits(finite)
    if low == high:  # a rare value beside a common one
        low, high = float(finite.min()), float(finite.max())
    found = [(f, NUMBER, low, high, *_mean_and_spread(np.clip(seen, low, high)))]
    if not steps or bool(((finite == finite.min()) | (finite == finite.max())).all()):
        return found  # two values have one step, which is the number itself
    for cut in np.unique(np.quantile(finite, _STEPS)).tolist():
        found.append((f, STEP, cut, cut, *_mean_and_spread((seen >= cut).astype(np.float64))))
    return found


def columns_from_dict(data: JsonLike) -> Columns:
    """The inverse of :meth:`Columns.to_dict`."""
    kept = [
        np.array(data[name], dtype=np.int64 if i < 2 else float) for i, name in enumerate(_KEPT)
    ]
    if len({part.shape for part in kept}) > 1 or kept[0].ndim != 1:
        sizes = ", ".join(f"{name} {part.shape}" for name, part in zip(_KEPT, kept))
        raise StoreError(
            f"the columns of a model in the store must have one length; got {sizes}. The store was "
            "changed by hand or damaged: open a copy of it."
        )
    return Columns(*kept)


def _limits(x: Floats) -> tuple[float, float]:
    """Where a number is cut off: at its outer fiftieths; on many rows half their span beyond them.

    >>> x = np.append(np.linspace(0, 1, 101), 50.0)
    >>> [round(limit, 2) for limit in _limits(x)], [round(v, 2) for v in _limits(np.tile(x, 30))]
    ([0.02, 0.99], [0.0, 1.48])
    """
    # rows beyond which tails are known, so that they are kept half the span further
    many_rows = 2000
    low, high = np.quantile(x, _OUTER).tolist()
    if len(x) <= many_rows:
        return float(low), float(high)
    more = (high - low) / 2
    return max(float(low - more), float(x.min())), min(float(high + more), float(x.max()))


def _mean_and_spread(x: NDArray[np.float64]) -> tuple[float, float]:
    with np.errstate(over="ignore", invalid="ignore"):
        centre, spread = float(x.mean()), float(x.std())
    if not np.isfinite(spread) or spread < 1e-9 * max(abs(centre), 1e-290):
        return 0.0, 0.0
    return centre, spread
