"""One row, interactively: what to ask next, what it costs and why; answers at any time.

It is the pass of a prediction with one row, in which what is known costs nothing and what is not
cannot be had: where the pass ends, the next cell is wanted. A form, a nurse or a program brings the
values. Each is owned by the store from then on (where the row has an id), and booked at its list
price only where it was paid for. An interview with an id is kept in the store after every answer,
and goes on after a crash.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np

from thrifty.cells import Cells, Owned, Source
from thrifty.cells.ledger.compacted import purged_since
from thrifty.cells.sources.checks import one_form
from thrifty.cells.sources.gaps import GAPS, as_written, censored_of, without_na
from thrifty.errors import BadInput, BadParameter
from thrifty.lazy import Asks
from thrifty.lifetime.prediction_runs import PredictionRuns, Run, new_account
from thrifty.lifetime.state import LifetimeState
from thrifty.models.asking.walk import Walk
from thrifty.stopping import StoppingRule
from thrifty.stores.pages import SqlPages
from thrifty.typing import Floats, Ints, Json


@dataclass(frozen=True, slots=True)
class Wanted:
    """The cell that an interview wants: its feature, what it costs now, whom it serves, and why.

    ``words``: the categories it may be, empty for numbers.
    """

    feature: str
    price: float
    why: str
    serves: tuple[str, ...]
    words: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.feature} (price {self.price:g}): {self.why}"


@dataclass(frozen=True, slots=True)
class Answer:
    """What a task says at the moment: value, its probability, whether it has stopped and why."""

    value: object
    probability: float
    stopped: str = ""
    probabilities: Mapping[object, float] = field(default_factory=dict)


class Interview:
    """A row that is asked for cell by cell; :meth:`thrifty.Lifetime.ask` begins one.

    Attributes
    ----------
    next : Wanted or None
        the cell it wants, None when every task has stopped or nothing is left to ask
    answers : dict
        of each task an :class:`Answer`, at any time
    known : dict
        the values that the store owns of the example or that were told, by feature; None:
        unavailable
    cost : float
        what was paid for, at list prices

    Examples
    --------
    >>> import thrifty
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 4))
    >>> life = thrifty.Lifetime(random_state=0)
    >>> _ = life.learn("ill", X, (X[:, 2] + 0.3 * X[:, 0] > 0).astype(int))
    >>> interview = life.ask("ill", stop=thrifty.Sure(0.9))
    >>> interview.next.feature
    'x2'
    >>> interview.tell(2.7)
    >>> interview.answers["ill"].value, interview.answers["ill"].stopped
    (1, 'sure')
    """

    def __init__(
        self, models: Mapping[str, Asks], runs: PredictionRuns, doors: LifetimeState, *,
        stop: StoppingRule | Mapping[str, StoppingRule] | None,
        weights: Mapping[str, float] | None, per_row: float | None, id: str | None, source: str,
    ) -> None:  # fmt: skip
        self.names, self._runs, self._doors = tuple(models), runs, doors
        self._tasks = runs.together(models, weights)
        for name, model in models.items():
            if getattr(model, "classes_", None) is None or name not in self._tasks.on_cells:
                raise BadParameter(
                    f"an interview asks models of classes (thrifty.Models); {name!r} is a "
                    f"{type(model).__name__}."
                )
        self._rules = self._tasks.rules(stop)
        self._id = one_form(id) if isinstance(id, str) else id
        self._source, self._per_row = source, per_row
        self._purges = frozenset[int]() if id is None else doors.purges()
        self._features = list(self._tasks.feature_names_)
        self.known: dict[str, object] = {}
        self._values = np.full((1, len(self._features)), np.nan)
        self._paid: list[str] = []
        #: what each task says now, until something is told
        self._answers: dict[str, Answer] | None = None
        self.cost = 0.0
        #: where prices are asked for; nothing is bought through it
        row = self._row()
        self._cells = Cells(row, doors.prices_of(row), is_task=False)
        self._ladder = self._tasks.ladder(self._cells)
        self._resume()

    # What it wants, and what it says.

    @property
    def next(self) -> Wanted | None:
        """The cell it wants; None when it has ended."""
        going = [name for name, answer in self.answers.items() if not answer.stopped]
        steps = enumerate(self._ladder.features)
        unknown = ((k, f) for k, step in steps for f in step if self._features[f] not in self.known)
        k, f = next(unknown, (0, None))
        if f is None or not going:
            return None
        price, name = self._cells.price_between(self._had(), [f]), self._features[f]
        if self._per_row is not None and self.cost + price > self._per_row + 1e-9:
            return None
        serves = [
            name
            for name, task in zip(self.names, self._ladder.tasks)
            if name in going and any(f in part.features for part in task.parts[k:])
        ]
        said = [(name, self.answers[name]) for name in going]
        now = ", ".join(f"{name} is {a.value} with {a.probability:.2f}" for name, a in said)
        return Wanted(name, price, f"so far {now}", tuple(serves or going), self._words(name))

    def _words(self, feature: str) -> tuple[str, ...]:
        return tuple(self._tasks.words_.get(feature, ()))

    def _had(self) -> list[int]:
        """Features that have a value."""
        return [f for f, name in enumerate(self._features) if self.known.get(name) is not None]

    @property
    def answers(self) -> dict[str, Answer]:
        """What each task says now, from all that is known along the order."""
        if self._answers is None:
            self._answers = self._walked()
        return dict(self._answers)

    def _walked(self) -> dict[str, Answer]:
        """Along the order, as far as all is known."""
        lacking = np.array([name not in self.known for name in self._features])

        def price(rows: Ints, features: Sequence[int]) -> Floats:
            return np.full(len(rows), np.inf if lacking[list(features)].any() else 0.0)

        got = Walk(
            self._ladder, lambda rows, features: self._values[:, features], price, 1,
            rules=self._rules, weights=self._tasks.weights, per_row=0.0,
        ).run()  # fmt: skip
        answers = {}
        for t, (name, model) in enumerate(self._tasks.on_cells.items()):
            p, why = got.p[t][0], str(got.why[t][0])
            classes = [model.classes_[int(c)] for c in self._ladder.tasks[t].classes]
            best, told = int(p.argmax()), {_plain(c): float(q) for c, q in zip(classes, p)}
            stopped = "" if why == "per_row" else why  # it waits for a cell
            answers[name] = Answer(_plain(classes[best]), float(p[best]), stopped, told)
        return answers

    # What it is told.

    def tell(self, value: object, *, feature: str | None = None, paid: bool = False) -> None:
        """A value that somebody brings, of the cell that was wanted.

        Parameters
        ----------
        value : number or str
            a number, as a number or as learning reads it ("1,5", "<5"), or the word of a category
        feature : str or None
            which cell it is, to be safe: anything but the wanted one is refused
        paid : bool
            whether it was paid for, at its list price; else it is owned for nothing
        """
        wanted = self._check_wanted(feature)
        f, name = self._features.index(wanted.feature), wanted.feature
        gap = False
        if isinstance(value, str):
            value = self._as_learned(name, value, wanted.words)
            gap = value is None
        self._values[0, f] = np.nan if gap else self._number(name, value)
        try:
            self.cost += self._book(f, value, paid)
        except BaseException:
            self._values[0, f] = np.nan  # a budget that ends, another value in the store
            raise
        self._paid += [name] * paid
        self._know(name, value)

    def skip(self, *, feature: str | None = None) -> None:
        """The wanted cell is unavailable: it stays a gap, and costs nothing."""
        name = self._check_wanted(feature).feature
        self._doors.saved.book.write(lambda pages: self._keep(pages, name, None))
        self._know(name, None)

    def close(self) -> None:
        """It has ended: the store forgets it; what was told stays owned."""
        if self._id is not None:
            self._doors.saved.book.write(lambda pages: pages.drop_kept("interview", self._name))

    def _check_wanted(self, feature: str | None) -> Wanted:
        wanted = self.next
        if wanted is None:
            raise BadInput("the interview has ended: it wants no further cell.")
        if feature is not None and feature != wanted.feature:
            raise BadInput(
                f"the interview wants {wanted.feature!r}; got a value of {feature!r}. Tell or skip "
                "the wanted cell first."
            )
        return wanted

    def _as_learned(self, feature: str, text: str, words: Sequence[str]) -> object:
        """What learning would read: a word in any case, a number as it is written, None: a gap."""
        codes = self._doors.settings.na or {}
        (read,) = without_na(np.array([text], dtype=object), feature, codes).tolist()
        if read is None:
            return None
        if words:
            alike = [word for word in words if word.casefold() == text.strip().casefold()]
            return alike[0] if len(alike) == 1 else text
        return None if text.strip().lower() in GAPS else as_written(text, censored_of(codes))

    def _number(self, feature: str, value: object) -> float:
        words = self._words(feature)
        if words:
            if value not in words:
                raise BadInput(
                    f"{feature!r} is one of {', '.join(map(repr, words[:8]))}; got {value!r}."
                )
            return float(words.index(str(value)))
        if isinstance(value, bool | int | float | np.number | np.bool_):
            with suppress(OverflowError):  # an integer of 400 digits
                number = float(value)
                if np.isfinite(number):
                    return number
        raise BadInput(
            f"{feature!r} is a number; got {_shown(value)}. skip() says that it is unavailable."
        )

    # What is kept.

    @property
    def _name(self) -> str:
        return "\0".join([self._source, str(self._id), *sorted(self.names)])

    def _row(self) -> Source:
        ids = None if self._id is None else [self._id]
        return Source.from_array(
            self._values.copy(),
            feature_names=self._features,
            allow_missing=True,
            examples=ids,
            name=None if ids is None else self._source,
        )

    def _book(self, f: int, value: object, paid: bool) -> float:
        """A value is owned from now on; what it costs, on the bill, where it was paid for."""
        if not paid and self._id is None:
            return 0.0  # nobody knows this row again
        source, owned, doors = self._row(), Owned(1, len(self._features)), self._doors
        name = self._features[f]
        owned.bitmap = np.zeros((len(self._features), 1), dtype=np.uint64)
        owned.bitmap[self._had()] = 1
        title = ", ".join(self.names)
        account = new_account(title, "interview")
        cells = Cells(
            source,
            doors.prices_of(source) if paid else 0.0,
            owned=owned,
            ledger=doors.ledger_for(source),
            task=account,
            is_task=False,
        )
        cells.get([0], [f])
        place = account if self._id is None else self._source
        run = Run(account, title, source, cells, owned, place=place)

        def keep(pages: SqlPages) -> None:
            cost, of_it = (cells.receipt().cost, [name]) if paid else (0.0, [])
            self._keep(pages, name, value, cost, of_it)

        def owned_for_nothing(pages: SqlPages) -> None:
            doors.count_all(pages, run, account, time.time())
            keep(pages)

        if paid:
            return self._runs.end(run, note=keep).cost
        doors.booked(cells, lambda: doors.ledger.book.write(owned_for_nothing))
        return 0.0

    def _know(self, feature: str, value: object) -> None:
        self.known[feature], self._answers = value, None
        if value is not None:
            self._values[0, self._features.index(feature)] = self._number(feature, value)

    def _keep(
        self,
        pages: SqlPages,
        feature: str,
        value: object,
        cost: float = 0.0,
        paid: Sequence[str] = (),
    ) -> None:
        """How far it is, in the transaction that books the value: it goes on from there."""
        if self._id is None:
            return
        if purged_since(pages, self._purges, [self._id]):
            raise BadInput(
                f"the values of {self._id!r} were taken out of the store since this interview "
                "began, and nothing more is kept by it. Begin another one with life.ask."
            )
        known = {**self.known, feature: value}
        data: Json = {"known": known, "cost": self.cost + cost, "paid": [*self._paid, *paid]}
        pages.keep("interview", self._name, data)

    def _resume(self) -> None:
        """What the store owns of the example is not asked for; nor what was told or skipped."""
        doors = self._doors
        if self._id is None:
            return
        for name, value in doors.values_owned(self._row()).items():
            words = self._words(name)
            if value != value:
                self._know(name, None)
            elif not words or value in words:  # others are no words of the models here
                self._know(name, value)
        data = doors.saved.book.read(lambda pages: pages.kept("interview", self._name))
        if data is None:
            return
        for name, value in data["known"].items():
            if name in self._features and not (value is None and name in self.known):
                self._know(name, value)
        self.cost, self._paid = float(data["cost"]), list(data["paid"])


def _shown(value: object) -> str:
    """Python writes no integer of five thousand digits."""
    long = isinstance(value, int) and value.bit_length() > 1000
    return "an integer of hundreds of digits" if long else f"{value!r:.80}"


def _plain(value: object) -> object:
    return value.item() if isinstance(value, np.generic) else value
