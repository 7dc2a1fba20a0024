"""The transaction of a task: a reader is opened to it, and what went through it is booked.

What the user brought is checked and matched, and a reader is opened under the lifetime's prices and
budget. When a task ends, what it read is owned, and its cost is booked, in the store or in
memory. Learning, updates and backgrounds all go this way (:meth:`Transactions.carry_through`);
predictions are booked in :mod:`thrifty.lifetime.prediction_runs`.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeVar

import numpy as np

from thrifty.cells import Cells, Owned, Receipt, Source
from thrifty.cells.features import Match
from thrifty.cells.ledger.meter import PartOwned
from thrifty.cells.prices.money import minor_units, read_spend
from thrifty.cells.sources.checks import can_be_stored
from thrifty.cells.sources.gaps import read_na, with_na
from thrifty.errors import BadInput, BadParameter, FeaturesChanged, ThriftyError
from thrifty.labels import (
    aligned_labels,
    known_labels,
    labels_of_kept,
    read_groups,
    read_partly,
    read_row_weights,
    say_left_out,
    with_rows,
)
from thrifty.lifetime.feature_matching import (
    TaskFeatures,
    kinds_to_keep,
    label_name,
    new_kinds,
    read_features,
)
from thrifty.lifetime.labelling import LabelCells, LabelledTask
from thrifty.lifetime.learned import Learned, model_to_store, receipt_to_store
from thrifty.lifetime.progress import Progress
from thrifty.lifetime.state import LifetimeState
from thrifty.protocol import AnyFamily, traits_of
from thrifty.stores.lifetime_pages import TaskRow
from thrifty.stores.pages import SqlPages
from thrifty.stores.saved import FeaturesMoved, Finished, Snapshot
from thrifty.typing import Ints, JsonLike, KindsLike, LabelsLike, MoneyLike, NaLike, TableLike


@dataclass(frozen=True, eq=False)
class TaskOptions:
    """What a user says of a task beside rows and labels; see :meth:`thrifty.Lifetime.learn`."""

    spend: MoneyLike = None
    features: Sequence[str] | None = None
    kinds: KindsLike = None
    na: NaLike = None
    positive: object = None
    sample_weight: object = None
    groups: object = None
    good: bool | None = None


@dataclass(frozen=True, eq=False)
class Brought:
    """What a call brought: rows, the labels of each task (none of a background), what was said."""

    names: Sequence[str]
    X: TableLike
    columns: Sequence[LabelsLike]
    said: TaskOptions = TaskOptions()
    #: whether several tasks share the rows, of which some may lack a label
    together: bool = False
    #: where an oracle was asked for the labels: rows lack one on purpose
    bought: LabelledTask | None = None

    @property
    def label_cells(self) -> LabelCells | None:
        """Where the labels were bought."""
        return None if self.bought is None else self.bought.cells


@dataclass(frozen=True, eq=False)
class OpenTask:
    """A task that is being learned, or several over the same rows at once."""

    name: str
    source: Source
    #: in the family's own form; of several at once those of each
    labels: Any
    features: TaskFeatures
    cells: Cells
    owned: Owned
    place: str
    #: what the lifetime knew when it was opened
    known: Snapshot
    #: what the user said of its features that the lifetime did not know
    kinds: JsonLike = field(default_factory=dict)
    #: codes that stand for a gap, told now or found
    na: JsonLike = field(default_factory=dict)
    #: who set a limit to what it spends: "user" (spend=, a budget, or nothing costs), "default" (a
    #: share of cells that have no price), or nobody
    limited_by: Literal["user", "default", "nobody"] = "user"
    #: examples that had been purged when it began
    purges: frozenset[int] | None = None
    #: the number of the version that it updates, of a task that was learned before
    updates: int = 1
    #: whether what it read was booked with another task, as of labels at once
    booked: bool = False

    def after(self, **taught: Any) -> Snapshot:
        """What the lifetime knows once this is learned: its features, and what it taught."""
        names, named = self.features.names, self.features.named
        return replace(self.known, features=names, named=named, **taught)


#: what was made of a task, and what is given for it once it is booked
Made = TypeVar("Made")
Done = TypeVar("Done")


class Transactions:
    """Opens the tasks of one lifetime through its state, and books what they cost."""

    def __init__(self, state: LifetimeState, progress: Progress) -> None:
        self.state, self.progress = state, progress

    def carry_through(
        self,
        opened: Callable[[], OpenTask],
        make: Callable[[OpenTask], Made],
        commit: Callable[[OpenTask, Made], Done],
        labels: LabelCells | None = None,
    ) -> Done:
        """Open, make, commit; once more where another process changed the features meanwhile.

        ``labels``: where those of the task were bought.
        """
        while True:
            self.state.refresh()
            task = opened()
            try:
                with self._noting(task, labels):
                    made = make(task)
                    return self.state.booked(task.cells, lambda: commit(task, made))  # noqa: B023
            except FeaturesMoved:
                continue  # what it bought is owned: the next turn pays nothing for it

    def open(self, brought: Brought, *, to_buy: bool = True, a_share: bool = True) -> OpenTask:
        """Check what a user brought, and open a reader to it.

        ``a_share``: where nothing has a price and nothing was said, a tenth may be read.
        """
        names, X, columns, said = brought.names, brought.X, brought.columns, brought.said
        state, now, name = self.state, self.state.now, names[0]
        settings = state.settings
        can_be_stored(list(names), "name of a task")
        self._can_weigh(said)
        purges = state.purges()
        new = new_kinds(settings.kinds, said.kinds)  # refuses what was told otherwise
        source = state.source_of_task(X, said.kinds, said.na)
        new = kinds_to_keep(settings.kinds, new, source)
        labels_here = {one for y in columns if (one := label_name(y, source)) is not None}
        labelled = labels_here | state.labels_of(source)
        matched = read_features(
            now.features, now.named, source, labelled, said.features, retired=settings.retired
        )
        self._no_gaps(matched.match)
        codes = with_na(read_na(said.na), source.gaps)
        n = source.n_examples
        labels, rows = self._labels(brought, source)
        if rows is not None:
            source = source.of_rows(rows)
        owned, place = state.owned_of(X, source, rows, n)
        state.one_currency(source, owned.count() == 0)
        prices = state.prices_of(source, matched.needed(source))

        def reader(most: float | None) -> Cells:
            cells = Cells(
                source,
                prices,
                match=matched.match,
                owned=owned,
                ledger=state.ledger_for(source),
                task=name,
                spend=most,
                to_buy=to_buy,
            )
            cells.row_seed = state.row_seed
            return cells

        cells = reader(None)
        limited_by = self._limited_by(said.spend, source, cells, a_share)
        if said.spend is not None:
            cells = reader(self._read_spend(said.spend, cells))
        elif limited_by == "default":
            cells = reader(_default_share(cells, labels))
        if columns and to_buy and limited_by != "nobody":
            of_rows_said = [getattr(labels, one, None) for one in ("row_weights", "groups")]
            state.as_before(name, cells, *columns, *of_rows_said)
        state.say_purged(source, cells)
        return OpenTask(
            name, source, labels, matched, cells, owned, place, now, new, codes, limited_by, purges
        )

    def _labels(self, brought: Brought, source: Source) -> tuple[Any, Ints | None]:
        """In the family's own form; and which rows have one, where some have none."""
        family, n, said = self.state.family, source.n_examples, brought.said
        columns: list[Any]
        *columns, weights, groups = (
            None if one is None else aligned_labels(brought.X, labels_of_kept(one, source.kept))
            for one in (*brought.columns, said.sample_weight, said.groups)
        )
        if brought.together:
            every = zip(brought.names, columns)
            return [read_partly(y, n, name, family.read_labels) for name, y in every], None
        if not columns:
            return None, None
        known, rows = known_labels(columns[0])
        labels = family.read_labels(known)
        n_labels = len(labels) if rows is None else len(columns[0])
        if n_labels != n:
            raise BadInput(
                f"y must hold one label per example; X has {n} examples and y has {n_labels} "
                "labels."
            )
        if rows is not None and brought.bought is None:
            say_left_out(brought.names[0], rows, n)
        if weights is None is groups:
            return labels, rows
        return with_rows(labels, rows, read_row_weights(weights, n), read_groups(groups, n))

    def _can_weigh(self, said: TaskOptions) -> None:
        family = self.state.family
        if said.sample_weight is None is said.groups or traits_of(family).weighs_rows:
            return
        told = "sample_weight" if said.sample_weight is not None else "groups"
        raise BadParameter(
            f"{type(family).__name__} takes no {told}=: its rows count once and by themselves. "
            "Learn with thrifty.Models(), or leave it out."
        )

    def _limited_by(
        self, spend: MoneyLike, source: Source, cells: Cells, a_share: bool
    ) -> Literal["user", "default", "nobody"]:
        """Who limits what a task may spend."""
        settings, stops = self.state.settings, traits_of(self.state.family).stops_anywhere
        said = spend is not None or settings.budget is not None
        if said or not cells.price_of_an_example():
            return "user"
        if source.free and settings.prices is None:  # cells count as 1 each, and cost nothing
            return "default" if stops and a_share else "user"
        # the paper's families take what their algorithm needs of a table that is there
        return "nobody" if stops or not source.free else "user"

    def open_again(self, task: OpenTask) -> Cells:
        """A reader to what is owned of a task's rows by now; nothing can be bought through it."""
        source = task.source
        owned = task.owned
        if source.examples is not None:
            owned, _ = self.state.owned_of(source, source)
        elif isinstance(owned, PartOwned):
            owned = owned.by_now()
        return Cells(
            source,
            self.state.prices_of(source, task.features.needed(source)),
            match=task.features.match,
            owned=owned,
            ledger=self.state.ledger_for(source),
            task=task.name,
            spend=0.0,
        )

    def _read_spend(self, spend: object, cells: Cells) -> float | None:
        family = self.state.family
        if not traits_of(family).stops_anywhere:
            raise BadParameter(
                f"{type(family).__name__} learns all of a task or nothing and cannot stop "
                "where the money ends: leave out spend=, and limit what a task may cost with "
                "Lifetime(budget=thrifty.Budget(per_task=...))."
            )
        whole = (np.arange(cells.n_examples), np.arange(cells.n_features))
        return read_spend(spend, cells.currency, lambda: cells.price_of(*whole))

    def _no_gaps(self, match: Match | None) -> None:
        family = self.state.family
        if match is None or traits_of(family).takes_absent or not match.absent.any():
            return
        lacking = [match.names[i] for i in np.flatnonzero(match.absent)[:5].tolist()]
        raise FeaturesChanged(
            f"{type(family).__name__} needs all of the lifetime's features in every task; X "
            f"lacks {lacking}. Add them, or begin another lifetime."
        )

    def finished(
        self,
        task: OpenTask,
        learned: Learned | None,
        label: str | None = None,
        counted: int | None = None,
        paid_by: str | None = None,
        labels: LabelCells | None = None,
    ) -> Finished:
        """A learned task as it is committed; None: a background, which is no task.

        ``counted``: its share of what the reader counted. ``paid_by``: the task in whose name a
        provider was paid for several at once; this one takes over its share. ``labels``: where they
        were bought.
        """
        state, at, cells = self.state, time.time(), task.cells
        name = task.name if learned is None else learned.name
        offered = self._offered(task, labels)

        def also(pages: SqlPages) -> None:
            state.refuse_purged(pages, task)
            if not task.booked:
                state.count_all(pages, task, name, at)
            if learned is not None and paid_by not in (None, name):
                share = minor_units(learned.receipt.cost)
                pages.move(str(paid_by), 0, -share)
                pages.move(name, 0, share)
            if task.source.name and label is not None:
                pages.note_label(task.source.name, label)
            offered(pages)
            if learned is not None:
                _note_examples(pages, task, learned)

        counted = cells.counted if counted is None else counted
        if learned is None:
            return Finished(name, "bought", None, counted, cells.currency, also)
        state.one_currency(task.source, counted > 0)
        row = _row_of(learned, task.features.names, state.family, at)
        if state.only_counts(task.source, learned.receipt.currency):
            return Finished(name, learned.route, row, counted, "", offered, limits=False)
        return Finished(name, learned.route, row, counted, learned.receipt.currency, also)

    def _offered(self, task: OpenTask, labels: LabelCells | None) -> Callable[[SqlPages], None]:
        """What the rows of a task, and their labels where these cost, would cost in full.

        A background was offered the rows that it asked for.
        """
        state, background = self.state, task.labels is None
        rows = np.flatnonzero(task.cells.meter.bought_per_example()) if background else None
        notes = [state.offered(task.source, task.cells, task.place, rows=rows, owned=task.owned)]
        if labels is not None:
            name = labels.source.name
            notes.append(state.offered(labels.source, labels.cells, name, ours=False))

        def note(pages: SqlPages) -> None:
            for one in notes:
                one(pages)

        return note

    @contextmanager
    def _noting(self, task: OpenTask, labels: LabelCells | None) -> Iterator[None]:
        """A task that is given up after it has bought something counts in full all the same."""
        try:
            yield
        except BaseException:
            paid = not task.source.free and task.cells.receipt().cost > 0
            if paid or (labels is not None and labels.cells.receipt().cost > 0):
                with suppress(ThriftyError):  # what made it stop is said, not this
                    self.state.ledger.book.write(self._offered(task, labels))
            raise

    def keep(self, opened: OpenTask) -> None:
        """What was read is owned from now on, what was said of its features is known."""
        self.state.saved.tell(opened.kinds, opened.na)
        self.state.keep(opened)


