"""What users hold: a family, what it has learned, and what that cost."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from thrifty.agnostic import Counts, Rule, after_attempt, as_rule, learn_agnostic
from thrifty.attempt import Failure, Found, Route
from thrifty.cells import Balance, Budget, Cells, Ledger, Owned, Receipt, Source, as_source
from thrifty.cells.ledger.allowance import read_spend
from thrifty.cells.ledger.counted import count_as_owned, owned_by_id
from thrifty.cells.matched import open_cells
from thrifty.cells.matching import match_features
from thrifty.engines import learn_many
from thrifty.errors import BadInput, BadParameter, FeaturesChanged, ThriftyError, UnknownTask
from thrifty.models import Models
from thrifty.prediction import Prediction
from thrifty.protocol import AnyFamily
from thrifty.quote import Quote, quote_task
from thrifty.stores import MemoryStore
from thrifty.stores.pages import TaskRow
from thrifty.stores.saved import (
    Finished,
    SavedLifetime,
    Snapshot,
    commit_in_memory,
    task_exists,
)

AnySource = TypeVar("AnySource", bound=Source)

__all__ = ["Learned", "Lifetime", "learned_from_row"]


@dataclass(frozen=True, slots=True)
class Learned:
    """One learned task: how it was learned, the model, the bill.

    ``failure`` says why the representation was not enough, where it was not; ``good`` is what the
    user said of the task: whether it is related to the others.
    """

    name: str
    route: Route
    model: Any
    receipt: Receipt
    failure: Failure | None = None
    good: bool | None = None

    def bill_row(self) -> dict[str, Any]:
        """The task's line of the bill."""
        receipt = self.receipt
        said = {} if self.good is None else {"good": self.good}
        return {
            "task": self.name,
            "route": self.route,
            "cells": receipt.cells,
            "cost": receipt.cost,
            "reused_cells": receipt.reused_cells,
            "avoided_cells": receipt.avoided_cells,
            "max_cells_per_example": receipt.max_cells_per_example,
            **said,
        }


