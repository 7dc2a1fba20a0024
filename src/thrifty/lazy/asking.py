"""The one way out: what every model of a lifetime can do with a reader of new examples.

``life.predict`` opens the reader, the model asks it for the cells it needs, row by row, and
says where each row stopped. A family's estimators implement :class:`Asks`, whatever they are.

Models ask all rows their first question, then all of them the second. Where money ends on the way,
that has paid for many beginnings and not one answer. So where the budget may end before all rows
are answered, rows are served in their order, as many at a time as it pays for at worst.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from thrifty.cells import Cells
from thrifty.cells.prices.money import to_units
from thrifty.errors import BadParameter, BudgetExceeded
from thrifty.stopping import StoppingRule
from thrifty.typing import AnyArray, Ints, Json

#: the model asked for all that it wanted; the budget ended before the row
FINISHED, UNANSWERED = "finished", "budget"


@dataclass(frozen=True, eq=False)
class Asked:
    """Answers for the rows that were asked for, in their order.

    Attributes
    ----------
    values : array
        a class or a number for each row
    probabilities : array of float or None
        (rows, classes), or None where the model gives none
    stopped : tuple of str
        why each row stopped: "finished", "sure", "worth", "spend" or "per_row"
    promise : str
        what was seen of the rule on held-out rows, "" where it promises nothing
    """

    values: AnyArray
    probabilities: NDArray[np.float64] | None
    stopped: tuple[str, ...]
    promise: str = ""


class Asks(Protocol):
    """A fitted estimator that asks for cells as it needs them."""

    feature_names_: tuple[str, ...]

    @property
    def features_(self) -> NDArray[np.int64]:
        """Indices of the features it may ask for, ascending."""

    def ask(
        self,
        cells: Cells,
        rows: NDArray[np.int64],
        *,
        stop: StoppingRule | None = None,
        spend: float | None = None,
        per_row: float | None = None,
    ) -> Asked:
        """Answer these rows through a reader.

        The reader's indices are the model's features. ``spend`` and ``per_row`` are in units of the
        prices, in total and on each row.
        """


class Estimator(Asks, Protocol):
    """What users hold of a task: a fitted scikit-learn estimator that a store can keep."""

    def to_dict(self) -> Json:
        """Everything needed to build it again, as JSON."""


def no_stopping(model: object, stop: object, spend: object, per_row: object) -> None:
    """Refuse to stop early, for models that need all their features for any answer."""
    given = {"stop": stop, "spend": spend, "per_row": per_row}
    for name, value in given.items():
        if value is not None:
            raise BadParameter(
                f"{type(model).__name__} needs all of its features for an answer and cannot stop "
                f"early: leave out {name}=. A budget still holds: Lifetime(budget=...)."
            )


Ask = Callable[[Ints], Asked]


def ask_within_budget(
    model: Asks,
    cells: Cells,
    rows: Ints,
    *,
    stop: StoppingRule | None = None,
    spend: float | None = None,
    per_row: float | None = None,
) -> tuple[Asked, BudgetExceeded | None]:
    """The answers, and what ended them; rows without an answer are None, numbers NaN.

    The rest is what ``model.ask`` takes.
    """

    def ask(some: Ints) -> Asked:
        return model.ask(cells, some, stop=stop, spend=spend, per_row=per_row)

    try:
        if spend is not None or _enough(cells, len(rows)):
            return ask(rows), None
    except BudgetExceeded as error:  # for one example alone, or others spend from it too
        if spend is not None:
            return _Answers(model, rows).asked(), error
    answers = _Answers(model, rows)
    ended = _in_turn(ask, answers, cells, model.features_)
    return answers.asked(), ended


def _enough(cells: Cells, n: int) -> bool:
    left = cells.allowance
    return left is None or n * to_units(cells.price_of_an_example()) <= left


def _in_turn(ask: Ask, answers: _Answers, cells: Cells, features: Ints) -> BudgetExceeded | None:
    ended: BudgetExceeded | None = None
    at, most = 0, len(answers.rows)
    while at < len(answers.rows):
        fits = _how_many_fit(cells, answers.rows[at:], features)
        take = max(1, min(most, fits))
        try:
            answers.put(at, ask(answers.rows[at : at + take]))
            at, most = at + take, 2 * most
        except BudgetExceeded as error:
            if take > 1:  # what they bought is owned: trying fewer costs nothing twice
                most = take // 2
                continue
            ended, at, most = ended or error, at + 1, 1
            if error.scope != "example":
                break
    _answer_for_nothing(ask, answers, cells, features, at)
    return ended


def _how_many_fit(cells: Cells, rows: Ints, features: Ints) -> int:
    """The rows, from the first, that what is left pays for whatever they ask."""
    left = cells.allowance
    if left is None:
        return len(rows)
    worst = np.cumsum(cells.row_costs(rows, features))
    return int(np.searchsorted(worst, left + 1e-9, side="right"))


def _answer_for_nothing(ask: Ask, answers: _Answers, cells: Cells, features: Ints, at: int) -> None:
    """Rows after the end of the money that are owned already."""
    rest = answers.rows[at:]
    if not len(rest):
        return
    places = at + np.flatnonzero(cells.row_costs(rest, features) <= 0)
    if len(places):
        answers.put(places, ask(answers.rows[places]))


class _Answers:
    """The answers so far, in the order of the rows."""

    def __init__(self, model: Asks, rows: Ints) -> None:
        self.rows, self._numbers = rows, getattr(model, "classes_", None) is None
        self._parts: list[tuple[Ints, Asked]] = []

    def put(self, at: int | Ints, asked: Asked) -> None:
        places = at + np.arange(len(asked.stopped)) if isinstance(at, int) else at
        self._parts.append((places, asked))

    def asked(self) -> Asked:
        n = len(self.rows)
        answered = sum(len(places) for places, _ in self._parts)
        values = np.full(n, np.nan) if self._numbers else np.full(n, None, dtype=object)
        if self._parts and answered == n:
            values = np.empty(n, dtype=self._parts[0][1].values.dtype)
        stopped, probabilities, promise = [UNANSWERED] * n, None, ""
        for places, asked in self._parts:
            values[places], promise = asked.values, asked.promise
            for place, why in zip(places.tolist(), asked.stopped, strict=True):
                stopped[place] = why
            if asked.probabilities is not None:
                if probabilities is None:
                    probabilities = np.full((n, asked.probabilities.shape[1]), np.nan)
                probabilities[places] = asked.probabilities
        return Asked(values, probabilities, tuple(stopped), promise)
