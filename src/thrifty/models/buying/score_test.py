"""Score tests of features: how well each tells the classes apart, alone or beyond a present model.

One statistic throughout: the score test (Rao, 1948) of the feature's points under the card's prior
(:mod:`thrifty.models.fits.points`), in which a trend counts most, a bend less, a gap is a bin. Over
what chance gives on average: chance alone gives 1.

On the residuals of a present model: for each bin of a feature the test of one more constant in the
log-odds: with residuals r = y - p and curvature h = p(1 - p), both out of fold, the log-likelihood
rises by (sum r)^2 / (2 sum h). Bins are eighths of the values; a gap is a bin, and so is a value
that alone makes up an eighth of the rows (a point mass, such as "the word does not occur").
"""

from __future__ import annotations

from collections.abc import Set

import numpy as np

from thrifty.array_types import Bools, Floats, Ints
from thrifty.kernels.binned_scores import binned_scores
from thrifty.models.buying.purses import Basket
from thrifty.models.fits.bins import make_bins
from thrifty.models.memory.controls import Controls

__all__ = ["drift_score", "score_tests", "bin_codes", "gains", "significant"]

#: bins of a feature. Set by hand before 0.2; not measured since
BINS = 8
#: beyond what chance gives on average, dof / 2, a gain has to show this much. Set by hand before
#: 0.2; not measured since
FLOOR = 3.0


def bin_codes(values: Floats, bought: Bools, bins: int = BINS) -> Ints:
    """The bin of every cell, column by column; -1 where it was not bought.

    >>> x = np.array([[0.0], [0.0], [0.0], [1.0], [2.0], [np.nan]])
    >>> bin_codes(x, np.ones((6, 1), bool))[:, 0].tolist()
    [1, 1, 1, 2, 3, 0]
    """
    codes = np.full(values.shape, -1, dtype=np.int64)
    for j in range(values.shape[1]):
        here = bought[:, j]
        codes[here, j] = _column(values[here, j], bins)
    return codes


