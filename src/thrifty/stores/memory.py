"""A lifetime without a store: its ledger has a book in memory, all else stays the object it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from thrifty.agnostic import Counts, Rule
from thrifty.cells import Ledger
from thrifty.cells.prices.money import Budget
from thrifty.protocol import AnyFamily, Representation
from thrifty.stores.base import LifetimeBook
from thrifty.stores.model_pages import VersionRow
from thrifty.stores.pages import SqlPages
from thrifty.stores.saved import Finished, Merge, SavedLifetime, Snapshot, beside, charge_task
from thrifty.stores.settings import Settings
from thrifty.stores.sqlite import MemoryStore
from thrifty.stores.task_pages import TaskHead, TaskRow
from thrifty.typing import Json, JsonLike

T = TypeVar("T")


class MemoryBook(LifetimeBook):
    """The book of a lifetime without a store.

    What is merely counted waits until somebody looks: a task of a stream takes less time to learn
    than a transaction takes.
    """

    def __init__(self, start: Callable[[], tuple[Json, Json]]) -> None:
        self._memory = MemoryStore()
        super().__init__(self._memory, "memory", 0)
        #: family and representation as a book begins with them
        self._start = start
        self._waiting: list[Callable[[SqlPages], None]] = []

    def _begin(self) -> None:
        if not self.id:
            self.id = self.store.book(self.name, *self._start()).id
        if self._waiting:
            super().write(lambda pages: [work(pages) for work in self._waiting])
            self._waiting.clear()

    def write(self, work: Callable[[SqlPages], T]) -> T:
        with self._memory._lock:
            self._begin()
            return super().write(work)

    def read(self, work: Callable[[SqlPages], T]) -> T:
        with self._memory._lock:
            self._begin()
            return super().read(work)

    def peek(self, work: Callable[[SqlPages], T], nothing: T) -> T:
        return self.read(work) if self.id else nothing

    def later(self, work: Callable[[SqlPages], None]) -> None:
        with self._memory._lock:
            self._waiting.append(work)
            if self.id:
                self._begin()


class MemoryLifetime(SavedLifetime):
    """One that is gone with its process."""

    in_memory = True

    def __init__(self, family: AnyFamily, rule: Rule, settings: Settings) -> None:
        book = MemoryBook(lambda: (self.family.to_dict(), beside(Counts(), self.rule)))
        super().__init__(book, family, rule, settings)
        self._rows: dict[str, Callable[[], TaskRow]] = {}

    def news(self, now: Snapshot) -> tuple[Snapshot | None, list[TaskHead], int]:
        """Nobody else works on it."""
        return None, [], now.forgets

    def budget_now(self, pages: SqlPages) -> Budget | None:
        return self.settings.budget

    def row(self, name: str) -> TaskRow:
        return self._rows[name]()

    def put_model(self, name: str, model: Callable[[], Json]) -> None:
        before = self._rows[name]
        self._rows[name] = lambda: replace(before(), model=model())

    def put_present(self, pages: SqlPages, version: VersionRow, about: JsonLike) -> None:
        """Whoever has the object puts it there."""

    def grow_features(self, pages: SqlPages, after: Snapshot) -> None:
        """They are what the snapshot says."""

    def forget(self, name: str) -> None:
        super().forget(name)
        del self._rows[name]

    def commit(
        self, ledger: Ledger, tasks: Sequence[Finished], after: Snapshot, merge: Merge
    ) -> tuple[Snapshot, list[TaskHead]]:
        self._pay(ledger, tasks)
        self._rows |= {task.name: task.row for task in tasks}
        first = after.position + 1
        return after, [TaskHead(first + i, task.name, task.route) for i, task in enumerate(tasks)]

    def commit_memory_update(
        self,
        ledger: Ledger,
        paid: Finished,
        after: Snapshot,
        teach: Callable[[Representation], Representation],
    ) -> Snapshot:
        self._pay(ledger, [paid])
        return after

    def _pay(self, ledger: Ledger, tasks: Sequence[Finished]) -> None:
        def work(pages: SqlPages) -> None:
            for task in tasks:
                charge_task(ledger, pages, task)
                if task.limits:
                    ledger.compact(pages, task.name)

        soon = self.book.write if any(task.limits for task in tasks) else self.book.later
        soon(work)
