"""An adaptive ridge over values, steps and gaps, kept as the points of a scorecard.

Every column is multiplied by the size that its effect is believed to have
(:mod:`thrifty.models.fits.beliefs`) before a ridge regression, logistic for classes: what shows no
effect is shrunk to nothing, what shows a strong one hardly at all. It is fitted on *all* cells that
were bought; a cell that was not is at its column's mean. What was fitted is then kept as points for
bins of each feature, in fine steps: what is printed, served and computed is the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from thrifty.models.fits.beliefs import believe_columns, believe_rates, expected_size
from thrifty.models.fits.columns import CATEGORY, NUMBER, STEP, Columns
from thrifty.models.fits.logistic import fit_penalised
from thrifty.models.fits.points import Bins, Points
from thrifty.models.table import MOST_FEATURES
from thrifty.typing import Bools, Floats, Ints

#: penalties, on standardised columns times their sizes: of any columns, and of Boolean rates.
#: distilled's C of .4 and .05; .2 to .8 and .03 to .1 are within .003 (docs/research)
_SHRINKAGE, _SHRINKAGE_OF_RATES = 2.5, 20.0
#: penalties of the ridge of numbers, tried by leaving out one row at a time
_PENALTIES = 10.0 ** np.arange(0.5, 3.6, 0.5)


def fit_ridge(
    values: Floats, bought: Bools, targets: Sequence[Ints | Floats], n_classes: Sequence[int],
    weights: Floats, categories: Bools,
) -> Points:  # fmt: skip
    """Points of a ridge for each target, one beside the other; NaN for gaps.

    Logistic for classes; ``n_classes`` is 0 for numbers, whose penalty is the one with least error
    on held-out rows, one at a time.

    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(200, 3))
    >>> found = fit_ridge(x, np.ones(x.shape, bool), [(x[:, 1] > 0).astype(int), x[:, 2]], [2, 0],
    ...                   np.ones(200), np.zeros(3, bool))
    >>> said = found.scores(x)
    >>> [bool(np.corrcoef(said[:, k], x[:, k + 1])[0, 1] > 0.9) for k in (0, 1)]
    [True, True]
    """
    columns = Columns.of(values, categories, known=bought, steps=True)
    known = bought[:, columns.feature]
    design = np.where(known, columns.matrix(values), 0.0)
    found = [
        _of_classes(design, known, y.astype(np.int64), n, weights)
        if n
        else _of_numbers(design, known, y.astype(np.float64), weights)
        for y, n in zip(targets, n_classes)
    ]
    at, slopes = (np.concatenate(parts, axis=-1) for parts in zip(*found))
    return _as_points(values, bought, categories, columns, at, slopes)


def _of_classes(
    design: Floats, known: Bools, codes: Ints, n_classes: int, weights: Floats
) -> tuple[Floats, Floats]:
    """Intercepts and slopes."""
    hot = np.eye(n_classes)[codes]
    size = _sizes(design, known, hot[:, 1:] if n_classes == 2 else hot)
    at, slopes = fit_penalised(design * size, codes, n_classes, weights, _SHRINKAGE, tolerance=1e-7)
    return at, size[:, None] * slopes


def _of_numbers(design: Floats, known: Bools, y: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """The same of numbers."""
    centre = float(np.average(y, weights=weights))
    spread = max(float(np.sqrt(np.average((y - centre) ** 2, weights=weights))), 1e-300)
    target = (y - centre) / spread
    size = _sizes(design, known, target[:, None])
    slopes = spread * size * _loo_ridge(design * size, target, weights)
    return np.array([centre]), slopes[:, None]


def fit_ridge_of_rates(
    values: Floats, bought: Bools, codes: Ints, weights: Floats, background: Floats
) -> Points:
    """Points of Boolean features for two classes, from beliefs about their rates.

    The naive Bayes score of all beliefs is a further column, of which each rare row's own cells are
    left out: without it AP on rcv1s1_500 is .014 and .012 less at 5 and 20 %, on five other wide
    sets the same. ``background``: samples and ones of each feature outside the rarer class that
    earlier tasks have seen.
    """
    rare = int(np.bincount(codes, minlength=2).argmin())
    is_rare = codes == rare
    seen = np.where(bought, np.nan_to_num(values), 0.0)
    counts = [bought[is_rare].sum(0), seen[is_rare].sum(0)]
    counts += [bought[~is_rare].sum(0) + background[:, 0], seen[~is_rare].sum(0) + background[:, 1]]
    mean, variance, worth, mu = believe_rates(*(c.astype(np.float64) for c in counts))
    some = np.sort(np.argsort(-worth, kind="stable")[:MOST_FEATURES])
    apart = np.where(bought[:, some] & ~np.isnan(values[:, some]), values[:, some] - mu[some], 0.0)
    size, effect = expected_size(mean, variance)[some], mean[some]
    naive = apart @ effect
    expected = 1 / (1 + np.exp(-np.log(mu / (1 - mu)) - mean))[some]
    own = apart * np.where(apart != 0, values[:, some] - expected, 0.0) * variance[some]
    naive[is_rare] -= np.nan_to_num(own[is_rare]).sum(axis=1)
    unit = float(naive.std()) / 3 + 1e-9
    y, both = is_rare.astype(np.int64), np.column_stack([apart * size, naive / unit])
    at, fitted = fit_penalised(both, y, 2, weights, _SHRINKAGE_OF_RATES, tolerance=1e-7)
    slopes = np.zeros(values.shape[1])
    slopes[some] = fitted[:-1, 0] * size + fitted[-1, 0] / unit * effect
    sign = 1.0 if rare == 1 else -1.0
    return _of_booleans(values, bought, mu, sign * slopes, sign * at)


def _sizes(design: Floats, known: Bools, target: Floats) -> Floats:
    """The believed size of each column's effect, over all classes."""
    mean, variance = believe_columns(design, known, target)
    return np.asarray(np.sqrt((expected_size(mean, variance) ** 2).mean(axis=0)))


