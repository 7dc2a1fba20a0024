"""What ``life.predict`` gives: the answers, how sure they are, and what each row cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Literal, overload

import numpy as np
from numpy.typing import DTypeLike, NDArray

from thrifty.cells import Cells, Receipt
from thrifty.cells.ledger.receipt import PredictionReceipt
from thrifty.errors import BadInput, BadParameter, BudgetExceeded
from thrifty.html import table_html
from thrifty.lazy import UNANSWERED, Asked, Asks, Explanation, explain_cells
from thrifty.typing import AnyArray

if TYPE_CHECKING:
    import pandas
    import polars

__all__ = [
    "Prediction",
    "frame_of_answers",
    "out_of_money",
    "prediction_receipt",
    "probability_columns",
]

#: answers that a notebook shows
_SHOWN = 8


def prediction_receipt(cells: Cells, promise: str = "") -> PredictionReceipt:
    """What went through a door, in all and for each row."""
    whole = cells.receipt()
    given = {f.name: getattr(whole, f.name) for f in fields(Receipt)}
    given["promise"] = promise or whole.promise
    return PredictionReceipt(
        **given, cells_per_row=cells.cells_per_row(), cost_per_row=cells.cost_per_row()
    )


class Prediction:
    """The answers to some examples.

    Attributes
    ----------
    values : array
        a class for each row, or a number from a regressor; ``np.asarray(prediction)`` too. None
        (NaN) for a row that has no answer, see ``answered``
    answered : array of bool
        which rows were answered: all, unless a budget ended before them and this is the
        ``prediction`` of the :class:`thrifty.errors.BudgetExceeded`
    classes : array or None
        the classes, in the order of ``probabilities``; None for numbers
    probabilities : array of float or None
        (rows, classes), None where the model gives none
    receipt : Receipt
        what was bought, reused and avoided; ``cells_per_row`` and ``cost_per_row`` of each
    sure : array of bool
        which rows stopped because their answer was sure, as the rule ``stop`` says
    stopped : tuple of str
        why each row stopped: "finished", "sure", "worth", "spend" or "per_row"; "budget" for those
        without an answer

    Examples
    --------
    >>> import thrifty
    >>> life = thrifty.Lifetime(thrifty.Trees(max_depth=3))
    >>> X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> _ = life.learn("both", X, [0, 0, 0, 1])
    >>> prediction = life.predict("both", np.array([[1, 1], [0, 1]]))
    >>> prediction.values.tolist(), prediction.receipt.cells_per_row.tolist()
    ([1, 0], [2, 1])
    >>> print(prediction.explain(1))
    example 1: 0 for 1 cells, cost 1
      x0 = 0 (compared with 0.5), paid 1
    """

    def __init__(self, model: Asks, cells: Cells, asked: Asked) -> None:
        self._model, self._cells = model, cells
        self.values, self.probabilities = asked.values, asked.probabilities
        self.stopped = asked.stopped
        self.sure: NDArray[np.bool_] = np.array([why == "sure" for why in asked.stopped], np.bool_)
        self.answered: NDArray[np.bool_] = np.array(
            [why != UNANSWERED for why in asked.stopped], dtype=np.bool_
        )
        self.classes: AnyArray | None = getattr(model, "classes_", None)
        self.receipt: PredictionReceipt = prediction_receipt(cells, asked.promise)

    def __len__(self) -> int:
        return len(self.values)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> AnyArray:
        made = np.asarray(self.values, dtype=dtype)
        return made.copy() if copy else made

    def __repr__(self) -> str:
        receipt = self.receipt
        cost = f"{receipt.cost:g} {receipt.currency}".rstrip()
        rows = f"{len(self)} rows"
        if not self.answered.all():
            rows = f"{int(self.answered.sum())} of {rows} answered"
        return f"Prediction({rows}, {receipt.cells} cells bought for {cost})"

    def _repr_html_(self) -> str:
        """For notebooks: the first answers, and the bill."""
        sure = None if self.probabilities is None else self.probabilities.max(axis=1)
        cells = self.receipt.cells_per_row
        rows = [
            (i, str(self.values[i]), "" if sure is None else f"{sure[i]:.2f}", int(cells[i]))
            for i in range(min(_SHOWN, len(self)))
        ]
        more = f"and {len(self) - _SHOWN:,} more" if len(self) > _SHOWN else ""
        head = ("row", "answer", "probability", "cells bought")
        return table_html(head, rows, more) + self.receipt._repr_html_()

    @overload
    def to_frame(self) -> pandas.DataFrame: ...

    @overload
    def to_frame(self, kind: Literal["pandas"]) -> pandas.DataFrame: ...

    @overload
    def to_frame(self, kind: Literal["polars"]) -> polars.DataFrame: ...

    def to_frame(
        self, kind: Literal["pandas", "polars"] = "pandas"
    ) -> pandas.DataFrame | polars.DataFrame:
        """A frame of pandas or Polars, a row for each example.

        Its id, the value and how probable it is, whether that is sure, why it stopped, the
        probability of each class, how many cells were bought and what they cost.
        """
        answers = {"value": self.values, **probability_columns(self)}
        return frame_of_answers(answers, self._cells, self.receipt, kind)

    def explain(self, example: int) -> Explanation:
        """What one row was asked, what came, and what it cost."""
        if not 0 <= example < len(self):
            raise BadInput(f"example must lie in 0..{len(self) - 1}; got {example!r}.")
        if not self.answered[example]:
            raise BadInput(f"example {example} was not answered: the budget ended before it.")
        features = [f for f in self._model.features_.tolist() if self._cells.looked_at(example, f)]
        explained = getattr(self._model, "explain_asked", None)
        if explained is not None and self.stopped[example] == "finished":
            path: Explanation = explained(self._cells, example)
            return path
        return explain_cells(self._cells, example, features, self.values[example])


def probability_columns(made: Prediction, of: str = "") -> dict[str, object]:
    """How probable and how sure answers are, as columns; ``of``: a task's name before them."""
    why: dict[str, object] = {f"{of}sure": made.sure, f"{of}stopped": list(made.stopped)}
    if made.probabilities is None or made.classes is None:
        return why
    named = enumerate(made.classes.tolist())
    each = {f"{of}probability of {name}": made.probabilities[:, j] for j, name in named}
    return {f"{of}probability": made.probabilities.max(axis=1), **why, **each}


