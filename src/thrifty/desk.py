"""Where a lifetime opens doors to cells and books what went through them.

A task and a prediction run are opened here: what the user brought is checked and matched, and a
door is opened under the lifetime's prices and budget. When they end, what they looked at is owned,
and its cost is booked, in the store or in memory.
"""

from __future__ import annotations

import hashlib
import threading
import time
import uuid
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.brought import (
    Features,
    aligned_labels,
    check_read,
    kinds_here,
    known_categories,
    label_name,
    new_kinds,
    read_features,
)
from thrifty.cells import Cells, Ledger, Owned, Receipt, Source, as_source
from thrifty.cells.ledger.allowance import read_spend
from thrifty.cells.ledger.counted import count_as_owned, owned_by_id
from thrifty.cells.ledger.everything import ToBuy
from thrifty.cells.ledger.owner import me
from thrifty.cells.ledger.purge import purged_rows
from thrifty.cells.ledger.remembered import RememberedTables
from thrifty.cells.matched import open_cells
from thrifty.cells.matching import Match, match_features
from thrifty.cells.sources.checks import can_be_stored, default_names
from thrifty.errors import (
    BadInput,
    BadParameter,
    ExamplePurged,
    FeaturesChanged,
    ThriftyError,
)
from thrifty.learned import Learned, model_to_store, receipt_to_store
from thrifty.outside import JsonLike
from thrifty.prediction import prediction_receipt
from thrifty.protocol import AnyFamily
from thrifty.stores import MemoryStore
from thrifty.stores.pages import PredictionRow, SqlPages, TaskRow
from thrifty.stores.saved import Finished, SavedLifetime, Snapshot, charge, commit_in_memory
from thrifty.stores.settings import Settings

__all__ = ["Desk", "Run", "OpenTask"]


_MAKING = threading.Lock()


@dataclass(frozen=True, eq=False)
class OpenTask:
    """A task that is being learned."""

    name: str
    source: Source
    labels: Any
    features: Features
    cells: Cells
    owned: Owned
    place: str
    #: what the user said of its features that the lifetime did not know
    kinds: JsonLike = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Run:
    """A prediction that is being made; its spending has an account of its own."""

    account: str
    task: str
    source: Source
    cells: Cells
    owned: Owned
    rows: NDArray[np.int64]
    begun_at: float
    spend: float | None = None
    per_row: float | None = None