def _loo_ridge(design: Floats, y: Floats, weights: Floats) -> Floats:
    root = np.sqrt(weights / weights.mean())
    u, s, vt = np.linalg.svd(design * root[:, None], full_matrices=False)
    target = y * root
    along, best = u.T @ target, np.inf
    found: Floats = np.zeros(design.shape[1])
    for penalty in _PENALTIES:
        kept = s**2 / (s**2 + penalty)
        left = np.maximum(1 - (u**2) @ kept - 1 / len(y), 0.05)
        wrong = float((((target - u @ (kept * along)) / left) ** 2).sum())
        if wrong < best:
            best, found = wrong, np.asarray(vt.T @ (s / (s**2 + penalty) * along))
    return found


def _as_points(
    values: Floats, bought: Bools, categories: Bools, columns: Columns, at: Floats, slopes: Floats
) -> Points:
    """Each feature's columns, added up in fine steps."""
    bins, points = [], []
    for f, category in enumerate(categories.tolist()):
        of = np.flatnonzero(columns.feature == f)
        x = values[bought[:, f], f]
        made, inside = _steps(columns, of, bool(category))
        asked = np.full((len(made), values.shape[1]), np.nan)
        asked[:-1, f] = inside
        table = columns.matrix(asked)[:, of] @ slopes[of]
        seen = made.codes(x)
        weight = np.bincount(seen[seen >= 0], minlength=len(made)).astype(np.float64)
        bins.append(replace(made, weight=weight))
        points.append(np.asarray(table).reshape(len(made), len(at)))
    return Points(tuple(bins), at, tuple(points))


def _steps(columns: Columns, of: Ints, category: bool) -> tuple[Bins, Floats]:
    """The bins of a feature, and a value inside each but the last, which is for gaps."""
    levels = 16  # equal steps of a number between its limits, beside those that the columns have
    if category:
        codes = columns.low[of[columns.holds[of] == CATEGORY]]
        groups = tuple((float(v),) for v in codes)
        return Bins(np.zeros(0), groups, np.ones(len(groups) + 1)), codes
    number = of[columns.holds[of] == NUMBER]
    if not len(number):
        return Bins(np.zeros(0), None, np.ones(2)), np.zeros(1)
    low, high = float(columns.low[number[0]]), float(columns.high[number[0]])
    cuts = columns.low[of[columns.holds[of] == STEP]]
    edges = np.unique(np.r_[np.linspace(low, high, levels + 1)[1:-1], cuts])
    edges = edges[(edges > low) & (edges <= high)] if high > low else edges[:0]
    middle = edges[:-1] / 2 + edges[1:] / 2
    inside = np.r_[low, middle, high] if len(edges) else np.array([low])
    return Bins(edges, None, np.ones(len(edges) + 2)), inside


def _of_booleans(values: Floats, bought: Bools, mu: Floats, slopes: Floats, at: Floats) -> Points:
    """A Boolean feature adds its effect times its distance from the background; a gap nothing."""
    bins, points = [], []
    for f, (rate, slope) in enumerate(zip(mu.tolist(), slopes.tolist())):
        x = values[bought[:, f], f]
        ones, gaps = float((x == 1).sum()), float(np.isnan(x).sum())
        bins.append(Bins(np.array([1.0]), None, np.array([len(x) - ones - gaps, ones, gaps])))
        points.append(np.array([[-rate * slope], [(1 - rate) * slope], [0.0]]))
    return Points(tuple(bins), at, tuple(points))
