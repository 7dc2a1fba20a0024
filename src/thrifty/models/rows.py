"""In which order rows are bought: classes take turns, whatever is owned already comes first."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from thrifty.array_types import Bools, Floats, Ints
from thrifty.cells import Cells
from thrifty.models.fits.target import Target

__all__ = ["Rows"]

#: of the order of rows that tasks of one lifetime have in common
_SALT = 26


class Rows:
    """Rows one after another, each of the class that has least of its due.

    Of one label every class has the same due; of several each the root of its size, so that rare
    classes are there early whichever label they belong to, without crowding out the rest. Within a
    class rows that cost less come first, else all tasks of a lifetime have them in one order:
    what one task buys lies where the next one looks.

    >>> rows = Rows(Cells(np.zeros((6, 1))), [Target(np.array([0, 0, 0, 0, 1, 1]), 2)])
    >>> order = rows.upto(6)
    >>> (order >= 4).tolist()
    [True, False, True, False, False, False]
    """

    def __init__(
        self, cells: Cells, targets: Sequence[Target], costs: Floats | None = None
    ) -> None:
        base = cells.row_order(_SALT)
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
        self._base = base
        self._used = np.zeros(len(members), dtype=bool)
        self._order: list[int] = []
        self.n_rows = len(base)
        self._queue()

    def set_due(self, rare: float, after: int) -> None:
        """Of two classes: so many rows of the rarer one for each of the other.

        From row ``after`` on; what was looked at beyond it is put in order anew.
        """
        if len(self.size) != 2:
            return
        self._used[self._order[after:]] = False
        del self._order[after:]
        self._due = np.where(np.arange(2) == int(self.size.argmin()), rare, 1.0)
        self._had = 1e-6 * self.size
        self._queue()

    def _queue(self) -> None:
        """Rows that wait, class by class, the next one last."""
        base = self._base[~self._used[self._base]]
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
