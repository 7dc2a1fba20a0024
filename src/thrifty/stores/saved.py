"""A lifetime in a store, or in memory: how it is read, and how a learned task is committed."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from thrifty.agnostic import Counts, Rule, as_rule, rule_from_dict, rule_to_dict
from thrifty.attempt import Route
from thrifty.cells import Ledger
from thrifty.cells.ledger.book import reached
from thrifty.cells.prices.money import Budget
from thrifty.cells.sources.gaps import Codes, with_na
from thrifty.errors import BadParameter, StoreError, TaskExists, UnknownTask
from thrifty.protocol import AnyFamily, Block, InBlocks, Representation, with_seed
from thrifty.stores.base import LifetimeBook, StoreLike, open_store
from thrifty.stores.lifetime_pages import TaskHead, TaskRow
from thrifty.stores.pages import SqlPages
from thrifty.stores.settings import Settings, as_written_now, family_from_dict, versions
from thrifty.stores.sqlite import MemoryStore
from thrifty.typing import Json, JsonLike
from thrifty.untrusted import readable

T = TypeVar("T")
Merge = Callable[[Representation, Counts], tuple[Representation, Counts]]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a lifetime has learned, at one moment.

    ``position`` is that of the last task that was heard of, ``forgets`` how many were forgotten;
    ``stored`` is the representation that the store holds in blocks at this version, where it does.
    """

    representation: Representation
    counts: Counts
    features: tuple[str, ...] | None
    named: bool
    version: int
    position: int = -1
    forgets: int = 0
    stored: Representation | None = None


@dataclass(frozen=True, slots=True)
class Finished:
    """A task that was learned, or a background that was bought, and is now to be committed.

    ``row`` is the task as a store has it; None: it is no task. ``counted`` is what it cost on
    sources that are free to read, in minor units: what was bought from a provider is in the ledger
    already. ``also`` is written in the same transaction; it holds no table, and may be written
    later in memory, where nothing ``limits`` what was counted.
    """

    name: str
    route: Route
    row: Callable[[], TaskRow] | None
    counted: int
    currency: str
    also: Callable[[SqlPages], None]
    limits: bool = True


class FeaturesMoved(Exception):
    """Another process has added features while a task was learned: it has to be tried again."""


