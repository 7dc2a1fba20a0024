"""A lifetime in a store: how it is read, and how a learned task is committed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from thrifty.agnostic import Counts, Rule, as_rule, rule_from_dict, rule_to_dict
from thrifty.cells import Ledger
from thrifty.cells.ledger.points import reached
from thrifty.errors import BadParameter, TaskExists
from thrifty.protocol import AnyFamily
from thrifty.stores.base import LifetimeBook, open_store
from thrifty.stores.families import family_from_dict
from thrifty.stores.pages import SqlPages, TaskRow

__all__ = ["Finished", "SavedLifetime", "Snapshot", "commit_in_memory", "task_exists"]

Merge = Callable[[Any, Counts], tuple[Any, Counts]]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a lifetime has learned, at one moment."""

    representation: Any
    counts: Counts
    features: tuple[str, ...] | None
    named: bool
    version: int


@dataclass(frozen=True, slots=True)
class Finished:
    """A task that was learned and is now to be committed.

    ``counted`` is what it cost on sources that are free to read, in minor units: what was bought
    from a provider is in the ledger already. ``also`` is written in the same transaction.
    """

    row: TaskRow
    counted: int
    currency: str
    also: Callable[[SqlPages], None] | None = None


class SavedLifetime:
    """One lifetime, by name, in a store."""

    def __init__(self, book: LifetimeBook, family: AnyFamily, rule: Rule) -> None:
        self.book, self.family, self.rule = book, family, rule

    @classmethod
    def open(
        cls, where: Any, name: str, family: AnyFamily | None, rule: Rule | None
    ) -> SavedLifetime:
        """Open a lifetime; a family begins it where it is not there."""
        store = open_store(where)
        if family is None:
            book = store.book(name, None, None)
        else:
            start = _state(family.start(), Counts(), as_rule(rule))
            book = store.book(name, family.to_dict(), start)
        state = book.read(lambda pages: pages.state())
        if family is None:
            family = family_from_dict(state.family)
        kept: Rule = rule_from_dict(state.representation["rule"]) if rule is None else rule
        return cls(book, family, kept)

    @classmethod
    def family_in(cls, where: Any, name: str) -> AnyFamily | None:
        """The family of a lifetime that is in a store; None where it is not there yet."""
        store = open_store(where)
        if name not in store.lifetimes():
            return None
        return cls.open(store, name, None, None).family

    def bring(self, family: AnyFamily) -> None:
        """The same family, with what a store cannot keep of it."""
        if family.to_dict() != self.family.to_dict():
            kept = self.book.read(lambda pages: pages.state()).family
            if family.to_dict() != kept:
                raise BadParameter(
                    f"this lifetime was begun with {kept} and is opened with {family.to_dict()}. "
                    "Bring the same family, or begin another lifetime under another name=."
                )
        self.family = family

    def snapshot(self, pages: SqlPages) -> Snapshot:
        state = pages.state()
        data = state.representation
        return Snapshot(
            self.family.load_representation(data["representation"]),
            Counts.from_dict(data["counts"]),
            state.features,
            state.named,
            state.version,
        )

    def news(
        self, version: int, n_tasks: int
    ) -> tuple[Snapshot | None, list[TaskRow]]:
        """What other processes have committed since."""

        def work(pages: SqlPages) -> tuple[Snapshot | None, list[TaskRow]]:
            fresh = self.snapshot(pages) if pages.version() != version else None
            return fresh, pages.tasks(n_tasks)

        return self.book.read(work)

    def commit(
        self, ledger: Ledger, task: Finished, after: Snapshot, merge: Merge, n_tasks: int
    ) -> tuple[Snapshot, list[TaskRow]]:
        """Task, representation, bill and compacted cells, in one transaction.

        ``after`` is what is known after the task, if the store still is at its version. Where
        another process has committed meanwhile, ``merge`` adds what this task taught to what is
        there now. Returns what the store holds then, and the tasks from ``n_tasks`` on.
        """
        reached("before-commit")

        def work(pages: SqlPages) -> tuple[Snapshot, list[TaskRow]]:
            token = pages.task_token(task.row.name)
            if token == task.row.token:  # it was committed when the connection was lost
                return self.snapshot(pages), pages.tasks(n_tasks)
            if token is not None:
                raise task_exists(task.row.name)
            _charge(ledger, pages, task)
            representation, counts = after.representation, after.counts
            if pages.version() != after.version:
                now = self.snapshot(pages)
                representation, counts = merge(now.representation, now.counts)
            pages.put_features(after.features or (), after.named)
            version = pages.put_representation(_state(representation, counts, self.rule))
            pages.add_task(task.row)
            ledger.compact(pages, task.row.name)
            reached("in-commit")
            new = replace(after, representation=representation, counts=counts, version=version)
            return new, pages.tasks(n_tasks)

        done = self.book.write(work)
        reached("after-commit")
        return done

    def commit_lesson(
        self, ledger: Ledger, paid: Finished, after: Snapshot, teach: Callable[[Any], Any]
    ) -> Snapshot:
        """A purchase that is no task, and what it taught; others may have committed meanwhile."""

        def work(pages: SqlPages) -> Snapshot:
            _charge(ledger, pages, paid)
            now = after
            if pages.version() != after.version:
                known = self.snapshot(pages)
                now = replace(known, representation=teach(known.representation))
            pages.put_features(after.features or (), after.named)
            state = _state(now.representation, now.counts, self.rule)
            version = pages.put_representation(state)
            ledger.compact(pages, paid.row.name)
            return replace(now, features=after.features, named=after.named, version=version)

        return self.book.write(work)


def commit_in_memory(ledger: Ledger, task: Finished) -> None:
    """Without a store only the ledger has something to commit."""

    def work(pages: SqlPages) -> None:
        _charge(ledger, pages, task)
        ledger.compact(pages, task.row.name)

    ledger.book.write(work)


def task_exists(name: str) -> TaskExists:
    return TaskExists(
        f"a task named {name!r} was learned before. Choose another name, or read the model with "
        f"life[{name!r}]."
    )


def _charge(ledger: Ledger, pages: SqlPages, task: Finished) -> None:
    if task.also is not None:
        task.also(pages)
    if not task.counted:
        return
    ledger.pay_in(pages, task.currency)
    limits = ledger.limits(task.currency)
    limits.check("total", task.counted, sum(pages.balance(None)), f" for {task.row.name!r}")
    pages.move(task.row.name, 0, task.counted)


def _state(representation: Any, counts: Counts, rule: Rule) -> dict[str, Any]:
    return {
        "representation": representation.to_dict(),
        "counts": counts.to_dict(),
        "rule": rule_to_dict(rule),
    }
