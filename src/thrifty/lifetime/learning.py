"""How a lifetime learns a task: it is opened, learned, committed, and kept."""

from __future__ import annotations

import uuid
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from thrifty.agnostic import Counts, after_attempt
from thrifty.attempt import Found
from thrifty.cells import Cells, Oracle, Receipt
from thrifty.cells.ledger.meter import PartOwned
from thrifty.checks import warn_user
from thrifty.errors import BadParameter, LabelLeakage, LabelLeftOut, ThriftyError
from thrifty.labels import Labels, columns_of, with_positive
from thrifty.lifetime.feature_matching import label_name
from thrifty.lifetime.labelling import LabelledTask, label_a_task
from thrifty.lifetime.learned import About, Learned, model_to_store, prediction_price
from thrifty.lifetime.quote import Quote, quote_of, refuse_without_limit, say_share
from thrifty.lifetime.transaction import (
    Brought,
    OpenTask,
    TaskOptions,
    Transactions,
    share_of,
    shared_receipt,
)
from thrifty.protocol import AnyFamily, Representation, attempt_task, traits_of
from thrifty.stores.saved import Finished
from thrifty.typing import AnyArray, Bools, Floats, Ints, KindsLike, LabelsLike, TableLike


class Learning:
    """Learns the tasks of one lifetime, quotes them, and buys its background."""

    def __init__(self, transactions: Transactions) -> None:
        self.state, self._transactions = transactions.state, transactions
        #: the latest tasks with their rows and labels, to fit them again
        self._latest: dict[str, OpenTask] = {}
        self._share_said = False

    def learn(
        self,
        name: str,
        X: TableLike,
        y: LabelsLike | Oracle,
        said: TaskOptions,
        family: AnyFamily | None = None,
    ) -> Learned:
        """Learn one task; see :meth:`thrifty.Lifetime.learn`.

        ``family``: another object in the family's place, as workers need it.
        """
        if not isinstance(y, Oracle):
            return self._learn(Brought([name], X, [y], said), family)[0]
        bought = self._label(name, X, y, said)
        said = replace(said, spend=bought.spend)
        return self._learn(Brought([name], X, [bought.y], said, bought=bought), family)[0]

    def learn_together(
        self,
        names: Sequence[str],
        X: TableLike,
        Y: object,
        said: TaskOptions,
        family: AnyFamily | None = None,
    ) -> dict[str, Learned]:
        """Learn several tasks on the same rows; see :meth:`thrifty.Lifetime.learn`."""
        columns = columns_of(names, Y)
        if not learns_together(family or self.state.family):
            self._must_be_new(names)
            return self._one_by_one(names, X, columns, said)
        brought = Brought(names, X, columns, said, together=True)
        return dict(zip(names, self._learn(brought, family)))

    def _open(self, brought: Brought) -> OpenTask:
        """A reader of what is known and owned now, the labels with what is of interest."""
        task, positive = self._transactions.open(brought), brought.said.positive
        if brought.together:
            return replace(task, labels=_each_with_positive(brought.names, task.labels, positive))
        return replace(task, labels=with_positive(task.labels, positive))

    def _must_be_new(self, names: Sequence[str]) -> None:
        self.state.refresh()
        for name in names:
            self.state.must_be_new(name)

    def _learn(self, brought: Brought, family: AnyFamily | None) -> list[Learned]:
        def opened() -> OpenTask:
            self._must_be_new(brought.names)
            task = self._open(brought)
            self._check_limit(task, brought.names)
            return task

        return self._transactions.carry_through(
            opened,
            lambda task: self._found(brought.names, task, family or self.state.family),
            lambda task, every: self._commit(brought, task, every),
            brought.label_cells,
        )

    def _check_limit(self, task: OpenTask, names: Sequence[str]) -> None:
        """Refuse to buy without a limit; say once how much is read where nothing costs."""
        if task.limited_by == "nobody":
            quote = None if isinstance(task.labels, list) else quote_of(self.state, task)
            refuse_without_limit(task, "learn", names, quote)
        if task.limited_by == "default" and not self._share_said:
            self._share_said = True
            say_share(task, names)

    def _label(self, name: str, X: TableLike, oracle: Oracle, said: TaskOptions) -> LabelledTask:
        """Buy the labels of a task that brings none."""
        state = self.state
        self._must_be_new([name])
        if not traits_of(state.family).stops_anywhere:
            raise BadParameter(
                f"{type(state.family).__name__} takes its labels as they are and says nothing of "
                "which to buy: an oracle as y is for thrifty.Models()."
            )
        source = state.source_of_task(X, said.kinds, said.na)
        return label_a_task(state, name, source, oracle, said.spend)

    def _found(
        self, names: Sequence[str], task: OpenTask, family: AnyFamily
    ) -> Sequence[Found[object]]:
        """Algorithm 1 for one task; several at once learn from one table."""
        if task.features.left_out:
            warn_user(
                f"{', '.join(task.features.left_out)} left out of the features of {task.name!r}: "
                "labels of this source. features=[...] says otherwise.",
                LabelLeftOut,
            )
        state, cells, known = self.state, task.cells, self.state.now.representation
        together = isinstance(task.labels, list)
        classes = getattr(task.labels, "n_classes", None)
        # of labels with noise one feature that tells all is a sign
        if traits_of(family).buys_background and classes == 2:
            cells.watch = _LeakageWatch(task.name, cells, task.labels.codes)
        with self._transactions.progress.shown(", ".join(names), cells, state):
            if together:
                return cast(Any, family).learn_together(known, cells, task.labels)  # type: ignore[no-any-return]
            portions = state.rule.portions(known)
            return [attempt_task(family, portions, cells, task.labels)]

    def _commit(
        self, brought: Brought, task: OpenTask, every: Sequence[Found[object]]
    ) -> list[Learned]:
        """Each task with its share; what they read is booked with the first of them.

        All of them or none: a call that is made again begins from nothing or from the end.
        """
        state, cells, names, bought = self.state, task.cells, brought.names, brought.bought
        done, opened, finished = list[Learned](), list[OpenTask](), list[Finished]()
        whole, n = cells.receipt(), len(names)
        paid_by = None if cells.is_free else names[0]
        for i, (name, y, found) in enumerate(zip(names, brought.columns, every)):
            labels = task.labels[i] if brought.together else task.labels
            receipt, labelled = shared_receipt(whole, i, n), None
            if found.promise:
                receipt = replace(receipt, promise=found.promise)
            if bought is not None:
                receipt, labelled = bought.on(receipt), bought.labelled
            model = state.family.estimator(found.model, labels, task.features.names)
            about = About.learned(brought.said.good, labels, prediction_price(model, cells))
            parts = (model, receipt, found.failure, about)
            learned = Learned(name, found.route, parts, task.features.left_out, labelled)
            one = replace(task, name=name, labels=labels, booked=i > 0)
            label, beside = label_name(y, task.source), brought.label_cells
            counted = share_of(cells.counted, i, n)
            end = self._transactions.finished(one, learned, label, counted, paid_by, beside)
            finished.append(end)
            done.append(learned)
            opened.append(one)

        def merge(known: Representation, counts: Counts) -> tuple[Representation, Counts]:
            for found in every:
                known, counts = after_attempt(state.family, state.rule, known, counts, cells, found)
            return known, counts

        known, counts = merge(task.known.representation, task.known.counts)
        after = task.after(representation=known, counts=counts)
        state.add(done, *state.saved.commit(state.ledger, finished, after, merge))
        for one in opened:
            self._transactions.keep(one)
            self._keep(one)
        return done

    def _keep(self, task: OpenTask) -> None:
        """So that it can be fitted again when more is owned of its rows.

        Rows that weigh or belong together stay with the table that was bought for them.
        """
        if not isinstance(task.labels, Labels):
            return
        if task.labels.row_weights is not None or task.labels.groups is not None:
            return
        self._latest[task.name] = task
        while len(self._latest) > 64:  # labels are kept until then
            del self._latest[next(iter(self._latest))]

    def quote(self, name: str, X: TableLike, y: LabelsLike, said: TaskOptions) -> Quote:
        """Of a task that is not learned yet; see :meth:`thrifty.Lifetime.quote`."""
        self._must_be_new([name])
        task = self._transactions.open(Brought([name], X, [y], said), to_buy=False)
        return quote_of(self.state, task)

    def refit(self) -> list[str]:
        """Fit earlier tasks again on what is owned now; see :meth:`thrifty.Lifetime.refit`."""
        state = self.state
        state.refresh()
        family: Any = state.family
        done: list[str] = []
        if not learns_together(family):
            return []
        groups: dict[object, list[OpenTask]] = {}
        for name, task in self._latest.items():
            if name in state.tasks:
                groups.setdefault(_rows_of(task), []).append(task)
        for tasks in groups.values():
            cells = self._transactions.open_again(tasks[-1])
            models = [state.tasks[task.name].model for task in tasks]
            every = family.learn_again(cells, [task.labels for task in tasks], models)
            for task, found in zip(tasks, every):
                if found is not None:
                    self._put(task, found)
                    done.append(task.name)
        return done

    def _put(self, task: OpenTask, found: object) -> None:
        """A new model in the place of an earlier one; its bill stays."""
        state, before = self.state, self.state.tasks[task.name]
        model = state.family.estimator(found, task.labels, task.features.names)
        about = replace(before.about, prediction_price=prediction_price(model, task.cells))
        state.saved.put_model(task.name, lambda: model_to_store(model, task.features.names))
        state.tasks[task.name] = before.with_model(model, about)

    def open_ahead(self, brought: Brought) -> tuple[Cells, object] | None:
        """A reader that a worker may be given, and labels; None: these are learned in their turn.

        What a worker reads must be free to read, and no budget may hold it: an attempt that is
        thrown away would have spent.
        """
        state = self.state
        bought = any(isinstance(y, Oracle) for y in brought.columns)
        if state.settings.budget is not None or bought:
            return None
        try:
            state.refresh()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # said in its turn
                task = self._open(brought)
        except ThriftyError:
            return None  # its turn will raise it again
        if not task.source.free or task.limited_by == "nobody":
            return None
        return task.cells, task.labels

    def _one_by_one(
        self, names: Sequence[str], X: TableLike, columns: Sequence[LabelsLike], said: TaskOptions
    ) -> dict[str, Learned]:
        """Families that know nothing of one table learn one after another, for as much each."""
        spend, interest = said.spend, said.positive
        if spend is not None:
            if not isinstance(spend, int | float):
                raise BadParameter(
                    f"{type(self.state.family).__name__} learns the tasks one after another: say "
                    f"spend= as a number, of which each has its part; got {spend!r}."
                )
            spend = spend / len(names)
        by_name = interest if isinstance(interest, Mapping) else dict.fromkeys(names, interest)
        return {
            name: self.learn(name, X, y, replace(said, spend=spend, positive=by_name.get(name)))
            for name, y in zip(names, columns)
        }

    def background(self, X: TableLike, rows: int, kinds: KindsLike) -> Receipt:
        """Buy rows for what they teach of the features; see :meth:`thrifty.Lifetime.background`."""
        state = self.state
        if not traits_of(state.family).buys_background:
            raise BadParameter(
                f"{type(state.family).__name__} keeps no background of the features; a cohort is "
                "for thrifty.Models()."
            )
        name = f"background {uuid.uuid4().hex[:8]}"
        family: Any = state.family  # one that buys backgrounds

        def opened() -> OpenTask:
            brought = Brought([name], X, [], TaskOptions(kinds=kinds))
            return self._transactions.open(brought, a_share=False)

        def commit(task: OpenTask, update: object) -> Receipt:
            def merge(known: Representation, counts: Counts) -> tuple[Representation, Counts]:
                return family.with_background(known, update, task.cells.n_features), counts

            known, counts = merge(task.known.representation, task.known.counts)
            done = [self._transactions.finished(task, None)]
            after = task.after(representation=known, counts=counts)
            state.add([], *state.saved.commit(state.ledger, done, after, merge))
            self._transactions.keep(task)
            return task.cells.receipt()

        return self._transactions.carry_through(
            opened, lambda task: family.buy_background(task.cells, rows), commit
        )


