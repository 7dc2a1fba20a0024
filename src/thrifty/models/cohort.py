"""A control cohort: rows bought whole on purpose, so that later tasks pay for little but their own.

They are drawn without regard to any label. Their values go into the background of the features;
where the source has ids they are owned, and a later task whose ``y`` covers them has them for
nothing.
"""

from __future__ import annotations

import numpy as np

from thrifty.cells import Cells
from thrifty.errors import BadInput
from thrifty.models.memory import Lesson

__all__ = ["buy_cohort"]

#: rows read at a time
_ROWS = 512


def buy_cohort(cells: Cells, n: int, rng: np.random.Generator) -> Lesson:
    """Buy n rows whole, and say what they teach.

    >>> lesson = buy_cohort(Cells(np.eye(4, dtype=bool)), 4, np.random.default_rng(0))
    >>> lesson.looks.tolist(), lesson.ones.tolist()
    ([4.0, 4.0, 4.0, 4.0], [1.0, 1.0, 1.0, 1.0])
    """
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or not 1 <= n <= cells.n_examples:
        raise BadInput(
            f"rows must be a number of rows between 1 and the {cells.n_examples} there are; got "
            f"{n!r}."
        )
    rows = rng.permutation(cells.n_examples)[:n]
    every = np.arange(cells.n_features)
    boolean = np.flatnonzero(cells.boolean)
    ones = np.zeros(len(boolean))
    for start in range(0, n, _ROWS):
        values = cells.get(rows[start : start + _ROWS], every)
        ones += values[:, boolean].astype(np.float64).sum(axis=0)
    return Lesson(boolean, np.full(len(boolean), float(n)), ones, is_task=False)
