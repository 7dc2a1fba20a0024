"""A control cohort: rows bought whole on purpose, so that later tasks pay for little but their own.

They are drawn without regard to any label. How often Boolean features are 1 goes into the
background; where there are numbers or categories the rows themselves are kept, as controls that are
known whole (:mod:`thrifty.models.memory.controls`). Where the source has ids the rows are owned,
and a later task whose ``y`` covers them has them for nothing.
"""

from __future__ import annotations

import numpy as np

from thrifty.array_types import Floats
from thrifty.cells import Cells
from thrifty.errors import BadInput
from thrifty.models.memory.controls import pack_cohort
from thrifty.models.memory.memory import Lesson, words_of

__all__ = ["buy_cohort"]

#: rows read at a time, for memory alone: what is bought does not depend on it
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
    # of Boolean features alone the rates are all that a later task uses
    kept: list[Floats] | None = None if len(boolean) == len(every) else []
    for start in range(0, n, _ROWS):
        values = np.asarray(cells.get(rows[start : start + _ROWS], every), dtype=np.float64)
        ones += values[:, boolean].sum(axis=0)
        if kept is not None:
            kept.append(values)
    whole = None if kept is None else pack_cohort(np.vstack(kept))
    looks = np.full(len(boolean), float(n))
    return Lesson(boolean, looks, ones, is_task=False, cohort=whole, words=words_of(cells))
