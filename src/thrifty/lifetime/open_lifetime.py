"""A lifetime that is open: what it was given, what it holds, and its bill."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from thrifty.agnostic import Counts, Rule, as_rule
from thrifty.cells import Balance, Budget, Ledger
from thrifty.cells.prices.price_list import PricesLike
from thrifty.errors import ThriftyError, UnknownTask
from thrifty.html import facts_html, table_html
from thrifty.lifetime.bill import Bills
from thrifty.lifetime.booking import Desk
from thrifty.lifetime.learned import Learned, Parts, parts_of_row
from thrifty.lifetime.progress import Progress
from thrifty.models import Models
from thrifty.protocol import AnyFamily, traits_of, with_seed
from thrifty.stores import existing_store, open_store
from thrifty.stores.base import StoreLike
from thrifty.stores.pages import TaskHead
from thrifty.stores.saved import SavedLifetime, Snapshot
from thrifty.stores.settings import Settings, row_seed
from thrifty.typing import JsonLike, KindsLike

__all__ = ["OpenLifetime", "default_family"]


def default_family() -> AnyFamily:
    """What a lifetime learns where nothing is said."""
    return Models()


if TYPE_CHECKING:
    import pandas


class OpenLifetime:
    """What :class:`thrifty.Lifetime` is before it learns or predicts anything."""

    def __init__(
        self,
        family: AnyFamily | None = None,
        *,
        prices: PricesLike = None,
        agnostic: Rule | None = None,
        store: StoreLike = None,
        budget: Budget | None = None,
        name: str = "lifetime",
        random_state: int | None = None,
        progress: bool | None = None,
    ) -> None:
        given = Settings(prices, budget, random_state, row_seed(random_state))
        rule = None if agnostic is None else as_rule(agnostic)
        given.check_currency("")
        if store is None:
            self._start(_seeded(family or default_family(), given), as_rule(rule), given, None)
        else:
            where = open_store(store)
            if family is None and name not in where.lifetimes():
                family = default_family()
            family = None if family is None else _seeded(family, given)
            saved = SavedLifetime.open(where, name, family, rule, given)
            self._start(saved.family, saved.rule, saved.settings, saved)
        self._progress = Progress(progress)

    @classmethod
    def open(
        cls,
        store: StoreLike,
        *,
        name: str = "lifetime",
        prices: PricesLike = None,
        budget: Budget | None = None,
        family: AnyFamily | None = None,
        progress: bool | None = None,
    ) -> Self:
        """A lifetime that is in a store, as it was: family, rule, prices, budget, kinds, seed.

        Only what exists is opened. ``prices`` or ``budget`` that differ are a recorded change;
        ``family=thrifty.Models(estimator)`` brings the estimator of a user again, of which a store
        keeps no more than its name: its models are fitted again on what was bought.
        """
        given = Settings(prices, budget)
        saved = SavedLifetime.open(existing_store(store), name, None, None, given, family)
        life = cls.__new__(cls)
        life._start(saved.family, saved.rule, saved.settings, saved)
        life._progress = Progress(progress)
        return life

    def _start(
        self, family: AnyFamily, rule: Rule, settings: Settings, saved: SavedLifetime | None
    ) -> None:
        self.family, self.agnostic = family, rule
        self._now = Snapshot(family.start(), Counts(), None, False, -1)
        self._saved = saved
        self._desk = Desk(family, settings, saved)
        self._bills = Bills(self._desk)
        self._tasks: dict[str, Learned] = {}
        self.refresh()

    def close(self) -> None:
        """Let go of the store: its file, or the connection to its server.

        All that was learned and bought is in it already. A lifetime that is used again opens it
        again; ``with thrifty.Lifetime.open("clinic.db") as life:`` closes it at the end.
        """
        if self._saved is not None:
            self._saved.book.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def row_seed(self) -> int:
        """Of the order in which learners take rows: ``random_state``, or a secret of the store."""
        return self._desk.settings.row_seed or 0

    @property
    def budget(self) -> Budget | None:
        """What may be spent."""
        return self._desk.settings.budget

    @property
    def prices(self) -> PricesLike:
        """What cells cost, of sources that bring no prices."""
        return self._desk.settings.prices

    @property
    def kinds(self) -> JsonLike:
        """What was said of features that their columns do not say: ``learn(..., kinds=)``."""
        return dict(self._desk.settings.kinds or {})

    @property
    def ledger(self) -> Ledger:
        """Every cell ever bought: its balance, what is in doubt, and how to resolve it."""
        return self._desk.ledger

    def balance(self) -> Balance:
        """What was spent, what is reserved for open purchases, what is left; and what all costs."""
        return self._bills.balance(self.tasks)

    def change(
        self,
        *,
        family: AnyFamily | None = None,
        agnostic: Rule | None = None,
        prices: PricesLike = None,
        budget: Budget | None = None,
        kinds: KindsLike = None,
    ) -> None:
        """Change what the lifetime was given, on purpose; its store records when and what.

        Another family begins with an empty representation. Its models and everything that was
        bought stay.
        """
        rule = None if agnostic is None else as_rule(agnostic)
        given = Settings(prices, budget, kinds=kinds)
        if self._saved is not None:
            self._saved.take(given, begun=True)
            self._saved.change(family, rule)
            settings = self._saved.settings
        else:
            settings, _ = self._desk.settings.after(given)
            settings.check_currency(self._desk.ledger.balance().currency)
        if family is not None and family.to_dict() != self.family.to_dict():
            self._now = Snapshot(
                family.start(), Counts(), self._now.features, self._now.named, self._now.version,
                self._now.position, self._now.forgets,
            )  # fmt: skip
        self.family, self.agnostic = family or self.family, rule or self.agnostic
        self._desk.use(self.family, settings)
        self.refresh()

    def changes(self) -> list[tuple[float, str, object, object]]:
        """What was changed on purpose: (when, what, before, after)."""
        saved = self._saved
        return [] if saved is None else saved.book.read(lambda pages: pages.changes())

    def refresh(self) -> None:
        """Take in what other processes have learned in the same store."""
        if self._saved is None:
            return
        now, heads, forgets = self._saved.news(self._now)
        if now is not None or self._saved.family is not self.family:  # changed by another process
            self.family = self._saved.family
            self._desk.use(self.family, self._saved.settings)
        self.agnostic = self._saved.rule
        if forgets != self._now.forgets:
            self._tasks.clear()
        self._take_in(now or self._now, heads, forgets)

    def _take_in(
        self, now: Snapshot, heads: Iterable[TaskHead], forgets: int, own: Learned | None = None
    ) -> None:
        position = self._now.position
        for head in heads:
            position = head.position
            if own is not None and own.name == head.name:
                self._tasks[head.name] = own
            elif head.name not in self._tasks:
                self._tasks[head.name] = Learned(head.name, head.route, self._loader(head.name))
        self._now = replace(now, position=position, forgets=forgets)

    def _loader(self, name: str) -> Callable[[], Parts]:
        saved = self._saved
        assert saved is not None
        return lambda: parts_of_row(self.family, saved.row(name), self._now.features)

    @property
    def representation(self) -> Any:
        """What past tasks taught: sized, iterable, printable."""
        return self._now.representation

    @property
    def tasks(self) -> tuple[Learned, ...]:
        """Every learned task, in the order of learning."""
        return tuple(self._tasks.values())

    def __getitem__(self, name: str) -> Any:
        """The model of a task."""
        try:
            return self._tasks[name].model
        except KeyError:
            known = ", ".join(map(repr, list(self._tasks)[:5])) or "none yet"
            raise UnknownTask(
                f"no task named {name!r}; the {len(self)} learned so far begin with {known}."
            ) from None

    def __contains__(self, name: object) -> bool:
        return name in self._tasks

    def __len__(self) -> int:
        return len(self._tasks)

    def __iter__(self) -> Iterator[str]:
        return iter(self._tasks)

    def __repr__(self) -> str:
        known, tasks = len(self.representation), len(self)
        learned = f"{tasks} {'task' if tasks == 1 else 'tasks'}"
        words = traits_of(self.family).remembers
        return f"Lifetime({self.family!r}, {learned}, {known} {words})"

    def bill(self) -> pandas.DataFrame:
        """A pandas DataFrame: a row per task, per prediction run, and per task not learned."""
        try:
            import pandas
        except ImportError as error:
            raise ThriftyError(
                "life.bill() returns a pandas DataFrame and pandas is not installed. "
                "Type: pip install 'thrifty[frames]'"
            ) from error
        return pandas.DataFrame(self._bills.rows(self.tasks))

    def bill_rows(self) -> list[dict[str, object]]:
        """The same rows as plain data."""
        return self._bills.rows(self.tasks)

    def _repr_html_(self) -> str:
        """For notebooks: the balance, and the latest tasks."""
        balance, tasks = self.balance(), self.tasks
        unit = f" ({balance.currency})" if balance.currency else ""
        facts = {
            "tasks learned": len(tasks),
            f"spent on learning{unit}": balance.learning,
            f"spent on predictions{unit}": balance.predictions,
            f"saved{unit}": balance.saved or None,
            f"reserved{unit}": balance.reserved or None,
            f"left of the budget{unit}": balance.left,
        }
        rows = [(t.name, t.receipt.cells, t.receipt.cost, t.route) for t in tasks[-10:]]
        latest = table_html(["task", "cells", f"cost{unit}", "route"], rows) if rows else ""
        return facts_html(f"lifetime of {type(self.family).__name__}", facts) + latest

    def rows_beside(self) -> list[dict[str, object]]:
        """Those that are no learned task, predictions with when ("at") and on how many rows."""
        return self._bills.beside(self.tasks)


def _seeded(family: AnyFamily, given: Settings) -> AnyFamily:
    """A family that draws and was given no seed takes the lifetime's."""
    return with_seed(family, given.random_state)