def _column(x: Floats, bins: int) -> Ints:
    """0 for gaps, then point masses and quantile bins in the order of the values."""
    out = np.zeros(len(x), dtype=np.int64)
    known = ~np.isnan(x)
    if not known.any():
        return out
    level, inverse, counts = np.unique(x[known], return_inverse=True, return_counts=True)
    if len(level) <= bins:
        out[known] = 1 + inverse
        return out
    heavy = counts * bins >= counts.sum()
    light = np.where(heavy, 0, counts)
    room = max(bins - int(heavy.sum()), 1)
    total = max(int(light.sum()), 1)
    part = np.minimum((np.cumsum(light) - light) * room // total, room - 1)
    starts = np.ones(len(level), dtype=bool)  # a bin starts where the part or the kind changes
    starts[1:] = heavy[1:] | heavy[:-1] | (part[1:] != part[:-1])
    out[known] = np.cumsum(starts)[inverse]
    return out


def gains(codes: Ints, residuals: Floats, curvature: Floats, weights: Floats) -> Floats:
    """(features, 3): the gain, what it may be by chance, and the share of rows it was seen on.

    The gain is the rise of the log-likelihood over all rows of the table, as if the feature had
    been bought on all of them; significance is judged on the rows where it was bought.
    """
    found = np.zeros((codes.shape[1], 4))
    n_classes = residuals.shape[1]
    binned_scores(
        np.ascontiguousarray(codes.T),
        np.ascontiguousarray(residuals, dtype=np.float64),
        np.ascontiguousarray(curvature, dtype=np.float64),
        np.asarray(weights, dtype=np.float64),
        int(codes.max(initial=0)) + 1,
        found,
    )
    apart = (n_classes - 1) / n_classes  # residuals of all classes sum to 0: one of them is known
    dof = (found[:, 2] - 1) * max(n_classes - 1, 1)
    share = found[:, 3] / max(float(weights.sum()), 1e-12)
    rise = apart * found[:, 0] / np.maximum(share, 1e-12)
    out = np.column_stack([rise, apart * found[:, 1] - (dof / 2 + FLOOR), share])
    return np.where(found[:, 2:3] > 0, out, 0.0)


def significant(found: Floats) -> Bools:
    """Which features gain more than chance would."""
    return np.asarray(found[:, 1] > 0)


#: controls on which a feature must be known to compare rows with them; with all of controls set
#: beforehand (docs/models.md, *Numbers, categories, gaps, more than two classes*)
_KNOWN = 20
#: own rows of the largest class that must have been looked at; set beforehand too
_LEAST_ROWS = 4
#: bins of a feature at most; as many as the card has while a task buys
_BINS = 8
#: columns from which on all are tested together, and how many at once; set by hand: a block of 30
#: to 500 rows stays in the cache
_MANY, _BLOCK = 16, 512


def score_tests(
    basket: Basket,
    features: Ints,
    looked: int,
    n_classes: int,
    categories: Set[int],
    present: Floats | None = None,
    controls: Controls | None = None,
) -> Floats:
    """The score test of each feature on the first rows of the order.

    Parameters
    ----------
    features : Ints
        Which; each was bought on the first ``looked`` rows at least.
    present : Floats, optional
        (rows, classes) what is believed already; by default the shares of the classes.
    controls : Controls, optional
        Rows of earlier tasks that stand for the largest class; of these ``present`` has the last
        lines, NaN for such as are not to be used.
    """
    own, many = basket.codes[:looked], _largest(basket, n_classes)
    n_controls = 0 if controls is None else controls.n_rows
    found = np.zeros(len(features))
    one_by_one = list(range(len(features)))
    if controls is None and len(features) >= _MANY:
        found, one_by_one = _many_at_once(basket, features, looked, n_classes, categories, present)
    for i in one_by_one:
        f = int(features[i])
        column, y = basket.columns[f][:looked], own
        p = None if present is None else present[:looked]
        if controls is not None:
            at, values = controls.of(f)
            if p is not None and present is not None:
                theirs = present[len(present) - n_controls :][at]
                use = ~np.isnan(theirs[:, 0])
                values, p = values[use], np.vstack([p, theirs[use]])
            column, y = np.append(column, values), np.append(own, np.full(len(values), many))
        found[i] = _statistic(column, y, n_classes, f in categories, p)
    return found


def _many_at_once(
    basket: Basket,
    features: Ints,
    looked: int,
    n_classes: int,
    categories: Set[int],
    present: Floats | None,
) -> tuple[Floats, list[int]]:
    """The tests of all columns whose values all differ, and the places of the others."""
    found, others = np.zeros(len(features)), []
    y = basket.codes[:looked]
    p = _shares(y, n_classes) if present is None else present[:looked]
    for begin in range(0, len(features), _BLOCK):
        places = [
            i
            for i in range(begin, min(begin + _BLOCK, len(features)))
            if int(features[i]) not in categories
        ]
        others += sorted(set(range(begin, min(begin + _BLOCK, len(features)))) - set(places))
        if not places:
            continue
        table = np.stack([basket.columns[int(features[i])][:looked] for i in places], axis=1)
        tests, known = _statistics(table.astype(np.float64), y, n_classes, p)
        for i, test, is_known in zip(places, tests.tolist(), known.tolist()):
            if is_known:
                found[i] = test
            else:
                others.append(i)
    return found, sorted(others)


def _statistics(table: Floats, y: Ints, n_classes: int, p: Floats) -> tuple[Floats, Bools]:
    """The same as :func:`_statistic` of every column; False where its values do not all differ.

    Bins of values that all differ depend on their ranks alone, so that all columns have the same
    ones, and a bin's rows stand side by side once a column is sorted.
    """
    order = np.argsort(table, axis=0, kind="stable")
    ranked = np.take_along_axis(table, order, axis=0)
    differ: Bools = np.all(ranked[1:] > ranked[:-1], axis=0)  # NaN is above nothing
    bins = make_bins(np.arange(len(y), dtype=np.float64), np.ones(len(y)), max_bins=_BINS)
    basis = bins.basis()
    if not basis.shape[1]:
        return np.zeros(table.shape[1]), differ
    begins = np.cumsum([0, *bins.weight[:-2]]).astype(np.int64)
    doubt = np.add.reduceat((p * (1 - p)).sum(axis=1)[order], begins, axis=0)
    left = np.add.reduceat((np.eye(n_classes)[y] - p)[order], begins, axis=0)
    basis = basis[:-1]  # without gaps
    chance = (basis**2).sum(axis=1) @ doubt
    score = (np.einsum("bd,bmc->mdc", basis, left) ** 2).sum(axis=(1, 2))
    return score / np.maximum(chance, 1e-12), differ


def drift_score(
    basket: Basket,
    features: Ints,
    looked: int,
    n_classes: int,
    categories: Set[int],
    controls: Controls,
) -> float:
    """The mean score test of the largest class's rows against the controls; without drift: 1.

    1 too where there are fewer than four such rows: they would not show it.
    """
    rows = np.flatnonzero(basket.codes[:looked] == _largest(basket, n_classes))
    if len(rows) < _LEAST_ROWS:
        return 1.0
    found = []
    for f in features.tolist():
        values = controls.of(f)[1]
        if len(values) >= _KNOWN:
            here = np.append(np.ones(len(rows), dtype=np.int64), np.zeros(len(values), np.int64))
            column = np.append(basket.columns[f][rows], values)
            found.append(_statistic(column, here, 2, f in categories, None))
    return float(np.mean(found)) if found else 1.0


def _largest(basket: Basket, n_classes: int) -> int:
    return int(np.bincount(basket.codes, minlength=n_classes).argmax())


def _shares(y: Ints, n_classes: int) -> Floats:
    """(rows, classes) what the classes' shares say of every row."""
    return np.tile(np.bincount(y, minlength=n_classes) / len(y), (len(y), 1))


def _statistic(column: Floats, y: Ints, n_classes: int, category: bool, p: Floats | None) -> float:
    """The score test of one column's points against what is believed already."""
    if p is None:
        p = _shares(y, n_classes)
    bins = make_bins(column, np.ones(len(y)), max_bins=_BINS, category=category)
    basis = bins.basis()
    if not basis.shape[1]:
        return 0.0
    part = basis[bins.codes(column)]
    chance = float(((part**2).T @ (p * (1 - p))).sum())
    score = float(((part.T @ (np.eye(n_classes)[y] - p)) ** 2).sum())
    return score / max(chance, 1e-12)
