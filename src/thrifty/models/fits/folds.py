"""How rows are parted into folds: one way for everything that is judged on held-out rows."""

from __future__ import annotations

import numpy as np

from thrifty.typing import Floats, Ints

#: folds wherever held-out rows judge a fit: more take longer and say the same within their error
FOLDS = 3


def make_folds(
    n_rows: int, n_folds: int, seed: int, codes: Ints | None = None, groups: Ints | None = None
) -> Ints | None:
    """The fold of each row; None where held-out rows could judge nothing.

    Rows are shuffled and dealt out in turn, with ``codes`` class by class. Rows of one group are
    never parted; a group counts as of the class of its first row. None: a class has fewer rows (or
    groups) than folds, or some fold's other rows lack a class.

    >>> folds = make_folds(9, 3, 0, np.array([0] * 6 + [1] * 3))
    >>> np.bincount(folds).tolist(), sorted(folds[6:].tolist())
    ([3, 3, 3], [0, 1, 2])
    >>> parts = make_folds(18, 3, 0, groups=np.arange(18) // 3)
    >>> bool((parts.reshape(6, 3) == parts.reshape(6, 3)[:, :1]).all())
    True
    >>> make_folds(4, 3, 0, np.array([0, 0, 0, 1])) is None
    True
    """
    at = np.arange(n_rows)
    first = at
    if groups is not None:
        _, first, at = np.unique(groups, return_index=True, return_inverse=True)
        at = at.reshape(-1)
    kinds = np.zeros(len(first), dtype=np.int64) if codes is None else codes[first]
    if len(first) < n_folds or np.unique(kinds, return_counts=True)[1].min() < n_folds:
        return None
    rng = np.random.default_rng(seed)
    folds = np.zeros(len(first), dtype=np.int64)
    for kind in np.unique(kinds):
        some = rng.permutation(np.flatnonzero(kinds == kind))
        folds[some] = np.arange(len(some)) % n_folds
    found = folds[at]
    if codes is not None and groups is not None:
        present = np.unique(codes)
        outside = (np.isin(present, codes[found != k]).all() for k in range(n_folds))
        if not all(outside):
            return None
    return np.asarray(found, dtype=np.int64)


def deal_out(n_rows: int, n_folds: int, groups: Ints | None = None) -> Ints:
    """Rows in turn, whatever their class, where :func:`make_folds` finds nothing; groups whole.

    >>> deal_out(5, 2, np.array([7, 7, 8, 9, 9])).tolist()
    [0, 0, 1, 0, 0]
    """
    at = np.arange(n_rows)
    if groups is not None:
        at = np.unique(groups, return_inverse=True)[1].reshape(-1)
    return np.asarray(at % n_folds, dtype=np.int64)


def content_groups(values: Floats) -> Ints:
    """Equal rows are one group, so that two of them are one of weight 2.

    >>> content_groups(np.array([[1.0, np.nan], [2.0, 0.0], [1.0, np.nan]])).tolist()
    [0, 1, 0]
    """
    keys = np.nan_to_num(values, nan=np.inf)
    return np.asarray(np.unique(keys, axis=0, return_inverse=True)[1].reshape(-1), dtype=np.int64)