class Desk:
    """Doors and bookings of one lifetime."""

    def __init__(
        self, family: AnyFamily, settings: Settings, saved: SavedLifetime | None
    ) -> None:
        self.family, self.settings, self.saved = family, settings, saved
        self._ledger: Ledger | None = None
        self._remembered = RememberedTables()
        #: without a store: what there is to buy, and the predictions that were made
        self.to_buy: dict[tuple[str, str], ToBuy] = {}
        self.predictions: list[PredictionRow] = []

    def use(self, family: AnyFamily, settings: Settings) -> None:
        """From now on, this family and these settings."""
        self.family, self.settings = family, settings
        if self._ledger is not None:
            self._ledger.budget = settings.budget

    @property
    def has_ledger(self) -> bool:
        return self._ledger is not None or self.saved is not None

    @property
    def ledger(self) -> Ledger:
        """The lifetime's ledger, in its store or in memory."""
        if self._ledger is None:
            with _MAKING:  # two threads with a ledger each would pay twice
                if self._ledger is None:
                    saved = self.saved
                    book = saved.book if saved is not None else MemoryStore().book("memory", {}, {})
                    self._ledger = Ledger(book, self.settings.budget)
        return self._ledger

    # -- tasks --------------------------------------------------------------------------------

    def open_task(
        self, name: str, X: Any, y: Any, now: Snapshot, *, spend: Any = None, features: Any = None,
        kinds: Any = None, to_buy: bool = True,
    ) -> OpenTask:  # fmt: skip
        """Check what a user brought, and open a door to it."""
        can_be_stored([str(name)], "name of a task")
        new = new_kinds(self.settings.kinds, kinds)
        source = self._source_of(X, kinds, _words(now)).recoded(_words(now))
        brought = read_features(
            now.features, now.named, source, self._label_columns(source, y), features
        )
        self._no_gaps(brought.match)
        labels = self.family.read_labels(aligned_labels(X, y))
        if len(labels) != source.n_examples:
            raise BadInput(
                f"y must hold one label per example; X has {source.n_examples} examples and y has "
                f"{len(labels)} labels."
            )
        owned, place = self._owned_of(X, source)
        ledger = self.ledger if self._needs_ledger(source) else None

        def door(most: float | None) -> Cells:
            cells = open_cells(
                source, self.settings.prices, match=brought.match, owned=owned, ledger=ledger,
                task=name, spend=most, to_buy=to_buy,
            )  # fmt: skip
            cells.row_seed = self.settings.row_seed or 0
            return cells

        cells = door(None)
        if spend is not None:
            cells = door(self._read_spend(spend, cells))
        self._say_purged(source, cells)
        return OpenTask(name, source, labels, brought, cells, owned, place, new)

    def open_background(self, X: Any, now: Snapshot, kinds: Any) -> OpenTask:
        """A door to rows that are bought for what they teach of the features."""
        new = new_kinds(self.settings.kinds, kinds)
        source = self._source_of(X, kinds, _words(now)).recoded(_words(now))
        brought = read_features(
            now.features, now.named, source, self._label_columns(source, None), None
        )
        owned, place = self._owned_of(X, source)
        name = f"background {uuid.uuid4().hex[:8]}"
        cells = open_cells(
            source, self.settings.prices, match=brought.match, owned=owned, task=name,
            ledger=self.ledger if self._needs_ledger(source) else None,
        )  # fmt: skip
        return OpenTask(name, source, None, brought, cells, owned, place, new)

    def counted(self, task: OpenTask) -> Finished:
        """A purchase that is no task: what it cost, and what is owned by it."""
        row = TaskRow(task.name, "screened", {}, {}, None, uuid.uuid4().hex, time.time())

        def count(pages: SqlPages) -> None:
            self._count(pages, task, row.name, row.learned_at)

        return Finished(row, task.cells.counted, task.cells.currency, count)

    def _read_spend(self, spend: object, cells: Cells) -> float | None:
        if not getattr(self.family, "stops_anywhere", False):
            raise BadParameter(
                f"{type(self.family).__name__} learns all of a task or nothing and cannot stop "
                "where the money ends: leave out spend=, and limit what a task may cost with "
                "Lifetime(budget=thrifty.Budget(per_task=...))."
            )
        whole = (np.arange(cells.n_examples), np.arange(cells.n_features))
        return read_spend(spend, cells.currency, lambda: cells.price_of(*whole))

    def _label_columns(self, source: Source, y: Any) -> set[str]:
        """Columns of a source that are a label now, or were one before."""
        found = {label} if (label := label_name(y, source)) is not None else set()
        if source.name and self.has_ledger:
            found |= self.ledger.book.read(lambda pages: pages.labels_of(source.name))
        return found

    def _no_gaps(self, match: Match | None) -> None:
        if match is None or getattr(self.family, "takes_absent", True) or not match.absent.any():
            return
        lacking = [match.names[i] for i in np.flatnonzero(match.absent)[:5].tolist()]
        raise FeaturesChanged(
            f"{type(self.family).__name__} needs all of the lifetime's features in every task; X "
            f"lacks {lacking}. Add them, or begin another lifetime."
        )

    def _source_of(self, X: Any, kinds: Any, words: Any) -> Source:
        kept = {**known_categories(words, X), **kinds_here(self.settings.kinds, X)}
        return as_source(
            X,
            allow_missing=getattr(self.family, "allow_missing", False),
            categories=getattr(self.family, "reads_categories", False),
            kinds={**kept, **(kinds or {})} or None,
            lazily=True,
        )

    def _needs_ledger(self, source: Source) -> bool:
        budget = self.settings.budget
        return budget is not None or not source.free or source.examples is not None

    def _owned_of(self, X: Any, source: Source) -> tuple[Owned, str]:
        """What was paid for before: of this very object, or of its examples by their ids."""
        if source.examples is None:
            return self._remembered.of(X, source)
        if not source.free:
            return Owned(source.n_examples, source.n_features), source.name
        read = self.ledger.book.read
        return read(lambda pages: owned_by_id(pages, source)), source.name

    def _say_purged(self, source: Source, cells: Cells) -> None:
        """Warn of examples whose values were taken out of the store, and are not owned again."""
        if source.examples is None or self.saved is None:
            return
        ids = source.examples
        rows = self.saved.book.read(lambda pages: purged_rows(pages, ids))
        for row, at in rows.items():
            if not cells.owns_any_of(row):
                warnings.warn(
                    f"the values of {ids[row]!r} were taken out of the store on "
                    f"{time.strftime('%Y-%m-%d', time.gmtime(at))} (thrifty purge): what is asked "
                    "of it is bought again.",
                    ExamplePurged,
                    stacklevel=5,
                )

    def finished(self, task: OpenTask, learned: Learned, label: str | None) -> Finished:
        """A learned task as it is committed."""
        durable = self.saved is not None
        row = self._row(learned, task.features.names) if durable else _in_memory(learned)
        entry = self._entry(task)

        def also(pages: SqlPages) -> None:
            self._count(pages, task, row.name, row.learned_at)
            if task.source.name and label is not None:
                pages.note_label(task.source.name, label)
            if durable:
                pages.note_to_buy(self._placed(pages, entry, task.source))

        if not durable:
            key = (entry.place, entry.features)
            before = self.to_buy.get(key)
            self.to_buy[key] = entry if before is None else before.with_(entry)
        return Finished(row, task.cells.counted, learned.receipt.currency, also)

    def _row(self, learned: Learned, names: tuple[str, ...]) -> TaskRow:
        failure = learned.failure
        why = None if failure is None else {"reason": failure.reason, "message": failure.message}
        return TaskRow(
            name=learned.name,
            route=learned.route,
            model=model_to_store(learned.model, names),
            receipt={**receipt_to_store(learned.receipt, names), "good": learned.good},
            failure=why,
            token=uuid.uuid4().hex,
            learned_at=time.time(),
            family=self.family.to_dict(),
        )

    def _entry(self, task: OpenTask) -> ToBuy:
        source = task.source
        if source.examples is None or self.saved is not None:
            examples = np.arange(source.n_examples)
        else:
            numbers = self.ledger.book.write(lambda pages: pages.number("example", source.examples))
            examples = np.sort(numbers.astype(np.int64))
        price = task.cells.price_of_an_example()
        key = _features_key(source, task.cells)
        match, n = task.features.match, len(task.features.names)
        which = np.ones(n, dtype=np.bool_) if match is None else ~match.absent
        return ToBuy(task.place, key, task.cells.n_offered, price, examples, which)

    @staticmethod
    def _placed(pages: SqlPages, entry: ToBuy, source: Source) -> ToBuy:
        if source.examples is None:
            return entry
        numbers = pages.number("example", source.examples)
        return replace(entry, examples=np.sort(numbers.astype(np.int64)))

    @staticmethod
    def _count(pages: SqlPages, task: OpenTask | Run, account: str, now: float) -> None:
        if task.source.free and task.source.examples is not None:
            count_as_owned(pages, task.source, task.cells.meter, now)
            pages.note_booking(account, now)

    def commit_in_memory(self, done: Finished) -> None:
        """Without a store only the ledger has something to commit, where there is one."""
        if self._ledger is not None:
            commit_in_memory(self._ledger, done)

    def keep(self, task: OpenTask | Run) -> None:
        """What was looked at is owned from now on, what was said of its features is known."""
        if isinstance(task, OpenTask) and task.kinds:
            if self.saved is not None:
                self.saved.tell_kinds(task.kinds)
            kinds = {**(self.settings.kinds or {}), **task.kinds}
            self.settings = replace(self.settings, kinds=kinds)
        if task.source.examples is None:
            task.owned.add(task.cells.meter)

    # -- predictions --------------------------------------------------------------------------

    def open_prediction(
        self, name: str, model: Any, X: Any, spend: Any, per_row: Any
    ) -> Run:
        """A door to the examples that a model is to predict."""
        features: NDArray[np.int64] = model.features_

        def match(source: Source) -> Match | None:
            check_read(source, [model.feature_names_[f] for f in features.tolist()])
            return match_features(
                model.feature_names_, source, needed=features.tolist(),
                whose=f"the model of {name!r}",
            )  # fmt: skip

        words = getattr(model, "words_", {})
        run = self._open_run(name, X, match, words=words)
        rows, cells = run.rows, run.cells

        def everything() -> float:
            return cells.price_of(rows, features)

        most = read_spend(spend, cells.currency, everything)
        each = read_spend(per_row, cells.currency, lambda: everything() / len(rows), "per_row")
        if most is not None:
            run = self._open_run(name, X, match, most, words=words)
        run = replace(run, spend=most, per_row=each)
        self._begin(run)
        self._say_purged(run.source, run.cells)
        return run

    def open_metered(
        self, title: str, X: object, match: Callable[[Source], Match | None]
    ) -> Run:
        """A door to the examples of a foreign model."""
        run = self._open_run(title, X, match, allow_missing=True)
        self._begin(run)
        self._say_purged(run.source, run.cells)
        return run

    def _open_run(
        self, name: str, X: object, match: Callable[[Source], Match | None],
        most: float | None = None, *, words: Any = None, allow_missing: bool = False,
    ) -> Run:  # fmt: skip
        words = words or {}
        if allow_missing:  # a model of another library, which knows gaps or does not
            source = as_source(X, allow_missing=True)
        else:
            source = self._source_of(X, None, words)
        found = match(source)
        source = source.recoded(words)
        account = f"{name} (prediction {uuid.uuid4().hex[:12]})"
        owned, _ = self._owned_of(X, source)
        ledger = self.ledger if self._needs_ledger(source) else None
        cells = open_cells(
            source, self.settings.prices, match=found, owned=owned, ledger=ledger,
            task=account, spend=most, is_task=False,
        )  # fmt: skip
        return Run(account, name, source, cells, owned, np.arange(source.n_examples), time.time())

    def _begin(self, run: Run) -> None:
        """A run that buys is written down first: its account is then never nobody's."""
        if self.saved is not None and not run.source.free:
            self.saved.book.write(
                lambda pages: pages.begin_prediction(run.task, run.account, me(), run.begun_at)
            )

    def leave_prediction(self, run: Run) -> None:
        """A prediction that was given up: what it bought until then is on its bill, and owned.

        Of sources that are free to read nothing was bought, and nobody has seen a value.
        """
        if not run.source.free:
            with suppress(ThriftyError):  # what made it stop is said, not this
                self.end_prediction(run, prediction_receipt(run.cells), finished=False)

    def end_prediction(self, run: Run, receipt: Receipt, *, finished: bool = True) -> None:
        """Book what a prediction has cost; what it looked at is owned."""
        whole = {f: getattr(receipt, f) for f in Receipt.__slots__}
        data = {**Receipt(**whole).to_dict(), **({} if finished else {"finished": False})}

        def work(pages: SqlPages) -> None:
            if self.saved is not None:
                pages.begin_prediction(run.task, run.account, me(), run.begun_at)
                if not pages.end_prediction(run.account, data):
                    return  # done already, as the connection was lost
            self._count(pages, run, run.account, run.begun_at)
            charge(self.ledger, pages, run.account, run.cells.counted, receipt.currency)
            self.ledger.compact(pages, run.account)

        if self.saved is not None or self._needs_ledger(run.source):
            self.ledger.book.write(work)
        if self.saved is None:
            self._note_in_memory(run, data)
        self.keep(run)

    def _note_in_memory(self, run: Run, data: dict[str, object]) -> None:
        others = [one for one in self.predictions if one.account != run.account]
        number = len(others) + 1
        self.predictions[:] = [
            *others, PredictionRow(number, run.task, run.account, me(), run.begun_at, data)
        ]  # fmt: skip


def _in_memory(learned: Learned) -> TaskRow:
    """Without a store the objects themselves are kept: nothing is written out."""
    return TaskRow(learned.name, learned.route, {}, {}, None, "", time.time())


def _words(now: Snapshot) -> Any:
    """Categories as the lifetime knows them: each means the same in every task."""
    return getattr(now.representation, "words", {})


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
