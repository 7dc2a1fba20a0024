"""How rows are parted into folds: every way that is in use, side by side.

Each gives the fold of every row. They differ in what is held equal between folds and in what is
drawn, and each is kept to the bit for the models that were measured with it. With ``groups`` it is
groups that are dealt out, each by the class of its first row: no group is ever parted.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn.model_selection import StratifiedKFold

from thrifty.array_types import Floats, Ints

__all__ = [
    "folds_by_content",
    "folds_in_turn",
    "folds_in_turn_by_class",
    "shuffled_folds",
    "stratified_folds",
    "stratified_k_folds",
]

#: folds of the mixture: two thirds of some hundred rows fit, a third judges; set by hand
_FOLDS = 3
#: different rows of a class that a fold by content needs; set by hand
_DIFFERENT = 10
#: what a gap counts as in the sum that rows are known again by; any number that no cell holds
_GAP = 0.7310585


def _of_groups(groups: Ints, make: Callable[[Ints], Ints | None]) -> Ints | None:
    """The fold of each row, where ``make`` deals out one row of every group."""
    _, first, at = np.unique(groups, return_index=True, return_inverse=True)
    folds = make(first)
    return None if folds is None else np.asarray(folds[at.reshape(-1)], dtype=np.int64)


def stratified_folds(
    codes: Ints, rng: np.random.Generator, groups: Ints | None = None
) -> Ints | None:
    """Three folds, each class shuffled and dealt out; None where one has fewer rows than folds.

    Of the mixture, of what half as many rows would bring, and of a user's classifier's quality.

    >>> folds = stratified_folds(np.array([0] * 6 + [1] * 3), np.random.default_rng(0))
    >>> np.bincount(folds).tolist(), sorted(folds[6:].tolist())
    ([3, 3, 3], [0, 1, 2])
    >>> parts = stratified_folds(np.arange(18) % 2, np.random.default_rng(0), np.arange(18) // 3)
    >>> parts is None  # six groups, all of which begin with another class: three of each
    False
    """
    if groups is not None:
        n_classes = int(codes.max()) + 1
        found = _of_groups(groups, lambda first: stratified_folds(codes[first], rng))
        # a fold without a class, or all of one, judges nothing
        if found is None or _parted(found, codes, n_classes).min() == 0:
            return None
        return found
    if np.bincount(codes).min() < _FOLDS:
        return None
    folds = np.zeros(len(codes), dtype=np.int64)
    for label in np.unique(codes):
        rows = rng.permutation(np.flatnonzero(codes == label))
        folds[rows] = np.arange(len(rows)) % _FOLDS
    return folds


def _parted(folds: Ints, codes: Ints, n_classes: int) -> Ints:
    """How many rows of each class are outside of each fold."""
    outside = [np.bincount(codes[folds != f], minlength=n_classes) for f in np.unique(folds)]
    return np.array(outside)


def stratified_k_folds(y: Ints, folds: int, seed: int, groups: Ints | None = None) -> Ints:
    """scikit-learn's stratified folds; fewer of them where a class has fewer rows.

    Of the proxy model that orders questions, and of a user's estimator at each prefix. With a
    class of one row: in turn, two folds at least.

    >>> stratified_k_folds(np.array([0, 0, 0, 1]), 4, 0).tolist()
    [0, 1, 2, 3]
    """
    if groups is not None:
        found = _of_groups(groups, lambda first: stratified_k_folds(y[first], folds, seed))
        assert found is not None
        return found
    rarest = int(np.bincount(y)[np.unique(y)].min())
    if rarest < 2:
        return folds_in_turn(len(y), max(2, folds))
    split = StratifiedKFold(min(folds, rarest), shuffle=True, random_state=seed)
    out = np.zeros(len(y), dtype=np.int64)
    for i, (_, test) in enumerate(split.split(y[:, None], y)):
        out[test] = i
    return out


def folds_by_content(values: Floats, codes: Ints, n_folds: int) -> Ints | None:
    """Folds by content, stratified: equal rows share one, so that two rows are one of weight 2.

    Of a scorecard's calibration. None where a class has fewer than ten different rows a fold: what
    is left out would be unlike what is kept.

    >>> folds = folds_by_content(np.arange(40.0)[:, None] % 20, np.zeros(40, dtype=int), 2)
    >>> bool((folds[:20] == folds[20:]).all())
    True
    """
    mix = np.random.default_rng(0).normal(size=values.shape[1])
    keys = np.nan_to_num(values, nan=_GAP, posinf=1e9, neginf=-1e9) @ mix
    found = np.zeros(len(codes), dtype=np.int64)
    for label in np.unique(codes):
        rows = np.flatnonzero(codes == label)
        different, at = np.unique(keys[rows], return_inverse=True)
        if len(different) < _DIFFERENT * n_folds:
            return None
        order = np.random.default_rng(1).permutation(len(different))
        found[rows] = (order % n_folds)[at]
    return found


def shuffled_folds(n_rows: int, n_folds: int, seed: int, groups: Ints | None = None) -> Ints:
    """Folds at random, whatever the labels.

    Of the mixture of numbers, of a regressor's quality, and of the halves on which a recurring
    label's core is judged.

    >>> np.bincount(shuffled_folds(9, 3, 0)).tolist()
    [3, 3, 3]
    """
    if groups is not None:
        found = _of_groups(groups, lambda first: shuffled_folds(len(first), n_folds, seed))
        assert found is not None
        return found
    return np.asarray(np.random.default_rng(seed).permutation(n_rows) % n_folds, dtype=np.int64)


def folds_in_turn(n_rows: int, n_folds: int, groups: Ints | None = None) -> Ints:
    """Row i is in fold i % n: for rows whose order was drawn already.

    Of the error by which a table of numbers is cut, and of what half as many rows would bring it.

    >>> folds_in_turn(5, 2).tolist()
    [0, 1, 0, 1, 0]
    """
    if groups is not None:
        found = _of_groups(groups, lambda first: folds_in_turn(len(first), n_folds))
        assert found is not None
        return found
    return np.asarray(np.arange(n_rows) % n_folds, dtype=np.int64)


def folds_in_turn_by_class(codes: Ints, n_folds: int, groups: Ints | None = None) -> Ints:
    """The same within each of two classes, for rows whose order was drawn already.

    Of the joint rows of a wide table.

    >>> folds_in_turn_by_class(np.array([0, 0, 1, 1]), 2).tolist()
    [0, 1, 0, 1]
    """
    if groups is not None:
        found = _of_groups(groups, lambda first: folds_in_turn_by_class(codes[first], n_folds))
        assert found is not None
        return found
    folds = np.zeros(len(codes), dtype=np.int64)
    for code in (0, 1):
        at = np.flatnonzero(codes == code)
        folds[at] = folds_in_turn(len(at), n_folds)
    return folds
