"""What one of several tasks wants told of the same rows: classes or numbers, gaps allowed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from thrifty.array_types import Bools, Floats, Ints
from thrifty.typing import AnyArray

__all__ = ["LEAST", "Target", "target_of_classes", "target_of_numbers", "target_of_rows"]

#: groups into which numbers are cut for drawing rows and growing trees: fifths; set by hand
_GROUPS = 5
#: rows of a class without which it is not told from others
LEAST = 2


@dataclass(frozen=True, eq=False)
class Target:
    """Labels of one task on all rows.

    Attributes
    ----------
    codes : array of int
        the class of each row, or the fifth that its number falls into; -1 where it has no label
    n_codes : int
        how many there are
    numbers : array of float or None
        the numbers themselves, NaN where there is none; None for classes

    >>> target_of_numbers(np.array([3.0, 1.0, np.nan, 2.0, 9.0, 4.0])).codes.tolist()
    [2, 0, -1, 1, 4, 3]
    """

    codes: Ints
    n_codes: int
    numbers: Floats | None = None

    @property
    def known(self) -> Bools:
        """Which rows have a label."""
        return self.codes >= 0

    @property
    def sizes(self) -> Ints:
        """Rows of each class."""
        return np.bincount(self.codes[self.known], minlength=self.n_codes)

    def of_rows(self, rows: Ints) -> Target:
        """Of some rows."""
        numbers = None if self.numbers is None else self.numbers[rows]
        return Target(self.codes[rows], self.n_codes, numbers)

    def labels_of(self, rows: Ints) -> AnyArray:
        """What a model of these rows is to say."""
        return self.codes[rows] if self.numbers is None else self.numbers[rows]

    def is_told_by(self, rows: Ints) -> bool:
        """Whether these rows hold enough of two classes, so that there is something to tell."""
        codes = self.codes[rows]
        ours = np.bincount(codes[codes >= 0], minlength=self.n_codes)
        return int((ours >= LEAST).sum()) >= 2

    def stands_for(self, rows: Ints) -> Floats:
        """How many rows of the task each of these stands for, by its class; 0 without a label."""
        codes = self.codes[rows]
        ours = np.bincount(codes[codes >= 0], minlength=self.n_codes)
        weight = np.append(self.sizes / np.maximum(ours, 1), 0.0)  # -1 is the last
        return np.asarray(weight[codes], dtype=np.float64)

    def of_present_classes(self) -> Target:
        """With codes of the classes alone that are there."""
        present, codes = np.unique(self.codes, return_inverse=True)
        start = int((present < 0).sum())
        return Target(codes.reshape(-1) - start, max(len(present) - start, 1), self.numbers)


def target_of_classes(codes: Ints, n_classes: int) -> Target:
    """Of class codes; -1: no label."""
    return Target(np.asarray(codes, dtype=np.int64), n_classes)


def target_of_rows(by_row: AnyArray) -> Target:
    """Of codes, -1 for none, or of numbers, NaN for none.

    >>> target_of_rows(np.array([0, -1, 2])).n_codes
    3
    """
    if by_row.dtype.kind == "f":
        return target_of_numbers(by_row)
    return target_of_classes(by_row, int(by_row.max(initial=0)) + 1)


def target_of_numbers(values: Floats) -> Target:
    """Of numbers, NaN for none; those of one fifth have one code."""
    values = np.asarray(values, dtype=np.float64)
    codes = np.full(len(values), -1, dtype=np.int64)
    known = np.flatnonzero(~np.isnan(values))
    place = np.empty(len(known), dtype=np.int64)
    place[np.argsort(values[known], kind="stable")] = np.arange(len(known))
    codes[known] = place * _GROUPS // max(len(known), 1)
    return Target(codes, _GROUPS, values)
