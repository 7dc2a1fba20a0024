"""Straight lines: a penalised logistic regression over the values themselves.

On a few dozen rows a bin holds a handful of them, and a card that has to find a trend bin by bin
finds little of it; a line finds it with one number a feature. Numbers are cut off at their outer
fiftieths and standardised, a gap stands at the mean and has a column of its own, categories have a
column each. Every column's prior variance is a few times (chi - 1) / n: chi is its squared score
statistic, n the rows, so (chi - 1) / n is about what the column alone explains. Ten times with few
columns, three with many, which may be noise. (Three times, random rows of ten sets, 40 to 400 of
them: mean AUROC .847, .863, .865; with one variance for all, the best of five, .838, .855, .864;
the card .833, .850, .865. Of twelve equal effects 40 rows find .78 with three times, .85 with ten.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from thrifty.array_types import Floats, Ints
from thrifty.errors import StoreError
from thrifty.models.fits.bins import Bins
from thrifty.models.fits.logistic import fit_penalised
from thrifty.models.fits.plain_trees import Words
from thrifty.models.fits.points import Points
from thrifty.typing import Json, JsonLike

__all__ = ["Columns", "Line", "LineDesign", "columns_from_dict", "line_left_out"]

#: what a column holds: a number, whether there is a gap, whether it is one category
_NUMBER, _GAP, _CATEGORY = 0, 1, 2
# Constants were chosen on made data and scikit-learn's breast_cancer, wine, diabetes and digits,
# `python benchmarks/small_tables.py` (docs/models.md, Small tables; figures in the text above).
#: of the values, what is cut off on each side
_OUTER = 0.02
#: rows beyond which tails are known: a rare class is often told by them (1 row in 700, ten numbers
#: of 50, python benchmarks/long_tables.py rare: AP .09 with the outer fiftieths cut off)
_MANY_ROWS = 2000
# A column's prior variance, with m columns on n rows, is
#     min(clip(_UNITS / m, *_PER_UNIT) max(chi - 1, clip(_LEASTS / m, *_LEAST)) / n, _MOST)
_PER_UNIT = (3.0, 10.0)
_UNITS = 120.0
_LEAST = (0.5, 2.0)
_LEASTS = 24.0
_MOST = 1.0
#: steps of a number, where a line is kept as points; fine enough, set by hand
_LEVELS = 32
#: and on more rows, where tails are kept
_MORE_LEVELS = 96
#: rows that a category needs for a column; set by hand
_ROWS = 3
#: and a gap: a few gaps here and there say nothing, and make as many columns of noise as there are
#: features (72 rows, 15 features, a twentieth of the cells missing at random: AUROC .755 with 3
#: rows, .790 with 10)
_GAPS = 10


@dataclass(frozen=True, eq=False)
class Columns:
    """How values become columns: of each, its feature, what it holds, limits, mean and spread.

    Attributes
    ----------
    feature, holds : array of int
        (m,) the feature of a column and what it holds
    low, high : array of float
        (m,) limits of a number; of a category both are the category
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
    def of(cls, values: Floats, categories: NDArray[np.bool_]) -> Columns:
        rows: list[tuple[int, int, float, float, float, float]] = []
        for f, (x, category) in enumerate(zip(values.T, categories.tolist())):
            gaps = np.isnan(x)
            known = x[~gaps]
            if _GAPS <= gaps.sum() <= len(x) - _GAPS:
                rows.append((f, _GAP, 0.0, 0.0, *_mean_and_spread(gaps.astype(np.float64))))
            if category:
                distinct, counts = np.unique(known, return_counts=True)
                for v in distinct[counts >= _ROWS].tolist():
                    is_it = (x == v).astype(np.float64)
                    rows.append((f, _CATEGORY, v, v, *_mean_and_spread(is_it)))
            elif np.isfinite(known).any():
                finite = known[np.isfinite(known)]
                low, high = _limits(finite)
                if low == high:  # a rare value beside a common one
                    low, high = float(finite.min()), float(finite.max())
                cut = np.clip(known, low, high)
                rows.append((f, _NUMBER, low, high, *_mean_and_spread(cut)))
        kept = [row for row in rows if row[5] > 0]
        parts = np.array(kept, dtype=np.float64).reshape(-1, 6).T
        return cls(parts[0].astype(np.int64), parts[1].astype(np.int64), *parts[2:])

    def matrix(self, values: Floats) -> Floats:
        """(rows, m) the columns of these values."""
        x = values[:, self.feature]
        gaps = np.isnan(x)
        found = np.where(gaps, self.centre, np.clip(x, self.low, self.high))
        is_gap, is_category = self.holds == _GAP, self.holds == _CATEGORY
        found[:, is_gap] = gaps[:, is_gap]
        found[:, is_category] = x[:, is_category] == self.low[is_category]
        return np.asarray((found - self.centre) / self.spread)

    def to_dict(self) -> Json:
        """Plain data, for JSON."""
        return {name: getattr(self, name).tolist() for name in _KEPT}

    def as_questions(self, names: Sequence[str], words: Words, times: Floats) -> list[Json]:
        """What becomes of a row's values, column by column, for serving; each times so much."""
        found: list[Json] = []
        for i, f in enumerate(self.feature.tolist()):
            name, scale = str(names[f]), float(times[i] / self.spread[i])
            no, yes = (float((x - self.centre[i]) * scale) for x in (0.0, 1.0))
            texts = words.get(name)
            if self.holds[i] == _GAP:
                found.append({"feature": name, "in": [], "gap": yes, "no": no})
            elif self.holds[i] == _CATEGORY:
                code = self.low[i] if texts is None else texts[int(self.low[i])]
                found.append({"feature": name, "in": [code], "gap": no, "yes": yes, "no": no})
            else:
                low, high, centre = (float(x[i]) for x in (self.low, self.high, self.centre))
                kept = {"low": low, "high": high, "centre": centre, "scale": scale, "gap": 0.0}
                found.append({"feature": name, **kept})
        return found


