"""Label leakage: a feature that alone gives the label away is named before more is spent.

A discharge code tells who died, a test that is only made of the ill tells who is ill. Such a column
makes a perfect model that nobody can use. Every look at rows of both classes is judged as it comes
through the reader, so that the warning stands before the next purchase; nothing is refused.
"""

from __future__ import annotations

import numpy as np

from thrifty.array_types import Bools, Floats, Ints
from thrifty.cells import Cells
from thrifty.checks import warn_user
from thrifty.errors import LabelLeakage
from thrifty.labels.classes import Labels
from thrifty.typing import AnyArray

__all__ = ["watch_for_leakage"]


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
        for j in fresh.tolist():
            f = int(features[j])
            found = _auroc(self._numbers(f, block[:, j], y), y)
            # beyond 0.99 on a look it is named, as was asked for
            if found is not None and found > 0.99 and f not in self._named:
                self._named.add(f)
                self._say(self._cells.feature_names[f], found, len(rows))

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


def _auroc(values: Floats, y: Bools, least: int = _LeakageWatch.least) -> float | None:
    """Of whichever direction tells more; None with too few rows that are no gaps.

    >>> _auroc(np.arange(40.0), np.arange(40) >= 20)
    1.0
    """
    there = ~np.isnan(values)
    ours, n = y[there], int(y[there].sum())
    others = len(ours) - n
    if min(n, others) < least:
        return None
    from scipy.stats import rankdata  # seconds to import, and bills are printed without it

    ranks = rankdata(values[there])
    found = (float(ranks[ours].sum()) - n * (n + 1) / 2) / (n * others)
    return max(found, 1 - found)
