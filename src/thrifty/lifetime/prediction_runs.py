"""Predictions: each is opened, made, and booked under an account of its own."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from thrifty.cells import Budget, Cells, Owned, Receipt, Source, as_source
from thrifty.cells.cells import open_cells
from thrifty.cells.features import Match, match_features
from thrifty.cells.ledger.allowance import read_spend
from thrifty.cells.ledger.owner import is_alive, me
from thrifty.cells.ledger.purge import purged_since
from thrifty.cells.ledger.receipt import PredictionReceipt
from thrifty.engines import LookedCells
from thrifty.errors import BadInput, ChangedValue, ThriftyError
from thrifty.lazy import Asked, Asks, ask_within_budget
from thrifty.lazy.stopping import StoppingRule
from thrifty.lifetime.asked_tasks import read_weights
from thrifty.lifetime.feature_matching import check_read, prices_here, without_lacking
from thrifty.lifetime.monitoring import HasTable, InputCounts, bins_of
from thrifty.lifetime.prediction import Prediction, out_of_money, prediction_receipt
from thrifty.lifetime.progress import Progress
from thrifty.lifetime.state import LifetimeState, Words, call_key
from thrifty.stores.model_pages import KeptPages, OutcomePages
from thrifty.stores.pages import PredictionRow, SqlPages
from thrifty.stores.saved import SavedLifetime, charge
from thrifty.typing import AnyArray, Json, JsonLike, MoneyLike, TableLike
from thrifty.wrapped import Metered, Readable, match_model, read_model

__all__ = ["PredictionRuns", "Run", "Unbooked"]

if TYPE_CHECKING:
    from thrifty.lifetime.joint_prediction import JointPrediction, TasksTogether

#: calls with a limit that have not come to their end, as a store keeps them
_CALL = "prediction"


class HasFeatures(Protocol):
    """What a door needs to know of whoever asks through it."""

    feature_names_: tuple[str, ...]

    @property
    def features_(self) -> NDArray[np.int64]: ...


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
    #: whether all that may be asked is owned already
    all_owned: bool = False
    #: says which call it is, where that is made again under the same account after it broke off
    call: str = ""
    #: examples that had been purged when it began
    purges: frozenset[int] | None = None
    #: where its rows are known by their numbers
    place: str = ""
    #: whether the features are the lifetime's: not those of a foreign model, not a label
    ours: bool = True


@dataclass(frozen=True, eq=False)
class Unbooked:
    """Answers that nobody has paid for yet, and what was looked at; ``told``: counts in bins."""

    asked: Asked
    looked: LookedCells
    told: NDArray[np.int64] | None = None


class _StoreKeeper:
    """Prefixes in the store of a lifetime."""

    def __init__(self, saved: SavedLifetime) -> None:
        self._book = saved.book

    def get(self, name: str) -> JsonLike | None:
        return self._book.read(lambda pages: KeptPages(pages).get("prefixes", name))

    def put(self, name: str, data: Json) -> None:
        self._book.write(lambda pages: KeptPages(pages).put("prefixes", name, data))


class PredictionRuns:
    """Makes predictions through the doors of one lifetime, and books what they cost."""

    def __init__(self, doors: LifetimeState, progress: Progress) -> None:
        self._doors, self._progress = doors, progress
        #: without a store: the predictions that were made
        self.in_memory: list[PredictionRow] = []
        #: several tasks that were asked together; they keep what was made for them
        self._together: dict[object, TasksTogether] = {}

    def predict(
        self,
        name: str,
        model: Asks,
        X: TableLike,
        stop: StoppingRule | None,
        spend: MoneyLike,
        per_row: MoneyLike,
        version: int = 0,
        missing: str = "warn",
    ) -> Prediction:
        """The answers of a task's model; see :meth:`thrifty.Lifetime.predict`."""
        labels = self._doors.labels_of(X) if isinstance(X, Source) else ()
        retired = self._doors.settings.retired
        model, lacking = without_lacking(name, model, X, retired, missing, labels)
        run = self.open_prediction(name, model, X, spend, per_row, repr(stop))
        self.remember_for(model)
        told = self._count_inputs(model, run) if version and not lacking else None
        try:
            with self._progress.shown(name, run.cells, self._doors):
                asked, ended = ask_within_budget(
                    model, run.cells, run.rows, stop=stop, spend=run.spend, per_row=run.per_row
                )
        except BaseException:
            self.leave_prediction(run)
            raise
        prediction = Prediction(model, run.cells, asked)
        prediction.receipt = replace(prediction.receipt, lacking=lacking)
        note = self._note(run, version, prediction, told)
        prediction.receipt = self.end_prediction(
            run, prediction.receipt, finished=ended is None, note=note
        )
        if ended is not None:
            raise out_of_money(name, prediction, ended) from ended
        return prediction

    @staticmethod
    def _note(
        run: Run, version: int, prediction: Prediction, told: InputCounts | None
    ) -> Callable[[SqlPages], None] | None:
        """What keeps answers by example, for the day when the truth is known."""
        ids = run.source.examples
        if ids is None or not version:
            return None
        task = run.task.removesuffix(f"@{version}")

        def note(pages: SqlPages) -> None:
            gone = _purged_rows(pages, run)
            _note_answers(pages, run.account, task, version, ids, prediction, told, gone)

        return note

    # One part of a large table: answered by a worker that holds no purse, booked here.

    def answer_unbooked(
        self,
        name: str,
        model: Asks,
        source: Source,
        stop: StoppingRule | None,
        per_row: MoneyLike,
        owned: Owned | None,
        *,
        count_inputs: bool = False,
    ) -> Unbooked:
        """The answers to a source that is free to read, and what was looked at for them."""
        run = self._open_for(name, model, source, owned=owned)
        rows, cells = run.rows, run.cells
        each = read_spend(
            per_row,
            cells.currency,
            lambda: cells.price_of(rows, model.features_) / len(rows),
            "per_row",
        )
        told = self._count_inputs(model, run) if count_inputs else None
        asked = model.ask(cells, rows, stop=stop, per_row=each)
        return Unbooked(asked, LookedCells.at(cells), None if told is None else told.counts)

    def book_answers(
        self,
        account: str,
        name: str,
        model: Asks,
        source: Source,
        found: Unbooked,
        version: int,
        before: Callable[[Prediction], None],
        lacking: tuple[str, ...] = (),
    ) -> PredictionReceipt:
        """Book under this account, once; ``before`` it is, somebody puts the answers away."""
        run = self._open_for(name, model, source, account=account)
        found.looked.replay(run.cells)
        prediction = Prediction(model, run.cells, found.asked)
        prediction.receipt = replace(prediction.receipt, lacking=lacking)
        before(prediction)
        told = self._count_inputs(model, run) if found.told is not None else None
        if told is not None and found.told is not None:
            told.counts = found.told
        note = self._note(run, version, prediction, told)
        return self.end_prediction(run, prediction.receipt, note=note)

    def is_booked(self, account: str) -> bool:
        """Whether a prediction has ended that has this account."""
        saved = self._doors.saved
        rows = (
            self.in_memory if saved is None else saved.book.read(lambda pages: pages.predictions())
        )
        ended = (row.receipt for row in rows if row.account == account)
        return any(receipt is not None and receipt.get("finished", True) for receipt in ended)

    @staticmethod
    def _count_inputs(model: Asks, run: Run) -> InputCounts | None:
        """What is told is counted in bins, where rows have ids and the model knows its own."""
        if run.source.examples is None or not isinstance(model, HasTable):
            return None
        bins = vars(model).get("_input_bins")
        if bins is None:
            bins = vars(model)["_input_bins"] = bins_of(model.table_)
        counts = InputCounts(bins)
        run.cells.watch = counts
        return counts

    def predict_jointly(
        self,
        models: Mapping[str, Asks],
        X: TableLike,
        stop: object,
        spend: MoneyLike,
        per_row: MoneyLike,
        weights: Mapping[str, float] | None,
    ) -> JointPrediction:
        """The answers of several tasks from one walk; see :meth:`thrifty.Lifetime.predict`."""
        tasks, title = self.together(models, read_weights(list(models), weights)), ", ".join(models)
        said = (repr(stop), repr(weights))
        run = self.open_prediction(title, tasks, X, spend, per_row, *said)
        try:
            with self._progress.shown(title, run.cells, self._doors):
                made = tasks.answer(run.cells, run.rows, stop, run.spend, run.per_row)
        except BaseException:
            self.leave_prediction(run)
            raise
        made.receipt = self.end_prediction(run, made.receipt)
        for part in made.values():
            part.receipt = made.receipt
        return made

    def together(self, models: Mapping[str, Asks], weights: Mapping[str, float]) -> TasksTogether:
        """Several tasks as one that asks; what is made for them is made once."""
        from thrifty.lifetime.joint_prediction import TasksTogether  # models take long to load

        key = (*((name, id(model)) for name, model in models.items()), *weights.values())
        if key not in self._together:
            self._together[key] = TasksTogether(models, weights)
        for model in models.values():
            self.remember_for(model)
        return self._together[key]

    def remember_for(self, model: Asks) -> None:
        """What a model makes for predictions is kept in the store, where there is one."""
        if self._doors.saved is not None and hasattr(model, "_keeper"):
            model._keeper = _StoreKeeper(self._doors.saved)

    def metered(
        self,
        fitted: object,
        source: TableLike,
        confidence: float | None,
        budget: Budget | float | None,
    ) -> Metered:
        """Answers of a model of another library; see :meth:`thrifty.Lifetime.metered`."""
        readable = read_model(fitted)
        name = readable.name if readable is fitted else type(fitted).__name__

        def match(table: Source) -> Match | None:
            found = match_model(readable, table)
            self._refuse_retired(readable, table, found)
            return found

        run = self.open_metered(f"{name} (metered)", source, match)
        return Metered.of(
            readable,
            run.cells,
            confidence,
            budget,
            after=lambda receipt: self._ended(run, receipt),
            left=lambda: self.leave_prediction(run),
        )

    def _refuse_retired(self, model: Readable, source: Source, match: Match | None) -> None:
        """A model of another library cannot do without a feature that it asks for."""
        asked = model.forest.features()
        columns = asked if match is None else match.place[asked]
        names = [source.feature_names[c] for c in columns.tolist() if c >= 0]
        gone = next((n for n in names if n in self._doors.settings.retired), None)
        if gone is not None:
            raise BadInput(
                f"the model asks for {gone!r}, which was retired: nothing is bought of it. Fit it "
                f"again without, or life.retire({gone!r}, undo=True)."
            )

    def open_prediction(
        self, name: str, model: HasFeatures, X: TableLike, spend: MoneyLike, per_row: MoneyLike,
        *said: str,
    ) -> Run:  # fmt: skip
        """A door to the examples that a model is to predict; ``said``: what else the call says.

        One with a limit that broke off goes on under its account: the limit is that of both.
        """
        features: NDArray[np.int64] = model.features_
        run, call = self._open_for(name, model, X), ""
        if not run.source.free and not spend is per_row is None:
            call = call_key(run.cells, name, features, str(spend), str(per_row), *said)
            earlier = self._broke_off(call)
            if earlier is not None:
                run = self._open_for(name, model, X, account=earlier)
        rows, cells = run.rows, run.cells

        def everything() -> float:
            return cells.price_of(rows, features)

        most = read_spend(spend, cells.currency, everything)
        each = read_spend(per_row, cells.currency, lambda: everything() / len(rows), "per_row")
        if most is not None:
            run = self._open_for(name, model, X, most, account=run.account)
        owned = not run.source.free and len(run.cells.owned_rows(features)) == len(rows)
        run = replace(run, spend=most, per_row=each, all_owned=owned, call=call)
        self.begin(run)
        self._doors.say_purged(run.source, run.cells)
        return run

    def _open_for(
        self,
        name: str,
        model: HasFeatures,
        X: TableLike,
        most: float | None = None,
        *,
        account: str | None = None,
        owned: Owned | None = None,
    ) -> Run:
        """A door to what this model may ask for."""
        features = model.features_.tolist()

        def match(source: Source) -> Match | None:
            check_read(source, [model.feature_names_[f] for f in features])
            return match_features(
                model.feature_names_, source, needed=features, whose=f"the model of {name!r}"
            )

        words = getattr(model, "words_", {})
        needed = {model.feature_names_[f] for f in features}
        return self._open_run(
            name, X, match, most, words=words, needed=needed, account=account, owned=owned
        )

    def open_metered(
        self, title: str, X: TableLike, match: Callable[[Source], Match | None]
    ) -> Run:
        """A door to the examples of a foreign model."""
        run = self._open_run(title, X, match, allow_missing=True)
        self.begin(run)
        self._doors.say_purged(run.source, run.cells)
        return run

    def _open_run(
        self,
        name: str,
        X: TableLike,
        match: Callable[[Source], Match | None],
        most: float | None = None,
        *,
        words: Words | None = None,
        allow_missing: bool = False,
        needed: Collection[str] | None = None,
        account: str | None = None,
        owned: Owned | None = None,
    ) -> Run:
        words = words or {}
        if allow_missing:  # a model of another library, which knows gaps or does not
            source = as_source(X, allow_missing=True)
        else:
            source = self._doors.source_of(X, None, words)
        found = match(source)
        source = source.recoded(words)
        purges = None if source.examples is None else self._doors.purges()
        account = account or f"{name} (prediction {uuid.uuid4().hex[:12]})"
        place = ""
        if owned is None:
            owned, place = self._doors.owned_of(X, source)
        self._doors.one_currency(source, owned.count() == 0)
        cells = open_cells(
            source,
            prices_here(self._doors.settings.prices, source.feature_names, needed),
            match=found,
            owned=owned,
            ledger=self._doors.ledger_for(source),
            task=account,
            spend=most,
            is_task=False,
        )
        rows, now = np.arange(source.n_examples), time.time()
        ours = not allow_missing
        return Run(
            account, name, source, cells, owned, rows, now, place=place, ours=ours, purges=purges
        )

    def begin(self, run: Run) -> None:
        """A run that buys is written down first: its account is then never nobody's."""
        saved = self._doors.saved

        def work(pages: SqlPages) -> None:
            if saved is not None:
                pages.begin_prediction(run.task, run.account, me(), run.begun_at)
            if run.call:
                KeptPages(pages).put(_CALL, run.call, {"account": run.account})

        if not run.source.free and not run.all_owned and (saved is not None or run.call):
            self._doors.ledger.book.write(work)

    def _broke_off(self, call: str) -> str | None:
        """The account of this very call, where it was made before and did not come to its end."""

        def work(pages: SqlPages) -> str | None:
            kept = KeptPages(pages).get(_CALL, call)
            if kept is None:
                return None
            account = str(kept["account"])
            rows = self.in_memory if self._doors.saved is None else pages.predictions(account)
            for row in rows:
                if row.account == account and (row.receipt is not None or not is_alive(row.owner)):
                    return account
            return None  # somebody is making it at this moment

        return self._doors.ledger.book.read(work)

    def leave_prediction(self, run: Run) -> None:
        """A prediction that was given up: what it bought until then is on its bill, and owned.

        Of sources that are free to read nothing was bought, and nobody has seen a value.
        """
        if not run.source.free:
            with suppress(ThriftyError):  # what made it stop is said, not this
                self.end_prediction(run, prediction_receipt(run.cells), finished=False)

    def _ended(self, run: Run, receipt: Receipt) -> None:
        self.end_prediction(run, prediction_receipt(run.cells, receipt.promise))

    def end_prediction(
        self,
        run: Run,
        receipt: PredictionReceipt,
        *,
        finished: bool = True,
        note: Callable[[SqlPages], None] | None = None,
    ) -> PredictionReceipt:
        """Book what a prediction has cost; what it looked at is owned. ``note`` is written too.

        Its receipt comes back, with what others have bought meanwhile as owned.
        """

        def commit() -> PredictionReceipt:
            now = prediction_receipt(run.cells, receipt.promise)
            now = replace(now, lacking=receipt.lacking)
            self._end(run, now, finished=finished, note=note)
            return now

        return self._doors.booked(run.cells, commit)

    def _end(
        self, run: Run, receipt: Receipt, *, finished: bool, note: Callable[[SqlPages], None] | None
    ) -> None:
        """Where all of it was owned nothing is booked: a row of a form costs nobody anything."""
        if run.all_owned and not receipt.cells and not receipt.cost:
            if note is not None:
                self._doors.ledger.book.write(note)
            return
        self._doors.one_currency(run.source, run.cells.counted > 0)
        whole = {f: getattr(receipt, f) for f in Receipt.__slots__}
        data = {**Receipt(**whole).to_dict(), **({} if finished else {"finished": False})}

        doors = self._doors

        def work(pages: SqlPages) -> ChangedValue | None:
            if doors.saved is not None:
                pages.begin_prediction(run.task, run.account, me(), run.begun_at)
                if not pages.end_prediction(run.account, data):
                    return None  # done already, as the connection was lost
            gone = _purged_rows(pages, run)
            changed = doors.count(pages, run, run.account, run.begun_at, gone)
            if changed is not None and not run.cells.counted:
                raise changed  # there is nothing to keep
            charge(doors.ledger, pages, run.account, run.cells.counted, receipt.currency)
            if doors.saved is not None:
                self._note_offered(pages, run)
            if finished:
                doors.ledger.compact(pages, run.account)
                if run.call:
                    KeptPages(pages).drop(_CALL, run.call)
            if note is not None and changed is None:
                note(pages)
            return changed

        changed = None
        if doors.saved is not None or doors.needs_ledger(run.source):
            changed = doors.ledger.book.write(work)
        if doors.saved is None:
            self._note_offered(None, run)
            self._note_in_memory(run, data)
        doors.keep(run)
        if changed is not None:  # what it bought of other cells is kept, and on the bill
            raise changed

    def _note_offered(self, pages: SqlPages | None, run: Run) -> None:
        """What the rows of a run would cost in full."""
        rows = None
        if pages is not None and (gone := _purged_rows(pages, run)):
            rows = np.setdiff1d(run.rows, gone)
        self._doors.note_offered(pages, run.source, run.cells, run.place, rows=rows, ours=run.ours)

    def _note_in_memory(self, run: Run, data: Json) -> None:
        others = [one for one in self.in_memory if one.account != run.account]
        number = len(others) + 1
        self.in_memory[:] = [
            *others,
            PredictionRow(number, run.task, run.account, me(), run.begun_at, data),
        ]


def _purged_rows(pages: SqlPages, run: Run) -> list[int]:
    """Rows of a run that were purged since it began: nothing is kept of them."""
    if run.purges is None:
        return []
    return purged_since(pages, run.purges, run.source.examples or ()) or []


def _note_answers(
    pages: SqlPages,
    account: str,
    task: str,
    version: int,
    ids: Sequence[str],
    made: Prediction,
    told: InputCounts | None = None,
    without: Sequence[int] = (),
) -> None:
    """Keep what was answered, by example, so that outcomes can be held against it.

    ``told``: what was asked for it, in bins.
    """
    if made.probabilities is None or made.probabilities.shape[1] != 2:
        return
    there = np.setdiff1d(np.flatnonzero(made.answered), without)
    arrays: dict[str, AnyArray] = {
        "examples": pages.number("example", [ids[i] for i in there.tolist()]).astype(np.int64),
        "scores": made.probabilities[there, 1].astype(np.float64),
    }
    if told is not None:
        arrays |= {"told": told.counts, "asked_rows": np.array([len(there)])}
    OutcomePages(pages).put_answers(account, task, version, time.time(), arrays)
