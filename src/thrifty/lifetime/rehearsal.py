"""A task rehearsed on made-up values: what it would buy, in how many calls; nobody is called.

The family learns the task as it would, with its labels, prices, budget and all that is owned by
now, from a provider that answers what is drawn. The values tell the label a little, each feature
as much as any other, so that the rehearsal stops where a hard task would: what a family spends is
ruled by what it may spend far more than by what it finds. With ``spend=`` a real task costs what
its rehearsal did, within a few percent (`python benchmarks/quotes.py`); without, it may stop far
sooner.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from thrifty.array_types import Floats, Ints
from thrifty.cells import Budget, Cells, Ledger, Source
from thrifty.cells.prices.price_list import PriceList, PricesLike, Tariff
from thrifty.cells.sources.array import ArraySource
from thrifty.cells.sources.callable import CallableSource
from thrifty.labels.classes import Labels
from thrifty.labels.numbers import Numbers
from thrifty.lifetime.booking import OpenTask
from thrifty.protocol import AnyFamily, Representation
from thrifty.stores import MemoryStore
from thrifty.typing import AnyArray, KindsLike

__all__ = ["MOST_CELLS", "TELLS", "Rehearsed", "rehearse"]

#: tables of more cells are not rehearsed: their values would have to be made up
MOST_CELLS = 5_000_000
#: how far the mean of a number moves between two classes, in its standard deviations; set by hand
TELLS = 0.4
#: how often a Boolean is 1
_OFTEN = 0.1


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """What the rehearsal of a task bought, in how many calls, and how long it computed."""

    cells: int
    cost: float
    calls: int
    seconds: float


def rehearse(
    family: AnyFamily,
    representation: Representation,
    task: OpenTask,
    prices: PricesLike,
    spend: float | None,
    tells: float = TELLS,
) -> Rehearsed:
    """Learn a task that was opened, from made-up values, in a ledger of its own.

    ``tells``: how much the values tell of the label; of 0 nothing is learned, and a family that
    stops where more would not pay stops as soon as it ever does.
    """
    allowed, currency = task.cells.allowance, task.cells.currency
    ledger = Ledger(MemoryStore().book("rehearsal", {}, {}), None)
    drawn = _Drawn(task, tells)
    played: Source
    if isinstance(task.source, CallableSource):
        played = actor = _Actor(task.source, drawn)
        _own(task, actor, ledger, prices)
        actor.calls = 0
    else:
        played = drawn.table()
    if allowed is not None and spend is None:
        left = f"{allowed:.6f} {currency}" if currency else allowed
        ledger.budget = Budget(per_task=left)
    cells = Cells(
        played,
        prices,
        owned=task.owned,  # of a table; an actor's are in the ledger
        ledger=ledger,
        task="rehearsal",
        spend=spend,
        match=task.features.match,
    )
    cells.row_seed = task.cells.row_seed
    begun = time.perf_counter()
    family.use_rep(representation, cells, task.labels)
    receipt, calls = cells.receipt(), getattr(played, "calls", 0)
    return Rehearsed(receipt.cells, receipt.cost, calls, time.perf_counter() - begun)


class _Drawn:
    """Made-up values of the task's features, each of its own kind."""

    def __init__(self, task: OpenTask, tells: float) -> None:
        self.source, self._tells = task.source, tells * _lean(task.labels)
        self._random = np.random.default_rng(0)

    def column(self, f: int, rows: Ints) -> Floats:
        """A feature on these rows: the place of its word, 0 or 1, or a number."""
        lean = self._tells[rows]
        if f in self.source.categories:
            n_words = max(len(self.source.categories[f]), 1)
            return self._random.integers(n_words, size=len(rows)).astype(np.float64)
        sign = 1 if f % 2 else -1
        if self.source.boolean[f]:
            odds = _OFTEN / (1 - _OFTEN) * np.exp(2 * sign * lean)
            return (self._random.random(len(rows)) < odds / (1 + odds)).astype(np.float64)
        return self._random.normal(size=len(rows)) + sign * lean

    def table(self) -> ArraySource:
        """All of it, in place of a table."""
        played = self.source
        every = np.arange(played.n_examples)
        columns = [self.column(f, every) for f in range(played.n_features)]
        made = ArraySource(np.column_stack(columns), played.feature_names, allow_missing=True)
        made.categories, made.present = dict(played.categories), played.present
        made.boolean[:] = played.boolean
        return made


class _Actor(CallableSource):
    """Plays the task's provider: the same examples, features, kinds, prices and limits."""

    def __init__(self, played: CallableSource, drawn: _Drawn) -> None:
        self._played, self._drawn = played, drawn
        super().__init__(
            self._answer,
            examples=played.examples,
            features=played.feature_names,
            boolean=[n for n, is_one in zip(played.feature_names, played.boolean) if is_one],
            kinds=_kinds(played),
            name="rehearsal",
            allow_missing=True,
            limits=replace(played.limits, per_second=None, concurrency=1),
        )
        self.prices = played.prices
        self._rows = {id: row for row, id in enumerate(played.examples)}
        self._columns = {name: f for f, name in enumerate(played.feature_names)}
        self.calls = 0

    def tariff(self, prices: PriceList) -> Tariff:
        """As the one it plays has it: a question costs by its text."""
        return self._played.tariff(prices)

    def _answer(self, ids: Sequence[object], names: Sequence[str]) -> list[list[object]]:
        self.calls += 1
        rows = np.array([self._rows[str(id)] for id in ids])
        return [list(row) for row in zip(*(self._words(self._columns[n], rows) for n in names))]

    def _words(self, f: int, rows: Ints) -> list[object]:
        drawn = self._drawn.column(f, rows).tolist()
        words = self.categories.get(f)
        return drawn if words is None else [words[int(place)] for place in drawn]


def _kinds(played: Source) -> KindsLike:
    """Categories as they can be answered; of all others the kind is known."""
    names = played.feature_names
    return {
        names[f]: list(words) if words else "number" for f, words in played.categories.items()
    } or None


def _lean(labels: object) -> Floats:
    """What of each row the values may tell: its class, or how large its number is."""
    if isinstance(labels, Numbers):
        order = np.argsort(np.argsort(labels.values))
        return np.asarray(2 * order / max(len(order) - 1, 1) - 1)
    assert isinstance(labels, Labels), "Models reads classes and numbers"
    codes = labels.codes.astype(np.float64)
    return np.asarray(codes - codes.mean())


def _own(task: OpenTask, actor: _Actor, ledger: Ledger, prices: PricesLike) -> None:
    """What is owned of the task's rows by now is owned in the rehearsal too."""
    cells = task.cells
    every = np.arange(cells.n_examples), np.arange(cells.n_features)
    cells.price_of(*every)  # looks up what is owned of a source that costs
    owned = cells.meter.owned
    if not owned.everything and not owned.count():
        return
    door = Cells(actor, prices, ledger=ledger, task="before", match=None)
    columns = np.arange(actor.n_features)
    if owned.everything:
        door.get(every[0], columns)
        return
    bits = owned.bitmap.view(np.uint8)
    masks: dict[bytes, list[int]] = {}
    for f in columns.tolist():
        if bits[f].any():
            masks.setdefault(bits[f].tobytes(), []).append(f)
    for mask, features in masks.items():
        door.get(_rows(mask, actor.n_examples), features)


def _rows(mask: bytes, n: int) -> AnyArray:
    return np.flatnonzero(np.unpackbits(np.frombuffer(mask, dtype=np.uint8), bitorder="little")[:n])