def learns_together(family: AnyFamily) -> bool:
    """Whether a family learns several tasks on the same rows from one table.

    Such a family has ``learn_together(representation, cells, tasks)``, an answer for each, and
    ``learn_again(cells, tasks, models)``, which fits earlier ones on all that is known now.
    """
    return hasattr(family, "learn_together")


def _rows_of(task: OpenTask) -> tuple[object, ...]:
    """Equal where two tasks are over the same rows and features of one source."""
    kept = task.owned.rows.tobytes() if isinstance(task.owned, PartOwned) else None
    return (task.place, task.source.examples, kept, task.features.names)


def _each_with_positive(
    names: Sequence[str], every: Sequence[Labels], said: object
) -> list[Labels]:
    """Labels of several tasks that know their classes of interest; ``said``: of all, or by name."""
    by_name = said if isinstance(said, Mapping) else dict.fromkeys(names, said)
    strangers = [name for name in by_name if name not in names]
    if strangers:
        raise BadParameter(f"positive= speaks of {strangers[0]!r}; the tasks are {list(names)}.")
    return [with_positive(one, by_name.get(name)) for name, one in zip(names, every)]


class _LeakageWatch:
    """Label leakage: a feature that alone gives the label away is named before more is spent.

    A discharge code tells who died, a test that is only made of the ill tells who is ill. Such a
    column makes a perfect model that nobody can use. Every sample with rows of both classes is
    judged as it comes through the reader, so that the warning stands before the next purchase;
    nothing is refused. It says nothing with fewer than ``least`` rows of either class, or of a
    category, or five times as many in all. Not measured: eight rows among forty are separated by
    chance once in a hundred million times (40 over 8).
    """

    least = 8

    def __init__(self, task: str, cells: Cells, codes: Ints) -> None:
        self._task, self._cells, self._codes = task, cells, codes
        #: how many rows each feature was judged on
        self._judged = np.zeros(cells.n_features, dtype=np.int64)
        self._named: set[int] = set()

    def __call__(self, rows: Ints, features: Ints, block: AnyArray) -> None:
        y = self._codes[rows] == 1
        if len(rows) < 5 * self.least or min(y.sum(), (~y).sum()) < self.least:
            return
        fresh = np.flatnonzero(2 * self._judged[features] <= len(rows))
        self._judged[features[fresh]] = len(rows)
        columns = [self._numbers(int(features[j]), block[:, j], y) for j in fresh.tolist()]
        if not columns:
            return
        aurocs = _auroc(np.column_stack(columns), y)
        # beyond 0.99 on a sample it is named, as was asked for
        for j, auroc in zip(fresh.tolist(), aurocs.tolist()):
            f = int(features[j])
            if auroc > 0.99 and f not in self._named:
                self._named.add(f)
                self._say(self._cells.feature_names[f], auroc, len(rows))

    def _numbers(self, f: int, values: AnyArray, y: Bools) -> Floats:
        """A category by the share of its rows in the second class; numbers as they are."""
        numbers = np.asarray(values, dtype=np.float64)
        categories = self._cells.categories.get(f)
        if categories is None:
            return numbers
        if len(categories) * self.least > len(y):
            return np.full(len(y), np.nan)
        out = np.full(len(y), np.nan)
        for code in np.unique(numbers[~np.isnan(numbers)]):
            here = numbers == code
            out[here] = y[here].mean()
        return out

    def _say(self, feature: str, auroc: float, rows: int) -> None:
        warn_user(
            f"{feature!r} alone predicts {self._task!r} (AUROC {auroc:.3f} on {rows} rows): it may "
            "be the label by another name, or known only after it. If so, learn without it: "
            f"features=[...] or --without {feature!r}. Here it is used like any other feature.",
            LabelLeakage,
        )


def _auroc(values: Floats, y: Bools, least: int = _LeakageWatch.least) -> Floats:
    """Of each column, in whichever direction tells more; NaN with too few rows that are no gaps.

    >>> _auroc(np.column_stack([np.arange(40.0), np.ones(40)]), np.arange(40) >= 20).tolist()
    [1.0, 0.5]
    """
    from scipy.stats import rankdata  # seconds to import, and bills are printed without it

    there = ~np.isnan(values)
    ranks = rankdata(np.where(there, np.clip(values, -1e300, 1e300), np.inf), axis=0)
    ours = there & y[:, None]
    n, every = ours.sum(axis=0), there.sum(axis=0)
    pairs = (n * (every - n)).astype(np.float64)
    pairs[np.minimum(n, every - n) < least] = np.nan
    found = (np.where(ours, ranks, 0.0).sum(axis=0) - n * (n + 1) / 2) / pairs
    return np.asarray(np.maximum(found, 1 - found))