class SavedLifetime:
    """One lifetime, by name, in a store."""

    in_memory = False

    def __init__(
        self, book: LifetimeBook, family: AnyFamily, rule: Rule, settings: Settings
    ) -> None:
        self.book, self.family, self.rule, self.settings = book, family, rule, settings
        #: the budget as it was last seen, and at which version of the lifetime
        self._budget: tuple[int, Budget | None] | None = None

    @classmethod
    def open(
        cls,
        where: StoreLike,
        name: str,
        family: AnyFamily | None,
        rule: Rule | None,
        given: Settings | None = None,
        brought: AnyFamily | None = None,
    ) -> SavedLifetime:
        """Open a lifetime; a family begins it where it is not there.

        ``brought`` stands in for the family that the store names, which may be a user's own.

        What is given beside it and differs from what is kept is a change, and is recorded.
        """
        store = open_store(where)
        begun = name in store.lifetimes()
        if family is None:
            book = store.book(name, None, None)
        else:
            begin = beside(Counts(), as_rule(rule))
            start = {"representation": family.start().to_dict(), **begin}
            book = store.book(name, family.to_dict(), start)
        with readable("the lifetime in the store"):
            state = book.read(lambda pages: pages.state())
            if brought is not None:  # without a seed it has the one it was begun with
                family = with_seed(brought, state.family.get("random_state"))
            family = family or family_from_dict(state.family)
            stored = state.representation["rule"]
            settings = _settings(state.settings, given)
            # A user's own rule is known by being given again.
            mine = rule is not None and rule_to_dict(rule) == stored
            kept = rule if rule is not None and mine else rule_from_dict(stored)
        if rule is not None and rule_to_dict(rule) != rule_to_dict(kept):
            raise BadParameter(
                f"this lifetime was begun with agnostic={kept!r} and is opened with {rule!r}. "
                "Leave it out, or change it on purpose: Lifetime.open(store).change(agnostic=...)."
            )
        if brought is not None and family.to_dict() not in (
            state.family,
            as_written_now(state.family),
        ):
            raise BadParameter(
                f"this lifetime was begun with {state.family} and is opened with "
                f"{family.to_dict()}. Bring the same family; or change it on purpose, "
                "Lifetime.open(store).change(family=...); or begin another lifetime under "
                "another name=. What the store owns costs nothing in any of them."
            )
        saved = cls(book, family, kept, settings)
        if given is not None:
            saved.take(given, begun)
        return saved

    def take(self, given: Settings, begun: bool) -> None:
        """Keep what was given now; what that changes is written down."""
        kept = self.settings.to_dict()
        settings, changed = self.settings.after(given)
        settings.check_currency(self.book.read(lambda pages: pages.currency("")))
        self.settings = settings
        only_read = getattr(self.book.store, "read_only", False)
        drawn = settings.row_seed != kept["row_seed"] and not only_read
        if begun and {**settings.to_dict(), "row_seed": kept["row_seed"]} == kept and not drawn:
            return
        if not begun:
            settings = replace(settings, versions=versions())

        def work(pages: SqlPages) -> Settings:
            stored, wanted = pages.settings(), settings
            if given.random_state is None and stored.get("row_seed") is not None:
                wanted = replace(wanted, row_seed=stored["row_seed"])  # another was first
            if stored == wanted.to_dict():
                return wanted  # written already, as the connection was lost
            pages.put_settings(wanted.to_dict())
            if begun and stored.get("budget") != wanted.to_dict()["budget"]:
                pages.count_up("version")  # others hear of it
            for what, (before, after) in changed.items():
                pages.note_change(time.time(), what, before, after)
            return wanted

        self.settings = self.book.write(work)

    def tell(self, kinds: JsonLike, na: Codes) -> None:
        """What a task said of features that nobody had said anything of, and codes of gaps."""

        def work(pages: SqlPages) -> JsonLike:
            kept = pages.settings()
            merged = {**kinds, **(kept.get("kinds") or {})}
            both = {"kinds": merged, "na": with_na(kept.get("na"), na)}
            told = {name: some for name, some in both.items() if some}
            pages.put_settings({**kept, **told})
            return told

        if kinds or na:
            self.settings = replace(self.settings, **self.book.write(work))

    def retire(self, names: tuple[str, ...]) -> None:
        """Which features can no longer be had, from now on."""

        def work(pages: SqlPages) -> None:
            kept = pages.settings()
            before = kept.get("retired", [])
            if before == list(names):
                return  # written already, as the connection was lost
            pages.put_settings({**kept, "retired": list(names)})
            pages.count_up("version")  # others hear of it
            pages.note_change(time.time(), "retired", before, list(names))

        self.book.write(work)
        self.settings = replace(self.settings, retired=names)

    def change(self, family: AnyFamily | None, rule: Rule | None) -> None:
        """Another family, which begins with an empty representation, or another rule."""

        def work(pages: SqlPages) -> None:
            state = pages.state()
            data, now = dict(state.representation), time.time()
            if rule is not None and data["rule"] != rule_to_dict(rule):
                pages.note_change(now, "agnostic", data["rule"], rule_to_dict(rule))
                data["rule"] = rule_to_dict(rule)
            if family is not None and state.family != family.to_dict():
                pages.note_change(now, "family", state.family, family.to_dict())
                pages.put_family(family.to_dict())
                begin_again(pages, data, family.start())
                data["counts"] = Counts().to_dict()
            pages.put_representation(data)

        self.book.write(work)
        self.family, self.rule = family or self.family, rule or self.rule

    def budget_now(self, pages: SqlPages) -> Budget | None:
        """What may be spent, as of this transaction: another process may have changed it."""
        version = pages.version()
        if self._budget is None or self._budget[0] != version:
            budget = pages.settings().get("budget")
            self._budget = version, None if budget is None else Budget(**budget)
        return self._budget[1]

    def snapshot(self, pages: SqlPages) -> Snapshot:
        with readable("the representation in the store"):
            return self._snapshot(pages)

    def _snapshot(self, pages: SqlPages) -> Snapshot:
        state = pages.state()
        data = state.representation
        if state.family != self.family.to_dict() and data:  # another process has changed it
            made = family_from_dict(state.family)
            if made.to_dict() != self.family.to_dict():
                self.family = made
        if data["rule"] != rule_to_dict(self.rule):
            self.rule = rule_from_dict(data["rule"])
        budget = state.settings.get("budget")
        self.settings = replace(
            self.settings,
            budget=None if budget is None else Budget(**budget),
            kinds=state.settings.get("kinds"),
            na=state.settings.get("na"),
            retired=tuple(state.settings.get("retired", ())),
        )
        representation, stored = load_parts(pages, data, self.family)
        if getattr(representation, "max_feature", -1) >= len(state.features or ()):
            raise StoreError("its representation names features that the store does not have.")
        counts = Counts.from_dict(data["counts"])
        return Snapshot(
            representation, counts, state.features, state.named, state.version, stored=stored
        )

    def news(self, now: Snapshot) -> tuple[Snapshot | None, list[TaskHead], int]:
        """What other processes have committed since: (snapshot, tasks, how many forgotten)."""

        def work(pages: SqlPages) -> tuple[Snapshot | None, list[TaskHead], int]:
            fresh = self.snapshot(pages) if pages.version() != now.version else None
            forgets = pages.forgets()
            return fresh, pages.heads(now.position if forgets == now.forgets else -1), forgets

        return self.book.read(work)

    def row(self, name: str) -> TaskRow:
        """All of a task."""
        return self._there(name, lambda pages: pages.task(name))

    def bill(self, name: str) -> tuple[JsonLike, JsonLike | None]:
        """Its receipt, with what stands beside it, and its failure: not its model."""
        return self._there(name, lambda pages: pages.bill_of(name))

    def _there(self, name: str, read: Callable[[SqlPages], T | None]) -> T:
        found = self.book.read(read)
        if found is None:
            raise UnknownTask(f"the task {name!r} was forgotten by another process.")
        return found

    def put_model(self, name: str, model: Callable[[], Json]) -> None:
        """Another model of a task in the place of its own; what it cost stays."""
        made = model()
        self.book.write(lambda pages: pages.put_model(name, made))

    def grow_features(self, pages: SqlPages, after: Snapshot) -> None:
        """New columns are the lifetime's from now on, unless another process was quicker."""
        if pages.n_features() == len(after.features or ()):
            return
        if pages.version() != after.version:
            raise FeaturesMoved
        pages.put_features(after.features or (), after.named)

    def forget(self, name: str) -> None:
        """A task and its versions are gone; what they bought stays, under another name."""
        self.book.write(lambda pages: pages.forget(name))

    def commit(
        self, ledger: Ledger, tasks: Sequence[Finished], after: Snapshot, merge: Merge
    ) -> tuple[Snapshot, list[TaskHead]]:
        """Tasks, representation, bill and compacted cells, in one transaction.

        ``after`` is what is known after the tasks, if the store still is at its version. Where
        another process has committed meanwhile, ``merge`` adds what they taught to what is there
        now. Returns what the store holds then, and the tasks that came since.
        """
        reached("before-commit")
        rows = [task.row() for task in tasks if task.row is not None]

        def work(pages: SqlPages) -> tuple[Snapshot, list[TaskHead]]:
            for row in rows:
                token = pages.task_token(row.name)
                if token == row.token:  # it was committed when the connection was lost
                    return self.snapshot(pages), pages.heads(after.position)
                if token is not None:
                    raise task_exists(row.name)
            representation, counts, stored = after.representation, after.counts, after.stored
            if pages.version() != after.version:
                now = self.snapshot(pages)
                if (
                    now.features is not None
                    and now.features != (after.features or ())[: len(now.features)]
                ):
                    raise FeaturesMoved
                representation, counts = merge(now.representation, now.counts)
                stored = now.stored
            for task in tasks:
                charge_task(ledger, pages, task)
            if pages.n_features() != len(after.features or ()):
                pages.put_features(after.features or (), after.named)
            version = write_parts(pages, beside(counts, self.rule), representation, stored)
            for row in rows:
                pages.add_task(row)
            for task in tasks:
                ledger.compact(pages, task.name)
            reached("in-commit")
            new = replace(after, representation=representation, counts=counts, version=version)
            return replace(new, stored=representation), pages.heads(after.position)

        done = self.book.write(work)
        reached("after-commit")
        return done