class Lifetime:
    """Learn one task after another, each making the next one cheaper.

    Parameters
    ----------
    family : a family of models, for instance ``thrifty.Trees(max_depth=6)``; default: the store's,
        else ``thrifty.Models()``
    prices : what a cell costs: None (1 each), a number, a sequence, a mapping by feature name or a
        :class:`thrifty.PriceList`; a source that brings its own prices keeps them
    store : where all of it is kept: a file name (SQLite), a ``postgresql://`` URL, None (memory).
        A store that holds this lifetime is opened again, and several processes may work on it
    budget : a :class:`thrifty.Budget`: what may be spent in total, on a task, on an example
    name : of the lifetime in its store
    random_state : seed of what the default family draws
    agnostic : when to forget, for streams with unrelated tasks: ``thrifty.Expansion()`` (never,
        the default), ``Restart(k)``, ``Balanced(k, r)`` or ``Doubling()``

    Examples
    --------
    >>> import thrifty
    >>> life = thrifty.Lifetime(thrifty.Trees(max_depth=4))
    >>> for task in thrifty.streams.trees(5, 50, 2, 400, 3, random_state=0):
    ...     learned = life.learn(task.name, task.X, task.y)
    >>> learned.route
    'reused'
    >>> len(life), learned.name in life
    (5, True)
    """

    def __init__(
        self,
        family: AnyFamily | None = None,
        *,
        prices: Any = None,
        agnostic: Rule | None = None,
        store: Any = None,
        budget: Budget | None = None,
        name: str = "lifetime",
        random_state: int | None = None,
    ) -> None:
        if family is None and store is not None:
            family = SavedLifetime.family_in(store, name)
        if family is None:
            family = Models(random_state=random_state)
        self._start(family, as_rule(agnostic), prices, budget)
        if store is not None:
            self._keep_in(SavedLifetime.open(store, name, family, agnostic))

    @classmethod
    def open(
        cls,
        store: Any,
        *,
        name: str = "lifetime",
        prices: Any = None,
        budget: Budget | None = None,
        family: AnyFamily | None = None,
    ) -> Lifetime:
        """A lifetime that is in a store, with the family it was begun with.

        ``family=thrifty.Models(estimator)`` brings the estimator of a user again, of which a store
        keeps no more than its name: its models are fitted again on what was bought.
        """
        saved = SavedLifetime.open(store, name, None, None)
        if family is not None:
            saved.bring(family)
        life = cls.__new__(cls)
        life._start(saved.family, saved.rule, prices, budget)
        life._keep_in(saved)
        return life

    def _start(
        self, family: AnyFamily, rule: Rule, prices: Any, budget: Budget | None
    ) -> None:
        self.family = family
        self.agnostic: Rule = rule
        self.budget = budget
        self._prices = prices
        self._now = Snapshot(family.start(), Counts(), None, False, -1)
        self._saved: SavedLifetime | None = None
        self._ledger: Ledger | None = None
        self._tasks: dict[str, Learned] = {}
        # What earlier tasks bought of a Source that is used again.
        self._owned: WeakKeyDictionary[Source, Owned] = WeakKeyDictionary()

    def _keep_in(self, saved: SavedLifetime) -> None:
        self._saved, self.agnostic = saved, saved.rule
        self.refresh()

    @property
    def ledger(self) -> Ledger:
        """Every cell ever bought: its balance, what is in doubt, and how to resolve it."""
        if self._ledger is None:
            saved = self._saved
            book = saved.book if saved is not None else MemoryStore().book("memory", {}, {})
            self._ledger = Ledger(book, self.budget)
        return self._ledger

    def attach(self, source: AnySource) -> AnySource:
        """Let a source be paid for through this lifetime's ledger, also by ``predict``."""
        if not source.free:
            source.ledger = self.ledger  # type: ignore[attr-defined]
        return source

    def balance(self) -> Balance:
        """What was spent, and what is reserved for purchases whose end is open."""
        return self.ledger.balance()

    def refresh(self) -> None:
        """Take in what other processes have learned in the same store."""
        if self._saved is not None:
            now, rows = self._saved.news(self._now.version, len(self._tasks))
            self._take_in(now, rows)

    def _take_in(
        self, now: Snapshot | None, rows: list[TaskRow], own: Learned | None = None
    ) -> None:
        if now is not None:
            self._now = now
        for row in rows:
            mine = own is not None and own.name == row.name
            self._tasks[row.name] = own if mine and own else learned_from_row(self.family, row)

    @property
    def representation(self) -> Any:
        """What past tasks taught: sized, iterable, printable."""
        return self._now.representation

    def learn(
        self,
        name: str,
        X: Any,
        y: Any,
        *,
        spend: Any = None,
        kinds: Any = None,
        good: bool | None = None,
    ) -> Learned:
        """Learn a task: from the representation if it can, from scratch if it must.

        ``spend`` is the most that this task may spend in all: a number in the unit of the prices,
        text such as "300 EUR", or a share such as "5 %" of every cell; for learners that can stop
        anywhere.
        ``kinds={name: "number" | "category" | "boolean" | [categories]}`` says what a feature is
        where its dtype does not.
        ``good`` changes nothing but the bill, which then says of each task whether it is related to
        the others, where a stream knows that.
        When this raises no task is recorded and the representation stays. Cells that were paid for
        stay paid: learning again under the same name buys only what is missing.
        """
        return self.learn_as(self.family, name, X, y, spend=spend, kinds=kinds, good=good)

    def learn_many(
        self, tasks: Iterable[Any], *, n_jobs: int | None = None, engine: Any = "threads"
    ) -> list[Learned]:
        """Learn many tasks with several workers; the result is that of learning them one by one.

        Parameters
        ----------
        tasks : each (name, X, y), or an object with these attributes
        n_jobs : how many workers; -1 is one per core
        engine : "threads", "loky" (processes), "dask", "ray", or a ``distributed.Client``

        >>> import thrifty
        >>> life = thrifty.Lifetime(thrifty.Trees(max_depth=4))
        >>> learned = life.learn_many(thrifty.streams.trees(5, 50, 2, 400, 3), n_jobs=2)
        >>> [task.name for task in learned] == list(life)
        True
        """
        return learn_many(self, tasks, n_jobs=n_jobs, engine=engine)

    def learn_as(
        self,
        family: Any,
        name: str,
        X: Any,
        y: Any,
        *,
        spend: Any = None,
        kinds: Any = None,
        good: bool | None = None,
    ) -> Learned:
        """``learn`` with another object in the family's place, as engines need it."""
        source, labels, owned, cells = self._read_task(name, X, y, kinds, spend)
        found, representation, counts = learn_agnostic(
            family, self.agnostic, self._now.representation, self._now.counts, cells, labels
        )
        learned = Learned(
            name=name,
            route=found.route,
            model=self.family.estimator(found.model, labels, source.feature_names),
            receipt=replace(cells.receipt(), promise=found.promise),
            failure=found.failure,
            good=good,
        )
        after = Snapshot(
            representation, counts, source.feature_names, source.named, self._now.version
        )
        self._commit(source, cells, learned, found, after)
        owned.add(cells.meter)
        self._owned[source] = owned
        return learned

    def background(self, X: Any, *, rows: int, kinds: Any = None) -> Receipt:
        """Buy a control cohort on purpose: so many rows of X whole, drawn without any label.

        What they teach of the features need not be bought again by later tasks; where X has ids,
        later tasks own the rows themselves. For ``thrifty.Models``.

        >>> import thrifty
        >>> life = thrifty.Lifetime()
        >>> life.background(np.eye(50, dtype=bool), rows=20).cells
        1000
        """
        buy = getattr(self.family, "buy_background", None)
        if buy is None:
            raise BadParameter(
                f"{type(self.family).__name__} keeps no background of the features; a cohort is "
                "for thrifty.Models()."
            )
        self.refresh()
        source = self._source_of(X, kinds)
        self._check_features(source)
        ledger = self.ledger if self._needs_ledger(source) else None
        owned = self._owned_of(source)
        run = f"background {uuid.uuid4().hex[:8]}"
        cells = Cells(source, self._prices, owned, ledger=ledger, task=run)
        lesson = buy(cells, rows)
        after = replace(
            self._now,
            representation=self._taught(self._now.representation, lesson, cells),
            features=source.feature_names,
            named=source.named,
        )
        done = _counted(source, cells, run)
        if self._saved is not None:
            self._now = self._saved.commit_lesson(
                self.ledger, done, after, lambda known: self._taught(known, lesson, cells)
            )
        else:
            if self._ledger is not None:
                commit_in_memory(self._ledger, done)
            self._now = after
        owned.add(cells.meter)
        self._owned[source] = owned
        return cells.receipt()

    def _taught(self, representation: Any, lesson: Any, cells: Cells) -> Any:
        family: Any = self.family  # one that buys backgrounds
        return family.with_background(representation, lesson, cells.n_features)

    def predict(
        self, name: str, X: Any, *, stop: Any = None, spend: Any = None, per_row: Any = None
    ) -> Prediction:
        """Predict with a task's model, buying what it asks for, row by row, through the ledger.

        Parameters
        ----------
        X : an array, a frame or a source; columns in any order where they have names, and only
            those that the model may ask for are needed
        stop : when an answer is good enough, for instance ``thrifty.Sure(0.95)``
        spend, per_row : the most that may be spent in all and on a row: a number in the unit of
            the prices, text such as "300 EUR", or a share such as "5 %" of all it may ask for

        >>> import thrifty
        >>> life = thrifty.Lifetime(thrifty.Trees(max_depth=3))
        >>> _ = life.learn("either", [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 1])
        >>> life.predict("either", [[1, 0], [0, 0]])
        Prediction(2 rows, 3 cells bought for 3)
        """
        self.refresh()
        model = self[name]
        source = self._source_of(X, None).recoded(getattr(model, "words_", {}))
        features = model.features_
        match = match_features(
            model.feature_names_, source, needed=features.tolist(), whose=f"the model of {name!r}"
        )
        rows = np.arange(source.n_examples)
        ledger = self.ledger if self._needs_ledger(source) else None
        owned = self._owned_of(source)
        run = f"{name} (prediction {uuid.uuid4().hex[:8]})"

        def door(most: float | None) -> Cells:
            return open_cells(
                source, self._prices, match=match, owned=owned, ledger=ledger,
                task=run, spend=most, is_task=False,
            )  # fmt: skip

        cells = door(None)

        def everything() -> float:
            return cells.price_of(rows, features)

        most = read_spend(spend, cells.currency, everything)
        each = read_spend(per_row, cells.currency, lambda: everything() / len(rows), "per_row")
        if most is not None:
            cells = door(most)
        asked = model.ask(cells, rows, stop=stop, spend=most, per_row=each)
        owned.add(cells.meter)
        self._owned[source] = owned
        return Prediction(model, cells, asked)

    def quote(self, name: str, X: Any, y: Any, *, kinds: Any = None) -> Quote:
        """What the task would cost, reused and from scratch, before a cell is bought.

        >>> import thrifty
        >>> life = thrifty.Lifetime(thrifty.Trees(max_depth=4))
        >>> task = thrifty.streams.trees(1, 50, 2, 400, 3)[0]
        >>> life.quote(task.name, task.X, task.y).scratch_cells
        20000
        """
        _, labels, _, cells = self._read_task(name, X, y, kinds)
        history = [(task.route, task.receipt) for task in self.tasks]
        n_classes = getattr(labels, "n_classes", None)
        return quote_task(
            name, self.family, self.representation, history, cells, n_classes
        )

    def _read_task(
        self, name: str, X: Any, y: Any, kinds: Any = None, spend: Any = None
    ) -> tuple[Source, Any, Owned, Cells]:
        """Check what a user brought, and open a door to it."""
        self.refresh()
        if name in self._tasks:
            raise task_exists(name)
        words = getattr(self._now.representation, "words", {})
        source = self._source_of(X, kinds).recoded(words)
        self._check_features(source)
        labels = self.family.read_labels(y)
        if len(labels) != source.n_examples:
            raise BadInput(
                f"y must hold one label per example; X has {source.n_examples} examples and y has "
                f"{len(labels)} labels."
            )
        ledger = self.ledger if self._needs_ledger(source) else None
        owned = self._owned_of(source)
        cells = Cells(source, self._prices, owned, ledger=ledger, task=name)
        if spend is None:
            return source, labels, owned, cells
        if not getattr(self.family, "stops_anywhere", False):
            raise BadParameter(
                f"{type(self.family).__name__} learns all of a task or nothing and cannot stop "
                "where the money ends: leave out spend=, and limit what a task may cost with "
                "Lifetime(budget=thrifty.Budget(per_task=...))."
            )
        whole = (np.arange(cells.n_examples), np.arange(cells.n_features))
        most = read_spend(spend, cells.currency, lambda: cells.price_of(*whole))
        cells = Cells(source, self._prices, owned, ledger=ledger, task=name, spend=most)
        return source, labels, owned, cells

    def _source_of(self, X: Any, kinds: Any) -> Source:
        return as_source(
            X,
            allow_missing=getattr(self.family, "allow_missing", False),
            categories=getattr(self.family, "reads_categories", False),
            kinds=kinds,
        )

    def _needs_ledger(self, source: Source) -> bool:
        return self.budget is not None or not source.free or source.examples is not None

    def _owned_of(self, source: Source) -> Owned:
        """What earlier tasks paid for: of this very source, or of its examples by their ids."""
        if source.free and source.examples is not None:
            return self.ledger.book.write(lambda pages: owned_by_id(pages, source))
        return self._owned.get(source) or Owned(source.n_examples, source.n_features)

    def _commit(
        self, source: Source, cells: Cells, learned: Learned, found: Found[Any], after: Snapshot
    ) -> None:
        """Write the task down, in the store if there is one."""
        if self._saved is None:
            if self._ledger is not None:
                done = _finished(source, cells, learned, durable=False)
                commit_in_memory(self._ledger, done)
            self._now, self._tasks[learned.name] = after, learned
            return

        def merge(representation: Any, counts: Counts) -> tuple[Any, Counts]:
            return after_attempt(
                self.family, self.agnostic, representation, counts, cells, found
            )

        now, rows = self._saved.commit(
            self.ledger,
            _finished(source, cells, learned, durable=True),
            after,
            merge,
            len(self._tasks),
        )
        self._take_in(now, rows, learned)

    def _check_features(self, source: Source) -> None:
        known = self._now.features
        if known is None:
            return
        if len(known) != source.n_features:
            raise FeaturesChanged(
                f"this lifetime has {len(known)} features; the new task has {source.n_features}. "
                "All tasks of a lifetime share their features: bring the same ones, or start "
                "another lifetime."
            )
        if self._now.named and source.named and known != source.feature_names:
            pairs = zip(known, source.feature_names)
            i, (old, new) = next((i, p) for i, p in enumerate(pairs) if p[0] != p[1])
            raise FeaturesChanged(
                f"the features must have the lifetime's names, in its order; feature {i} is "
                f"{old!r} here and {new!r} in the new task. Reorder or rename the columns."
            )

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
        return (
            f"Lifetime({self.family!r}, {len(self)} tasks, "
            f"{len(self.representation)} metafeatures)"
        )

    def bill(self) -> Any:
        """A pandas DataFrame with a row per task."""
        try:
            import pandas
        except ImportError as error:
            raise ThriftyError(
                "life.bill() returns a pandas DataFrame and pandas is not installed. "
                "Type: pip install 'thrifty[frames]'"
            ) from error
        return pandas.DataFrame([learned.bill_row() for learned in self.tasks])


