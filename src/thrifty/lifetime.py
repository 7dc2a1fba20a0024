"""What users hold: a family, what it has learned, and what that cost."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from thrifty.agnostic import Counts, Rule, after_attempt, as_rule, learn_agnostic
from thrifty.attempt import Found
from thrifty.billing import Bills
from thrifty.brought import label_name
from thrifty.cells import Balance, Budget, Ledger, Receipt
from thrifty.desk import Desk, Task
from thrifty.engines import learn_many
from thrifty.errors import BadParameter, LabelLeftOut, ThriftyError, UnknownTask
from thrifty.learned import Learned, parts_of_row
from thrifty.models import Models
from thrifty.prediction import Prediction
from thrifty.progress import Progress
from thrifty.protocol import AnyFamily
from thrifty.quote import Quote, quote_task
from thrifty.stores import existing_store, open_store
from thrifty.stores.saved import FeaturesMoved, SavedLifetime, Snapshot, task_exists
from thrifty.stores.settings import Settings
from thrifty.wrapped.metered import Metered, match_model
from thrifty.wrapped.reading import read_model

__all__ = ["Learned", "Lifetime"]

#: a quote looks at this many tasks, the latest ones
_HISTORY = 100


def default_family() -> AnyFamily:
    """What a lifetime learns where nothing is said."""
    return Models()


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
    agnostic : when to forget, for streams with unrelated tasks: ``thrifty.Expansion()`` (never,
        the default), ``Restart(k)``, ``Balanced(k, r)`` or ``Doubling()``
    random_state : seed of what a family draws, where the family has none of its own
    progress : whether ``learn`` and ``predict`` show a line when they take more than two seconds;
        None: where the screen is a terminal

    A store keeps all of this. What is given again and differs (prices, budget) is a change, and is
    recorded; another family or rule is changed with :meth:`change`.

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
        progress: bool | None = None,
    ) -> None:
        given = Settings(prices, budget, random_state)
        rule = None if agnostic is None else as_rule(agnostic)
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
        store: Any,
        *,
        name: str = "lifetime",
        prices: Any = None,
        budget: Budget | None = None,
        family: AnyFamily | None = None,
        progress: bool | None = None,
    ) -> Lifetime:
        """A lifetime that is in a store, as it was: family, rule, prices, budget, seed.

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

    @property
    def budget(self) -> Budget | None:
        """What may be spent."""
        return self._desk.settings.budget

    @property
    def prices(self) -> Any:
        """What cells cost, of sources that bring no prices."""
        return self._desk.settings.prices

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
        prices: Any = None,
        budget: Budget | None = None,
    ) -> None:
        """Change what the lifetime was given, on purpose; its store records when and what.

        Another family begins with an empty representation. Its models and everything that was
        bought stay.
        """
        rule = None if agnostic is None else as_rule(agnostic)
        given = Settings(prices, budget)
        if self._saved is not None:
            self._saved.change(family, rule)
            self._saved.take(given, begun=True)
            settings = self._saved.settings
        else:
            settings, _ = self._desk.settings.after(given)
        if family is not None and family.to_dict() != self.family.to_dict():
            self._now = Snapshot(
                family.start(), Counts(), self._now.features, self._now.named, self._now.version,
                self._now.position, self._now.forgets,
            )  # fmt: skip
        self.family, self.agnostic = family or self.family, rule or self.agnostic
        self._desk.use(self.family, settings)
        self.refresh()

    def changes(self) -> list[tuple[float, str, Any, Any]]:
        """What was changed on purpose: (when, what, before, after)."""
        saved = self._saved
        return [] if saved is None else saved.book.read(lambda pages: pages.changes())

    def refresh(self) -> None:
        """Take in what other processes have learned in the same store."""
        if self._saved is None:
            return
        now, heads, forgets = self._saved.news(self._now)
        if self._saved.family is not self.family:  # changed by another process
            self.family = self._saved.family
            self._desk.use(self.family, self._saved.settings)
        self.agnostic = self._saved.rule
        if forgets != self._now.forgets:
            self._tasks.clear()
        self._take_in(now or self._now, heads, forgets)

    def _take_in(
        self, now: Snapshot, heads: Iterable[Any], forgets: int, own: Learned | None = None
    ) -> None:
        position = self._now.position
        for head in heads:
            position = head.position
            if own is not None and own.name == head.name:
                self._tasks[head.name] = own
            elif head.name not in self._tasks:
                self._tasks[head.name] = Learned(head.name, head.route, self._loader(head.name))
        self._now = replace(now, position=position, forgets=forgets)

    def _loader(self, name: str) -> Any:
        saved = self._saved
        assert saved is not None
        return lambda: parts_of_row(self.family, saved.row(name), self._now.features)

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
        features: Sequence[str] | None = None,
        kinds: Any = None,
        good: bool | None = None,
    ) -> Learned:
        """Learn a task: from the representation if it can, from scratch if it must.

        Parameters
        ----------
        X : an array, a frame, scipy sparse or a source. Features with names are matched by them,
            may come in any order, may be more or fewer than before
        spend : the most that this task may spend in all: a number in the unit of the prices, text
            such as "300 EUR", or a share such as "5 %" of every cell; for learners that can stop
            anywhere
        features : the columns to use; None: all but those that are labels, or were labels of this
            source, which are left out with a warning
        kinds : ``{name: "number" | "category" | "boolean" | [categories]}`` says what a feature is
            where its dtype does not
        good : changes nothing but the bill, which then says of each task whether it is related to
            the others, where a stream knows that

        When this raises no task is recorded and the representation stays. Cells that were paid for
        stay paid: learning again under the same name buys only what is missing.
        """
        return self.learn_as(
            self.family, name, X, y, spend=spend, features=features, kinds=kinds, good=good
        )

    def learn_many(
        self, tasks: Iterable[Any], *, n_jobs: int | None = None, engine: Any = "threads"
    ) -> list[Learned]:
        """Learn many tasks with several workers; the result is that of learning them one by one.

        ``thrifty.Models`` learns one after another, whatever ``n_jobs`` says: each task adds to
        the memory that the next one uses. Other families try tasks ahead.

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
        good: bool | None = None,
        **given: Any,
    ) -> Learned:
        """``learn`` with another object in the family's place, as engines need it."""
        while True:
            self.refresh()
            if name in self._tasks:
                raise task_exists(name)
            task = self._desk.open_task(name, X, y, self._now, **given)
            try:
                return self._learn(family, task, good, label_name(y, task.source))
            except FeaturesMoved:
                continue  # what it bought is owned: the next turn pays nothing for it

    def _learn(
        self, family: Any, task: Task, good: bool | None, label: str | None
    ) -> Learned:
        if task.features.left_out:
            warnings.warn(
                f"{', '.join(task.features.left_out)} left out of the features of {task.name!r}: "
                "labels of this source. features=[...] says otherwise.",
                LabelLeftOut,
                stacklevel=4,
            )
        cells, now = task.cells, self._now
        with self._progress.shown(task.name, cells, self._desk):
            found, representation, counts = learn_agnostic(
                family, self.agnostic, now.representation, now.counts, cells, task.labels
            )
        model = self.family.estimator(found.model, task.labels, task.features.names)
        receipt = cells.receipt()
        if found.promise:
            receipt = replace(receipt, promise=found.promise)
        parts = (model, receipt, found.failure, good)
        learned = Learned(task.name, found.route, parts, task.features.left_out)
        after = replace(
            now, representation=representation, counts=counts, features=task.features.names,
            named=task.features.named,
        )  # fmt: skip
        self._commit(task, learned, found, after, label)
        return learned

    def _commit(
        self, task: Task, learned: Learned, found: Found[Any], after: Snapshot, label: str | None
    ) -> None:
        """Write the task down, in the store if there is one."""
        done = self._desk.finished(task, learned, label)
        if self._saved is None:
            self._desk.commit_in_memory(done)
            self._now, self._tasks[learned.name] = after, learned
        else:

            def merge(representation: Any, counts: Counts) -> tuple[Any, Counts]:
                return after_attempt(
                    self.family, self.agnostic, representation, counts, task.cells, found
                )

            now, heads = self._saved.commit(self.ledger, done, after, merge)
            self._take_in(now, heads, self._now.forgets, learned)
        self._desk.keep(task)

    def background(self, X: Any, *, rows: int, kinds: Any = None) -> Receipt:
        """Buy a control cohort on purpose: so many rows of X whole, drawn without any label.

        What they teach of the features need not be bought again by later tasks; where X has ids,
        later tasks own the rows themselves. For ``thrifty.Models``.

        >>> import numpy as np
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
        task = self._desk.open_background(X, self._now, kinds)
        lesson = buy(task.cells, rows)
        after = replace(
            self._now,
            representation=self._taught(self._now.representation, lesson, task),
            features=task.features.names,
            named=task.features.named,
        )
        done = self._desk.counted(task)
        if self._saved is not None:
            self._now = self._saved.commit_lesson(
                self.ledger, done, after, lambda known: self._taught(known, lesson, task)
            )
        else:
            self._desk.commit_in_memory(done)
            self._now = after
        self._desk.keep(task)
        return task.cells.receipt()

    def _taught(self, representation: Any, lesson: Any, task: Task) -> Any:
        family: Any = self.family  # one that buys backgrounds
        return family.with_background(representation, lesson, task.cells.n_features)

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
        run = self._desk.open_prediction(name, model, X, spend, per_row)
        with self._progress.shown(name, run.cells, self._desk):
            asked = model.ask(
                run.cells, run.rows, stop=stop, spend=run.spend, per_row=run.per_row
            )
        prediction = Prediction(model, run.cells, asked)
        self._desk.end_prediction(run, prediction.receipt)
        return prediction

    def metered(
        self, fitted: Any, source: Any, *, confidence: float | None = None, budget: Any = None
    ) -> Metered:
        """Lazy predictions of a foreign tree or forest, paid through this lifetime's ledger.

        ``fitted`` is of scikit-learn, LightGBM or XGBoost (or Thrifty's own); ``confidence`` and
        ``budget`` stop early, as in :func:`thrifty.metered`.
        """
        readable = read_model(fitted)
        title = f"{type(fitted).__name__} (metered)"
        run = self._desk.open_metered(title, source, lambda s: match_model(readable, s))
        return Metered.of(
            readable, run.cells, confidence, budget,
            after=lambda receipt: self._desk.end_prediction(run, receipt),
        )  # fmt: skip

    def quote(
        self,
        name: str,
        X: Any,
        y: Any,
        *,
        features: Sequence[str] | None = None,
        kinds: Any = None,
    ) -> Quote:
        """What the task would cost, reused and from scratch; nothing is bought, nothing written.

        >>> import thrifty
        >>> life = thrifty.Lifetime(thrifty.Trees(max_depth=4))
        >>> task = thrifty.streams.trees(1, 50, 2, 400, 3)[0]
        >>> life.quote(task.name, task.X, task.y).scratch_cells
        20000
        """
        self.refresh()
        if name in self._tasks:
            raise task_exists(name)
        task = self._desk.open_task(
            name, X, y, self._now, features=features, kinds=kinds, to_buy=False
        )
        history = [(one.route, one.receipt) for one in self.tasks[-_HISTORY:]]
        n_classes = getattr(task.labels, "n_classes", None)
        return quote_task(
            name, self.family, self.representation, history, task.cells, n_classes
        )

    def forget(self, name: str) -> None:
        """Forget a task's model, so that it can be learned again; what it bought stays owned.

        Its cost stays in the balance. The representation keeps what it taught.
        """
        self[name]  # says which tasks there are
        if self._saved is not None:
            self._saved.book.write(lambda pages: pages.forget(name))
            self.refresh()
        else:
            self._bills.forget(self._tasks.pop(name))

    def note_label(self, source: Any, name: str) -> None:
        """Say that a column of a named source is a label: it is no feature of later tasks."""
        if source.name:
            self.ledger.book.write(lambda pages: pages.note_label(source.name, name))

    def fits_in(self, X: Any) -> bool:
        """Whether X has the lifetime's features in their order, as workers need them."""
        known = self._now.features
        if known is None:
            return True
        names = getattr(X, "feature_names", None)
        if names is None and hasattr(X, "columns"):
            names = tuple(map(str, X.columns))
        if names is not None:
            return tuple(names) == known
        shape = getattr(X, "shape", None)
        return shape is None or (len(shape) == 2 and shape[1] == len(known))

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
        """A pandas DataFrame: a row per task, per prediction run, and per task not learned."""
        try:
            import pandas
        except ImportError as error:
            raise ThriftyError(
                "life.bill() returns a pandas DataFrame and pandas is not installed. "
                "Type: pip install 'thrifty[frames]'"
            ) from error
        return pandas.DataFrame(self._bills.rows(self.tasks))

    def bill_rows(self) -> list[dict[str, Any]]:
        """The same rows as plain data."""
        return self._bills.rows(self.tasks)


def _seeded(family: AnyFamily, given: Settings) -> AnyFamily:
    """A family that draws and was given no seed takes the lifetime's."""
    seed = given.random_state
    if seed is None or getattr(family, "random_state", seed) is not None:
        return family
    from copy import copy

    seeded = copy(family)
    object.__setattr__(seeded, "random_state", seed)
    return seeded
