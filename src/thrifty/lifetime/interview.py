"""One row, interactively: what to ask next, what it costs and why; answers at any time.

A form, a nurse or a program brings the values. Each is owned by the store from then on (where the
row has an id), and booked at its list price only where it was paid for. An interview with an id is
kept in the store after every answer, and goes on after a crash.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np

from thrifty.array_types import Floats
from thrifty.cells import Cells, Owned, Source
from thrifty.cells.cells import open_cells
from thrifty.cells.sources.gaps import as_written
from thrifty.errors import BadInput, BadParameter
from thrifty.lazy import Asks
from thrifty.lazy.stopping import StoppingRule
from thrifty.lifetime.prediction import prediction_receipt
from thrifty.lifetime.prediction_runs import PredictionRuns, Run
from thrifty.lifetime.state import LifetimeState
from thrifty.models import ModelClassifier
from thrifty.models.asking.prefixes import Prefixes
from thrifty.stores.model_pages import KeptPages
from thrifty.typing import Json

__all__ = ["Answer", "Interview", "Wanted"]


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
        the values that the store owns of the example or that were told, by feature; None: not to
        be had
    cost : float
        what was paid for, at list prices

    Examples
    --------
    >>> import thrifty
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 4))
    >>> life = thrifty.Lifetime(random_state=0)
    >>> _ = life.learn("ill", X, (X[:, 2] > 0).astype(int))
    >>> interview = life.ask("ill", stop=thrifty.Sure(0.9))
    >>> interview.next.feature
    'x2'
    >>> interview.tell(1.7)
    >>> interview.answers["ill"].value, interview.answers["ill"].stopped
    (1, 'sure')
    """

    def __init__(
        self, models: Mapping[str, Asks], runs: PredictionRuns, doors: LifetimeState, *,
        stop: StoppingRule | Mapping[str, StoppingRule] | None, weights: Mapping[str, float],
        per_row: float | None, id: str | None, source: str,
    ) -> None:  # fmt: skip
        for name, model in models.items():
            if not isinstance(model, ModelClassifier):
                raise BadParameter(
                    f"an interview asks models of classes (thrifty.Models); {name!r} is a "
                    f"{type(model).__name__}."
                )
        self.names, self._runs, self._doors = tuple(models), runs, doors
        self._tasks = runs.together(models, weights)
        self._rules = self._tasks.rules(stop)
        self._id, self._source, self._per_row = id, source, per_row
        self._nobody = f"interview {uuid.uuid4().hex}"  # a row without an id, known to no other
        self._features = list(self._tasks.feature_names_)
        self.known: dict[str, object] = {}
        self._values = np.full((1, len(self._features)), np.nan)
        self._paid: set[int] = set()
        #: what each task says now, until something is told; and what it said after each step
        self._answers: dict[str, Answer] | None = None
        self._after: dict[tuple[str, int], Floats] = {}
        self.cost = 0.0
        self._cells = self._door()
        self._joint = self._tasks.joint(self._cells)
        self._begin_with_owned()
        self._resume()

    # What it wants, and what it says.

    @property
    def next(self) -> Wanted | None:
        """The cell it wants; None when it has ended."""
        going = [name for name, answer in self.answers.items() if not answer.stopped]
        for k, step in enumerate(self._joint.features):
            for f in step:
                name = self._features[f]
                if going and name not in self.known:
                    return self._wanted(f, k, going)
        return None

    def _wanted(self, f: int, k: int, going: Sequence[str]) -> Wanted | None:
        price = self._price(f)
        if self._per_row is not None and self.cost + price > self._per_row + 1e-9:
            return None
        serves = [
            name
            for name, task in zip(self.names, self._joint.tasks)
            if name in going and any(f in part.features for part in task.parts[k:])
        ]
        now = ", ".join(
            f"{name} is {self.answers[name].value} with {self.answers[name].probability:.2f}"
            for name in going
        )
        name = self._features[f]
        return Wanted(
            name,
            price,
            f"so far {now}",
            tuple(serves or going),
            tuple(self._tasks.words_.get(name, ())),
        )

    @property
    def answers(self) -> dict[str, Answer]:
        """What each task says now, from all that is known along the order."""
        if self._answers is None:
            there = {f for f, name in enumerate(self._features) if name in self.known}
            self._answers = {
                name: self._answer(name, task, rule, there)
                for name, task, rule in zip(self.names, self._joint.tasks, self._rules)
            }
        return dict(self._answers)

    def _answer(
        self, name: str, task: Prefixes, rule: StoppingRule | None, there: set[int]
    ) -> Answer:
        model = self._tasks.models[name]
        assert isinstance(model, ModelClassifier)
        stopped, at = "", -1
        # the steps up to the last one that is all there; a rule may have ended it before
        for k in range(len(task.parts)):
            if not there.issuperset(self._joint.features[k]):
                break
            at, last = k, k + 1 == len(task.parts)
            free = not last and there.issuperset(self._joint.features[k + 1])
            if last:
                stopped = "finished"
            elif rule is not None and not free:
                p = self._probabilities(name, task, k)
                if rule.stops(p[None], task.shares)[0]:
                    stopped = rule.reason
                    break
        p = task.shares if at < 0 else self._probabilities(name, task, at)
        classes = [model.classes_[int(c)] for c in task.classes]
        best = int(p.argmax())
        told = {_plain(c): float(q) for c, q in zip(classes, p)}
        return Answer(_plain(classes[best]), float(p[best]), stopped, told)

    def _probabilities(self, name: str, task: Prefixes, k: int) -> Floats:
        """After a step that is all there; what was told does not change any more."""
        if (name, k) not in self._after:
            part = task.parts[k]
            at = np.array(part.features, dtype=np.int64)
            self._after[name, k] = part.probabilities(self._values[:, at], task.shares)[0]
        return self._after[name, k]

    # What it is told.

    def tell(self, value: object, *, feature: str | None = None, paid: bool = False) -> None:
        """A value that somebody brings, of the cell that was wanted.

        Parameters
        ----------
        value : number or str
            a number, as a number or as learning reads it ("1,5", "<5": the limit), or the word of a
            category
        feature : str or None
            which cell it is, to be safe: anything but the wanted one is refused
        paid : bool
            whether it was paid for, at its list price; else it is owned for nothing
        """
        wanted = self._check_wanted(feature)
        f = self._features.index(wanted.feature)
        if isinstance(value, str) and not wanted.words:
            value = as_written(value)
        self._values[0, f] = self._number(wanted, value)
        try:
            cost = self._book(f, paid)
        except BaseException:
            self._values[0, f] = np.nan  # a budget that ends, another value in the store
            raise
        self._know(wanted.feature, value)
        if paid:
            self.cost += cost
            self._paid.add(f)
        self._keep()

    def skip(self, *, feature: str | None = None) -> None:
        """The wanted cell is not to be had: it stays a gap, and costs nothing."""
        wanted = self._check_wanted(feature)
        self._know(wanted.feature, None)
        self._keep()

    def _know(self, feature: str, value: object) -> None:
        self.known[feature] = value
        self._answers = None

    def close(self) -> None:
        """It has ended: the store forgets it; what was told stays owned."""
        saved = self._doors.saved
        if saved is not None and self._id is not None:
            saved.book.write(lambda pages: KeptPages(pages).drop("interview", self._name))

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

    def _number(self, wanted: Wanted, value: object) -> float:
        if wanted.words:
            if value not in wanted.words:
                raise BadInput(
                    f"{wanted.feature!r} is one of {', '.join(map(repr, wanted.words[:8]))}; got "
                    f"{value!r}."
                )
            return float(wanted.words.index(str(value)))
        if isinstance(value, bool | int | float | np.number | np.bool_):
            with suppress(OverflowError):  # an integer of 400 digits
                number = float(value)
                if np.isfinite(number):
                    return number
        raise BadInput(
            f"{wanted.feature!r} is a number; got {_shown(value)}. skip() says that it is "
            "not to be had."
        )

    def _price(self, f: int) -> float:
        told = [name for name, value in self.known.items() if value is not None]
        had = [self._features.index(name) for name in told]
        return self._cells.price_between(had, [f])

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

    def _door(self) -> Cells:
        """Where prices are asked for; nothing is bought through it."""
        return open_cells(self._row(), self._doors.settings.prices, match=None, is_task=False)

    def _book(self, f: int, paid: bool) -> float:
        """A value is owned from now on; what it costs, on the bill, where it was paid for."""
        if not paid and self._id is None:
            return 0.0  # nobody knows this row again
        source = self._row()
        owned = Owned(1, len(self._features))
        bits = np.zeros((len(self._features), 1), dtype=np.uint64)
        others = [self._features.index(n) for n, v in self.known.items() if v is not None]
        bits[[i for i in others if i != f]] = 1
        owned.bitmap = bits
        doors, title = self._doors, ", ".join(self.names)
        account = f"{title} (interview {uuid.uuid4().hex[:12]})"
        prices = doors.settings.prices if paid else 0.0
        cells = open_cells(
            source,
            prices,
            match=None,
            owned=owned,
            ledger=doors.ledger_for(source),
            task=account,
            is_task=False,
        )
        cells.get([0], [f])
        now = time.time()
        place = self._nobody if self._id is None else self._source
        run = Run(account, title, source, cells, owned, np.arange(1), now, place=place)
        if paid:
            return self._runs.end_prediction(run, prediction_receipt(cells)).cost
        doors.booked(
            cells,
            lambda: doors.ledger.book.write(
                lambda pages: doors.count_all(pages, run, account, now)
            ),
        )
        return 0.0

    def _keep(self) -> None:
        saved = self._doors.saved
        if saved is None or self._id is None:
            return
        data: Json = {
            "known": self.known,
            "cost": self.cost,
            "paid": [self._features[f] for f in sorted(self._paid)],
        }
        saved.book.write(lambda pages: KeptPages(pages).put("interview", self._name, data))

    def _begin_with_owned(self) -> None:
        """What the store owns of the example is not asked for; words of no model here are."""
        if self._id is None or not self._doors.has_ledger:
            return
        for name, value in self._doors.values_owned(self._row()).items():
            words = self._tasks.words_.get(name)
            if value != value:
                self._note(name, None)
            elif not words or value in words:
                self._note(name, value)

    def _note(self, name: str, value: object) -> None:
        self._know(name, value)
        if value is not None:
            wanted = Wanted(name, 0.0, "", (), tuple(self._tasks.words_.get(name, ())))
            self._values[0, self._features.index(name)] = self._number(wanted, value)

    def _resume(self) -> None:
        saved = self._doors.saved
        if saved is None or self._id is None:
            return
        data = saved.book.read(lambda pages: KeptPages(pages).get("interview", self._name))
        if data is None:
            return
        for name, value in data["known"].items():
            if name in self._features and not (value is None and name in self.known):
                self._note(name, value)
        self.cost = float(data["cost"])
        self._paid = {self._features.index(n) for n in data["paid"] if n in self._features}


def _shown(value: object) -> str:
    """Python writes no integer of five thousand digits."""
    long = isinstance(value, int) and value.bit_length() > 1000
    return "an integer of hundreds of digits" if long else f"{value!r:.80}"


def _plain(value: object) -> object:
    return value.item() if isinstance(value, np.generic) else value
