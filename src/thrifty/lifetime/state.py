"""What a lifetime holds: family, rule, settings, what past tasks taught, each task, its ledger.

Whatever is bought goes through its ledger, under its prices and budget; what was read is owned
from then on, by its examples' ids or with the very table that was brought.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Protocol, TypeVar

import numpy as np

from thrifty.agnostic import Counts, Rule, as_rule
from thrifty.cells import Cells, Ledger, Owned, Source, as_source
from thrifty.cells.account import (
    OwnedMeanwhile,
    charge_examples,
    count_as_owned,
    owned_by_id,
    refuse_what_is_owned,
    values_by_id,
)
from thrifty.cells.ledger.compacted import purged_rows, purged_since
from thrifty.cells.ledger.meter import PartOwned, RememberedTables
from thrifty.cells.ledger.receipt import ToBuy, runs_of
from thrifty.cells.prices.money import UNIT
from thrifty.cells.prices.price_list import PricesLike, as_price_list
from thrifty.cells.sources.callable import CallableSource
from thrifty.cells.sources.checks import default_names
from thrifty.cells.sources.gaps import read_na, with_na
from thrifty.checks import warn_user
from thrifty.errors import BadInput, ChangedValue, ExamplePurged, MixedCurrencies, UnknownTask
from thrifty.lazy import Estimator
from thrifty.lifetime.feature_matching import kinds_here, known_categories, prices_here
from thrifty.lifetime.learned import Learned, Parts, StoredModel, parts_in_store
from thrifty.models import Models
from thrifty.protocol import AnyFamily, traits_of, with_seed
from thrifty.stores import existing_store, open_store
from thrifty.stores.base import StoreLike
from thrifty.stores.lifetime_pages import TaskHead
from thrifty.stores.pages import SqlPages
from thrifty.stores.saved import FeaturesMoved, MemoryLifetime, SavedLifetime, Snapshot, task_exists
from thrifty.stores.settings import Settings
from thrifty.typing import Fields, Ints, Json, KindsLike, NaLike, TableLike

#: the categories of each feature, in the places that they have in this lifetime
CategoryNames = Mapping[str, Sequence[str]]
T = TypeVar("T")


class Opened(Protocol):
    """What goes on behind a reader: a task, or a prediction."""

    @property
    def source(self) -> Source: ...
    @property
    def cells(self) -> Cells: ...
    @property
    def owned(self) -> Owned: ...
    @property
    def purges(self) -> frozenset[int] | None:
        """Examples that had been purged when it began; None: nothing of it is kept by example."""


class LifetimeState:
    """What one lifetime holds, as its store has it, and what is opened and booked with that.

    ``now`` is what is known at this moment, ``saved`` the lifetime in its store, or in memory.
    """

    def __init__(self, saved: SavedLifetime) -> None:
        self.saved = saved
        self.now = Snapshot(saved.family.start(), Counts(), None, False, -1)
        self.tasks: dict[str, Learned] = {}
        #: every cell ever bought, in its store or in memory
        self.ledger = Ledger(saved.book, saved.settings.budget)
        self.ledger.budget_now = saved.budget_now
        self.remembered = RememberedTables()
        self.refresh()

    @property
    def family(self) -> AnyFamily:
        return self.saved.family

    @property
    def rule(self) -> Rule:
        return self.saved.rule

    @property
    def settings(self) -> Settings:
        return self.saved.settings

    @property
    def row_seed(self) -> int:
        """Of the order of rows: every lifetime has one once it is begun or opened."""
        seed = self.settings.row_seed
        assert seed is not None
        return seed

    @classmethod
    def begun(
        cls,
        family: AnyFamily | None,
        rule: Rule | None,
        given: Settings,
        store: StoreLike,
        name: str,
    ) -> LifetimeState:
        """A lifetime that begins; or goes on, where its store holds it."""
        given.check_currency("")
        if store is None:
            family = with_seed(family or Models(), given.random_state)
            return cls.in_memory(family, given, rule)
        where = open_store(store)
        if family is None and name not in where.lifetimes():
            family = Models()
        if family is not None:  # one that draws and was given no seed takes the lifetime's
            family = with_seed(family, given.random_state)
        return cls(SavedLifetime.open(where, name, family, rule, given))

    @classmethod
    def in_memory(
        cls, family: AnyFamily, settings: Settings, rule: Rule | None = None
    ) -> LifetimeState:
        """Nothing is known and owned yet, and nothing is written to a file."""
        return cls(MemoryLifetime(family, as_rule(rule), settings))

    @classmethod
    def reopened(
        cls, store: StoreLike, name: str, given: Settings, family: AnyFamily | None
    ) -> LifetimeState:
        """A lifetime that a store holds already."""
        return cls(SavedLifetime.open(existing_store(store), name, None, None, given, family))

    def close(self) -> None:
        """Let go of the store."""
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

    def named(self, name: str) -> tuple[str, int | None]:
        """A task, and the number of the version of it that is named, ``diabetes@2``."""
        task, at, number = name.rpartition("@")
        if at and number.isdecimal() and name not in self.tasks:
            return task, int(number)
        return name, None

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
        self.refresh()  # another process may have changed what would else look unchanged
        before = self.family.to_dict()
        self.saved.take(given, begun=True)
        self.saved.change(family, rule)
        if family is not None and family.to_dict() != before:
            self.now = replace(
                self.now, representation=family.start(), counts=Counts(), stored=None
            )
        self.ledger.budget = self.settings.budget
        self.refresh()

    def suppose(self, given: Settings) -> None:
        """Quote as if these had been given; the store keeps its own, nothing is written.

        >>> import thrifty
        >>> life = thrifty.Lifetime(prices=2)
        >>> life._state.suppose(Settings(prices=3))
        >>> life.quote("t", [[0, 1], [1, 0]] * 5, [0, 1] * 5).cost
        60.0
        """
        self.saved.settings, _ = self.settings.after(given)
        self.ledger.budget, self.ledger.budget_now = self.settings.budget, None

    def retire(self, names: Sequence[str], undo: bool) -> tuple[str, ...]:
        """Features that can no longer be had, or can again; returns all that cannot."""
        kept = tuple(n for n in self.settings.retired if n not in names)
        retired = kept if undo else (*kept, *dict.fromkeys(map(str, names)))
        self.saved.retire(retired)
        return retired

    def refresh(self) -> None:
        """Take in what other processes have learned in the same store."""
        now, heads, forgets = self.saved.news(self.now)
        self.ledger.budget = self.settings.budget  # another process may have changed it
        if forgets != self.now.forgets:
            self.tasks.clear()
        self._take_in(now or self.now, heads, forgets)

    def add(self, learned: Sequence[Learned], now: Snapshot, heads: Iterable[TaskHead]) -> None:
        """Put tasks there that were committed, and those that others committed meanwhile."""
        self._take_in(now, heads, self.now.forgets, {task.name: task for task in learned})

    def _take_in(
        self,
        now: Snapshot,
        heads: Iterable[TaskHead],
        forgets: int,
        own: Mapping[str, Learned] = MappingProxyType({}),
    ) -> None:
        # After a task was forgotten all of them were read again, and places may be taken again.
        position = self.now.position if forgets == self.now.forgets else -1
        for head in heads:
            position = head.position
            if head.name in own:
                self.tasks[head.name] = own[head.name]
            elif head.name not in self.tasks:
                self.tasks[head.name] = Learned(head.name, head.route, self._loader(head.name))
        self.now = replace(now, position=position, forgets=forgets)

    def _loader(self, name: str) -> Callable[[], Parts]:
        def load() -> Parts:
            model = StoredModel(self.family, lambda: self.saved.row(name), self.now.features)
            return parts_in_store(model, name, *self.saved.bill(name))

        return load

    def labels_of(self, source: Source | None) -> set[str]:
        """Columns of a named source that were noted as labels of tasks before; None: of any."""
        name = None if source is None else source.name
        if source is not None and not name:
            return set()
        return self.saved.book.peek(lambda pages: pages.labels_of(name), set())

    def note_label(self, source: Source, name: str) -> None:
        """Say that a column of a named source is a label: it is no feature of later tasks."""
        if source.name:
            self.ledger.book.write(lambda pages: pages.note_label(source.name, name))

    def source_of_task(self, X: TableLike, kinds: KindsLike, na: NaLike) -> Source:
        """What a task brought as a source, its categories in the places that past tasks knew."""
        categories = getattr(self.now.representation, "words", {})
        return self.source_of(X, kinds, categories, na).recoded(categories)

    def source_of(
        self, X: TableLike, kinds: KindsLike, categories: CategoryNames, na: NaLike = None
    ) -> Source:
        """What a user brought as a source, its columns read as this lifetime knows them."""
        if na is not None and isinstance(X, Source):
            raise BadInput("a Source says what is a gap when it is made: na= and censored= there.")
        makes_gaps = isinstance(X, CallableSource) and X.limits.on_failure == "gap"
        traits = traits_of(self.family)
        if makes_gaps and not traits.allows_missing:
            raise BadInput(
                f"{type(self.family).__name__} reads no gaps, and the source makes gaps of what "
                "fails: give it on_failure='stop', or learn with thrifty.Models()."
            )
        kept: Fields = {**known_categories(categories, X), **kinds_here(self.settings.kinds, X)}
        return as_source(
            X,
            allow_missing=traits.allows_missing,
            categories=traits.reads_categories,
            kinds={**kept, **(kinds or {})} or None,
            lazily=True,
            na=with_na(self.settings.na, read_na(na)) or None,
        )

    def one_currency(self, source: Source, counted: bool) -> None:
        """Refuse to count cells without a price beside money: a cell is no dollar.

        ``counted``: whether some are, or would be; what is owned costs nothing, whatever its price.
        """
        if not counted or not source.free or self.settings.prices is not None:
            return
        paid_in = self.saved.book.peek(lambda pages: pages.currency(""), "")
        if paid_in:
            raise MixedCurrencies(
                f"this lifetime pays in {paid_in}, and this table has no prices: each of its cells "
                f"would count as 1 {paid_in}. Where they cost nothing say life.change(prices=0), "
                f"else give prices in {paid_in}: life.change(prices=...)."
            )

    def ledger_for(self, source: Source) -> Ledger | None:
        """The ledger, where cells of this source are bought, limited or known by their ids."""
        budget = self.settings.budget
        needed = budget is not None or not source.free or source.examples is not None
        return self.ledger if needed else None

    def only_counts(self, source: Source, currency: str) -> bool:
        """Whether cells of this source are counted and no more: nothing limits or names them."""
        return self.ledger_for(source) is None and not source.name and not currency

    def owned_of(
        self, X: TableLike, source: Source, rows: Ints | None = None, n: int = 0
    ) -> tuple[Owned, str]:
        """What was paid for before: of this very object, or of its examples by their ids.

        ``rows``: the source holds only these of the object's ``n``.
        """
        if source.examples is None:
            whole, place = self.remembered.of(X, source, n)
            return whole if rows is None else PartOwned(whole, rows), place
        if not source.free:
            return Owned(source.n_examples, source.n_features), source.name
        read = self.ledger.book.read
        return read(lambda pages: owned_by_id(pages, source)), source.name

    def prices_of(self, source: Source, needed: set[str] | None = None) -> PricesLike:
        """The lifetime's prices without those of other tables' features, with all ``needed``."""
        return prices_here(self.settings.prices, source.feature_names, needed)

    def values_owned(self, source: Source) -> dict[str, float | str]:
        """What is owned of a source's one example, by feature; NaN is a gap that is known."""
        names, ledger = source.feature_names, self.ledger
        valid = as_price_list(self.prices_of(source)).tariff(names).valid
        found = ledger.book.read(lambda pages: values_by_id(pages, source, valid, ledger.now()))
        return {names[f]: value for f, value in found.items()}

    def as_before(self, task: str, cells: Cells, *said: object) -> None:
        """Where a call broke off and this is the same one, it sees what it saw the first time.

        ``said``: what the call was given beside its source. Another call by the same name goes on
        from what is there.
        """
        if cells.is_free:
            return
        call: Json = {"said": call_key(cells, *said), "left": cells.allowance}
        page = f"{task}\0{cells.source_name}"
        book = self.ledger.book
        if book.read(lambda pages: pages.kept("call", page)) != call:
            cells.is_another_call()
            book.write(lambda pages: pages.keep("call", page, call))

    def say_purged(self, source: Source, cells: Cells) -> None:
        """Warn of examples whose values were taken out of the store, and are not owned again."""
        if source.examples is None:
            return
        ids = source.examples
        rows = self.saved.book.read(lambda pages: purged_rows(pages, ids))
        for row, at in rows.items():
            if not cells.owns_any_of(row):
                warn_user(
                    f"the values of {ids[row]!r} were taken out of the store on "
                    f"{time.strftime('%Y-%m-%d', time.gmtime(at))} (thrifty store purge): what is "
                    "asked of it is bought again.",
                    ExamplePurged,
                )

    @staticmethod
    def booked(cells: Cells, commit: Callable[[], T]) -> T:
        """Commit what a task has bought; again where others have bought some of it meanwhile."""
        while True:
            try:
                return commit()
            except OwnedMeanwhile as error:
                cells.own(error.owned)

    def purges(self) -> frozenset[int]:
        """Examples that were purged so far."""
        return self.saved.book.peek(lambda pages: frozenset(pages.purged()), frozenset())

    def refuse_purged(self, pages: SqlPages, task: Opened) -> None:
        """A task that began before a purge must not bring back what that took out."""
        ids = task.source.examples or ()
        gone = None if task.purges is None else purged_since(pages, task.purges, ids)
        if gone:
            raise BadInput(
                f"the values of {ids[gone[0]]!r} were taken out of the store while this was "
                "learned from them; nothing was written. Learn again without it; with it, it is "
                "bought again."
            )
        if gone is not None:  # what earlier tasks taught may hold values of it
            raise FeaturesMoved

    def count(
        self, pages: SqlPages, task: Opened, account: str, now: float, without: Sequence[int] = ()
    ) -> ChangedValue | None:
        """Note what was read in a free source as owned, under the examples' ids.

        Returns the error that names the cells of which the store knows another value. Rows
        ``without`` were purged since it began.
        """
        if not task.source.free or task.source.examples is None:
            return None
        refuse_what_is_owned(pages, task.source, task.cells.meter, task.cells.tied)
        changed = count_as_owned(pages, task.source, task.cells.meter, now, without)
        if task.cells.counted:
            costs = np.rint(task.cells.cost_per_row() * UNIT).astype(np.int64)
            costs[list(without)] = 0
            limits = self.ledger.limits_now(pages, task.cells.currency)
            charge_examples(pages, task.source, costs, limits)
        pages.note_transaction(account, now)
        return changed

    def count_all(self, pages: SqlPages, task: Opened, account: str, now: float) -> None:
        """The same for what must not be learned from values that contradict the store."""
        changed = self.count(pages, task, account, now)
        if changed is not None:
            raise changed

    def offered(
        self,
        source: Source,
        cells: Cells,
        place: str,
        *,
        rows: Ints | None = None,
        owned: Owned | None = None,
        ours: bool = True,
    ) -> Callable[[SqlPages], None]:
        """What could have been bought of these rows, to be noted in a transaction.

        ``rows``: only these were asked for. ``owned``: says which rows of an object the source
        holds, where these are not all. ``ours``: whether the features are the lifetime's.
        """
        numbers = np.arange(source.n_examples) if rows is None else rows
        ids: list[str] = []
        if source.examples is not None:
            ids = [source.examples[i] for i in numbers.tolist()]
        elif isinstance(owned, PartOwned):
            numbers = owned.rows[numbers]
        entry = ToBuy(
            place if ours else f"beside {place}",
            _features_key(source, cells),
            cells.n_offered,
            cells.price_of_an_example(),
            runs_of(numbers),
            ~cells.absent if ours else None,
        )

        def note(pages: SqlPages) -> None:
            known = pages.number("example", ids).astype(np.int64) if ids else None
            runs = entry.examples if known is None else runs_of(known)
            pages.note_to_buy(replace(entry, examples=runs))

        return note

    def keep(self, opened: Opened) -> None:
        """What was read is owned from now on."""
        if opened.source.examples is None:
            opened.owned.add(opened.cells.meter)


def _features_key(source: Source, cells: Cells) -> str:
    """Says which features a task was offered: all of its source's, or some of them."""
    names = source.feature_names
    if names is default_names(len(names)):
        return f"{len(names)} without names"
    if cells.n_offered < len(names):
        return _hashed(sorted(names[f] for f in cells.offered.tolist()))
    kept = getattr(source, "_features_key", None)
    if kept is None:
        kept = _hashed(sorted(names))
        source._features_key = kept  # type: ignore[attr-defined]
    return str(kept)


def _hashed(names: list[str]) -> str:
    return hashlib.sha256("\x00".join(names).encode()).hexdigest()[:16]


def call_key(cells: Cells, *said: object) -> str:
    """Says which call this is: of which rows and features, and what was said beside."""
    given = repr([cells.source_name, cells.examples, cells.feature_names, *map(_listed, said)])
    return hashlib.sha256(given.encode(errors="surrogatepass")).hexdigest()


def _listed(said: object) -> object:
    """Labels, weights or anything else of a call as it can be told again."""
    if said is None or isinstance(said, str | int | float):
        return said
    return [str(one) for one in np.asarray(said, dtype=object).ravel().tolist()]
