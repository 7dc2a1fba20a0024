"""Rows that are alike, taken together: so that planning costs the same for any number of rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from thrifty.array_types import Floats, Ints
from thrifty.certified.targets import Target

__all__ = ["Strata"]

#: about so many groups of rows with about the same rate
_GROUPS = 64


@dataclass(frozen=True, eq=False)
class Strata:
    """Rows without a label in groups, those first of which a label is expected to change least."""

    #: the rows, group after group, and the group of each
    rows: Ints
    group: Ints
    size: Floats
    #: means over a group: how often it is wrong, what it counts (see Target)
    rate: Floats
    right: Floats
    extra: Floats
    #: what it is expected to count once its labels are bought
    bought: Floats

    @classmethod
    def of(cls, rows: Ints, rate: Floats, target: Target) -> Strata:
        """Cut rows into groups by their rates, and sort the groups."""
        kind = target.kind[rows]
        sizes = []
        for n in np.bincount(kind).tolist():
            pieces = min(n, max(2, round(_GROUPS * n / len(rows))))
            sizes.append(np.diff(np.linspace(0, n, pieces + 1).astype(np.int64)))
        cut = np.concatenate(sizes)
        sorted_rows = rows[np.lexsort((rate[rows], kind))]
        place = np.repeat(np.arange(len(cut)), cut)
        falls = np.bincount(place, weights=target.expected_falls(rate)[sorted_rows]) / cut
        order = np.argsort(falls, kind="stable")
        new_place = np.empty_like(order)
        new_place[order] = np.arange(len(order))
        moved = np.argsort(new_place[place], kind="stable")
        together, size = sorted_rows[moved], cut[order]
        group = np.repeat(np.arange(len(size)), size)
        bought = rate * target.bought_wrong + (1 - rate) * target.bought_right

        def mean(values: Floats) -> Floats:
            return np.asarray(np.bincount(group, weights=values[together]) / size)

        return cls(
            together,
            group,
            size.astype(np.float64),
            mean(rate),
            mean(target.right),
            mean(target.extra),
            mean(bought),
        )

    def deficit(self, rate: Floats, known: float) -> float:
        """The deficit at these rates, where rows with labels count so much less what is allowed."""
        return known + float((self.size * (self.right + self.extra * rate)).sum())