#: what is kept of columns
_KEPT = ("feature", "holds", "low", "high", "centre", "spread")


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
    low, high = np.quantile(x, [_OUTER, 1 - _OUTER]).tolist()
    if len(x) <= _MANY_ROWS:
        return float(low), float(high)
    more = (high - low) / 2
    return max(float(low - more), float(x.min())), min(float(high + more), float(x.max()))


def _mean_and_spread(x: Floats) -> tuple[float, float]:
    with np.errstate(over="ignore", invalid="ignore"):
        centre, spread = float(x.mean()), float(x.std())
    if not np.isfinite(spread) or spread < 1e-9 * max(abs(centre), 1e-290):
        return 0.0, 0.0
    return centre, spread


@dataclass(frozen=True, eq=False)
class Line:
    """What was fitted: intercepts (c,) and coefficients (m, c) of the columns."""

    columns: Columns
    intercepts: Floats
    coefficients: Floats

    def scores(self, values: Floats) -> Floats:
        """(rows, c) logits; c is 1 for two classes."""
        found: Floats = self.columns.matrix(values) @ self.coefficients + self.intercepts
        return found

    def as_points(self, values: Floats, categories: NDArray[np.bool_]) -> Points:
        """The same in fine steps, as points: what is kept, printed and served is of one kind."""
        columns = len(self.intercepts)
        bins, points = [], []
        for f, (x, category) in enumerate(zip(values.T, categories.tolist())):
            of = np.flatnonzero(self.columns.feature == f)
            made = _steps(x, bool(category), self.columns, of)
            asked = np.full((len(made), values.shape[1]), np.nan)
            asked[:-1, f] = _inside(made)
            table = self.columns.matrix(asked)[:, of] @ self.coefficients[of]
            bins.append(made)
            points.append(np.asarray(table).reshape(len(made), columns))
        return Points(tuple(bins), self.intercepts, tuple(points))


