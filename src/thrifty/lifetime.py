"""What users hold: a family, what it has learned, and what that cost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from thrifty.agnostic import Counts, Rule, as_rule, learn_agnostic
from thrifty.attempt import Failure, Route
from thrifty.cells import Cells, Owned, Receipt, Source, as_source, read_prices
from thrifty.errors import BadInput, FeaturesChanged, TaskExists, ThriftyError, UnknownTask
from thrifty.protocol import Family

__all__ = ["Learned", "Lifetime"]


@dataclass(frozen=True, slots=True)
class Learned:
    """One learned task: how it was learned, the model, the bill.

    ``failure`` says why the representation was not enough, where it was not; ``good`` is what the
    user said of the task: whether it is related to the others.
    """

    name: str
    route: Route
    model: Any
    receipt: Receipt
    failure: Failure | None = None
    good: bool | None = None

    def bill_row(self) -> dict[str, Any]:
        """The task's line of the bill."""
        receipt = self.receipt
        said = {} if self.good is None else {"good": self.good}
        return {
            "task": self.name,
            "route": self.route,
            "cells": receipt.cells,
            "cost": receipt.cost,
            "reused_cells": receipt.reused_cells,
            "avoided_cells": receipt.avoided_cells,
            "max_cells_per_example": receipt.max_cells_per_example,
            **said,
        }


class Lifetime:
    """Learn one task after another, each making the next one cheaper.

    Parameters
    ----------
    family : a family of models, for instance ``thrifty.Trees(max_depth=6)``
    prices : what a cell costs: None (1 each), a number, a sequence or a mapping by feature name
    agnostic : when to forget, for streams with unrelated tasks: ``thrifty.Expansion()`` (never,
        the default), ``Restart(k)``, ``Balanced(k, r)`` or ``Doubling()``

    Examples
    --------
    >>> import thrifty
    >>> life = thrifty.Lifetime(thrifty.Trees(max_depth=4))
    >>> for task in thrifty.streams.trees(5, 50, 2, 400, 3, random_state=0):
    ...     learned = life.learn(task.name, task.X, task.y)
    >>> learned.route
    'reused'
    >>> len(life), learned.name in life
    (5, True)
    """

    def __init__(
        self, family: Family, *, prices: Any = None, agnostic: Rule | None = None
    ) -> None:
        self.family = family
        self.agnostic: Rule = as_rule(agnostic)
        self._counts = Counts()
        self.representation: Any = family.start()
        self._prices = prices
        self._tasks: dict[str, Learned] = {}
        self._feature_names: tuple[str, ...] | None = None
        self._named = False
        # What earlier tasks bought of a Source that is used again.
        self._owned: WeakKeyDictionary[Source, Owned] = WeakKeyDictionary()

    def learn(self, name: str, X: Any, y: Any, *, good: bool | None = None) -> Learned:
        """Learn a task: from the representation if it can, from scratch if it must.

        ``good`` changes nothing but the bill, which then says of each task whether it is related to
        the others, where a stream knows that.
        Nothing changes when this raises: no task is recorded, the representation stays.
        """
        if name in self._tasks:
            raise TaskExists(
                f"a task named {name!r} was learned before. Choose another name, or read the "
                f"model with life[{name!r}]."
            )
        source = as_source(X, allow_missing=getattr(self.family, "allow_missing", False))
        self._check_features(source)
        labels = self.family.read_labels(y)
        if len(labels) != source.n_examples:
            raise BadInput(
                f"y must hold one label per example; X has {source.n_examples} examples and y has "
                f"{len(labels)} labels."
            )
        owned = self._owned.get(source) or Owned(source.n_examples, source.n_features)
        cells = Cells(source, read_prices(self._prices, source.feature_names), owned)
        attempt, representation, counts = learn_agnostic(
            self.family, self.agnostic, self.representation, self._counts, cells, labels
        )
        learned = Learned(
            name=name,
            route=attempt.route,
            model=self.family.estimator(attempt.model, labels, source.feature_names),
            receipt=cells.receipt(),
            failure=attempt.failure,
            good=good,
        )
        self._commit(source, owned, cells, learned, representation)
        self._counts = counts
        return learned

    def _commit(
        self, source: Source, owned: Owned, cells: Cells, learned: Learned, representation: Any
    ) -> None:
        owned.add(cells.meter)
        self._owned[source] = owned
        self._feature_names, self._named = source.feature_names, source.named
        self._tasks[learned.name] = learned
        self.representation = representation

    def _check_features(self, source: Source) -> None:
        known = self._feature_names
        if known is None:
            return
        if len(known) != source.n_features:
            raise FeaturesChanged(
                f"this lifetime has {len(known)} features; the new task has {source.n_features}. "
                "All tasks of a lifetime share their features: bring the same ones, or start "
                "another lifetime."
            )
        if self._named and source.named and known != source.feature_names:
            pairs = zip(known, source.feature_names)
            i, (old, new) = next((i, p) for i, p in enumerate(pairs) if p[0] != p[1])
            raise FeaturesChanged(
                f"the features must have the lifetime's names, in its order; feature {i} is "
                f"{old!r} here and {new!r} in the new task. Reorder or rename the columns."
            )

    @property
    def tasks(self) -> tuple[Learned, ...]:
        """Every learned task, in the order of learning."""
        return tuple(self._tasks.values())

    def __getitem__(self, name: str) -> Any:
        """The model of a task."""
        try:
            return self._tasks[name].model
        except KeyError:
            known = ", ".join(map(repr, list(self._tasks)[:5])) or "none yet"
            raise UnknownTask(
                f"no task named {name!r}; the {len(self)} learned so far begin with {known}."
            ) from None

    def __contains__(self, name: object) -> bool:
        return name in self._tasks

    def __len__(self) -> int:
        return len(self._tasks)

    def __iter__(self) -> Iterator[str]:
        return iter(self._tasks)

    def __repr__(self) -> str:
        return (
            f"Lifetime({self.family!r}, {len(self)} tasks, "
            f"{len(self.representation)} metafeatures)"
        )

    def bill(self) -> Any:
        """A pandas DataFrame with a row per task."""
        try:
            import pandas
        except ImportError as error:
            raise ThriftyError(
                "life.bill() returns a pandas DataFrame and pandas is not installed. "
                "Type: pip install 'thrifty[frames]'"
            ) from error
        return pandas.DataFrame([learned.bill_row() for learned in self.tasks])
