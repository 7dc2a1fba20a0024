"""The default model of numbers: a line, points over bins, boosted trees and a kernel, mixed.

All are fitted on the same bought cells. What each says of rows left out is mixed with weights of
least squares that are 0 or more (stacking: Breiman, 1996), drawn a little to equal ones.

- *The line*: ridge regression on standardised numbers; a gap is the median and a column of its own,
  a category a column for each value.
- *Points*: ridge regression over bins, with the prior of the scorecard
  (:mod:`thrifty.models.fits.bins`); each feature is shrunk the less the higher
  its own score is.
- *Trees*: scikit-learn's, kept as arrays (:mod:`thrifty.models.fits.boosting`).
- *Kernel ridge* (:mod:`.kernel_ridge`), where there are 40 rows and none that belong together:
  what goes up and down without a step. (R squared at 5, 10 and 20 %, three seeds: friedman60 +.034
  +.037 +.023, friedman210 +.022 +.028 +.024, linear100 .000, nine numbers of crime_numbers at once
  +.002 +.001 +.006; each standard error .003 at most.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from thrifty.array_types import Floats, Ints
from thrifty.models.fits.bins import bins_from_dict
from thrifty.models.fits.boosting import grow_boosted
from thrifty.models.fits.folds import folds_in_turn, shuffled_folds
from thrifty.models.fits.forest_for_all import ForestForAll
from thrifty.models.fits.kernel_ridge import KernelRidge, Near, fit_kernels, kernel_from_dict, takes
from thrifty.models.fits.line import LineDesign
from thrifty.models.fits.points import Design, Points
from thrifty.models.fits.ridge import Ridge, fit_ridge
from thrifty.models.fits.target import target_of_numbers
from thrifty.models.fits.tree_sums import TreeSum, tree_sum_from_dict
from thrifty.models.table import Table
from thrifty.typing import Json, JsonLike

__all__ = [
    "Additive",
    "NumberLine",
    "NumberMix",
    "error_left_out",
    "fit_numbers",
    "fit_numbers_left_out",
    "kernels_of",
    "number_mix_from_dict",
]

# All of them were set with the first model of numbers; none was measured by itself. What they give
# together is in docs/models.md, Numbers as labels (`python benchmarks/regression.py`).
#: folds of the rows
_FOLDS = 4
#: rows that trees and a mixture need: six a fold
_LEAST = 24
#: how far the weights are drawn to equal ones, in rows
_PULL = 6.0
#: values further from the middle than so many spreads count as that far
_FAR = 4.0
#: trees of the forest that says what features tell, for the kernel; as of the one that ranks
_TREES = 60
#: the most bins of a number in the points
_BINS = 10
# A feature's prior variance is clip(_PER_CHI (chi - 1), _SMALL, _LARGE), in variances of y.
_PER_CHI = 0.02
_SMALL = 0.02
_LARGE = 1.0


@dataclass(frozen=True, eq=False)
class NumberLine:
    """A linear model of standardised columns."""

    middles: Floats
    spreads: Floats
    categories: tuple[int, ...]
    coefficients: Floats
    intercept: float

    @classmethod
    def fit(
        cls, values: Floats, y: Floats, weights: Floats, categories: tuple[int, ...]
    ) -> NumberLine:
        return cls.fit_all(values, [y], weights, categories)[0]

    @classmethod
    def fit_all(
        cls, values: Floats, labels: Sequence[Floats], weights: Floats, categories: tuple[int, ...]
    ) -> list[NumberLine]:
        """A line for each of several labels of the same rows."""
        middles, spreads = np.zeros(values.shape[1]), np.ones(values.shape[1])
        for j, column in enumerate(values.T):
            known = column[~np.isnan(column)]
            if len(known):
                middles[j] = np.median(known)
                unit = max(float(np.abs(known).max()), 1e-300)  # squares of huge ones overflow
                spreads[j] = unit * max(float((known / unit).std()), 1e-12)
        empty = cls(middles, spreads, categories, np.zeros(0), 0.0)
        ridge = Ridge(empty.columns(values), weights)
        return [cls(middles, spreads, categories, *ridge.fit(y)) for y in labels]

    def columns(self, values: Floats) -> Floats:
        """Standardised numbers, gaps, categories."""
        gaps = np.isnan(values)
        with np.errstate(over="ignore", invalid="ignore"):
            apart = (np.where(gaps, self.middles, values) - self.middles) / self.spreads
        parts = []
        for j, n in enumerate(self.categories):
            if n:
                parts.append((values[:, [j]] == np.arange(n)).astype(np.float64))
            else:
                parts.append(np.clip(apart[:, [j]], -_FAR, _FAR))
            parts.append(gaps[:, [j]].astype(np.float64))
        return np.hstack(parts) if parts else np.zeros((len(values), 0))

    def predict(self, values: Floats) -> Floats:
        found: Floats = self.columns(values) @ self.coefficients + self.intercept
        return found

    def to_dict(self) -> Json:
        return {
            "middles": self.middles.tolist(),
            "spreads": self.spreads.tolist(),
            "categories": list(self.categories),
            "coefficients": self.coefficients.tolist(),
            "intercept": self.intercept,
        }


@dataclass(frozen=True, eq=False)
class Additive:
    """Points over bins, for numbers."""

    points: Points

    @classmethod
    def fit(cls, design: Design, rows: Ints, y: Floats, weights: Floats) -> Additive:
        """From some rows of a design; y and weights are of those rows."""
        share = weights / weights.sum()
        wrong = y - float(share @ y)
        spread = max(float(share @ wrong**2), 1e-300)
        scales, parts = [], []
        for block in design.blocks:
            part = block[rows]
            chance = float((weights**2 @ part**2).sum()) * spread
            told = float((((weights * wrong) @ part) ** 2).sum())
            chi = told / chance if chance > 0 else 0.0
            scales.append(float(np.sqrt(np.clip(_PER_CHI * (chi - 1.0), _SMALL, _LARGE))))
            parts.append(part * scales[-1])
        columns = np.hstack(parts) if parts else np.zeros((len(rows), 0))
        slopes, intercept = fit_ridge(columns, y, weights)
        tables, at = [], 0
        for basis, scale in zip(design.bases, scales):
            d = basis.shape[1]
            tables.append((basis @ (scale * slopes[at : at + d]))[:, None])
            at += d
        return cls(Points(design.bins, np.array([intercept]), tuple(tables)))

    def predict(self, values: Floats) -> Floats:
        return self.points.scores(values)[:, 0]


@dataclass(frozen=True, eq=False)
class NumberMix:
    """The mixture; parts that were not fitted are None and weigh nothing.

    Attributes
    ----------
    weights : array of float
        (4,) of the line, the points, the trees and the kernel
    middle : float
        what is added to the weighted parts
    error : float
        root of the mean square of what was wrong on rows left out; NaN where none were
    """

    line: NumberLine
    additive: Additive | None
    trees: TreeSum | None
    weights: Floats
    middle: float
    error: float
    kernel: KernelRidge | None = None

    def predict(self, values: Floats) -> Floats:
        """A number for each row; NaN for gaps in the values."""
        values = np.asarray(values, dtype=np.float64)
        found: Floats = self.middle + self.weights[0] * self.line.predict(values)
        if self.additive is not None:
            found = found + self.weights[1] * self.additive.predict(values)
        if self.trees is not None:
            found = found + self.weights[2] * self.trees.scores(values)[:, 0]
        if self.kernel is not None:
            found = found + self.weights[3] * self.kernel.scores(values)[:, 0]
        return found

    def to_dict(self) -> Json:
        """Plain data, for JSON."""
        points = None if self.additive is None else self.additive.points
        return {
            "model": "NumberMix",
            "line": self.line.to_dict(),
            "bins": None if points is None else [bins.to_dict() for bins in points.bins],
            "points": None if points is None else [t[:, 0].tolist() for t in points.points],
            "intercept": None if points is None else float(points.intercepts[0]),
            "trees": None if self.trees is None else self.trees.to_dict(),
            "weights": self.weights.tolist(),
            "middle": self.middle,
            "error": self.error if self.error == self.error else None,
            **({} if self.kernel is None else {"kernel": self.kernel.to_dict()}),
        }


def number_mix_from_dict(data: JsonLike) -> NumberMix:
    """The inverse of :meth:`NumberMix.to_dict`; those of 0.2 have no weight of a kernel."""
    kept = data["line"]
    arrays = {k: np.array(kept[k], dtype=float) for k in ("middles", "spreads", "coefficients")}
    line = NumberLine(categories=tuple(kept["categories"]), intercept=kept["intercept"], **arrays)
    additive = None
    if data["bins"] is not None:
        tables = tuple(np.array(t, dtype=np.float64)[:, None] for t in data["points"])
        bins = tuple(bins_from_dict(one) for one in data["bins"])
        additive = Additive(Points(bins, np.array([data["intercept"]]), tables))
    kernel = data.get("kernel")
    return NumberMix(
        line,
        additive,
        None if data["trees"] is None else tree_sum_from_dict(data["trees"]),
        np.array([*data["weights"], 0.0][:4], dtype=np.float64),
        float(data["middle"]),
        np.nan if data["error"] is None else float(data["error"]),
        None if kernel is None else kernel_from_dict(kernel, len(line.middles)),
    )


def fit_numbers(table: Table, seed: int = 0) -> NumberMix:
    """Fit all parts on a bought table and mix them."""
    return fit_numbers_left_out(table, seed)[0]


def fit_numbers_left_out(
    table: Table, seed: int = 0, near: Near | None = None
) -> tuple[NumberMix, Floats | None]:
    """And what is said of rows left out; None where there are too few to leave some out.

    ``near``: the kernel of it, where tables of several labels share the work.
    """
    y = np.asarray(table.labels, dtype=np.float64)
    weights = table.weights / table.weights.mean()
    values, sizes = table.filled(), table.categories or (0,) * table.width
    line = NumberLine.fit(values, y, weights, sizes)
    if len(y) < _LEAST or y.min() == y.max() or not table.width:
        return NumberMix(line, None, None, np.array([1.0, 0.0, 0.0, 0.0]), 0.0, np.nan), None
    near = kernels_of([table], seed)[0] if near is None else near
    named = np.array(sizes) > 0
    design = Design.of(values, weights, named, _BINS)
    folds = shuffled_folds(len(y), _FOLDS, seed, table.groups)
    left_out = np.zeros((len(y), 3 if near is None else 4))
    for fold in range(_FOLDS):
        rest, out = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        w = weights[rest]
        left_out[out, 0] = NumberLine.fit(values[rest], y[rest], w, sizes).predict(values[out])
        left_out[out, 1] = Additive.fit(design, rest, y[rest], w).predict(values[out])
        trees = grow_boosted(values[rest], y[rest], w, named, seed)
        left_out[out, 2] = trees.scores(values[out])[:, 0]
    if near is not None:
        left_out[:, 3] = near[1][:, 0]
    mix, middle = _mix_of_parts(left_out, y, weights)
    said = left_out @ mix + middle
    everything = np.arange(len(y))
    made = NumberMix(
        line,
        Additive.fit(design, everything, y, weights),
        grow_boosted(values, y, weights, named, seed),
        np.append(mix, np.zeros(4 - len(mix))),
        middle,
        float(np.sqrt(weights @ (said - y) ** 2 / weights.sum())),
        None if near is None else near[0],
    )
    return made, said


def kernels_of(tables: Sequence[Table], seed: int = 0) -> list[Near | None]:
    """A kernel of each table of numbers; those of the same cells share the work.

    None where rows belong together: each is left out alone, beside others of its group.
    """
    alike: dict[tuple[bytes, bytes], list[int]] = {}
    for t, table in enumerate(tables):
        told = takes(table.n_rows) and table.width and len(set(table.labels.tolist())) > 1
        if told and table.groups is None:
            key = table.rows.tobytes(), table.features.tobytes()
            alike.setdefault(key, []).append(t)
    found: list[Near | None] = [None] * len(tables)
    for some in alike.values():
        first, labels = tables[some[0]], [np.asarray(tables[t].labels, float) for t in some]
        values, named = first.filled(), np.array(first.categories or (0,) * first.width) > 0
        targets, every = [target_of_numbers(y) for y in labels], np.arange(first.n_rows)
        forest = ForestForAll(values, targets, np.ones(len(every)), named, seed, _TREES)
        asked = [(every, y[:, None]) for y in labels]
        made = fit_kernels(LineDesign.of(values, named), forest.importances, asked)
        for t, one in zip(some, made):
            found[t] = one
    return found


def error_left_out(table: Table) -> float:
    """Mean square error on rows left out, of a line or of points, whichever is less; no trees."""
    y = np.asarray(table.labels, dtype=np.float64)
    weights = table.weights / table.weights.mean()
    share = weights / weights.sum()
    alone = float(share @ (y - share @ y) ** 2)
    if not table.width or len(y) < _LEAST:
        return alone
    values, sizes = table.filled(), table.categories or (0,) * table.width
    design = Design.of(values, weights, np.array(sizes) > 0, _BINS)
    left_out, folds = np.zeros((len(y), 2)), folds_in_turn(len(y), _FOLDS, table.groups)
    for fold in range(_FOLDS):
        out = folds == fold
        rest, w = np.flatnonzero(~out), weights[~out]
        left_out[out, 0] = NumberLine.fit(values[rest], y[rest], w, sizes).predict(values[out])
        left_out[out, 1] = Additive.fit(design, rest, y[rest], w).predict(values[out])
    return float((share @ (left_out - y[:, None]) ** 2).min())


def _mix_of_parts(left_out: Floats, y: Floats, weights: Floats) -> tuple[Floats, float]:
    """Weights of the parts, and what is added."""
    share = weights / weights.sum()
    at, middle = share @ left_out, float(share @ y)
    spread = max(float(np.sqrt(share @ (y - middle) ** 2)), 1e-300)
    root = np.sqrt(weights)[:, None]
    n = left_out.shape[1]
    pull = np.sqrt(_PULL)
    columns = np.vstack([root * (left_out - at) / spread, pull * np.eye(n)])
    target = np.concatenate([root[:, 0] * (y - middle) / spread, np.full(n, pull / n)])
    found, _ = nnls(columns, target)
    return found, middle - float(at @ found)
