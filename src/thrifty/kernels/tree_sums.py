"""Scores of rows by many small trees: each row walks each tree, its leaves' values are added up."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thrifty.kernels.jit import jit

__all__ = ["sum_trees"]

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


#: rows that walk a tree side by side: none waits for another's memory; 64 were as quick as 256 on
#: physionet_icu (benchmarks/serving_rows.py)
_ROWS = 64


@jit
def _depths(left: Ints, right: Ints, roots: Ints) -> Ints:
    """How many steps the longest walk of each tree takes; children come after their parents."""
    steps = np.zeros(len(left), dtype=np.int64)
    for at in range(len(left) - 1, -1, -1):
        if left[at] != at:
            steps[at] = 1 + max(steps[left[at]], steps[right[at]])
    return steps[roots]


@jit
def _one_by_one(
    values: Floats, root: int, feature: Ints, threshold: Floats, left: Ints, right: Ints,
    gap_left: Bools, line: Ints, every: Floats, goes_left: Bools, begin: int, here: Ints,
) -> None:  # fmt: skip
    """Where rows end in a tree that cuts categories."""
    last = len(every)
    for i in range(len(here)):
        at = root
        while left[at] != at:
            x = values[begin + i, feature[at]]
            if line[at] >= 0:
                place = np.searchsorted(every, x)
                if place == last or every[place] != x:
                    place = last
                to_left = goes_left[line[at], place]
            elif np.isnan(x):
                to_left = gap_left[at]
            else:
                to_left = x <= threshold[at]
            at = left[at] if to_left else right[at]
        here[i] = at


@jit
def sum_trees(
    values: Floats, roots: Ints, column: Ints, feature: Ints, threshold: Floats, left: Ints,
    right: Ints, gap_left: Bools, value: Floats, line: Ints, every: Floats, goes_left: Bools,
    found: Floats,
) -> None:  # fmt: skip
    """Add to ``found`` (rows, columns) what every tree says of every row.

    A leaf points at itself. A node with ``line[node] >= 0`` cuts categories: ``goes_left`` has a
    row for it with a column for each of ``every``, sorted, and one for gaps and strangers.
    """
    plain = len(goes_left) == 0
    depths = _depths(left, right, roots)
    # the child for "no" and for "yes" side by side: a step is a look-up, without a branch to guess
    child = np.empty((len(left), 2), dtype=np.int64)
    child[:, 0], child[:, 1] = right, left
    block = np.empty(_ROWS, dtype=np.int64)
    for begin in range(0, len(values), _ROWS):
        n = min(_ROWS, len(values) - begin)
        here = block[:n]
        for t in range(len(roots)):
            if plain:
                here[:] = roots[t]
                for _ in range(depths[t]):
                    for i in range(n):
                        at = here[i]
                        x = values[begin + i, feature[at]]
                        to_left = (x <= threshold[at]) | ((x != x) & gap_left[at])
                        here[i] = child[at, int(to_left)]
            else:
                _one_by_one(
                    values,
                    roots[t],
                    feature,
                    threshold,
                    left,
                    right,
                    gap_left,
                    line,
                    every,
                    goes_left,
                    begin,
                    here,
                )
            for i in range(n):
                found[begin + i, column[t]] += value[here[i]]
