"""Which cells failed how often, and when that makes them gaps.

A call that fails as a whole says nothing of its single examples: they are asked for in halves,
until it is one example that fails. What looks like an outage makes no gaps.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from thrifty.cells.ledger.plan import Call

__all__ = ["OUTAGE", "Failures"]

#: examples that may become gaps though nothing was answered since they first failed; set by hand
OUTAGE = 10


class Failures:
    """What failed in one task.

    >>> found = Failures(gaps=True, tries=2)
    >>> one, feature = np.array([3]), np.array([0])
    >>> len(found.count(one, feature, answers=5)), found.count(one, feature, answers=6).tolist()
    (0, [[3, 0]])
    """

    def __init__(self, gaps: bool, tries: int) -> None:
        self.gaps, self.tries = gaps, tries
        #: whether something is to be asked for again when everything else is done
        self.again = False
        #: how often a cell (row, feature) failed, and how many answers there were at first
        self._failed: dict[tuple[int, int], tuple[int, int]] = {}
        #: how many examples a call about a row may have
        self._most: dict[int, int] = {}
        #: gaps of which nothing says that the provider was at work
        self._doubtful: list[tuple[int, int]] = []
        self._doubtful_since = 0

    def copy(self) -> Failures:
        """The same, to go back to."""
        made = Failures(self.gaps, self.tries)
        made.again, made._failed, made._most = self.again, dict(self._failed), dict(self._most)
        made._doubtful, made._doubtful_since = list(self._doubtful), self._doubtful_since
        return made

    def halve(self, rows: NDArray[np.int64]) -> None:
        """A call about these rows failed: ask for half as many at once."""
        half = -(-len(rows) // 2)
        for r in rows.tolist():
            self._most[r] = min(half, self._most.get(r, half))

    def apart(self, calls: Iterable[Call]) -> Iterator[Call]:
        """Calls with no more rows than each of their rows may share a call with."""
        for call in calls:
            if not self._most:
                yield call
                continue
            most = np.array([self._most.get(r, 0) for r in call.rows.tolist()])
            for size in np.unique(most).tolist():
                rows = call.rows[most == size]
                step = size or len(rows)
                for i in range(0, len(rows), step):
                    yield call.on(rows[i : i + step])

    def count(
        self, rows: NDArray[np.int64], features: NDArray[np.int64], answers: int
    ) -> NDArray[np.int64]:
        """Count a failure of every cell; those (row, feature) that have failed too often."""
        over = []
        for r in rows.tolist():
            for f in features.tolist():
                times, since = self._failed.get((r, f), (0, answers))
                self._failed[r, f] = times + 1, since
                if times + 1 >= self.tries:
                    over.append((r, f))
        return np.array(over, dtype=np.int64).reshape(-1, 2)

    def looks_like_an_outage(self, over: NDArray[np.int64], answers: int) -> bool:
        """Whether too many examples would become gaps with no answer since they first failed."""
        if answers != self._doubtful_since:  # somebody was answered: it is at work
            self._doubtful.clear()
        self._doubtful_since = answers
        self._doubtful += [(r, f) for r, f in over.tolist() if self._failed[r, f][1] == answers]
        return len({r for r, _ in self._doubtful}) > OUTAGE

    def taken_back(self) -> NDArray[np.int64]:
        """The doubtful gaps (row, feature) that were noted before; they are none any more."""
        noted = np.array(self._doubtful, dtype=np.int64).reshape(-1, 2)
        self._doubtful.clear()
        for r, f in noted.tolist():
            self._failed.pop((r, f), None)
        return noted
