"""What users hold: a family, what it has learned, and what that cost."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from thrifty.agnostic import Counts, after_attempt, learn_agnostic
from thrifty.attempt import Found
from thrifty.cells import Budget, Receipt, Source
from thrifty.engines import learn_many
from thrifty.engines.many import Tasks
from thrifty.errors import BadParameter, LabelLeftOut
from thrifty.lazy import ask_within_budget
from thrifty.lazy.stopping import StoppingRule
from thrifty.lifetime.booking import OpenTask
from thrifty.lifetime.feature_matching import label_name
from thrifty.lifetime.learned import Learned
from thrifty.lifetime.open_lifetime import OpenLifetime
from thrifty.lifetime.prediction import Prediction, out_of_money
from thrifty.lifetime.quote import Quote, quote_task
from thrifty.protocol import AnyFamily, Representation, traits_of
from thrifty.stores.saved import FeaturesMoved, Snapshot, task_exists
from thrifty.typing import KindsLike, LabelsLike, MoneyLike, TableLike
from thrifty.wrapped.metered import Metered, match_model
from thrifty.wrapped.reading import read_model

__all__ = ["Learned", "Lifetime"]

#: a quote looks at this many tasks, the latest ones
_HISTORY = 100


class Lifetime(OpenLifetime):
    """Learn one task after another, each making the next one cheaper.

    Parameters
    ----------
    family : Family or None
        a family of models, for instance ``thrifty.Trees(max_depth=6)``; default: the store's, else
        ``thrifty.Models()``
    prices : None, number, sequence, mapping or PriceList
        what a cell costs: None (1 each), a number, a sequence, a mapping by feature name or a
        :class:`thrifty.PriceList`; a source that brings its own prices keeps them
    store : None, str, path or Store
        where all of it is kept: a file name (SQLite), a ``postgresql://`` URL, None (memory). A
        store that holds this lifetime is opened again, and several processes may work on it
    budget : Budget or None
        a :class:`thrifty.Budget`: what may be spent in total, on a task, on an example
    name : str
        of the lifetime in its store
    agnostic : Rule or None
        when to forget, for streams with unrelated tasks: ``thrifty.Expansion()`` (never, the
        default), ``Restart(k)``, ``Balanced(k, r)`` or ``Doubling()``
    random_state : int or None
        seed of what a family draws, where the family has none of its own
    progress : bool or None
        whether ``learn`` and ``predict`` show a line when they take more than two seconds: cells,
        money, rate, what is left. None: where the screen is a terminal; False: never

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

    def learn(
        self,
        name: str,
        X: TableLike,
        y: LabelsLike,
        *,
        spend: MoneyLike = None,
        features: Sequence[str] | None = None,
        kinds: KindsLike = None,
        good: bool | None = None,
    ) -> Learned:
        """Learn a task: from the representation if it can, from scratch if it must.

        Parameters
        ----------
        X : array, frame, scipy sparse matrix or Source
            an array, a frame, scipy sparse or a source. Features with names are matched by them,
            may come in any order, may be more or fewer than before
        spend : None, number or str
            the most that this task may spend in all: a number in the unit of the prices, text such
            as "300 EUR", or a share such as "5 %" of every cell; for learners that can stop
            anywhere
        features : sequence of str or None
            the columns to use; None: all but those that are labels, or were labels of this source,
            which are left out with a warning
        kinds : mapping or None
            ``{name: "number" | "category" | "boolean" | [categories]}`` says what a feature is
            where its dtype does not. The lifetime keeps it for later tasks and predictions;
            something else is said with :meth:`change`
        good : bool or None
            changes nothing but the bill, which then says of each task whether it is related to the
            others, where a stream knows that

        When this raises no task is recorded and the representation stays. Cells that were paid for
        stay paid: learning again under the same name buys only what is missing.
        """
        return self.learn_as(
            self.family, name, X, y, spend=spend, features=features, kinds=kinds, good=good
        )

    def learn_many(
        self, tasks: Tasks, *, n_jobs: int | None = None, engine: object = "threads"
    ) -> list[Learned]:
        """Learn many tasks with several workers; the result is that of learning them one by one.

        ``thrifty.Models`` learns one after another, whatever ``n_jobs`` says: each task adds to
        the memory that the next one uses. Other families try tasks ahead.

        Parameters
        ----------
        tasks : iterable
            each (name, X, y), or an object with these attributes
        n_jobs : int or None
            how many workers; -1 is one per core
        engine : str or Client
            "threads", "loky" (processes), "dask", "ray", or a ``distributed.Client``

        >>> import thrifty
        >>> life = thrifty.Lifetime(thrifty.Trees(max_depth=4))
        >>> learned = life.learn_many(thrifty.streams.trees(5, 50, 2, 400, 3), n_jobs=2)
        >>> [task.name for task in learned] == list(life)
        True
        """
        return learn_many(self, tasks, n_jobs=n_jobs, engine=engine)

    def learn_as(
        self,
        family: AnyFamily,
        name: str,
        X: TableLike,
        y: LabelsLike,
        *,
        good: bool | None = None,
        spend: MoneyLike = None,
        features: Sequence[str] | None = None,
        kinds: KindsLike = None,
    ) -> Learned:
        """``learn`` with another object in the family's place, as engines need it."""
        while True:
            self.refresh()
            if name in self._tasks:
                raise task_exists(name)
            task = self._desk.open_task(
                name, X, y, self._now, spend=spend, features=features, kinds=kinds
            )
            try:
                return self._learn(family, task, good, label_name(y, task.source))
            except FeaturesMoved:
                continue  # what it bought is owned: the next turn pays nothing for it

    def _learn(
        self, family: AnyFamily, task: OpenTask, good: bool | None, label: str | None
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
        self,
        task: OpenTask,
        learned: Learned,
        found: Found[object],
        after: Snapshot,
        label: str | None,
    ) -> None:
        """Write the task down, in the store if there is one."""
        done = self._desk.finished(task, learned, label)
        if self._saved is None:
            self._desk.commit_in_memory(done)
            self._now, self._tasks[learned.name] = after, learned
        else:

            def merge(
                representation: Representation, counts: Counts
            ) -> tuple[Representation, Counts]:
                return after_attempt(
                    self.family, self.agnostic, representation, counts, task.cells, found
                )

            now, heads = self._saved.commit(self.ledger, done, after, merge)
            self._take_in(now, heads, self._now.forgets, learned)
        self._desk.keep(task)

    def background(self, X: TableLike, *, rows: int, kinds: KindsLike = None) -> Receipt:
        """Buy a control cohort on purpose: so many rows of X whole, drawn without any label.

        What they teach of the features need not be bought again by later tasks; where X has ids,
        later tasks own the rows themselves. For ``thrifty.Models``.

        >>> import numpy as np
        >>> import thrifty
        >>> life = thrifty.Lifetime()
        >>> life.background(np.eye(50, dtype=bool), rows=20).cells
        1000
        """
        if not traits_of(self.family).buys_background:
            raise BadParameter(
                f"{type(self.family).__name__} keeps no background of the features; a cohort is "
                "for thrifty.Models()."
            )
        self.refresh()
        task = self._desk.open_background(X, self._now, kinds)
        family: Any = self.family  # one that buys backgrounds
        lesson = family.buy_background(task.cells, rows)
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

    def _taught(
        self, representation: Representation, lesson: object, task: OpenTask
    ) -> Representation:
        family: Any = self.family  # one that buys backgrounds
        return family.with_background(  # type: ignore[no-any-return]
            representation, lesson, task.cells.n_features)

    def predict(
        self,
        name: str,
        X: TableLike,
        *,
        stop: StoppingRule | None = None,
        spend: MoneyLike = None,
        per_row: MoneyLike = None,
    ) -> Prediction:
        """Predict with a task's model, buying what it asks for, row by row, through the ledger.

        Parameters
        ----------
        X : array, frame, scipy sparse matrix or Source
            an array, a frame or a source; columns in any order where they have names, and only
            those that the model may ask for are needed
        stop : Sure, Worth or None
            when an answer is good enough, for instance ``thrifty.Sure(0.95)``
        spend, per_row : None, number or str
            the most that may be spent in all and on a row: a number in the unit of the prices, text
            such as "300 EUR", or a share such as "5 %" of all it may ask for

        A budget that ends before the last row raises :class:`thrifty.errors.BudgetExceeded`; its
        ``prediction`` holds the rows that are answered.

        >>> import thrifty
        >>> life = thrifty.Lifetime(thrifty.Trees(max_depth=3))
        >>> _ = life.learn("either", [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 1])
        >>> life.predict("either", [[1, 0], [0, 0]])
        Prediction(2 rows, 3 cells bought for 3)
        """
        self.refresh()
        model = self[name]
        run = self._desk.open_prediction(name, model, X, spend, per_row)
        try:
            with self._progress.shown(name, run.cells, self._desk):
                asked, ended = ask_within_budget(
                    model, run.cells, run.rows, stop=stop, spend=run.spend, per_row=run.per_row
                )
        except BaseException:
            self._desk.leave_prediction(run)
            raise
        prediction = Prediction(model, run.cells, asked)
        self._desk.end_prediction(run, prediction.receipt, finished=ended is None)
        if ended is not None:
            raise out_of_money(name, prediction, ended) from ended
        return prediction

    def metered(
        self,
        fitted: object,
        source: TableLike,
        *,
        confidence: float | None = None,
        budget: Budget | float | None = None,
    ) -> Metered:
        """Lazy predictions of a foreign tree or forest, paid through this lifetime's ledger.

        ``fitted`` is of scikit-learn, LightGBM or XGBoost (or Thrifty's own), or a
        :class:`thrifty.wrapped.Readable` made of a model of another library; ``confidence`` and
        ``budget`` stop early, as in :func:`thrifty.metered`.
        """
        readable = read_model(fitted)
        name = readable.name if readable is fitted else type(fitted).__name__
        title = f"{name} (metered)"
        run = self._desk.open_metered(title, source, lambda s: match_model(readable, s))
        return Metered.of(
            readable, run.cells, confidence, budget,
            after=lambda receipt: self._desk.end_prediction(run, receipt),
            left=lambda: self._desk.leave_prediction(run),
        )  # fmt: skip

    def quote(
        self,
        name: str,
        X: TableLike,
        y: LabelsLike,
        *,
        features: Sequence[str] | None = None,
        kinds: KindsLike = None,
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

    def note_label(self, source: Source, name: str) -> None:
        """Say that a column of a named source is a label: it is no feature of later tasks."""
        if source.name:
            self.ledger.book.write(lambda pages: pages.note_label(source.name, name))

    def fits_in(self, X: TableLike) -> bool:
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
