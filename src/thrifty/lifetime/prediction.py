"""What ``life.predict`` gives: the answers, how sure they are, and what each row cost."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, overload

import numpy as np
from numpy.typing import DTypeLike, NDArray

from thrifty.cells import Cells, Receipt
from thrifty.cells.ledger.receipt import PredictionReceipt
from thrifty.errors import BadInput, BadParameter, UnknownTask
from thrifty.html import table_html
from thrifty.lazy import UNANSWERED, Asked, Asks, Explanation, explain_cells
from thrifty.typing import AnyArray, Ints

if TYPE_CHECKING:
    import pandas
    import polars


def prediction_receipt(cells: Cells, promise: str = "") -> PredictionReceipt:
    """What went through a reader, in all and for each row."""
    whole = cells.receipt()
    given = {name: getattr(whole, name) for name in Receipt.__slots__}
    given["promise"] = promise or whole.promise
    return PredictionReceipt(
        **given, cells_per_row=cells.cells_per_row(), cost_per_row=cells.cost_per_row()
    )


class _Answered(ABC):
    """Rows that were answered through one reader, and what that cost."""

    _cells: Cells
    receipt: PredictionReceipt

    @abstractmethod
    def _columns(self) -> dict[str, object]:
        """What a frame says of the answers."""

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
        probability of each class, how many cells were bought and what they cost; of several tasks
        the columns of each have its name before them.
        """
        if kind not in ("pandas", "polars"):
            raise BadParameter(f"kind must be 'pandas' or 'polars'; got {kind!r}.")
        ids, receipt = self._cells.examples, self.receipt
        columns: dict[str, object] = {
            "id": list(ids) if ids is not None else np.arange(receipt.n_examples),
            **self._columns(),
            "cells": receipt.cells_per_row,
            "cost": receipt.cost_per_row,
        }
        if kind == "polars":
            import polars

            return polars.DataFrame(columns)
        import pandas

        return pandas.DataFrame(columns)

    def _bought(self) -> str:
        cost = f"{self.receipt.cost:g} {self.receipt.currency}".rstrip()
        return f"{self.receipt.cells} cells bought for {cost}"

    def _check_example(self, example: int) -> None:
        n = self.receipt.n_examples
        if not 0 <= example < n:
            raise BadInput(f"example must lie in 0..{n - 1}; got {example!r}.")


class Prediction(_Answered):
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
        why each row stopped: "finished", "sure", "hopeless", "worth", "spend" or "per_row";
        "budget" for those without an answer

    See Also
    --------
    thrifty.Lifetime.predict : what gives it
    thrifty.results.JointPrediction : of several tasks

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
        rows = f"{len(self)} rows"
        if not self.answered.all():
            rows = f"{int(self.answered.sum())} of {rows} answered"
        return f"Prediction({rows}, {self._bought()})"

    def _repr_html_(self) -> str:
        """For notebooks: the first answers, and the bill."""
        shown = 8
        sure = None if self.probabilities is None else self.probabilities.max(axis=1)
        cells = self.receipt.cells_per_row
        rows = [
            (i, str(self.values[i]), "" if sure is None else f"{sure[i]:.2f}", int(cells[i]))
            for i in range(min(shown, len(self)))
        ]
        more = f"and {len(self) - shown:,} more" if len(self) > shown else ""
        head = ("row", "answer", "probability", "cells bought")
        return table_html(head, rows, more) + self.receipt._repr_html_()

    def _columns(self) -> dict[str, object]:
        return {"value": self.values, **probability_columns(self)}

    def explain(self, example: int) -> Explanation:
        """What one row was asked, what came, and what it cost."""
        self._check_example(example)
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


class JointPrediction(_Answered, Mapping[str, Prediction]):
    """The answers of several tasks to the same examples.

    A mapping of task to :class:`thrifty.results.Prediction`; all of them have one receipt.

    Attributes
    ----------
    receipt : PredictionReceipt
        what was bought for all tasks together
    joint : bool
        whether every task reads every cell along one order; False: each its own cells, in turn

    See Also
    --------
    thrifty.Lifetime.predict : what gives it
    thrifty.results.Prediction : of one task

    Examples
    --------
    >>> import thrifty
    >>> life = thrifty.Lifetime(thrifty.Trees(max_depth=3))
    >>> X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> for name, y in {"both": [0, 0, 0, 1], "first": [0, 0, 1, 1]}.items():
    ...     _ = life.learn(name, X, y)
    >>> answers = life.predict(["both", "first"], np.array([[1, 1], [0, 1]]))
    >>> answers["both"].values.tolist(), answers["first"].values.tolist(), answers.receipt.cells
    ([1, 0], [1, 0], 3)
    >>> print(answers.explain(0))
    example 0: both 1, first 1 for 2 cells, cost 2
      x0 = 1, paid 1 (for both, first)
      x1 = 1, paid 1 (for both)
    """

    def __init__(
        self,
        cells: Cells,
        parts: Mapping[str, Prediction],
        read: Mapping[str, Sequence[Ints]],
        joint: bool,
    ) -> None:
        self._cells, self._parts, self._read, self.joint = cells, dict(parts), read, joint
        self.receipt: PredictionReceipt = prediction_receipt(cells)

    def __getitem__(self, name: str) -> Prediction:
        try:
            return self._parts[name]
        except KeyError:
            known = ", ".join(map(repr, self._parts))
            raise UnknownTask(f"no answers for {name!r}; asked were {known}.") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)

    def __repr__(self) -> str:
        n = self.receipt.n_examples
        return f"JointPrediction({', '.join(self)}: {n} rows, {self._bought()})"

    def _columns(self) -> dict[str, object]:
        answers: dict[str, object] = {}
        for name, part in self.items():
            answers |= {name: part.values, **probability_columns(part, f"{name}: ")}
        return answers

    def explain(self, example: int) -> Explanation:
        """What one row was asked, what each cell cost, and which tasks read it."""
        self._check_example(example)
        read = {name: each[example].tolist() for name, each in self._read.items()}
        every = dict.fromkeys(f for those in read.values() for f in those)
        asked = [f for f in every if self._cells.looked_at(example, f)]
        answers = {name: part.values[example] for name, part in self.items()}
        told = explain_cells(self._cells, example, asked, answers)
        served = [tuple(name for name in read if f in read[name]) for f in asked]
        steps = tuple(replace(step, served=whom) for step, whom in zip(told.steps, served))
        return replace(told, steps=steps)
