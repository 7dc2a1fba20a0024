"""Cells that count as gaps: asked for several times, and never answered.

They are kept beside the values, a column for each feature, so that a task, a prediction or another
process does not ask again and again for what is always refused. A value that comes later replaces
its gap; :func:`forget_gaps` lets all of them be asked for again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from thrifty.cells.ledger.book import Column, Pages
from thrifty.cells.ledger.compacted import Facts, read_column, write_column
from thrifty.cells.ledger.plan import Call

__all__ = ["Failures", "Gap", "OUTAGE", "forget_gaps", "known_gaps", "note_gaps", "take_back_gaps"]

_KIND = "gap"


@dataclass(frozen=True, slots=True)
class Gap:
    """A cell that counts as a gap: its source, example and feature, how often it was tried."""

    source: str
    example: str
    feature: str
    tries: int
    at: float


class _GapPages(Pages, Protocol):
    """Pages that can say which source a feature belongs to."""

    def sources_of(self, kind: str) -> dict[int, tuple[str, str]]: ...


def note_gaps(
    pages: Pages, examples: NDArray[np.int32], features: NDArray[np.int32], tries: int, now: float
) -> None:
    """Cells, an example and a feature each, are gaps from now on."""
    before = {c.number: read_column(c) for c in pages.columns(_KIND, np.unique(features).tolist())}
    columns = []
    for f in np.unique(features).tolist():
        who = np.unique(examples[features == f])
        facts = Facts(who, np.full(len(who), float(tries)), np.full(len(who), now))
        if f in before:
            facts = before[f].merged(facts)
        columns.append(write_column(_KIND, f, False, facts))
    pages.put_columns(columns)


def take_back_gaps(pages: Pages, examples: NDArray[np.int32], features: NDArray[np.int32]) -> None:
    """Cells, an example and a feature each, are no gaps any more."""
    columns = []
    for column in pages.columns(_KIND, np.unique(features).tolist()):
        gone = examples[features == column.number]
        columns.append(_without(column, gone)[0])
    pages.put_columns(columns)


def known_gaps(pages: _GapPages, source: str | None = None) -> list[Gap]:
    """Every gap of the store, or of one source, in the order of features and examples."""
    found: list[Gap] = []
    named = pages.sources_of("feature")
    for column in sorted(pages.columns(_KIND), key=lambda c: c.number):
        whose, feature = named[column.number]
        if source is not None and whose != source:
            continue
        facts = read_column(column)
        ids = pages.names("example", facts.examples.tolist())
        for id, tries, at in zip(ids, facts.values.tolist(), facts.times.tolist()):
            found.append(Gap(whose, id, feature, int(tries), at))
    return found


def forget_gaps(
    pages: _GapPages,
    source: str | None = None,
    features: Iterable[str] | None = None,
    examples: Iterable[str] | None = None,
) -> int:
    """Let gaps be asked for again: all, or those of a source, some features, some examples."""
    named, names = pages.sources_of("feature"), None if features is None else set(features)
    numbers = None if examples is None else pages.numbers("example", list(examples))
    columns, gone = [], 0
    for column in pages.columns(_KIND):
        whose, feature = named[column.number]
        if (source is not None and whose != source) or (names is not None and feature not in names):
            continue
        left, n = _without(column, numbers)
        columns.append(left)
        gone += n
    pages.put_columns(columns)
    return gone


def _without(column: Column, examples: NDArray[np.int32] | None) -> tuple[Column, int]:
    """A column less some examples, None: all; and how many it had."""
    facts = read_column(column)
    gone = np.ones(len(facts.examples), dtype=np.bool_)
    if examples is not None:
        gone = np.isin(facts.examples, examples)
    left = Facts(facts.examples[~gone], facts.values[~gone], facts.times[~gone])
    return write_column(column.kind, column.number, False, left), int(gone.sum())


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
