"""Cells that count as gaps: asked for several times, and never answered.

They are kept beside the values, a column for each feature, so that a task, a prediction or another
process does not ask again and again for what is always refused. A value that comes later replaces
its gap; :func:`forget_gaps` lets all of them be asked for again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from thrifty.cells.ledger.book import Column, Pages
from thrifty.cells.ledger.compacted import Facts, read_column, write_column

__all__ = ["Gap", "forget_gaps", "known_gaps", "note_gaps", "take_back_gaps"]

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
