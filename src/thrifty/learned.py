"""One learned task: how it was learned, the model, the bill."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from thrifty.attempt import Failure, Route
from thrifty.cells import Receipt
from thrifty.protocol import AnyFamily
from thrifty.stores.families import family_from_dict
from thrifty.stores.pages import TaskRow
from thrifty.strangers import readable

__all__ = ["Learned", "Parts", "model_to_store", "parts_of_row"]

#: model, receipt, failure, good
Parts = tuple[Any, Receipt, Failure | None, bool | None]


class Learned:
    """One learned task: how it was learned, the model, the bill.

    Of a task in a store only name and route are read at once, the rest when it is asked for.

    Attributes
    ----------
    route : "reused", "screened" or "scratch"
    model : a fitted scikit-learn estimator
    receipt : what it bought, reused and avoided
    failure : why the representation was not enough, where it was not
    good : what the user said of the task: whether it is related to the others
    left_out : columns that were not used as features because they are labels
    """

    __slots__ = ("_load", "_parts", "left_out", "name", "route")

    def __init__(
        self,
        name: str,
        route: Route,
        parts: Parts | Callable[[], Parts],
        left_out: Sequence[str] = (),
    ) -> None:
        self.name, self.route, self.left_out = name, route, tuple(left_out)
        self._load = parts if callable(parts) else None
        self._parts: Parts | None = None if callable(parts) else parts

    def _all(self) -> Parts:
        if self._parts is None:
            assert self._load is not None
            self._parts, self._load = self._load(), None
        return self._parts

    @property
    def model(self) -> Any:
        return self._all()[0]

    @property
    def receipt(self) -> Receipt:
        return self._all()[1]

    @property
    def failure(self) -> Failure | None:
        return self._all()[2]

    @property
    def good(self) -> bool | None:
        return self._all()[3]

    def __repr__(self) -> str:
        return f"Learned({self.name!r}, {self.route!r}, {self.receipt!r})"

    def bill_row(self) -> dict[str, Any]:
        """The task's line of the bill."""
        said = {} if self.good is None else {"good": self.good}
        return {"task": self.name, "route": self.route, **receipt_row(self.receipt), **said}


def receipt_row(receipt: Receipt) -> dict[str, Any]:
    """What a bill shows of a receipt."""
    return {
        "cells": receipt.cells,
        "cost": receipt.cost,
        "reused_cells": receipt.reused_cells,
        "avoided_cells": receipt.avoided_cells,
        "max_cells_per_example": receipt.max_cells_per_example,
    }


def model_to_store(model: Any, features: Sequence[str]) -> dict[str, Any]:
    """A model as plain data; names that the lifetime has are not written again."""
    data: dict[str, Any] = model.to_dict()
    names = data.get("feature_names")
    if names is not None and tuple(names) == tuple(features[: len(names)]):
        data["feature_names"] = len(names)
    return data


def parts_of_row(family: AnyFamily, row: TaskRow, features: Sequence[str] | None) -> Parts:
    """A task as it stands in a store."""
    with readable(f"the task {row.name!r} in the store"):
        return _parts(family, row, features)


def _parts(family: AnyFamily, row: TaskRow, features: Sequence[str] | None) -> Parts:
    receipt = dict(row.receipt)
    good = receipt.pop("good", None)
    model = dict(row.model)
    if isinstance(model.get("feature_names"), int):
        model["feature_names"] = list((features or ())[: model["feature_names"]])
    if row.family is not None and row.family != family.to_dict():
        family = family_from_dict(row.family)  # it was learned before the family was changed
    failure = None if row.failure is None else Failure(**row.failure)
    return family.load_estimator(model), Receipt.from_dict(receipt), failure, good
