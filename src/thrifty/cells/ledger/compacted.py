"""Compacted columns: the purchases of a finished task become one block per feature, by example.

Cells that count as gaps, asked for several times and never answered, are kept in columns too, so
that a task, a prediction or another process does not ask again and again for what is always
refused. A value that comes later replaces its gap; :func:`forget_gaps` lets all of them be asked
for again.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from thrifty.cells.ledger.book import Column, Pages, reached
from thrifty.cells.ledger.purchase import Purchase, pack_arrays, unpack_arrays, unpack_values
from thrifty.errors import BadInput
from thrifty.typing import AnyArray, Floats, Numbers
from thrifty.untrusted import readable


def compact(pages: Pages, task: str) -> int:
    """Move the settled purchases of a task, and those of no task, into columns.

    Those of other tasks that are not finished stay as they are: should such a task have to begin
    again, its receipt still knows what it paid itself.
    """
    return _into_columns(pages, [*pages.settled_of(task), *(pages.settled_of("") if task else [])])


def compact_predictions(pages: Pages, cells: int) -> int:
    """Move what predictions that are over have bought into columns, once that is worth it.

    A column is written whole, however few of its cells are new: with rows that are bought one by
    one that would take longer the more of them are owned. So they wait, as they are, until a
    prediction has bought many ``cells`` or many purchases wait, which each reader reads one by one.
    """
    many_cells, many = 1000, 64
    if cells < many_cells and pages.n_settled_of_predictions() < many:
        return 0
    return _into_columns(pages, pages.settled_of_predictions())


def compact_all(pages: Pages) -> int:
    """Move every settled purchase of the store into columns."""
    return _into_columns(pages, pages.settled_after(0))


def _into_columns(pages: Pages, chosen: list[Purchase]) -> int:
    if not chosen:
        return 0
    parts: dict[tuple[str, int], list[Facts]] = {}
    boolean: dict[tuple[str, int], bool] = {}
    for purchase in chosen:
        _collect(purchase, parts, boolean)
    before: dict[tuple[str, int], Column] = {}
    for kind in {kind for kind, _ in parts}:
        numbers = [number for k, number in parts if k == kind]
        before.update(((kind, c.number), c) for c in pages.columns(kind, numbers))
    columns: list[Column] = []
    for (kind, number), facts in parts.items():
        old = before.get((kind, number))
        merged = facts[0] if len(facts) == 1 else _joined(facts)
        if old is not None:
            merged = read_column(old).merged(merged)
        columns.append(write_column(kind, number, boolean[kind, number], merged))
    pages.put_columns(columns)
    reached("in-compaction")
    pages.mark_compacted([p.id for p in chosen])
    return len(chosen)


def _collect(
    purchase: Purchase,
    parts: dict[tuple[str, int], list[Facts]],
    boolean: dict[tuple[str, int], bool],
) -> None:
    block = purchase.block
    assert purchase.answer is not None
    values = unpack_values(purchase.answer, block)
    order = np.argsort(block.examples, kind="stable")
    examples, values = block.examples[order], values[order]
    when = np.full(len(examples), purchase.settled_at)
    for j, f in enumerate(block.features.tolist()):
        parts.setdefault(("feature", f), []).append(Facts(examples, values[:, j], when))
        boolean["feature", f] = bool(block.boolean[j])
    for i, d in enumerate(block.draws.tolist()):
        rows = block.draw_rows[i][order]
        nothing = np.zeros(int(rows.sum()))
        parts.setdefault(("draw", d), []).append(Facts(examples[rows], nothing, when[rows]))
        boolean["draw", d] = True


def _joined(facts: Sequence[Facts]) -> Facts:
    """All of them in the order of their examples; of one cell, what was bought last counts."""
    examples = np.concatenate([f.examples for f in facts])
    values = np.concatenate([f.values for f in facts])
    times = np.concatenate([f.times for f in facts])
    if not len(examples):  # an order that was due on no row of any purchase
        return facts[0]
    order = np.lexsort((times, examples))
    last = np.append(examples[order][1:] != examples[order][:-1], True)
    keep = order[last]
    return Facts(examples[keep], values[keep], times[keep])


@dataclass(slots=True, eq=False)
class Facts:
    """Known cells of one feature: example numbers ascending, values, when they were bought."""

    examples: Numbers
    values: Floats
    times: Floats

    def merged(self, other: Facts) -> Facts:
        """Both together; where both know a cell, the one bought later counts."""
        if not len(self.examples):
            return other
        if not len(other.examples) or self.examples[-1] >= other.examples[0]:
            return _joined([self, other])
        return Facts(  # new examples have the next numbers
            np.concatenate([self.examples, other.examples]),
            np.concatenate([self.values, other.values]),
            np.concatenate([self.times, other.times]),
        )


def write_column(kind: str, number: int, boolean: bool, facts: Facts) -> Column:
    """Facts as a block: a bit for known, a bit (or eight bytes) for the value, times in runs."""
    known = np.zeros(int(facts.examples[-1]) + 1 if len(facts.examples) else 0, dtype=np.bool_)
    known[facts.examples] = True
    starts = np.append(True, facts.times[1:] != facts.times[:-1])[: len(facts.times)]
    if boolean:
        values: NDArray[np.uint8 | np.float64] = np.packbits(facts.values != 0)
    else:
        values = facts.values
    block = pack_arrays(
        {
            "known": np.packbits(known),
            "values": values,
            "runs": np.flatnonzero(starts).astype(np.int32),
            "times": facts.times[starts],
        }
    )
    column = Column(kind, number, boolean, block)
    _READ.keep(column, facts)  # it is read again by whoever asks next
    return column


def read_column(column: Column) -> Facts:
    """The inverse of :func:`write_column`; what it gives is not written to."""
    return _READ.facts(column)


class _ReadColumns:
    """Columns that were read of late, by their bytes: who serves rows reads the same ones again."""

    #: bytes of all that is kept, and of one column
    _ALL, _ONE = 1 << 26, 1 << 22

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[bool, bytes], Facts] = OrderedDict()
        self._size, self._lock = 0, threading.Lock()

    def facts(self, column: Column) -> Facts:
        key = column.boolean, column.block
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
                return found
        with readable("a column of the store"):
            found = _facts(column, unpack_arrays(column.block))
        self.keep(column, found)
        return found

    def keep(self, column: Column, facts: Facts) -> None:
        """What a column says, as :func:`read_column` would read it."""
        key = column.boolean, column.block
        size = _size(key, facts)
        if size > self._ONE:
            return
        for array in (facts.examples, facts.values, facts.times):
            array.flags.writeable = False
        with self._lock:
            if key not in self._kept:
                self._kept[key] = facts
                self._size += size
            while self._size > self._ALL:
                self._size -= _size(*self._kept.popitem(last=False))

    def forget(self) -> None:
        with self._lock:
            self._kept.clear()
            self._size = 0


def forget_columns() -> None:
    """Columns that were read are kept in memory no longer: a value of theirs was purged."""
    _READ.forget()


def _size(key: tuple[bool, bytes], facts: Facts) -> int:
    return len(key[1]) + facts.examples.nbytes + facts.values.nbytes + facts.times.nbytes


_READ = _ReadColumns()


def _facts(column: Column, a: dict[str, AnyArray]) -> Facts:
    if a["known"].dtype != np.uint8 or a["known"].ndim != 1 or len(a["known"]) > 1 << 22:
        raise ValueError(f"a bitmap of shape {a['known'].shape}")
    examples = np.flatnonzero(np.unpackbits(a["known"])).astype(np.int32)
    if column.boolean:
        values = np.unpackbits(a["values"], count=len(examples)).astype(np.float64)
    else:
        values = a["values"]
    lengths = np.diff(np.append(a["runs"], len(examples)))
    if values.shape != examples.shape or (len(lengths) and int(lengths.sum()) != len(examples)):
        raise ValueError(f"{len(examples)} examples and values of shape {values.shape}")
    return Facts(examples, values, np.repeat(a["times"], lengths))


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


def note_gaps(pages: Pages, examples: Numbers, features: Numbers, tries: int, now: float) -> None:
    """Cells, an example and a feature each, are gaps from now on."""
    before = {c.number: read_column(c) for c in pages.columns("gap", np.unique(features).tolist())}
    columns = []
    for f in np.unique(features).tolist():
        who = np.unique(examples[features == f])
        facts = Facts(who, np.full(len(who), float(tries)), np.full(len(who), now))
        if f in before:
            facts = before[f].merged(facts)
        columns.append(write_column("gap", f, False, facts))
    pages.put_columns(columns)


def take_back_gaps(pages: Pages, examples: Numbers, features: Numbers) -> None:
    """Cells, an example and a feature each, are no gaps any more."""
    columns = []
    for column in pages.columns("gap", np.unique(features).tolist()):
        gone = examples[features == column.number]
        columns.append(_without(column, gone)[0])
    pages.put_columns(columns)


def known_gaps(pages: _GapPages, source: str | None = None) -> list[Gap]:
    """Every gap of the store, or of one source, in the order of features and examples."""
    found: list[Gap] = []
    named = pages.sources_of("feature")
    for column in sorted(pages.columns("gap"), key=lambda c: c.number):
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
    for column in pages.columns("gap"):
        whose, feature = named[column.number]
        if (source is not None and whose != source) or (names is not None and feature not in names):
            continue
        left, n = _without(column, numbers)
        columns.append(left)
        gone += n
    pages.put_columns(columns)
    return gone


def _without(column: Column, examples: Numbers | None) -> tuple[Column, int]:
    """A column less some examples, None: all; and how many it had."""
    facts = read_column(column)
    gone = np.ones(len(facts.examples), dtype=np.bool_)
    if examples is not None:
        gone = np.isin(facts.examples, examples)
    left = Facts(facts.examples[~gone], facts.values[~gone], facts.times[~gone])
    return write_column(column.kind, column.number, False, left), int(gone.sum())


# -- taking out the values of one example; what it cost stays on the bill -----------------------

#: how the fingerprint of an id begins
_PURGED = "purged "
#: in the place of what a purchase said, which may quote a value
_NOTE = "the values of an example were taken out"


class PurgePages(Pages, Protocol):
    """What a store must be able to forget."""

    def answered(self) -> Sequence[Purchase]: ...
    def drop_known_rows(self) -> None: ...
    def drop_interviews(self, example: str) -> None: ...
    def note_purge(self, at: float, example: int) -> None: ...
    def purchases_in_store(self) -> Sequence[Purchase]: ...


def purge_example(pages: PurgePages, example: str, at: float) -> int:
    """Forget every value of an example, in every source; returns how many features had one.

    Its cells are not owned any more: whoever needs them buys them again, and is told. Purchases
    keep their lines and their money, without what was answered. Rows that a representation keeps
    (controls for later tasks) have no ids, so that all of them go: later tasks buy their own. A
    fingerprint takes the place of its id.
    """
    number = int(pages.numbers("example", [example])[0])
    if number < 0:
        raise BadInput(f"the store knows no example {example!r}.")
    compact_all(pages)
    gone = _from_columns(pages, number)
    forget_columns()
    for purchase in pages.purchases_in_store():
        said = purchase.answer is not None or purchase.note
        if said and number in purchase.block.examples.tolist():
            pages.take_answer(purchase.id, _NOTE)
    pages.drop_known_rows()
    again = sum(name.startswith(_fingerprint(example)) for name in _names(pages, pages.purged()))
    pages.rename("example", number, f"{_fingerprint(example)} {again}")
    pages.drop_interviews(example)
    pages.note_purge(at, number)
    return gone


def purged_rows(pages: Pages, examples: Sequence[str]) -> dict[int, float]:
    """Of these examples, the rows whose values were taken out of the store, and when."""
    gone: dict[int, float] = pages.purged()
    if not gone:
        return {}
    when: dict[str, float] = {}
    for number, name in zip(gone, _names(pages, gone)):
        # a store that was purged before ids were taken out has the id itself
        known = name.rpartition(" ")[0] if name.startswith(_PURGED) else name
        when[known] = max(gone[number], when.get(known, 0.0))
    names = [(_fingerprint(example), example) for example in examples]
    both = [when.get(mark, when.get(example)) for mark, example in names]
    return {row: at for row, at in enumerate(both) if at is not None}


def purged_since(
    pages: Pages, before: Collection[int], examples: Sequence[str]
) -> list[int] | None:
    """Rows of these examples that were purged since; None: nobody was purged at all."""
    new = [number for number in pages.purged() if number not in before]
    if not new:
        return None
    marks = {name.rpartition(" ")[0] for name in _names(pages, new)}
    return [row for row, example in enumerate(examples) if _fingerprint(example) in marks]


def renamed(pages: Pages, numbers: Iterable[int], examples: Sequence[str]) -> dict[int, int]:
    """Of numbers that a purge took the ids of, the rows whose they were."""
    listed = list(numbers)
    names = pages.names("example", listed)
    some = {n: name.rpartition(" ")[0] for n, name in zip(listed, names) if _PURGED in name[:7]}
    rows = {_fingerprint(example): row for row, example in enumerate(examples)} if some else {}
    return {number: rows[mark] for number, mark in some.items() if mark in rows}


def purge_again(pages: Pages, purchase: Purchase) -> None:
    """A purchase has just ended: nothing is kept of its examples that were purged meanwhile."""
    gone = set(pages.purged()) & set(purchase.block.examples.tolist())
    if not gone:
        return
    if purchase.status == "settled":  # the values of its other examples stand in columns then
        compact_all(pages)
        for number in gone:
            _from_columns(pages, number)
        forget_columns()
    pages.take_answer(purchase.id, _NOTE)


def _names(pages: Pages, numbers: Iterable[int]) -> list[str]:
    return pages.names("example", list(numbers))


def _fingerprint(example: str) -> str:
    """What stands for the id of an example that was taken out: tells it again, does not say it."""
    return _PURGED + hashlib.sha256(example.encode()).hexdigest()[:32]


def _from_columns(pages: Pages, number: int) -> int:
    gone, changed = 0, []
    for column in pages.columns():
        if column.kind not in ("feature", "counted", "gap"):
            continue
        facts = read_column(column)
        keep = facts.examples != number
        if keep.all():
            continue
        gone += 1
        left = Facts(facts.examples[keep], facts.values[keep], facts.times[keep])
        changed.append(write_column(column.kind, column.number, column.boolean, left))
    pages.put_columns(changed)
    return gone
