"""What a lifetime holds: its family and rule, what past tasks taught, each task it has learned."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from thrifty.agnostic import Counts, Rule, as_rule
from thrifty.errors import BadInput, UnknownTask
from thrifty.lazy import Estimator
from thrifty.lifetime.doors import Doors
from thrifty.lifetime.learned import Learned, Parts, parts_of_row
from thrifty.models import Models
from thrifty.protocol import AnyFamily, with_seed
from thrifty.stores import existing_store, open_store
from thrifty.stores.base import StoreLike
from thrifty.stores.pages import TaskHead
from thrifty.stores.saved import SavedLifetime, Snapshot, task_exists
from thrifty.stores.settings import Settings

__all__ = ["Shelf", "default_family"]


def default_family() -> AnyFamily:
    """What a lifetime learns where nothing is said."""
    return Models()


class Shelf:
    """Family, rule, representation and learned tasks of one lifetime, as its store has them.

    ``now`` is what is known at this moment, ``saved`` the lifetime in its store, or None; ``doors``
    are opened with the shelf's family and settings.
    """

    def __init__(
        self, family: AnyFamily, rule: Rule, settings: Settings, saved: SavedLifetime | None
    ) -> None:
        self.family, self.rule, self.saved = family, rule, saved
        self.now = Snapshot(family.start(), Counts(), None, False, -1)
        self.doors = Doors(family, settings, saved)
        self.tasks: dict[str, Learned] = {}
        self.refresh()

    @classmethod
    def begun(
        cls,
        family: AnyFamily | None,
        rule: Rule | None,
        given: Settings,
        store: StoreLike,
        name: str,
    ) -> Shelf:
        """A lifetime that begins; or goes on, where its store holds it."""
        given.check_currency("")
        if store is None:
            return cls(_seeded(family or default_family(), given), as_rule(rule), given, None)
        where = open_store(store)
        if family is None and name not in where.lifetimes():
            family = default_family()
        family = None if family is None else _seeded(family, given)
        saved = SavedLifetime.open(where, name, family, rule, given)
        return cls(saved.family, saved.rule, saved.settings, saved)

    @classmethod
    def reopened(
        cls, store: StoreLike, name: str, given: Settings, family: AnyFamily | None
    ) -> Shelf:
        """A lifetime that a store holds already."""
        saved = SavedLifetime.open(existing_store(store), name, None, None, given, family)
        return cls(saved.family, saved.rule, saved.settings, saved)

    def close(self) -> None:
        """Let go of the store."""
        if self.saved is not None:
            self.saved.book.store.close()

    def model(self, name: str) -> Estimator:
        """The model of a task."""
        try:
            found: Estimator = self.tasks[name].model
            return found
        except KeyError:
            known = ", ".join(map(repr, list(self.tasks)[:5])) or "none yet"
            raise UnknownTask(
                f"no task named {name!r}; the {len(self.tasks)} learned so far begin with {known}."
            ) from None

    def must_be_new(self, name: str) -> None:
        """Refuse a name that a task has, or that versions of tasks have."""
        if name in self.tasks:
            raise task_exists(name)
        if "@" in name:
            raise BadInput(
                f"{name!r} cannot be the name of a task: 'diabetes@2' is the second version of "
                "'diabetes'. Choose one without '@'."
            )

    def change(self, family: AnyFamily | None, rule: Rule | None, given: Settings) -> None:
        """Another family, rule, prices, budget or kinds, on purpose."""
        if self.saved is not None:
            self.saved.take(given, begun=True)
            self.saved.change(family, rule)
            settings = self.saved.settings
        else:
            settings, _ = self.doors.settings.after(given)
            settings.check_currency(self.doors.ledger.balance().currency)
        if family is not None and family.to_dict() != self.family.to_dict():
            self.now = replace(
                self.now, representation=family.start(), counts=Counts(), stored=None
            )
        self.family, self.rule = family or self.family, rule or self.rule
        self.doors.use(self.family, settings)
        self.refresh()

    def suppose(self, given: Settings) -> None:
        """Go on as if these had been given; nothing is written."""
        settings, _ = self.doors.settings.after(given)
        self.doors.use(self.family, settings)

    def refresh(self) -> None:
        """Take in what other processes have learned in the same store."""
        if self.saved is None:
            return
        now, heads, forgets = self.saved.news(self.now)
        if now is not None or self.saved.family is not self.family:  # changed by another process
            self.family = self.saved.family
            self.doors.use(self.family, self.saved.settings)
        self.rule = self.saved.rule
        if forgets != self.now.forgets:
            self.tasks.clear()
        self._take_in(now or self.now, heads, forgets)

    def add(self, learned: Learned, now: Snapshot, heads: Iterable[TaskHead] | None = None) -> None:
        """Put a task there that was committed; with a store, those too that came meanwhile."""
        if heads is None:
            self.now, self.tasks[learned.name] = now, learned
        else:
            self._take_in(now, heads, self.now.forgets, learned)

    def _take_in(
        self, now: Snapshot, heads: Iterable[TaskHead], forgets: int, own: Learned | None = None
    ) -> None:
        # After a task was forgotten all of them were read again, and places may be taken again.
        position = self.now.position if forgets == self.now.forgets else -1
        for head in heads:
            position = head.position
            if own is not None and own.name == head.name:
                self.tasks[head.name] = own
            elif head.name not in self.tasks:
                self.tasks[head.name] = Learned(head.name, head.route, self._loader(head.name))
        self.now = replace(now, position=position, forgets=forgets)

    def _loader(self, name: str) -> Callable[[], Parts]:
        saved = self.saved
        assert saved is not None
        return lambda: parts_of_row(self.family, saved.row(name), self.now.features)


def _seeded(family: AnyFamily, given: Settings) -> AnyFamily:
    """A family that draws and was given no seed takes the lifetime's."""
    return with_seed(family, given.random_state)