def _finished(source: Source, cells: Cells, learned: Learned, *, durable: bool) -> Finished:
    failure = learned.failure
    why = None if failure is None else {"reason": failure.reason, "message": failure.message}
    row = TaskRow(
        name=learned.name,
        route=learned.route,
        model=learned.model.to_dict() if durable else {},
        receipt={**learned.receipt.to_dict(), "good": learned.good},
        failure=why,
        token=uuid.uuid4().hex,
        learned_at=time.time(),
    )

    def count(pages: Any) -> None:
        if source.free and source.examples is not None:
            count_as_owned(pages, source, cells.meter, row.learned_at)

    return Finished(row, cells.counted, learned.receipt.currency, count)


def _counted(source: Source, cells: Cells, run: str) -> Finished:
    """A purchase that is no task: what it cost, and what is owned by it."""
    row = TaskRow(run, "screened", {}, {}, None, uuid.uuid4().hex, time.time())

    def count(pages: Any) -> None:
        if source.free and source.examples is not None:
            count_as_owned(pages, source, cells.meter, row.learned_at)

    return Finished(row, cells.counted, cells.currency, count)


def learned_from_row(family: AnyFamily, row: TaskRow) -> Learned:
    """A task as it stands in a store."""
    receipt = dict(row.receipt)
    good = receipt.pop("good", None)
    return Learned(
        name=row.name,
        route=row.route,  # type: ignore[arg-type]
        model=family.load_estimator(row.model),
        receipt=Receipt.from_dict(receipt),
        failure=None if row.failure is None else Failure(**row.failure),
        good=good,
    )
