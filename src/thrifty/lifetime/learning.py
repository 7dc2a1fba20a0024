"""How a lifetime learns a task: it is opened, learned, committed, and put on the shelf.

A feature that alone gives the label away is named before more is spent. A discharge code tells who
died, a test that is only made of the ill tells who is ill. Such a column makes a perfect model that
nobody can use. Every look at rows of both classes is judged as it comes through the door, so that
the warning stands before the next purchase; nothing is refused.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.agnostic import Counts, after_attempt, learn_agnostic
from thrifty.attempt import Found
from thrifty.cells import Cells, Oracle, Receipt
from thrifty.cells.ledger.meter import PartOwned
from thrifty.cells.sources.callable import CallableSource
from thrifty.errors import BadParameter, GivesAway, LabelLeftOut, ThriftyError
from thrifty.labels.classes import Labels, with_positive
from thrifty.labels.numbers import Numbers
from thrifty.labels.partly import PartlyLabelled, columns_of
from thrifty.lifetime.booking import Booking, OpenTask
from thrifty.lifetime.feature_matching import label_name
from thrifty.lifetime.labelling import LabelCells, LabelledTask, label_a_task
from thrifty.lifetime.learned import About, Learned, model_to_store, prediction_price
from thrifty.lifetime.many import Ahead, LearnsTogether, in_shares, shared_receipts
from thrifty.lifetime.progress import Progress
from thrifty.lifetime.quote import (
    CallsSoFar,
    Quote,
    quote_rehearsed,
    quote_task,
    refuse_without_limit,
    say_share,
)
from thrifty.lifetime.rehearsal import MOST_CELLS, rehearse
from thrifty.lifetime.shelf import Shelf
from thrifty.protocol import AnyFamily, Representation, traits_of
from thrifty.stores.saved import FeaturesMoved, Snapshot
from thrifty.typing import AnyArray, KindsLike, LabelsLike, MoneyLike, NaLike, TableLike

__all__ = ["Learning", "watch_for_giveaways"]

#: beyond this AUROC on a look a feature is named, as was asked for
_TELLS = 0.99
# Not measured: eight rows of the rarer class among forty are separated by chance once in a hundred
# million times (40 over 8).
_LEAST_ROWS, _LEAST_EACH = 40, 8
#: a category may have one word for so many rows of the look
_ROWS_A_WORD = 8


def watch_for_giveaways(task: str, cells: Cells, labels: object) -> None:
    """Judge every look through a door, where the task has two classes."""
    if isinstance(labels, Labels) and labels.n_classes == 2:
        cells.watch = _GiveawayWatch(task, cells, labels.codes)


class _GiveawayWatch:
    """Remembers how many rows each feature was judged on, and which were named."""

    def __init__(self, task: str, cells: Cells, codes: NDArray[np.int64]) -> None:
        self._task, self._cells, self._codes = task, cells, codes
        self._judged = np.zeros(cells.n_features, dtype=np.int64)
        self._named: set[int] = set()

    def __call__(
        self, rows: NDArray[np.int64], features: NDArray[np.int64], block: AnyArray
    ) -> None:
        y = self._codes[rows] == 1
        if len(rows) < _LEAST_ROWS or min(y.sum(), (~y).sum()) < _LEAST_EACH:
            return
        fresh = np.flatnonzero(2 * self._judged[features] <= len(rows))
        self._judged[features[fresh]] = len(rows)
        for j in fresh.tolist():
            f = int(features[j])
            found = _auroc(self._numbers(f, block[:, j], y), y)
            if found is not None and found > _TELLS and f not in self._named:
                self._named.add(f)
                self._say(self._cells.feature_names[f], found, len(rows))

    def _numbers(self, f: int, values: AnyArray, y: NDArray[np.bool_]) -> NDArray[np.float64]:
        """A category by the share of its rows in the second class; numbers as they are."""
        numbers = np.asarray(values, dtype=np.float64)
        words = self._cells.categories.get(f)
        if words is None:
            return numbers
        if len(words) * _ROWS_A_WORD > len(y):
            return np.full(len(y), np.nan)
        out = np.full(len(y), np.nan)
        for word in np.unique(numbers[~np.isnan(numbers)]):
            here = numbers == word
            out[here] = y[here].mean()
        return out

    def _say(self, feature: str, auroc: float, rows: int) -> None:
        warnings.warn(
            f"{feature!r} alone tells {self._task!r} (AUROC {auroc:.3f} on {rows} rows): it may be "
            "the label by another name, or known only after it. If so, learn without it, "
            f"features=[...] or --without {feature!r}. It is used as it is; this is said once.",
            GivesAway,
            stacklevel=2,
        )


def _auroc(values: NDArray[np.float64], y: NDArray[np.bool_]) -> float | None:
    """Of whichever direction tells more; None with too few rows that are no gaps.

    >>> _auroc(np.arange(40.0), np.arange(40) >= 20)
    1.0
    """
    there = ~np.isnan(values)
    ours, n = y[there], int(y[there].sum())
    others = len(ours) - n
    if min(n, others) < _LEAST_EACH:
        return None
    from scipy.stats import rankdata  # seconds to import, and bills are printed without it

    ranks = rankdata(values[there])
    found = (float(ranks[ours].sum()) - n * (n + 1) / 2) / (n * others)
    return max(found, 1 - found)


#: a quote looks at this many tasks, the latest ones
_HISTORY = 100
#: so many tasks, the latest, can be fitted again: their labels are kept until then
_AGAIN = 64
#: so many of them, the latest on the same rows, have a say in what a further task buys. Set by hand
_BESIDE = 12


def _rows_of(task: OpenTask) -> tuple[object, ...]:
    """Equal where two tasks are over the same rows and features of one source."""
    kept = task.owned.rows.tobytes() if isinstance(task.owned, PartOwned) else None
    return (task.place, task.source.examples, kept, task.features.names)


def _each_with_positive(
    names: Sequence[str], every: Sequence[PartlyLabelled], said: object
) -> list[PartlyLabelled]:
    """Labels of several tasks that know their classes of interest; ``said``: of all, or by name."""
    by_name = said if isinstance(said, Mapping) else dict.fromkeys(names, said)
    strangers = [name for name in by_name if name not in names]
    if strangers:
        raise BadParameter(f"positive= speaks of {strangers[0]!r}; the tasks are {list(names)}.")
    return [
        replace(one, labels=with_positive(one.labels, by_name.get(name)))
        for name, one in zip(names, every)
    ]


class Learning:
    """Learns the tasks of one lifetime, quotes them, and buys its background."""

    def __init__(self, shelf: Shelf, booking: Booking, progress: Progress) -> None:
        self._shelf, self._booking, self._progress = shelf, booking, progress
        #: the latest tasks with their rows and labels, to fit them again
        self._latest: dict[str, OpenTask] = {}
        self._share_said = False

    def learn(
        self,
        family: AnyFamily,
        name: str,
        X: TableLike,
        y: LabelsLike | Oracle,
        *,
        good: bool | None,
        spend: MoneyLike,
        features: Sequence[str] | None,
        kinds: KindsLike,
        na: NaLike = None,
        sample_weight: object = None,
        groups: object = None,
        positive: object = None,
    ) -> Learned:
        """Learn one task; see :meth:`thrifty.Lifetime.learn`."""
        shelf = self._shelf
        bought: LabelledTask | None = None
        if isinstance(y, Oracle):
            bought = self._label(name, X, y, spend, kinds, na)
            y, spend = bought.y, bought.spend
        while True:
            shelf.refresh()
            shelf.must_be_new(name)
            task = self._booking.open_task(
                name, X, y, shelf.now, spend=spend, features=features, kinds=kinds, na=na,
                quiet=bought is not None, sample_weight=sample_weight, groups=groups,
            )  # fmt: skip
            task = replace(task, labels=with_positive(task.labels, positive))
            self._check_limit(task, [name], 6)
            try:
                with self._booking.noting(task, None if bought is None else bought.cells):
                    return self._learn(family, task, good, label_name(y, task.source), bought)
            except FeaturesMoved:
                continue  # what it bought is owned: the next turn pays nothing for it

    def _check_limit(self, task: OpenTask, names: Sequence[str], stacklevel: int) -> None:
        """Refuse to buy without a limit; say once how much is read where nothing costs."""
        if task.limited_by == "nobody":
            quote = None if isinstance(task.labels, list) else self._quoted(task)
            refuse_without_limit(task, "learn", names, quote)
        if task.limited_by == "default" and not self._share_said:
            self._share_said = True
            say_share(task, names, stacklevel)

    def _label(
        self,
        name: str,
        X: TableLike,
        oracle: Oracle,
        spend: MoneyLike,
        kinds: KindsLike,
        na: NaLike,
    ) -> LabelledTask:
        """Buy the labels of a task that brings none."""
        shelf = self._shelf
        shelf.refresh()
        shelf.must_be_new(name)
        if not traits_of(shelf.family).stops_anywhere:
            raise BadParameter(
                f"{type(shelf.family).__name__} takes its labels as they are and says nothing of "
                "which to buy: an oracle as y is for thrifty.Models()."
            )
        doors = shelf.doors
        words = getattr(shelf.now.representation, "words", {})
        source = doors.source_of(X, kinds, words, na).recoded(words)
        return label_a_task(doors, name, source, oracle, spend, doors.settings.drawn_row_seed)

    def _learn(
        self,
        family: AnyFamily,
        task: OpenTask,
        good: bool | None,
        label: str | None,
        bought: LabelledTask | None = None,
    ) -> Learned:
        self._say_left_out(task)
        shelf, cells, now = self._shelf, task.cells, self._shelf.now
        if traits_of(family).buys_background:  # labels with noise: a perfect feature is a sign
            watch_for_giveaways(task.name, cells, task.labels)
        with self._progress.shown(task.name, cells, shelf.doors):
            found, representation, counts = learn_agnostic(
                family, shelf.rule, now.representation, now.counts, cells, self._beside(task)
            )
        model = shelf.family.estimator(found.model, task.labels, task.features.names)
        about = About.learned(good, task.labels, prediction_price(model, cells))
        after = replace(
            now,
            representation=representation,
            counts=counts,
            features=task.features.names,
            named=task.features.named,
        )

        def commit() -> Learned:
            receipt = cells.receipt()
            if found.promise:
                receipt = replace(receipt, promise=found.promise)
            if bought is not None:
                receipt = bought.on(receipt)
            parts = (model, receipt, found.failure, about)
            labelled = None if bought is None else bought.labelled
            learned = Learned(task.name, found.route, parts, task.features.left_out, labelled)
            labels = None if bought is None else bought.cells
            self._commit(task, learned, found, after, label, labels=labels)
            return learned

        learned = shelf.doors.booked(cells, commit)
        if isinstance(task.labels, Labels | Numbers):
            rows = np.arange(len(task.labels))
            self._keep(replace(task, labels=PartlyLabelled(task.labels, rows, len(rows))))
        return learned

    def _keep(self, task: OpenTask) -> None:
        """So that it can be fitted again when more is owned of its rows.

        Rows that weigh or belong together stay with the table that was bought for them.
        """
        labels = getattr(task.labels, "labels", task.labels)
        if any(getattr(labels, said, None) is not None for said in ("row_weights", "groups")):
            return
        self._latest[task.name] = task
        while len(self._latest) > _AGAIN:
            del self._latest[next(iter(self._latest))]

    def _beside(self, task: OpenTask) -> Any:
        """A task's labels, beside those that earlier tasks gave the same rows: it buys for all."""
        labels, shelf = task.labels, self._shelf
        if not isinstance(shelf.family, LearnsTogether) or not isinstance(labels, Labels):
            return labels
        here = _rows_of(task)
        earlier = [
            one.labels.by_row
            for name, one in self._latest.items()
            if name in shelf.tasks and _rows_of(one) == here
        ]
        return replace(labels, beside=tuple(earlier[-_BESIDE:]))

    def refit(self) -> list[str]:
        """Fit earlier tasks again on what is owned now; see :meth:`thrifty.Lifetime.refit`."""
        shelf = self._shelf
        shelf.refresh()
        family, done = shelf.family, []
        if not isinstance(family, LearnsTogether):
            return []
        groups: dict[object, list[OpenTask]] = {}
        for name, task in self._latest.items():
            if name in shelf.tasks:
                groups.setdefault(_rows_of(task), []).append(task)
        for tasks in groups.values():
            cells = self._booking.open_again(tasks[-1])
            models = [shelf.tasks[task.name].model for task in tasks]
            every = family.learn_again(cells, [task.labels for task in tasks], models)
            for task, found in zip(tasks, every):
                if found is not None:
                    self._put(task, found)
                    done.append(task.name)
        return done

    def _put(self, task: OpenTask, found: object) -> None:
        """A new model in the place of an earlier one; its bill stays."""
        shelf, before = self._shelf, self._shelf.tasks[task.name]
        model = shelf.family.estimator(found, task.labels.labels, task.features.names)
        about = replace(before.about, prediction_price=prediction_price(model, task.cells))
        parts = (model, before.receipt, before.failure, about)
        if shelf.saved is not None:
            kept = model_to_store(model, task.features.names)
            shelf.saved.book.write(lambda pages: pages.put_model(task.name, kept))
        shelf.tasks[task.name] = Learned(task.name, before.route, parts, before.left_out)

    @staticmethod
    def _say_left_out(task: OpenTask) -> None:
        if task.features.left_out:
            warnings.warn(
                f"{', '.join(task.features.left_out)} left out of the features of {task.name!r}: "
                "labels of this source. features=[...] says otherwise.",
                LabelLeftOut,
                stacklevel=6,  # the user's line: this, learning twice, learn_as and learn above it
            )

    def learn_together(
        self, names: Sequence[str], X: TableLike, Y: Any, *, good: bool | None, spend: MoneyLike,
        features: Sequence[str] | None, kinds: KindsLike, na: NaLike,
        positive: object = None, family: AnyFamily | None = None,
    ) -> dict[str, Learned]:  # fmt: skip
        """Learn several tasks on the same rows; see :meth:`thrifty.Lifetime.learn`."""
        shelf = self._shelf
        columns = columns_of(names, Y)
        shelf.refresh()
        for name in names:
            shelf.must_be_new(name)
        family = shelf.family if family is None else family
        if not isinstance(family, LearnsTogether):
            return self._one_by_one(names, X, columns, good, spend, features, kinds, na, positive)
        while True:
            task = self._booking.open_together(
                names, X, columns, shelf.now, spend=spend, features=features, kinds=kinds, na=na
            )
            task = replace(task, labels=_each_with_positive(names, task.labels, positive))
            self._check_limit(task, names, 5)
            try:
                with self._booking.noting(task):
                    return self._learn_together(family, names, columns, task, good)
            except FeaturesMoved:
                shelf.refresh()  # what it bought is owned: the next turn pays nothing for it

    def open_ahead(
        self, names: Sequence[str], X: TableLike, ys: Sequence[LabelsLike], spend: MoneyLike
    ) -> Ahead | None:
        """A door for a worker, on what is known and owned now; see :mod:`.waves`."""
        shelf = self._shelf
        if shelf.doors.settings.budget is not None or any(isinstance(y, Oracle) for y in ys):
            return None
        try:
            shelf.refresh()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # said in its turn
                task = (
                    self._booking.open_task(names[0], X, ys[0], shelf.now, spend=spend)
                    if len(names) == 1
                    else self._booking.open_together(
                        names, X, ys, shelf.now, spend=spend, features=None, kinds=None
                    )
                )
                labels = (
                    with_positive(task.labels)
                    if len(names) == 1
                    else _each_with_positive(names, task.labels, None)
                )
                task = replace(task, labels=labels)
        except ThriftyError:
            return None  # its turn will raise it again
        if not task.source.free or task.limited_by == "nobody":
            return None
        return Ahead(task.cells, self._beside(task), task.features.names)

    def _one_by_one(
        self, names: Sequence[str], X: TableLike, columns: Sequence[Any], good: bool | None,
        spend: MoneyLike, features: Sequence[str] | None, kinds: KindsLike, na: NaLike,
        positive: object,
    ) -> dict[str, Learned]:  # fmt: skip
        """Families that know nothing of one table learn one after another, for as much each."""
        each = spend
        if spend is not None:
            if not isinstance(spend, int | float):
                raise BadParameter(
                    f"{type(self._shelf.family).__name__} learns the tasks one after another: say "
                    f"spend= as a number, of which each has its part; got {spend!r}."
                )
            each = spend / len(names)
        family = self._shelf.family
        return {
            name: self.learn(
                family,
                name,
                X,
                y,
                good=good,
                spend=each,
                features=features,
                kinds=kinds,
                na=na,
                positive=positive.get(name) if isinstance(positive, Mapping) else positive,
            )
            for name, y in zip(names, columns)
        }

    def _learn_together(
        self,
        family: LearnsTogether,
        names: Sequence[str],
        columns: Sequence[Any],
        task: OpenTask,
        good: bool | None,
    ) -> dict[str, Learned]:
        shelf, cells = self._shelf, task.cells
        self._say_left_out(task)
        with self._progress.shown(", ".join(names), cells, shelf.doors):
            every = family.learn_together(shelf.now.representation, cells, task.labels)
        return shelf.doors.booked(
            cells, lambda: self._commit_together(names, columns, task, good, every)
        )

    def _commit_together(
        self,
        names: Sequence[str],
        columns: Sequence[Any],
        task: OpenTask,
        good: bool | None,
        every: Sequence[Found[object]],
    ) -> dict[str, Learned]:
        """Each task with its share; what they looked at is booked with the first of them."""
        shelf, cells = self._shelf, task.cells
        receipts = shared_receipts(cells.receipt(), len(names))
        counted = in_shares(cells.counted, len(names))
        done: dict[str, Learned] = {}
        for i, (name, y, found) in enumerate(zip(names, columns, every)):
            labels = task.labels[i].labels
            model = shelf.family.estimator(found.model, labels, task.features.names)
            about = About.learned(good, labels, prediction_price(model, cells))
            parts = (model, receipts[i], found.failure, about)
            learned = Learned(name, found.route, parts, task.features.left_out)
            now = shelf.now
            known, counts = after_attempt(
                shelf.family, shelf.rule, now.representation, now.counts, cells, found
            )
            after = replace(
                now,
                representation=known,
                counts=counts,
                features=task.features.names,
                named=task.features.named,
            )
            one = replace(task, name=name, labels=labels, booked=i > 0)
            paid_by = None if cells.is_free else names[0]
            label = label_name(y, task.source)
            self._commit(one, learned, found, after, label, counted[i], paid_by)
            self._keep(replace(one, labels=task.labels[i]))
            done[name] = learned
        return done

    def _commit(
        self,
        task: OpenTask,
        learned: Learned,
        found: Found[object],
        after: Snapshot,
        label: str | None,
        counted: int | None = None,
        paid_by: str | None = None,
        labels: LabelCells | None = None,
    ) -> None:
        """Write the task down, in the store if there is one."""
        shelf = self._shelf
        done = self._booking.finished(task, learned, label, counted, paid_by, labels)
        if shelf.saved is None:
            self._booking.commit_in_memory(done)
            shelf.add(learned, after)
        else:

            def merge(
                representation: Representation, counts: Counts
            ) -> tuple[Representation, Counts]:
                return after_attempt(
                    shelf.family, shelf.rule, representation, counts, task.cells, found
                )

            shelf.add(learned, *shelf.saved.commit(shelf.doors.ledger, done, after, merge))
        self._booking.keep(task)

    def background(self, X: TableLike, rows: int, kinds: KindsLike) -> Receipt:
        """Buy rows for what they teach of the features; see :meth:`thrifty.Lifetime.background`."""
        shelf = self._shelf
        if not traits_of(shelf.family).buys_background:
            raise BadParameter(
                f"{type(shelf.family).__name__} keeps no background of the features; a cohort is "
                "for thrifty.Models()."
            )
        shelf.refresh()
        task = self._booking.open_background(X, shelf.now, kinds)
        family: Any = shelf.family  # one that buys backgrounds
        lesson = family.buy_background(task.cells, rows)
        after = replace(
            shelf.now,
            representation=self._taught(shelf.now.representation, lesson, task),
            features=task.features.names,
            named=task.features.named,
        )

        def commit() -> Snapshot:
            done = self._booking.counted(task)
            if shelf.saved is None:
                self._booking.commit_in_memory(done)
                return after
            return shelf.saved.commit_lesson(
                shelf.doors.ledger, done, after, lambda known: self._taught(known, lesson, task)
            )

        shelf.now = shelf.doors.booked(task.cells, commit)
        self._booking.keep(task)
        return task.cells.receipt()

    def _taught(
        self, representation: Representation, lesson: object, task: OpenTask
    ) -> Representation:
        family: Any = self._shelf.family  # one that buys backgrounds
        return family.with_background(  # type: ignore[no-any-return]
            representation, lesson, task.cells.n_features
        )

    def quote(
        self,
        name: str,
        X: TableLike,
        y: LabelsLike,
        features: Sequence[str] | None,
        kinds: KindsLike,
        spend: MoneyLike = None,
        na: NaLike = None,
    ) -> Quote:
        """What a task would cost; see :meth:`thrifty.Lifetime.quote`."""
        shelf = self._shelf
        shelf.refresh()
        shelf.must_be_new(name)
        task = self._booking.open_task(
            name, X, y, shelf.now, spend=spend, features=features, kinds=kinds, na=na, to_buy=False
        )
        return self._quoted(task)

    def _quoted(self, task: OpenTask) -> Quote:
        shelf = self._shelf
        n_classes = getattr(task.labels, "n_classes", None)
        if traits_of(shelf.family).stops_anywhere and n_classes != 1:
            return self._rehearse(task)
        latest = list(shelf.tasks.values())[-_HISTORY:]
        history = [(one.route, one.receipt) for one in latest]
        return quote_task(
            task.name, shelf.family, shelf.now.representation, history, task.cells, n_classes
        )

    def _rehearse(self, task: OpenTask) -> Quote:
        shelf, cells = self._shelf, task.cells
        found, least = None, None
        if cells.n_examples * cells.n_features <= MOST_CELLS:
            prices = self._booking.prices_of(task.source, task.features)
            given = shelf.family, shelf.now.representation, task, prices, cells.spend
            found = rehearse(*given)
            if cells.spend is None:  # it stops by itself: where there is nothing to learn, soonest
                least = rehearse(*given, tells=0.0)
        calls = self._calls_so_far(task)
        return quote_rehearsed(task.name, cells, cells.spend, found, calls, least)

    def _calls_so_far(self, task: OpenTask) -> CallsSoFar:
        """How long calls to this provider have taken, as far as the ledger knows."""
        allowed = getattr(self._shelf.family, "allowance", None)
        allowance = None if allowed is None else allowed(task.cells)
        source = task.source
        if not isinstance(source, CallableSource):
            return CallsSoFar(allowance=allowance)
        latest = self._shelf.doors.ledger.book.read(lambda pages: pages.latest(_HISTORY))
        took = [
            one.settled_at - one.created_at
            for one in latest
            if one.provider == source.name and one.status == "settled"
        ]
        seconds = float(np.median(took)) if took else None
        limits = source.limits
        return CallsSoFar(True, seconds, limits.concurrency, limits.per_second, allowance)
