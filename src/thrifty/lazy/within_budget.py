"""Answering as many rows as a budget allows, one after the other where it may not last.

Models ask all rows their first question, then all of them the second. Where money ends on the way,
that has paid for many beginnings and not one answer. So where the budget may end before all rows
are answered, rows are served in their order, as many at a time as it pays for at worst.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from thrifty.array_types import Ints
from thrifty.cells import Cells
from thrifty.cells.prices.money import to_units
from thrifty.errors import BudgetExceeded
from thrifty.lazy.asking import Asked, Asks
from thrifty.lazy.stopping import StoppingRule

__all__ = ["UNANSWERED", "ask_within_budget"]

#: why a row has no answer
UNANSWERED = "budget"

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
