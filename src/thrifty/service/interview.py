"""One row, by its values: the answer, or which values are asked next.

Nothing is kept between two calls: whoever asks sends all that is known of the row so far. The model
walks it through a ledger of its own in memory, which costs nothing and writes nothing; what it
would buy and nobody has told is what is asked next. Once it is told all that it wants, the row is
answered through the lifetime, and booked there under the row's id.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from thrifty.cells import Source
from thrifty.errors import BadInput, ThriftyError
from thrifty.lazy import Asks
from thrifty.lazy.stopping import StoppingRule
from thrifty.lifetime import Lifetime, Prediction
from thrifty.lifetime.doors import Doors
from thrifty.lifetime.prediction_runs import PredictionRuns
from thrifty.lifetime.progress import Progress
from thrifty.typing import AnyArray, Json

__all__ = ["Interviews", "Row"]

Ask = Callable[[Sequence[object], Sequence[str]], AnyArray]


@dataclass(frozen=True)
class Row:
    """What is known of a row: its id, its values by name; None is a gap that is known."""

    id: str
    values: Mapping[str, object]
    stop: StoppingRule | None = None
    per_row: float | None = None


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
        #: one row at a time: what is made once (prefixes) is made once, and a store has one writer
        self._turn = threading.Lock()

    def tasks(self) -> list[Json]:
        """What can be asked about: tasks, their features and classes."""
        with self._turn:
            found = [(one.name, one.model) for one in self.life.tasks]
        return [
            {
                "task": name,
                "features": [model.feature_names_[f] for f in model.features_.tolist()],
                "classes": _plain(getattr(model, "classes_", None)),
            }
            for name, model in found
        ]

    def answer(self, task: str, row: Row) -> Json:
        """The answer and what it cost; or ``{"next": names}``, what is asked next."""
        with self._turn:
            model: Asks = self.life[task]
            self._check(model, row)
            wanted: list[str] = []

            def told_or_wanted(ids: Sequence[object], names: Sequence[str]) -> AnyArray:
                lacking = [name for name in names if name not in row.values]
                if lacking and not wanted:
                    wanted.extend(lacking)
                return _values(row, names)

            try:
                self._rehearse(task, model, row, self._source(model, row, told_or_wanted))
            except ThriftyError:
                if not wanted:  # else it met the gap that stands for what was not told
                    raise
            if wanted:
                return {"task": task, "id": row.id, "next": wanted}
            found = self.life.predict(
                task,
                self._source(model, row, lambda ids, names: _values(row, names)),
                stop=row.stop,
                per_row=row.per_row,
            )
            return {"task": task, "id": row.id, **_said(found)}

    def _rehearse(self, task: str, model: Asks, row: Row, source: Source) -> None:
        """The walk of a row with a ledger in memory, at the lifetime's prices."""
        shelf = self.life._shelf
        settings = replace(shelf.doors.settings, budget=None)
        runs = PredictionRuns(Doors(shelf.family, settings, None), Progress(False))
        runs.predict(task, model, source, row.stop, None, row.per_row)

    def _check(self, model: Asks, row: Row) -> None:
        unknown = sorted(set(row.values) - set(model.feature_names_))
        if unknown:
            raise BadInput(
                f"the model has no feature {unknown[0]!r}; it asks for those that GET /tasks lists."
            )

    def _source(self, model: Asks, row: Row, ask: Ask) -> Source:
        words = getattr(model, "words_", {})
        names = list(model.feature_names_)
        return Source.from_callable(
            ask,
            examples=[row.id],
            features=names,
            name=self.source,
            allow_missing=True,
            kinds={name: list(words[name]) if name in words else "number" for name in names},
        )


def _values(row: Row, names: Sequence[str]) -> AnyArray:
    told = [row.values.get(name) for name in names]
    return np.array([[np.nan if value is None else value for value in told]], dtype=object)


def _said(found: Prediction) -> Json:
    shares = found.probabilities
    return {
        "value": _plain(found.values)[0],
        "classes": _plain(found.classes),
        "probabilities": None if shares is None else [float(p) for p in shares[0]],
        "stopped": str(found.stopped[0]),
        "cost": float(found.receipt.cost),
        "cells": int(found.receipt.cells),
    }


def _plain(array: AnyArray | None) -> list[object]:
    return [] if array is None else list(np.asarray(array).tolist())