def _steps(x: Floats, category: bool, columns: Columns, of: Ints) -> Bins:
    """A bin for each category that has a column; of a number equal steps."""
    if category:
        known = of[columns.holds[of] == _CATEGORY]
        groups = tuple((float(v),) for v in columns.low[known])
        made = Bins(np.zeros(0), groups, np.ones(len(groups) + 1))
    else:
        number = of[columns.holds[of] == _NUMBER]
        edges = np.zeros(0)
        if len(number):
            low, high = float(columns.low[number[0]]), float(columns.high[number[0]])
            levels = _LEVELS if len(x) <= _MANY_ROWS else _MORE_LEVELS
            edges = np.unique(np.linspace(low, high, levels + 1)[1:-1])
        made = Bins(edges, None, np.ones(len(edges) + 2))
    seen = made.codes(x)
    return replace(made, weight=np.bincount(seen[seen >= 0], minlength=len(made)).astype(float))


def _inside(bins: Bins) -> Floats:
    """A value in each bin but the last, which is for gaps: halfway between its limits."""
    if bins.groups is not None:
        return np.array([group[0] for group in bins.groups], dtype=np.float64)
    edges = bins.edges
    if not len(edges):
        return np.zeros(1)
    middle = edges[:-1] / 2 + edges[1:] / 2
    half = (edges[-1] - edges[0]) / max(len(edges) - 1, 1) / 2 if len(edges) > 1 else 0.5
    return np.concatenate([[edges[0] - half], middle, [edges[-1] + half]])


@dataclass(frozen=True, eq=False)
class LineDesign:
    """Values as columns, made once; lines may then be fitted on any of the rows.

    >>> x = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> design = LineDesign.of(x, np.array([False]))
    >>> line = design.fit(np.arange(4), np.array([0, 0, 1, 1]), 2, np.ones(4))
    >>> bool(line.coefficients[0, 0] > 0)
    True
    """

    columns: Columns
    made: Floats

    @classmethod
    def of(cls, values: Floats, categories: NDArray[np.bool_]) -> LineDesign:
        columns = Columns.of(values, categories)
        return cls(columns, columns.matrix(values))

    def of_features(self, which: Ints) -> LineDesign:
        """The columns of some features, which become the first, the second, ..."""
        place = np.full(int(self.columns.feature.max(initial=-1)) + 1, -1)
        known = which < len(place)
        place[which[known]] = np.flatnonzero(known)
        chosen = np.flatnonzero(place[self.columns.feature] >= 0)
        chosen = chosen[np.argsort(place[self.columns.feature[chosen]], kind="stable")]
        some = replace(
            self.columns,
            feature=place[self.columns.feature[chosen]],
            **{name: getattr(self.columns, name)[chosen] for name in _KEPT[1:]},
        )
        return LineDesign(some, self.made[:, chosen])

    def fit(
        self, rows: Ints, codes: Ints, n_classes: int, weights: Floats, tolerance: float = 1e-9
    ) -> Line:
        """A line from some rows; ``codes`` and ``weights`` are those of all rows."""
        part, y, w = self.made[rows], codes[rows], weights[rows]
        shares = np.bincount(y, weights=w, minlength=n_classes) / w.sum()
        wrong = -np.tile(shares, (len(rows), 1))
        wrong[np.arange(len(rows)), y] += 1.0
        if n_classes == 2:
            wrong = wrong[:, 1:]
        told = ((part.T @ (w[:, None] * wrong)) ** 2).sum(axis=1)
        chance = ((part**2).T @ (w[:, None] * wrong**2)).sum(axis=1)
        chi = told / np.maximum(chance, 1e-12)
        m = max(len(chi), 1)
        unit = np.maximum(chi - 1.0, np.clip(_LEASTS / m, *_LEAST)) / len(rows)
        scale = np.sqrt(np.minimum(np.clip(_UNITS / m, *_PER_UNIT) * unit, _MOST))
        intercepts, slopes = fit_penalised(part * scale, y, n_classes, w, 1.0, tolerance=tolerance)
        return Line(self.columns, intercepts, scale[:, None] * slopes)


def line_left_out(
    design: LineDesign, codes: Ints, n_classes: int, weights: Floats, folds: Ints
) -> Floats:
    """The scores that each row gets from a line fitted without its fold."""
    found = np.zeros((len(codes), 1 if n_classes == 2 else n_classes))
    for fold in np.unique(folds):
        rest, out = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        line = design.fit(rest, codes, n_classes, weights)
        found[out] = design.made[out] @ line.coefficients + line.intercepts
    return found
