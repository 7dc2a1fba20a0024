"""Label leakage: a feature that alone gives the label away is named before more is spent.

A discharge code tells who died, a test that is only made of the ill tells who is ill. Such a column
makes a perfect model that nobody can use. Every look at rows of both classes is judged as it comes
through the reader, so that the warning stands before the next purchase; nothing is refused.
"""

from __future__ import annotations

import numpy as np

from thrifty.cells import Cells
from thrifty.checks import warn_user
from thrifty.errors import LabelLeakage
from thrifty.labels.classes import Labels
from thrifty.typing import AnyArray, Bools, Floats, Ints


def watch_for_leakage(task: str, cells: Cells, labels: object) -> None:
    """Judge every look through a reader, where the task has two classes."""
    if isinstance(labels, Labels) and labels.n_classes == 2:
        cells.watch = _LeakageWatch(task, cells, labels.codes)


class _LeakageWatch:
    """Remembers how many rows each feature was judged on, and which were named.

    Rows of either class, and of a category's words each, are ``least`` or a look says nothing; in
    all five times as many. Not measured: eight rows among forty are separated by chance once in a
    hundred million times (40 over 8).
    """

    least = 8

    def __init__(self, task: str, cells: Cells, codes: Ints) -> None:
        self._task, self._cells, self._codes = task, cells, codes
        self._judged = np.zeros(cells.n_features, dtype=np.int64)
        self._named: set[int] = set()

    def __call__(self, rows: Ints, features: Ints, block: AnyArray) -> None:
        y = self._codes[rows] == 1
        if len(rows) < 5 * self.least or min(y.sum(), (~y).sum()) < self.least:
            return
        fresh = np.flatnonzero(2 * self._judged[features] <= len(rows))
        self._judged[features[fresh]] = len(rows)
        columns = [self._numbers(int(features[j]), block[:, j], y) for j in fresh.tolist()]
        if not columns:
            return
        aurocs = _auroc(np.column_stack(columns), y)
        # beyond 0.99 on a look it is named, as was asked for
        for j, auroc in zip(fresh.tolist(), aurocs.tolist()):
            f = int(features[j])
            if auroc > 0.99 and f not in self._named:
                self._named.add(f)
                self._say(self._cells.feature_names[f], auroc, len(rows))

    def _numbers(self, f: int, values: AnyArray, y: Bools) -> Floats:
        """A category by the share of its rows in the second class; numbers as they are."""
        numbers = np.asarray(values, dtype=np.float64)
        words = self._cells.categories.get(f)
        if words is None:
            return numbers
        if len(words) * self.least > len(y):
            return np.full(len(y), np.nan)
        out = np.full(len(y), np.nan)
        for word in np.unique(numbers[~np.isnan(numbers)]):
            here = numbers == word
            out[here] = y[here].mean()
        return out

    def _say(self, feature: str, auroc: float, rows: int) -> None:
        warn_user(
            f"{feature!r} alone predicts {self._task!r} (AUROC {auroc:.3f} on {rows} rows): it may "
            "be the label by another name, or known only after it. If so, learn without it: "
            f"features=[...] or --without {feature!r}. Here it is used like any other feature.",
            LabelLeakage,
        )


def _auroc(values: Floats, y: Bools, least: int = _LeakageWatch.least) -> Floats:
    """Of each column, in whichever direction tells more; NaN with too few rows that are no gaps.

    >>> _auroc(np.column_stack([np.arange(40.0), np.ones(40)]), np.arange(40) >= 20).tolist()
    [1.0, 0.5]
    """
    from scipy.stats import rankdata  # seconds to import, and bills are printed without it

    there = ~np.isnan(values)
    ranks = rankdata(np.where(there, np.clip(values, -1e300, 1e300), np.inf), axis=0)
    ours = there & y[:, None]
    n, every = ours.sum(axis=0), there.sum(axis=0)
    pairs = (n * (every - n)).astype(np.float64)
    pairs[np.minimum(n, every - n) < least] = np.nan
    found = (np.where(ours, ranks, 0.0).sum(axis=0) - n * (n + 1) / 2) / pairs
    return np.asarray(np.maximum(found, 1 - found))
