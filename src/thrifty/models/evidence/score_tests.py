"""Score tests of features against classes: of all columns at once where that can be.

The test (Rao, 1948) of a feature's points under the card's prior
(:mod:`thrifty.models.fits.points`), over what chance gives on average, which is 1; against the
shares of the classes, or against what a present model says. Rows of earlier tasks may stand for the
largest class, and whether they are like this task's is tested the same way.
"""

from __future__ import annotations

from collections.abc import Set

import numpy as np

from thrifty.array_types import Bools, Floats, Ints
from thrifty.models.fits.bins import make_bins
from thrifty.models.memory.controls import Controls
from thrifty.models.purses.purse import Basket

__all__ = ["drift_score", "score_tests"]

#: controls on which a feature must be known to compare rows with them; with all of controls set
#: beforehand (docs/models.md, *Numbers, categories, gaps, more than two classes*)
_LEAST_CONTROLS = 20
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
        if len(values) >= _LEAST_CONTROLS:
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