class _MemoryBook(LifetimeBook):
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
    """One that is gone with its process: its ledger has a book, all else stays the object it is."""

    in_memory = True

    def __init__(self, family: AnyFamily, rule: Rule, settings: Settings) -> None:
        book = _MemoryBook(lambda: (self.family.to_dict(), beside(Counts(), self.rule)))
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

    def grow_features(self, pages: SqlPages, after: Snapshot) -> None:
        """They are what the snapshot says."""

    def forget(self, name: str) -> None:
        super().forget(name)
        del self._rows[name]

    def commit(
        self, ledger: Ledger, tasks: Sequence[Finished], after: Snapshot, merge: Merge
    ) -> tuple[Snapshot, list[TaskHead]]:
        def work(pages: SqlPages) -> None:
            for task in tasks:
                charge_task(ledger, pages, task)
                if task.limits:
                    ledger.compact(pages, task.name)

        soon = self.book.write if any(task.limits for task in tasks) else self.book.later
        soon(work)
        new = {task.name: task.row for task in tasks if task.row is not None}
        first = after.position + 1
        self._rows |= new
        return after, [
            TaskHead(first + i, task.name, task.route) for i, task in enumerate(tasks) if task.row
        ]


def _settings(kept: JsonLike, given: Settings | None) -> Settings:
    """What is kept; prices that a store cannot keep must be brought again."""
    try:
        return Settings.from_dict(kept)
    except BadParameter:
        if given is None or given.prices is None:
            raise
        return Settings.from_dict({**kept, "prices": None})


