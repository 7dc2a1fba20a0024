"""Predictions: each is opened, made, and booked under an account of its own."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from thrifty.cells import Budget, Cells, Owned, Receipt, Source, as_source
from thrifty.cells.features import Match, match_features
from thrifty.cells.ledger.compacted import purged_since
from thrifty.cells.ledger.owner import is_alive, me
from thrifty.cells.ledger.receipt import PredictionReceipt
from thrifty.cells.prices.money import amount_text, minor_units, read_spend
from thrifty.checks import warn_user
from thrifty.errors import (
    BadInput,
    BadParameter,
    BudgetExceeded,
    ChangedValue,
    EverythingIsBought,
    ThriftyError,
)
from thrifty.lazy import Asked, Asks, ask_within_budget
from thrifty.lifetime.feature_matching import check_read, prices_here, without_lacking
from thrifty.lifetime.monitoring import HasTable, InputCounts, bins_of
from thrifty.lifetime.prediction import JointPrediction, Prediction, prediction_receipt
from thrifty.lifetime.progress import Progress
from thrifty.lifetime.state import LifetimeState, call_key
from thrifty.stopping import Stop, StoppingRule, is_auto, rule_for_models
from thrifty.stores.pages import SqlPages
from thrifty.stores.saved import SavedLifetime, charge
from thrifty.typing import AnyArray, Ints, Json, JsonLike, MoneyLike, TableLike
from thrifty.wrapped import Metered, Readable, match_model, read_model

if TYPE_CHECKING:
    from thrifty.lifetime.joint_prediction import TasksTogether

#: calls with a limit that have not come to their end, as a store keeps them
_CALL = "prediction"

#: what is written in the commit of a bill
Note = Callable[[SqlPages], None]


@dataclass(frozen=True, eq=False)
class Run:
    """A prediction that is being made; its spending has an account of its own."""

    account: str
    task: str
    source: Source
    cells: Cells
    owned: Owned
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
    begun_at: float = field(default_factory=time.time)

    @property
    def rows(self) -> Ints:
        """All of its source."""
        return np.arange(self.source.n_examples)

    def purged(self, pages: SqlPages) -> list[int]:
        """Rows that were purged since it began: nothing is kept of them."""
        if self.purges is None:
            return []
        return purged_since(pages, self.purges, self.source.examples or ()) or []


@dataclass(frozen=True, eq=False)
class Unbooked:
    """Answers that are not booked yet, and what ended them; ``told``: what was told, in bins."""

    run: Run
    asked: Asked
    ended: BudgetExceeded | None
    told: Ints | None


def new_account(name: str, kind: str = "prediction") -> str:
    """What a prediction's spending is booked under.

    >>> new_account("ill")
    'ill (prediction ...)'
    """
    return f"{name} ({kind} {uuid.uuid4().hex[:12]})"


@dataclass(frozen=True)
class HowFar:
    """How far a prediction is to ask: a rule, the most for all rows together, and for each."""

    stop: Stop | Mapping[str, StoppingRule] = "auto"
    spend: MoneyLike = None
    per_row: MoneyLike = None
    weights: Mapping[str, float] | None = None

    @property
    def limited(self) -> bool:
        return not self.spend is self.per_row is None

    @property
    def rule(self) -> Stop | Mapping[str, StoppingRule]:
        """Where money is limited the limit says how far to ask."""
        if isinstance(self.stop, str) and not is_auto(self.stop):
            rule_for_models(self.stop)  # which refuses it
        return None if self.limited and is_auto(self.stop) else self.stop


def distinct(names: Sequence[str]) -> list[str]:
    """Names of tasks, each once, at least one.

    >>> distinct(["a", "b"])
    ['a', 'b']
    """
    given = list(names)
    if not given or not all(isinstance(name, str) for name in given):
        raise BadParameter(f"name must be a task or several, as a list of names; got {names!r}.")
    twice = sorted({name for name in given if given.count(name) > 1})
    if twice:
        raise BadParameter(f"each task is asked for once; named twice: {', '.join(twice)}.")
    return given


class _StoreKeeper:
    """Prefixes in the store of a lifetime; a model that travels to a worker has none."""

    def __init__(self, saved: SavedLifetime) -> None:
        self._book = saved.book

    def get(self, name: str) -> JsonLike | None:
        return self._book.read(lambda pages: pages.kept("prefixes", name))

    def put(self, name: str, data: Json) -> None:
        self._book.write(lambda pages: pages.keep("prefixes", name, data))

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        return type(None), ()


class PredictionRuns:
    """Makes predictions through the readers of one lifetime, and books what they cost."""

    def __init__(self, doors: LifetimeState, progress: Progress) -> None:
        self._doors, self._progress = doors, progress
        #: several tasks that were asked together; they keep what was made for them
        self._together: dict[object, TasksTogether] = {}

    def predict(
        self,
        name: str,
        model: Asks,
        X: TableLike,
        far: HowFar,
        version: int = 0,
        missing: str = "warn",
        *,
        tell: bool = False,
    ) -> Prediction:
        """The answers of a task's model; see :meth:`thrifty.Lifetime.predict`.

        ``tell``: whether it is said what reading everything costs.
        """
        labels = self._doors.labels_of(X) if isinstance(X, Source) else ()
        retired = self._doors.settings.retired
        model, lacking = without_lacking(name, model, X, retired, missing, labels)
        count = bool(version) and not lacking
        found = self.ask(name, model, X, far, count=count, tell=tell)
        ended, made = found.ended, Prediction(model, found.run.cells, found.asked)
        self.book(found.run, made, version, found.told, lacking, ended is None)
        if ended is not None:
            raise BudgetExceeded(
                f"{int(made.answered.sum())} of {len(made)} rows of {name!r} are answered, the "
                "budget ends before the others (error.prediction holds the answers, "
                f"error.prediction.answered says which): {ended} Then predict all the rows again: "
                "those cost nothing that are answered now.",
                needed=ended.needed,
                left=ended.left,
                scope=ended.scope,
                prediction=made,
            ) from ended
        return made

    def ask(
        self,
        name: str,
        model: Asks,
        X: TableLike,
        far: HowFar,
        *,
        owned: Owned | None = None,
        count: bool = False,
        tell: bool = False,
    ) -> Unbooked:
        """The answers of a model through a reader, not booked yet; ``owned``: None looks it up."""
        self.remember_for(model)
        with self._asking(name, model, X, far, owned=owned, tell=tell) as (run, rule):
            told = _count_inputs(model, run) if count else None
            enough = getattr(model, "enough", None)  # others walk, or need everything
            asker = enough(run.cells) if is_auto(rule) and enough is not None else model
            asked, ended = ask_within_budget(
                asker, run.cells, run.rows, stop=None if is_auto(rule) else rule,
                spend=run.spend, per_row=run.per_row,
            )  # fmt: skip
        return Unbooked(run, asked, ended, None if told is None else told.counts)

    def book(
        self,
        run: Run,
        made: Prediction,
        version: int,
        told: Ints | None,
        lacking: tuple[str, ...],
        finished: bool = True,
    ) -> None:
        """Book answers, and keep them by example for the day when the truth is known.

        ``told``: what was asked for them, in bins.
        """
        ids, p, task = run.source.examples, made.probabilities, run.task.removesuffix(f"@{version}")

        def note(pages: SqlPages) -> None:
            if ids is None or not version or p is None or p.shape[1] != 2:
                return
            there = np.setdiff1d(np.flatnonzero(made.answered), run.purged(pages))
            numbers = pages.number("example", [ids[i] for i in there.tolist()])
            arrays: dict[str, AnyArray] = {
                "examples": numbers.astype(np.int64),
                "scores": p[there, 1].astype(np.float64),
            }
            if told is not None:
                arrays |= {"told": told, "asked_rows": np.array([len(there)])}
            pages.put_answers(run.account, task, version, time.time(), arrays)

        made.receipt = self.end(run, made.receipt.promise, lacking, finished=finished, note=note)

    def predict_jointly(
        self, models: Mapping[str, Asks], X: TableLike, far: HowFar
    ) -> JointPrediction:
        """The answers of several tasks from one pass; see :meth:`thrifty.Lifetime.predict`."""
        tasks = self.together(models, far.weights)
        with self._asking(", ".join(models), tasks, X, far, tell=True) as (run, rule):
            made = tasks.answer(run.cells, run.rows, rule, run.spend, run.per_row)
        made.receipt = self.end(run, lacking=tasks.lacking)
        for part in made.values():
            part.receipt = made.receipt
        return made

    @contextmanager
    def _asking(
        self,
        name: str,
        model: Asks | TasksTogether,
        X: TableLike,
        far: HowFar,
        *,
        owned: Owned | None = None,
        tell: bool = False,
    ) -> Iterator[tuple[Run, Any]]:
        """A reader, and the rule to ask by; what fails meanwhile is left as it is."""
        run, rule = self._open_limited(name, model, X, far, owned), far.rule
        with self._left_where_it_fails(run), self._progress.shown(name, run.cells, self._doors):
            if is_auto(rule) and not self._costs(run, model):
                rule = None
            elif far.stop is None and tell and not far.limited:
                self.tell_cost(name, run, model, len(run.rows))
            yield run, rule

    def _costs(self, run: Run, model: Asks | TasksTogether) -> bool:
        """Whether some cell that a model may ask for has to be paid; without prices none has."""
        if run.source.free and self._doors.settings.prices is None:
            return False
        return run.cells.price_of(run.rows, model.features_) > 0

    def tell_cost(self, name: str, run: Run, model: Asks | TasksTogether, n_rows: int) -> None:
        """What reading everything costs at most, where it was asked for and costs something.

        ``n_rows``: all rows, of which those of the run are some, or all.
        """
        if not self._costs(run, model):
            return
        cost = run.cells.price_of(run.rows, model.features_) * n_rows / len(run.rows)
        most = amount_text(minor_units(round(cost, 2)), run.cells.currency)
        warn_user(
            f"{name}: stop=None reads all {len(model.features_)} features of {n_rows:,} rows, for "
            f"at most {most}. stop='auto', the default, stops where nothing more is gained.",
            EverythingIsBought,
        )

    def together(
        self, models: Mapping[str, Asks], weights: Mapping[str, float] | None
    ) -> TasksTogether:
        """Several tasks as one that asks; what is made for them is made once.

        ``weights``: what each counts; 1 where nothing is said. None asks for what was retired.
        """
        from thrifty.lifetime.joint_prediction import TasksTogether, read_weights  # takes long

        given, retired = read_weights(list(models), weights), self._doors.settings.retired
        asked, lacking = {}, set[str]()
        for name, model in models.items():
            asked[name], gone = without_lacking(name, model, (), retired, "ignore")
            self.remember_for(asked[name])
            lacking |= set(gone)
        key = (*((name, id(model)) for name, model in asked.items()), *given)
        if key not in self._together:
            self._together[key] = TasksTogether(asked, given, tuple(sorted(lacking)))
        return self._together[key]

    def remember_for(self, model: Asks) -> None:
        """What a model makes for predictions is kept in the store, where there is one."""
        if not self._doors.saved.in_memory and hasattr(model, "_keeper"):
            model._keeper = _StoreKeeper(self._doors.saved)

    def is_booked(self, account: str) -> bool:
        """Whether a prediction has ended that has this account."""
        found = self._doors.saved.book.read(lambda pages: pages.predictions(account))
        ended = (row.receipt for row in found)
        return any(receipt is not None and receipt.get("finished", True) for receipt in ended)

    def metered(
        self, fitted: object, X: TableLike, confidence: float | None, budget: Budget | float | None
    ) -> Metered:
        """Answers of a model of another library; see :meth:`thrifty.Lifetime.metered`."""
        readable = read_model(fitted)
        name = readable.name if readable is fitted else type(fitted).__name__
        run = self.open(f"{name} (metered)", readable, X)
        self.begin(run)
        self._doors.say_purged(run.source, run.cells)

        @contextmanager
        def booked() -> Iterator[None]:
            with self._left_where_it_fails(run):
                yield
            self.end(run)

        return Metered(readable, run.cells, confidence, budget, booked)

    # Readers.

    def _open_limited(
        self,
        name: str,
        model: Asks | TasksTogether,
        X: TableLike,
        far: HowFar,
        owned: Owned | None = None,
    ) -> Run:
        """A reader of the examples that a model is to predict.

        One with a limit that broke off goes on under its account: the limit is that of both.
        """
        features, call = model.features_, ""
        run = self.open(name, model, X, owned=owned)
        if not run.source.free and far.limited:
            said = [str(far.spend), str(far.per_row), repr(far.rule)]
            said += [repr(far.weights)] if not hasattr(model, "ask") else []
            call = call_key(run.cells, name, features, *said)
            earlier = self.broke_off(call)
            if earlier is not None:
                run = self.open(name, model, X, account=earlier)
        rows, cells = run.rows, run.cells

        def everything() -> float:
            return cells.price_of(rows, features)

        most = read_spend(far.spend, cells.currency, everything)
        each = read_spend(far.per_row, cells.currency, lambda: everything() / len(rows), "per_row")
        if most is not None:
            run = self.open(name, model, X, most, account=run.account)
        all_owned = not run.source.free and len(run.cells.owned_rows(features)) == len(rows)
        run = replace(run, spend=most, per_row=each, all_owned=all_owned, call=call)
        self.begin(run)
        self._doors.say_purged(run.source, run.cells)
        return run

    def open(
        self,
        name: str,
        model: Asks | TasksTogether | Readable,
        X: TableLike,
        most: float | None = None,
        *,
        account: str | None = None,
        owned: Owned | None = None,
    ) -> Run:
        """A reader of what this model may ask for: the lifetime's, or one of another library."""
        doors, words, needed = self._doors, getattr(model, "words_", {}), None
        if isinstance(model, Readable):  # it knows gaps or does not
            source = as_source(X, allow_missing=True)
            match = self._match_foreign(model, source)
        else:
            source, names = doors.source_of(X, None, words), model.feature_names_
            features = model.features_.tolist()
            needed = {names[f] for f in features}
            check_read(source, needed)
            match = match_features(names, source, needed=features, whose=f"the model of {name!r}")
        source = source.recoded(words)
        purges = None if source.examples is None else doors.purges()
        account, place = account or new_account(name), ""
        if owned is None:
            owned, place = doors.owned_of(X, source)
        doors.one_currency(source, owned.count() == 0)
        cells = Cells(
            source,
            prices_here(doors.settings.prices, source.feature_names, needed),
            match=match,
            owned=owned,
            ledger=doors.ledger_for(source),
            task=account,
            spend=most,
            is_task=False,
        )
        ours = needed is not None
        return Run(account, name, source, cells, owned, place=place, ours=ours, purges=purges)

    def _match_foreign(self, model: Readable, source: Source) -> Match | None:
        """Columns for a model of another library, which cannot do without one that it asks for."""
        match, asked = match_model(model, source), model.forest.features()
        columns = asked if match is None else match.place[asked]
        names = [source.feature_names[c] for c in columns.tolist() if c >= 0]
        gone = next((n for n in names if n in self._doors.settings.retired), None)
        if gone is not None:
            raise BadInput(
                f"the model asks for {gone!r}, which was retired: nothing is bought of it. Fit it "
                f"again without, or life.retire({gone!r}, undo=True)."
            )
        return match

    # Bills.

    def begin(self, run: Run) -> None:
        """A run that buys is written down first: its account is then never nobody's."""

        def work(pages: SqlPages) -> None:
            pages.begin_prediction(run.task, run.account, me(), run.begun_at)
            if run.call:
                pages.keep(_CALL, run.call, {"account": run.account})

        if not run.source.free and not run.all_owned:
            self._doors.ledger.book.write(work)

    def broke_off(self, call: str) -> str | None:
        """The account of this very call, where it was made before and did not come to its end."""

        def work(pages: SqlPages) -> str | None:
            kept = pages.kept(_CALL, call)
            if kept is None:
                return None
            account = str(kept["account"])
            for row in pages.predictions(account):
                if row.receipt is not None or not is_alive(row.owner):
                    return account
            return None  # somebody is making it at this moment

        return self._doors.ledger.book.read(work)

    @contextmanager
    def _left_where_it_fails(self, run: Run) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self.leave(run)
            raise

    def leave(self, run: Run) -> None:
        """A prediction that was given up: what it bought until then is on its bill, and owned.

        Of sources that are free to read nothing was bought, and nobody has seen a value.
        """
        if not run.source.free:
            with suppress(ThriftyError):  # what made it stop is said, not this
                self.end(run, finished=False)

    def end(
        self,
        run: Run,
        promise: str = "",
        lacking: tuple[str, ...] = (),
        *,
        finished: bool = True,
        note: Note | None = None,
    ) -> PredictionReceipt:
        """Book what a prediction has cost; what it looked at is owned. ``note`` is written too.

        Its receipt comes back, with what others have bought meanwhile as owned.
        """

        def commit() -> PredictionReceipt:
            receipt = replace(prediction_receipt(run.cells, promise), lacking=lacking)
            self._end(run, receipt, finished, note)
            return receipt

        return self._doors.booked(run.cells, commit)

    def _end(self, run: Run, receipt: PredictionReceipt, finished: bool, note: Note | None) -> None:
        """Where all of it was owned nothing is booked: a row of a form costs nobody anything."""
        doors = self._doors
        if run.all_owned and not receipt.cells and not receipt.cost:
            if note is not None:
                doors.ledger.book.write(note)
            return
        doors.one_currency(run.source, run.cells.counted > 0)
        task, account, begun = run.task, run.account, run.begun_at
        whole = Receipt(**{name: getattr(receipt, name) for name in Receipt.__slots__})
        data = {**whole.to_dict(), **({} if finished else {"finished": False})}

        def ended(pages: SqlPages) -> bool:
            pages.begin_prediction(task, account, me(), begun)
            return pages.end_prediction(account, data)  # else as the connection was lost

        def work(pages: SqlPages) -> ChangedValue | None:
            if not ended(pages):
                return None
            changed = doors.count(pages, run, run.account, run.begun_at, run.purged(pages))
            if changed is not None and not run.cells.counted:
                raise changed  # there is nothing to keep
            charge(doors.ledger, pages, account, run.cells.counted, receipt.currency)
            gone = run.purged(pages)
            self._offered(run, np.setdiff1d(run.rows, gone) if gone else None)(pages)
            if finished:
                doors.ledger.compact_predictions(pages, run.cells.counted)
                if run.call:
                    pages.drop_kept(_CALL, run.call)
            if note is not None and changed is None:
                note(pages)
            return changed

        changed = None
        if doors.only_counts(run.source, receipt.currency):
            offered, counted = self._offered(run), run.cells.counted

            def count(pages: SqlPages) -> None:  # holds no table, and may be written later
                if ended(pages):
                    charge(doors.ledger, pages, account, counted, "")
                    offered(pages)

            doors.saved.book.later(count)
        else:
            changed = doors.saved.book.write(work)
        doors.keep(run)
        if changed is not None:  # what it bought of other cells is kept, and on the bill
            raise changed

    def _offered(self, run: Run, rows: Ints | None = None) -> Note:
        """What the rows of a run would cost in full."""
        return self._doors.offered(run.source, run.cells, run.place, rows=rows, ours=run.ours)


def _count_inputs(model: Asks, run: Run) -> InputCounts | None:
    """What is told is counted in bins, where rows have ids and the model knows its own."""
    if run.source.examples is None or not isinstance(model, HasTable):
        return None
    bins = vars(model).get("_input_bins")
    if bins is None:
        bins = vars(model)["_input_bins"] = bins_of(model.table_)
    run.cells.watch = counts = InputCounts(bins)
    return counts