def _default_share(cells: Cells, labels: Any) -> float:
    """A tenth of everything, and of few rows what a first look at each class needs."""
    one = labels[0] if isinstance(labels, list) else labels
    known = getattr(one, "labels", one)
    n_classes = getattr(known, "n_classes", 2)
    first = 2 * n_classes * max(cells.n_offered, 2)
    whole = cells.n_examples * cells.n_offered
    return float(min(whole, max(0.1 * whole, first)))


def _note_examples(pages: SqlPages, task: OpenTask, learned: Learned) -> None:
    """Whom a model was learned from, where it keeps their rows and they have ids."""
    table, ids = getattr(learned.model, "table_", None), task.source.examples
    if table is None or ids is None or "@" in task.name:
        return
    if learned.route == "reused":  # an earlier model as it is, with the rows of its own task
        return
    numbers = pages.number("example", ids).astype(np.int64)
    rows = table.rows
    pages.put_task_examples(task.name, 1, np.where(rows >= 0, numbers[rows], -1))


def _row_of(
    learned: Learned, names: tuple[str, ...], family: AnyFamily, at: float
) -> Callable[[], TaskRow]:
    """The task as a store has it; in memory nobody may ever ask for that."""

    def row() -> TaskRow:
        failure = learned.failure
        why = None if failure is None else {"reason": failure.reason, "message": failure.message}
        return TaskRow(
            name=learned.name,
            route=learned.route,
            model=model_to_store(learned.model, names),
            receipt=receipt_to_store(learned.receipt, learned.about, names),
            failure=why,
            token=token,
            learned_at=at,
            family=family.to_dict(),
        )

    token = uuid.uuid4().hex
    return row