def task_exists(name: str) -> TaskExists:
    return TaskExists(
        f"a task named {name!r} was learned before. Choose another name, read the model with "
        f"life[{name!r}].model, or learn it again after life.forget({name!r}): what it bought "
        "stays owned."
    )


def charge_task(ledger: Ledger, pages: SqlPages, task: Finished) -> None:
    """Book what a task has cost, and what goes with it."""
    task.also(pages)
    charge(ledger, pages, task.name, task.counted, task.currency)


def charge(ledger: Ledger, pages: SqlPages, account: str, counted: int, currency: str) -> None:
    """Book what was counted and not bought from a provider."""
    if not counted:
        return
    ledger.pay_in(pages, currency)
    limits = ledger.limits_now(pages, currency)
    used = sum(pages.balance(None)) + pages.over()
    limits.check("total", counted, used, f" for {account!r}")
    pages.move(account, 0, counted)


def beside(counts: Counts, rule: Rule) -> dict[str, object]:
    return {"counts": counts.to_dict(), "rule": rule_to_dict(rule)}


#: in a lifetime's state: the representation there is a head, its blocks are in their own table
_IN_BLOCKS = "in_blocks"


def write_parts(
    pages: SqlPages, state: Json, representation: Representation, stored: Representation | None
) -> int:
    """Write what a lifetime knows now, beside the rest of its state; returns the version.

    ``stored`` is what the store holds in blocks, None where it holds none: a block that is the
    same object there stays as it is.
    """
    if not isinstance(representation, InBlocks):
        return pages.put_representation({**state, "representation": representation.to_dict()})
    blocks = representation.blocks()
    before: Mapping[str, Block] = stored.blocks() if isinstance(stored, InBlocks) else {}
    new = {name: block for name, block in blocks.items() if before.get(name) is not block}
    pages.put_known_blocks(
        {name: block.to_bytes() for name, block in new.items()}, before.keys() - blocks.keys()
    )
    head = {"representation": representation.head(), _IN_BLOCKS: True}
    return pages.put_representation({**state, **head})


def load_parts(
    pages: SqlPages, data: JsonLike, family: AnyFamily
) -> tuple[Representation, Representation | None]:
    """The representation, and what of it is in blocks: the same, or None."""
    if not data.get(_IN_BLOCKS):
        return family.load_representation(data["representation"]), None
    whole = {**data["representation"], "blocks": pages.known_blocks()}
    representation = family.load_representation(whole)
    return representation, representation


def begin_again(pages: SqlPages, data: Json, start: Representation) -> None:
    """Put an empty representation, of another family, into the state."""
    pages.drop_known_blocks()
    data["representation"] = start.to_dict()
    data.pop(_IN_BLOCKS, None)
