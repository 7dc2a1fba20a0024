"""An adaptive ridge over values, steps and gaps, kept as the points of a scorecard.

Every column is multiplied by the size that its effect is believed to have before a ridge
regression, logistic for classes: what shows no effect is shrunk to nothing, what shows a strong one
hardly at all. It is fitted on *all* cells that were bought; a cell that was not is at its column's
mean. What was fitted is then kept as points for bins of each feature, in fine steps: what is
printed, served and computed is the same.

What a few rows let one believe: most features have next to no effect, some a large one. Both priors
are of the spike-and-slab kind (George and McCulloch, 1993). *Boolean features, two classes*: the
difference of the log-odds of a 1 between the rarer class and the others is
.75 N(0, .35^2) + .25 N(.3, 1.6^2), on a grid, with the rate among the others known as well as it
was counted (also by earlier tasks). *Any column*: the standardised difference is
.75 N(0, .1^2) + .25 N(0, .6^2), in closed form. Both were chosen on tmc2007_500, rcv1s1_500 and
nhanes before this version and are the same for every table; learning them from a task's own rows
failed (docs/research).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit

from thrifty.models.fits.calibration import softmax
from thrifty.models.fits.columns import CATEGORY, NUMBER, STEP, Columns
from thrifty.models.fits.tree_ensembles import as_targets
from thrifty.models.scorecard import Bins, Points
from thrifty.models.table import MOST_FEATURES
from thrifty.typing import AnyArray, Bools, Floats, Ints

#: penalties, on standardised columns times their sizes: of any columns, and of Boolean rates.
#: distilled's C of .4 and .05; .2 to .8 and .03 to .1 are within .003 (docs/research)
_SHRINKAGE, _SHRINKAGE_OF_RATES = 2.5, 20.0
#: penalties of the ridge of numbers, tried by leaving out one row at a time
_PENALTIES = 10.0 ** np.arange(0.5, 3.6, 0.5)
_NODES, _MASSES = np.polynomial.hermite_e.hermegauss(9)
#: effects on the grid, and how likely each is before anything was seen
_EFFECTS = np.r_[0.35 * _NODES, 0.3 + 1.6 * _NODES]
_PRIOR = np.r_[0.75 * _MASSES, 0.25 * _MASSES] / _MASSES.sum()
#: the background rate is known up to sampling: three points of a normal (Gauss and Hermite)
_OFF, _OFF_MASS = np.array([-1.732, 0.0, 1.732]), np.array([1.0, 4.0, 1.0]) / 6
#: of standardised columns: (share, deviation) of the two parts
_PARTS = ((0.75, 0.1), (0.25, 0.6))


def believe_rates(
    rare: Floats, rare_ones: Floats, other: Floats, other_ones: Floats
) -> tuple[Floats, Floats, Floats, Floats]:
    """Effects of Boolean features: mean, variance, what they explain, and the background's rates.

    Parameters
    ----------
    rare, rare_ones : array of float
        rows of the rarer class that were sampled, by feature, and how many of them are 1
    other, other_ones : array of float
        the same outside that class, earlier tasks' rows included

    Examples
    --------
    >>> mean, *_ = believe_rates(*np.array([[20.0, 20], [18, 2], [40, 40], [4, 4]]))
    >>> bool(mean[0] > 2.5 and abs(mean[1]) < 0.3)
    True
    """
    pseudo = 5.0  # samples of its own that a background rate is drawn to the mean rate with
    overall = (other_ones.sum() + 1.0) / (other.sum() + 20.0)
    mu = np.clip((other_ones + pseudo * overall) / (other + pseudo), 1e-3, 1 - 1e-3)
    off = np.minimum(1 / np.sqrt((other + pseudo) * mu * (1 - mu)), 1.5)
    base = logit(mu)[:, None] + off[:, None] * _OFF
    p = np.clip(expit(base[:, :, None] + _EFFECTS), 1e-9, 1 - 1e-9).reshape(len(mu), -1)
    logs = np.log(np.outer(_OFF_MASS, _PRIOR).ravel())
    logs = logs + rare_ones[:, None] * np.log(p) + (rare - rare_ones)[:, None] * np.log1p(-p)
    weight = np.exp(logs - logs.max(axis=1, keepdims=True))
    weight /= weight.sum(axis=1, keepdims=True)
    effect = np.tile(_EFFECTS, len(_OFF))
    mean = weight @ effect
    spread = 0.7 * mu * (1 - mu) + 0.3 * (weight * p * (1 - p)).sum(axis=1)
    return mean, np.maximum(weight @ effect**2 - mean**2, 0.0), mean**2 * spread, mu


def believe_columns(columns: Floats, known: Bools, target: Floats) -> tuple[Floats, Floats]:
    """Effects of any columns on (n, t) targets: mean and variance, (t, columns).

    A column is seen on the rows where it is ``known``; what it holds elsewhere does not count.

    >>> x = np.linspace(-1, 1, 50)[:, None]
    >>> mean, variance = believe_columns(x, np.ones((50, 1), bool), (x > 0).astype(float))
    >>> bool(mean[0, 0] > 1.0)
    True
    """
    n = np.maximum(known.sum(axis=0), 1)
    z = np.where(known, columns, 0.0)
    z = np.where(known, z - z.sum(axis=0) / n, 0.0)
    spread = np.sqrt((z**2).sum(axis=0) / n)
    varies = spread > 1e-9
    z = z / np.where(varies, spread, 1.0)
    scale = np.maximum(target.std(axis=0), 1e-9)
    seen = ((target - target.mean(axis=0)) / scale**2).T @ z / n * varies
    noise = (1.0 / (n * scale[:, None] ** 2)) + np.zeros_like(seen)
    logs, means, left = [], [], []
    for share, deviation in _PARTS:
        total = deviation**2 + noise
        logs.append(np.log(share) - 0.5 * np.log(total) - seen**2 / (2 * total))
        means.append(seen * deviation**2 / total)
        left.append(deviation**2 * noise / total)
    weight = np.exp(np.array(logs) - np.max(logs, axis=0))
    weight /= weight.sum(axis=0)
    mean = (weight * np.array(means)).sum(axis=0)
    variance = (weight * (np.array(left) + np.array(means) ** 2)).sum(axis=0) - mean**2
    return mean, np.maximum(variance, 0.0)


def expected_size(mean: Floats, variance: Floats) -> Floats:
    """How large an effect is believed to be: what a column of a ridge is multiplied by."""
    # how much of the variance of a belief counts as size beside its mean: spec, adaptive ridge
    of_variance = 0.2
    return np.sqrt(mean**2 + of_variance * variance)


def fit_ridge(
    values: Floats, bought: Bools, targets: Sequence[AnyArray], n_classes: Sequence[int],
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
    goals = [y if n else _standardised(y, weights)[0] for y, n in zip(targets, n_classes)]
    mean, variance = believe_columns(design, known, as_targets(goals, n_classes))
    squares, at, slopes, end = expected_size(mean, variance) ** 2, [], [], 0
    for y, n in zip(targets, n_classes):
        begin, end = end, end + (n if n > 2 else 1)
        size = np.sqrt(squares[begin:end].mean(axis=0))  # over all its classes
        if n:
            fitted = fit_penalised(design * size, y, n, weights, _SHRINKAGE, tolerance=1e-7)
        else:
            target, centre, spread = _standardised(y, weights)
            steep = spread * _loo_ridge(design * size, target, weights)
            fitted = np.array([centre]), steep[:, None]
        at.append(fitted[0])
        slopes.append(size[:, None] * fitted[1])
    return _as_points(values, bought, categories, columns, np.concatenate(at), np.hstack(slopes))


def _standardised(y: AnyArray, weights: Floats) -> tuple[Floats, float, float]:
    """Numbers with mean 0 and spread 1; and what these were."""
    centre = float(np.average(y, weights=weights))
    spread = max(float(np.sqrt(np.average((y - centre) ** 2, weights=weights))), 1e-300)
    return (y - centre) / spread, centre, spread


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


def fit_penalised(
    design: Floats,
    codes: Ints,
    n_classes: int,
    weights: Floats,
    shrinkage: float,
    tolerance: float = 1e-9,
) -> tuple[Floats, Floats]:
    """Intercepts (c,) and coefficients (d, c); c is 1 for two classes, else one per class.

    The least of sum of w * log-loss + shrinkage / 2 * sum of squared coefficients; ``tolerance``:
    of the loss, where the search ends.
    """
    d, columns = design.shape[1], 1 if n_classes == 2 else n_classes
    target = np.eye(n_classes)[codes][:, -columns:]
    shares = np.bincount(codes, weights=weights, minlength=n_classes) + 1e-9
    start = np.log(shares / shares.sum())
    start = start[1:] - start[:1] if columns == 1 else start - start.mean()
    scale = 1.0 / weights.sum()  # an objective of order 1 whatever the weights

    def loss(flat: Floats) -> tuple[float, Floats]:
        at, slopes = flat[:columns], flat[columns:].reshape(d, columns)
        scores = design @ slopes + at
        if columns == 1:
            norm = np.logaddexp(0.0, scores)
            wrong = softmax(scores)[:, 1:] - target
        else:
            norm = np.logaddexp.reduce(scores, axis=1, keepdims=True)
            wrong = np.exp(scores - norm) - target
        value = weights @ (norm[:, 0] - (scores * target).sum(axis=1))
        wrong *= weights[:, None]
        value += 0.5 * shrinkage * float((slopes**2).sum())
        steps = design.T @ wrong + shrinkage * slopes
        return float(value * scale), np.concatenate([wrong.sum(axis=0), steps.ravel()]) * scale

    first = np.concatenate([start, np.zeros(d * columns)])
    options = {"maxiter": 200, "ftol": tolerance, "gtol": 1e-6, "maxcor": 20}
    found = minimize(loss, first, jac=True, method="L-BFGS-B", options=options).x
    return found[:columns], found[columns:].reshape(d, columns)