def frame_of_answers(
    answers: Mapping[str, object], cells: Cells, receipt: PredictionReceipt, kind: str
) -> pandas.DataFrame | polars.DataFrame:
    """A frame with a row for each example: its id, its answers, cells and cost."""
    if kind not in ("pandas", "polars"):
        raise BadParameter(f"kind must be 'pandas' or 'polars'; got {kind!r}.")
    ids = cells.examples
    columns: dict[str, object] = {
        "id": list(ids) if ids is not None else np.arange(receipt.n_examples),
        **answers,
        "cells": receipt.cells_per_row,
        "cost": receipt.cost_per_row,
    }
    if kind == "polars":
        import polars

        return polars.DataFrame(columns)
    import pandas

    return pandas.DataFrame(columns)


def out_of_money(task: str, made: Prediction, ended: BudgetExceeded) -> BudgetExceeded:
    """What a prediction raises whose budget ended before its last row."""
    n, answered = len(made), int(made.answered.sum())
    return BudgetExceeded(
        f"{answered} of {n} rows of {task!r} are answered, the budget ends before the others "
        f"(error.prediction holds the answers, error.prediction.answered says which): {ended} "
        "Then predict all the rows again: those cost nothing that are answered now.",
        needed=ended.needed,
        left=ended.left,
        scope=ended.scope,
        prediction=made,
    )