def share_of(amount: int, i: int, n: int) -> int:
    """The share of the i-th of n: whole numbers as alike as can be, whose sum is the amount.

    >>> [share_of(8, i, 3) for i in range(3)]
    [3, 3, 2]
    """
    return amount // n + (i < amount % n)


def shared_receipt(receipt: Receipt, i: int, n: int) -> Receipt:
    """What n tasks paid together, as the bill of the i-th: cells, money and lines sum to the whole.

    >>> both = [shared_receipt(Receipt(5, 2.5, 0, 3, 2, 4, 2, {"a": 3, "b": 2}), i, 2)
    ...         for i in range(2)]
    >>> [one.cells for one in both], sum(one.cost for one in both), both[0].per_feature
    ([3, 2], 2.5, {'a': 2, 'b': 1})
    """
    if n == 1:
        return receipt

    def money(amount: float) -> float:
        """In whole millionths, the smallest that is counted."""
        return share_of(round(amount * 1e6), i, n) / 1e6

    counts = {name: share_of(count, i, n) for name, count in receipt.per_feature.items()}
    lines = [(what, share_of(count, i, n), money(cost)) for what, count, cost in receipt.lines]
    return replace(
        receipt,
        cells=share_of(receipt.cells, i, n),
        cost=money(receipt.cost),
        reused_cells=share_of(receipt.reused_cells, i, n),
        avoided_cells=share_of(receipt.avoided_cells, i, n),
        per_feature={name: count for name, count in counts.items() if count},
        lines=tuple(line for line in lines if line[1] or line[2]),
    )
