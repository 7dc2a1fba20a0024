"""One learned task: how it was learned, the model, the bill."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from thrifty.attempt import Failure, Route
from thrifty.cells import Receipt
from thrifty.cells.ledger.arrays import pack_arrays, unpack_arrays
from thrifty.html import pre_html
from thrifty.lazy import Estimator
from thrifty.lifetime.bill_columns import bill_cells
from thrifty.lifetime.labelling import Labelled
from thrifty.protocol import AnyFamily
from thrifty.stores.families import family_from_dict
from thrifty.stores.pages import TaskRow
from thrifty.typing import AnyArray, Json, JsonLike
from thrifty.untrusted import readable

__all__ = [
    "Learned",
    "Parts",
    "model_to_store",
    "parts_of_row",
    "receipt_from_store",
    "receipt_to_store",
]

#: features whose cells are listed by name in a store
_FEW = 256
#: bytes that the list of all features may take in a store; where it would take more, this many
#: features stay in it, those of which most was bought
_LONG, _MOST = 50_000, 10_000


@dataclass(frozen=True)
class StoredModel:
    """A model as it stands in a store: whoever asks for a bill does not wait for it."""

    family: AnyFamily
    row: TaskRow
    features: Sequence[str] | None

    def load(self) -> Estimator:
        """The model itself."""
        with readable(f"the task {self.row.name!r} in the store"):
            return _model(self.family, self.row, self.features)


#: model, receipt, failure, good
Parts = tuple[Estimator | StoredModel, Receipt, Failure | None, bool | None]


class Learned:
    """One learned task: how it was learned, the model, the bill.

    Of a task in a store only name and route are read at once, the rest when it is asked for.

    Attributes
    ----------
    route : {"reused", "screened", "scratch"}
        "reused", "screened" or "scratch"
    model : estimator
        a fitted scikit-learn estimator
    receipt : Receipt
        what it bought, reused and avoided
    failure : Failure or None
        why the representation was not enough, where it was not
    good : bool or None
        what the user said of the task: whether it is related to the others
    left_out : sequence of str
        columns that were not used as features because they are labels
    labelled : Labelled or None
        where labels were bought: which rows, their labels, and weights that make means over them
        unbiased; of this process alone, a store does not keep it
    """

    __slots__ = ("_load", "_parts", "labelled", "left_out", "name", "route")

    def __init__(
        self,
        name: str,
        route: Route,
        parts: Parts | Callable[[], Parts],
        left_out: Sequence[str] = (),
        labelled: Labelled | None = None,
    ) -> None:
        self.labelled = labelled
        self.name, self.route, self.left_out = name, route, tuple(left_out)
        self._load = parts if callable(parts) else None
        self._parts: Parts | None = None if callable(parts) else parts

    def _all(self) -> Parts:
        if self._parts is None:
            assert self._load is not None
            self._parts, self._load = self._load(), None
        return self._parts

    @property
    def model(self) -> Any:  # beyond an Estimator each family's has attributes of its own
        model, receipt, failure, good = self._all()
        if isinstance(model, StoredModel):
            model = model.load()
            self._parts = model, receipt, failure, good
        return model

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

    def _repr_html_(self) -> str:
        """For notebooks: how it was learned, the bill, the model."""
        model = getattr(self.model, "_repr_html_", None)
        shown = model() if callable(model) else pre_html(str(self.model))
        title = f"<p><b>{escape(self.name)}</b>: {escape(self.route)}</p>"
        return title + self.receipt._repr_html_() + shown

    def bill_row(self) -> Json:
        """The task's line of the bill."""
        said = {} if self.good is None else {"good": self.good}
        return {"task": self.name, "route": self.route, **bill_cells(self.receipt), **said}


def receipt_to_store(receipt: Receipt, features: Sequence[str]) -> Json:
    """A receipt as plain data; cells of very many features are packed, by their places.

    A look at each of a million features is hundreds of kilobytes of counts that nobody reads one
    by one: of such a list the features with most cells are kept. All sums stay exact.
    """
    data = receipt.to_dict()
    if len(receipt.per_feature) <= _FEW:
        return data
    counts = np.array([receipt.per_feature.get(name, 0) for name in features], dtype=np.int64)
    if int(counts.sum()) != sum(receipt.per_feature.values()):
        return data  # of features that the lifetime does not have
    narrow = counts.astype(np.uint8 if counts.max() < 256 else np.int32)
    packed = base64.b64encode(pack_arrays({"counts": narrow})).decode()
    if len(packed) > _LONG:
        packed = _packed_most(narrow)
    return {**data, "per_feature": {}, "packed": packed}


def _packed_most(counts: AnyArray) -> str:
    most = np.sort(np.argsort(-counts.astype(np.int64), kind="stable")[:_MOST])
    steps = np.diff(most, prepend=0).astype(np.int32)
    return base64.b64encode(pack_arrays({"steps": steps, "counts": counts[most]})).decode()


def receipt_from_store(data: JsonLike, features: Sequence[str] | None) -> Receipt:
    """The inverse of :func:`receipt_to_store`."""
    given = dict(data)
    packed = given.pop("packed", None)
    if packed is not None:
        arrays, names = unpack_arrays(base64.b64decode(packed)), features or ()
        counts = arrays["counts"]
        at = np.cumsum(arrays["steps"]) if "steps" in arrays else np.arange(len(counts))
        pairs = zip(at.tolist(), counts.tolist(), strict=True)
        given["per_feature"] = {names[f]: n for f, n in pairs if n}
    return Receipt.from_dict(given)


def model_to_store(model: Estimator, features: Sequence[str]) -> Json:
    """A model as plain data; names that the lifetime has are not written again."""
    data = model.to_dict()
    names = data.get("feature_names")
    if isinstance(names, list) and tuple(names) == tuple(features[: len(names)]):
        data["feature_names"] = len(names)
    return data


def parts_of_row(family: AnyFamily, row: TaskRow, features: Sequence[str] | None) -> Parts:
    """A task as it stands in a store."""
    with readable(f"the task {row.name!r} in the store"):
        receipt = dict(row.receipt)
        good = receipt.pop("good", None)
        failure = None if row.failure is None else Failure(**row.failure)
        paid = receipt_from_store(receipt, features)
    return StoredModel(family, row, features), paid, failure, good


def _model(family: AnyFamily, row: TaskRow, features: Sequence[str] | None) -> Estimator:
    model = dict(row.model)
    if isinstance(model.get("feature_names"), int):
        model["feature_names"] = list((features or ())[: model["feature_names"]])
    if row.family is not None and row.family != family.to_dict():
        family = family_from_dict(row.family)  # it was learned before the family was changed
    estimator: Estimator = family.load_estimator(model)
    return estimator
