"""Rows, by their values: the answer of each, or which values are asked of it next.

Nothing is kept between two calls: whoever asks sends all that is known of the row so far. The model
walks it through a ledger of its own in memory, which costs nothing and writes nothing; what it
would buy and nobody has told is what is asked next. Once it is told all that it wants, the row is
answered through the lifetime, and booked there under the row's id.

Rows that wait are taken together: one pass, one purchase and one commit for all of them.

Rows of a form as a source: what was told is its answers, what was not is what it wants.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, field, replace

import numpy as np

from thrifty.cells.ledger.categories import place_of
from thrifty.cells.sources.callable import CallableSource, CallLimits
from thrifty.errors import BadInput, ChangedValue, NotBilled, ThriftyError
from thrifty.lazy import Asks
from thrifty.lifetime.lifetime import Lifetime
from thrifty.lifetime.prediction import Prediction
from thrifty.lifetime.prediction_runs import HowFar, PredictionRuns
from thrifty.lifetime.progress import Progress
from thrifty.lifetime.state import LifetimeState
from thrifty.stopping import StoppingRule
from thrifty.typing import AnyArray, Json


@dataclass(frozen=True)
class Row:
    """What is known of a row: its id, its values by name; None is a gap that is known."""

    id: str
    values: Mapping[str, object]
    stop: StoppingRule | None = None
    per_row: float | None = None


def values_in_words(row: Row, model: Asks) -> dict[str, object]:
    """Its values as the store says them, a category by its word; what no source could say is
    refused, before anything is asked or bought."""
    said: dict[str, object] = {}
    for name, value in row.values.items():
        if name not in model.feature_names_:
            raise BadInput(
                f"the model has no feature {name!r}; it asks for those that GET /tasks lists."
            )
        words = getattr(model, "words_", {}).get(name, ())
        try:
            if words and value is not None:
                value = words[int(place_of(value, words))]
            elif value is not None and not _is_number(value):
                raise ValueError(value)
        except (ValueError, OverflowError):
            listed = ", ".join(map(repr, words[:8]))
            wanted = f"one of {listed}" if listed else "a finite number"
            got = str(value)[:40]
            raise BadInput(f"{name} must be {wanted}, or null; got {got!r}.") from None
        said[name] = value
    return said


def _is_number(value: object) -> bool:
    return isinstance(value, bool | int | float) and math.isfinite(value)


class Form(CallableSource):
    """The features of a model, asked of rows with ids of their own.

    Attributes
    ----------
    wanted : dict
        by id, the features that a row was asked for and was not told: those of the first purchase
        that lacked any. Whatever it is asked later may depend on them
    rehearsed : bool
        whether something takes the place of what is lacking, so that the other rows go on; else a
        purchase that lacks a value is refused, and nothing is billed
    """

    def __init__(self, rows: Sequence[Row], model: Asks, name: str, *, rehearsed: bool) -> None:
        at_once = 64  # orders that one purchase may take: each is a call
        self._told = {row.id: row.values for row in rows}
        self.wanted: dict[str, list[str]] = {}
        self.rehearsed = rehearsed
        self._purchases = 0
        self._lacked_in: dict[str, int] = {}
        words = getattr(model, "words_", {})
        names = list(model.feature_names_)
        #: what takes the place of a value, by feature: a word where it has words
        self._instead = {name: words[name][0] for name in names if words.get(name)}
        super().__init__(
            self._answer,
            examples=list(self._told),
            features=names,
            name=name,
            allow_missing=True,
            kinds={name: list(words[name]) if name in words else "number" for name in names},
            # what was not told is not told a moment later; all that is bought is asked for at once
            limits=CallLimits(attempts=1, concurrency=at_once),
        )
        self.proven = True  # nobody's answer is waited for

    def connected(self) -> AbstractAsyncContextManager[None]:
        """Called once for a purchase, however many calls it takes."""
        self._purchases += 1
        return super().connected()

    async def _answer(self, ids: Sequence[str], names: Sequence[str]) -> AnyArray:
        out = np.empty((len(ids), len(names)), dtype=object)
        for i, id in enumerate(ids):
            told = self._told[id]
            self._note(id, [name for name in names if name not in told])
            for j, name in enumerate(names):
                value = told.get(name) if name in told else self._instead.get(name, 0.0)
                out[i, j] = np.nan if value is None else value
        if self.wanted and not self.rehearsed:
            raise NotBilled("not every value that is wanted was told.")
        return out

    def _note(self, id: str, lacking: list[str]) -> None:
        if lacking and self._lacked_in.setdefault(id, self._purchases) == self._purchases:
            self.wanted.setdefault(id, []).extend(lacking)


@dataclass(frozen=True, eq=False)
class _Request:
    task: str
    row: Row
    reply: Future[Json] = field(default_factory=Future)

    def like(self, other: _Request) -> bool:
        """Whether one pass serves both."""
        mine, its = self.row, other.row
        return (self.task, mine.stop, mine.per_row) == (other.task, its.stop, its.per_row)


class Interviews:
    """Answers rows of one lifetime; ``source`` is the provider that their cells are booked under.

    Examples
    --------
    >>> import thrifty
    >>> life = thrifty.Lifetime(thrifty.Trees(max_depth=3), prices=2)
    >>> X = [[0, 0, 1], [0, 1, 1], [1, 0, 0], [1, 1, 0]] * 2
    >>> _ = life.learn("both", X, [0, 0, 0, 1] * 2)
    >>> rows = Interviews(life, "form")
    >>> asked = rows.answer("both", Row("ann", {}))["next"]
    >>> told = rows.answer("both", Row("ann", {"x0": 1, "x1": 1}))
    >>> len(asked), told["value"], told["cost"]
    (1, 1, 4.0)
    """

    def __init__(self, life: Lifetime, source: str) -> None:
        self.life, self.source = life, source
        self._waiting: deque[_Request] = deque()
        #: one at a time: what is made once (prefixes) is made once, and a store has one writer
        self._worker = ThreadPoolExecutor(1, "thrifty-rows")

    def tasks(self) -> list[Json]:
        """What can be asked about: tasks, their features and classes."""
        found = self._worker.submit(lambda: [(one.name, one.model) for one in self.life.tasks])
        return [
            {
                "task": name,
                "features": [model.feature_names_[f] for f in model.features_.tolist()],
                "classes": _plain(getattr(model, "classes_", None)),
            }
            for name, model in found.result()
        ]

    def answer(self, task: str, row: Row) -> Json:
        """The answer and what it cost; or ``{"next": names}``, what is asked next."""
        return self.submit(task, row).result()

    def submit(self, task: str, row: Row) -> Future[Json]:
        """The same, for who does not wait."""
        request = _Request(task, row)
        self._waiting.append(request)
        self._worker.submit(self._serve)
        return request.reply

    # What the one worker does.

    def _serve(self) -> None:
        """Reply to the request that waits longest, and to those that one pass serves with it."""
        some = self._next()
        if not some:  # others took it along
            return
        try:
            self._reply(some)
        except BaseException as error:
            for request in some:
                if not request.reply.done():
                    request.reply.set_exception(error)

    def _next(self) -> list[_Request]:
        together = 64  # rows that are answered together at most
        found: list[_Request] = []
        for _ in range(len(self._waiting)):
            request = self._waiting.popleft()
            fits = not found or (found[0].like(request) and len(found) < together)
            # two about one row: the second is answered on what the first has paid for
            if fits and all(request.row.id != other.row.id for other in found):
                if request.reply.set_running_or_notify_cancel():  # its client may be gone
                    found.append(request)
            else:
                self._waiting.append(request)
        return found

    def _reply(self, some: Sequence[_Request]) -> None:
        task = some[0].task
        self.life._refresh()
        model: Asks = self.life[task].model
        good = [request for request in some if self._checked(model, request)]
        for request, said in zip(good, self._said_together(task, model, good), strict=True):
            _set(request, said)

    def _checked(self, model: Asks, request: _Request) -> bool:
        """What the store knows of a row is what it answers by: another value is said, not lost."""
        row = request.row
        try:
            sent = values_in_words(row, model)
            form = Form([row], model, self.source, rehearsed=True)
            known = self.life._state.values_owned(form) if sent else {}
            for name, value in sent.items():
                had = known.get(name, value)
                if had != value and not (had != had and value is None):
                    raise ChangedValue(
                        f"{name} of {row.id!r} is {'a gap' if had != had else had} in the store, "
                        f"and {'a gap' if value is None else value} was sent. Send what is known, "
                        "or another row under another id."
                    )
        except ThriftyError as error:
            _set(request, error)
            return False
        return True

    def _said_together(
        self, task: str, model: Asks, some: Sequence[_Request]
    ) -> list[Json | ThriftyError]:
        """What is said of each row; where they fail together, of one after the other."""
        rows = [request.row for request in some]
        if len(rows) == 1 or not self._may_be_together(rows):
            return [self._said_alone(task, model, row) for row in rows]
        with suppress(ThriftyError):
            return list(self._said(task, model, rows))
        return [self._said_alone(task, model, row) for row in rows]

    def _may_be_together(self, rows: Sequence[Row]) -> bool:
        """A limit may end some rows and not others: each is then its own purchase."""
        return self.life._state.settings.budget is None and rows[0].per_row is None

    def _said_alone(self, task: str, model: Asks, row: Row) -> Json | ThriftyError:
        try:
            return self._said(task, model, [row])[0]
        except ThriftyError as error:
            return error

    def _said(self, task: str, model: Asks, rows: Sequence[Row]) -> list[Json]:
        wanted = self._rehearse(task, model, rows)
        ready = [row for row in rows if row.id not in wanted]
        answers: dict[str, Json] = {}
        if ready:
            form = Form(ready, model, self.source, rehearsed=False)
            stop, most = ready[0].stop, ready[0].per_row
            runs, version = self.life._runs, self.life[task]._present
            try:  # what is sent is there: all of it is read where no rule is said
                found = runs.predict(task, model, form, HowFar(stop, per_row=most), version)
            except ThriftyError:
                if not form.wanted or len(rows) > 1:
                    raise
                # cells that are owned left money for more than the rehearsal knew of
                wanted |= form.wanted
            else:
                answers = {row.id: _answer_of(found, i) for i, row in enumerate(ready)}
        return [
            {"task": task, "id": row.id, **answers.get(row.id, {"next": wanted.get(row.id, [])})}
            for row in rows
        ]

    def _rehearse(self, task: str, model: Asks, rows: Sequence[Row]) -> dict[str, list[str]]:
        """The pass over rows with a ledger in memory, at the lifetime's prices: what each lacks."""
        state = self.life._state
        settings = replace(state.settings, budget=None)
        runs = PredictionRuns(LifetimeState.in_memory(state.family, settings), Progress(False))
        form = Form(rows, model, self.source, rehearsed=True)
        far = HowFar(rows[0].stop, per_row=rows[0].per_row)
        runs.predict(task, model, form, far, missing="ignore")
        return form.wanted


def _set(request: _Request, said: Json | ThriftyError) -> None:
    if isinstance(said, ThriftyError):
        request.reply.set_exception(said)
    else:
        request.reply.set_result(said)


def _answer_of(found: Prediction, i: int) -> Json:
    shares, receipt = found.probabilities, found.receipt
    return {
        "value": _plain(found.values)[i],
        "classes": _plain(found.classes),
        "probabilities": None if shares is None else [float(p) for p in shares[i]],
        "stopped": str(found.stopped[i]),
        "cost": float(receipt.cost_per_row[i]),
        "cells": int(receipt.cells_per_row[i]),
    }


def _plain(array: AnyArray | None) -> list[object]:
    return [] if array is None else list(np.asarray(array).tolist())
