"""What tasks want told of the rows, and in which order these are bought: classes take turns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from thrifty.cells import Cells
from thrifty.typing import AnyArray, Bools, Floats, Ints


@dataclass(frozen=True, eq=False)
class TaskLabels:
    """Labels of one task on all rows.

    Attributes
    ----------
    codes : array of int
        the class of each row, or the fifth that its number falls into; -1 where it has no label
    n_codes : int
        how many there are
    numbers : array of float or None
        the numbers themselves, NaN where there is none; None for classes

    Examples
    --------
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

    def of_rows(self, rows: Ints) -> TaskLabels:
        """Of some rows."""
        numbers = None if self.numbers is None else self.numbers[rows]
        return TaskLabels(self.codes[rows], self.n_codes, numbers)

    def labels_of(self, rows: Ints) -> AnyArray:
        """What a model of these rows is to say."""
        return self.codes[rows] if self.numbers is None else self.numbers[rows]

    def is_told_by(self, rows: Ints) -> bool:
        """Whether these rows hold enough of two classes, so that there is something to tell."""
        least = 2  # rows of a class without which it is not told from others
        codes = self.codes[rows]
        ours = np.bincount(codes[codes >= 0], minlength=self.n_codes)
        return int((ours >= least).sum()) >= 2

    def stands_for(self, rows: Ints) -> Floats:
        """How many rows of the task each of these stands for, by its class; 0 without a label."""
        codes = self.codes[rows]
        ours = np.bincount(codes[codes >= 0], minlength=self.n_codes)
        weight = np.append(self.sizes / np.maximum(ours, 1), 0.0)  # -1 is the last
        return np.asarray(weight[codes], dtype=np.float64)


def target_of_classes(codes: Ints, n_classes: int) -> TaskLabels:
    """Of class codes; -1: no label."""
    return TaskLabels(np.asarray(codes, dtype=np.int64), n_classes)


def target_of_numbers(values: Floats) -> TaskLabels:
    """Of numbers, NaN for none; those of one fifth have one code."""
    # groups into which numbers are cut for drawing rows and growing trees: fifths; set by hand
    groups = 5
    values = np.asarray(values, dtype=np.float64)
    codes = np.full(len(values), -1, dtype=np.int64)
    known = np.flatnonzero(~np.isnan(values))
    place = np.empty(len(known), dtype=np.int64)
    place[np.argsort(values[known], kind="stable")] = np.arange(len(known))
    codes[known] = place * groups // max(len(known), 1)
    return TaskLabels(codes, groups, values)


class Rows:
    """Rows one after another, each of the class that has least of its due.

    Of one label every class has the same due; of several each the root of its size, so that rare
    classes are there early whichever label they belong to, without crowding out the rest. Within a
    class rows that cost less come first, else all tasks of a lifetime have them in one order:
    what one task buys lies where the next one looks.

    >>> rows = Rows(Cells(np.zeros((6, 1))), [TaskLabels(np.array([0, 0, 0, 0, 1, 1]), 2)])
    >>> order = rows.upto(6)
    >>> (order >= 4).tolist()
    [True, False, True, False, False, False]
    """

    def __init__(
        self, cells: Cells, targets: Sequence[TaskLabels], costs: Floats | None = None
    ) -> None:
        salt = 26  # of the order of rows that tasks of one lifetime have in common
        base = cells.row_order(salt)
        base = base[np.any([target.known[base] for target in targets], axis=0)]
        if costs is not None:
            base = base[np.argsort(costs[base], kind="stable")]
        members = np.column_stack(
            [target.codes[:, None] == np.arange(target.n_codes) for target in targets]
        )
        self._members = members[:, members.any(axis=0)]
        self.size = self._members.sum(axis=0).astype(np.float64)
        self._due = np.ones(len(self.size)) if len(targets) == 1 else np.sqrt(self.size)
        self._had = 1e-6 * self.size  # of classes that had nothing yet the rarest goes first
        self._used = np.zeros(len(members), dtype=bool)
        self._order: list[int] = []
        self.n_rows = len(base)
        # rows that wait, class by class, the next one last
        self._waiting = [base[column[base]].tolist()[::-1] for column in self._members.T]

    def upto(self, n: int) -> Ints:
        """The first n rows."""
        while len(self._order) < min(n, self.n_rows):
            self._order.append(self._next())
        return np.array(self._order[:n], dtype=np.int64)

    def bring_forward(self, start: int, which: Bools) -> None:
        """Of the rows from ``start`` on, those come first that are chosen; all are in order now."""
        rest = np.array(self._order[start:], dtype=np.int64)
        self._order[start:] = [*rest[which].tolist(), *rest[~which].tolist()]

    def _next(self) -> int:
        for group in np.argsort(self._had / self._due, kind="stable").tolist():
            waiting = self._waiting[group]
            while waiting and self._used[waiting[-1]]:
                waiting.pop()
            if waiting:
                row = int(waiting.pop())
                self._used[row] = True
                self._had += self._members[row]
                return row
        raise AssertionError("every row was taken")
