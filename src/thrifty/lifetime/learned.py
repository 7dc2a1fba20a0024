"""One learned task: how it was learned, the model, the bill."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from thrifty.attempt import Failure, Route
from thrifty.cells import Cells, Receipt
from thrifty.cells.ledger.purchase import pack_arrays, unpack_arrays
from thrifty.html import pre_html
from thrifty.labels import Labels
from thrifty.lazy import Estimator
from thrifty.lifetime.bill import bill_cells
from thrifty.protocol import AnyFamily
from thrifty.stores.lifetime_pages import TaskRow
from thrifty.stores.settings import family_from_dict
from thrifty.typing import AnyArray, Json, JsonLike
from thrifty.untrusted import readable

if TYPE_CHECKING:
    from thrifty.lifetime.labelling import Labelled


@dataclass(frozen=True)
class StoredModel:
    """A model as it stands in a store: whoever asks for a bill does not read it."""

    family: AnyFamily
    row: Callable[[], TaskRow]
    features: Sequence[str] | None

    def load(self) -> Estimator:
        """The model itself."""
        row = self.row()
        with readable(f"the task {row.name!r} in the store"):
            return _model(self.family, row, self.features)


@dataclass(frozen=True, slots=True)
class About:
    """What is kept with a task beside its model and its bill; see :class:`Learned`."""

    good: bool | None = None
    positive: object = None
    prediction_price: float | None = None
    #: whether the class of interest is the first of the two
    positive_first: bool = False

    @classmethod
    def learned(cls, good: bool | None, labels: object, price: float) -> About:
        """Of a task that was learned from these labels."""
        code = labels.positive if isinstance(labels, Labels) else None
        if not isinstance(labels, Labels) or code is None:
            return cls(good, None, price)
        return cls(good, labels.value(code), price, code == 0)

    def to_store(self) -> Json:
        """Stands with the receipt; what is not known is left out, but for ``good``."""
        said = {name: getattr(self, name) for name in self.__slots__}
        return {k: v for k, v in said.items() if k == "good" or v is not None}

    @classmethod
    def of(cls, data: JsonLike) -> About:
        """The inverse, of a receipt as it is stored."""
        return cls(**{name: data[name] for name in cls.__slots__ if name in data})

    @classmethod
    def without(cls, data: JsonLike) -> Json:
        """The receipt alone."""
        return {key: value for key, value in data.items() if key not in cls.__slots__}


#: model, receipt, failure, and what is kept beside them
Parts = tuple[Estimator | StoredModel, Receipt, Failure | None, About]


class Learned:
    """One learned task: how it was learned, the model, the bill.

    Of a task in a store only name and route are read at once, the rest when it is asked for.

    Attributes
    ----------
    route : {"reused", "bought", "scratch"}
        "reused", "bought" or "scratch"
    model : estimator
        a fitted scikit-learn estimator
    receipt : Receipt
        what it bought, reused and avoided
    quality : object
        how good the model was on held-out rows, where its family measures that; None elsewhere
    failure : Failure or None
        why the representation was not enough, where it was not
    good : bool or None
        what the user said of the task: whether it is related to the others
    positive : object
        of two classes the one of interest: what the user said (``positive=``), else 1, True, yes,
        else the rarer; probabilities, outcomes, quality and scorecards are of it
    prediction_price : float or None
        what all that the model may ask for costs on a row that has none of it, orders and fees
        included; no prediction of a row costs more. None: stores of 0.2 did not say
    left_out : sequence of str
        columns that were not used as features because they are labels
    labelled : Labelled or None
        where labels were bought: which rows, their labels, and weights that make means over them
        unbiased; of this process alone, a store does not keep it

    See Also
    --------
    thrifty.Lifetime.learn : what gives it
    thrifty.results.Receipt : what it cost

    Examples
    --------
    >>> import thrifty
    >>> life = thrifty.Lifetime(thrifty.Trees(max_depth=2))
    >>> learned = life.learn("either", [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 1])
    >>> learned.route, learned.receipt.cells, learned.model.predict([[1, 0]]).tolist()
    ('scratch', 8, [1])
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

    def with_model(self, model: Estimator, about: About) -> Learned:
        """The same task with another model; its bill stays."""
        parts = (model, self.receipt, self.failure, about)
        return Learned(self.name, self.route, parts, self.left_out)

    @property
    def model(self) -> Any:  # beyond an Estimator each family's has attributes of its own
        model, receipt, failure, about = self._all()
        if isinstance(model, StoredModel):
            model = model.load()
            self._parts = model, receipt, failure, about
        return model

    @property
    def receipt(self) -> Receipt:
        return self._all()[1]

    @property
    def quality(self) -> Any:  # each family measures its own
        return getattr(self.model, "quality_", None)

    @property
    def failure(self) -> Failure | None:
        return self._all()[2]

    @property
    def about(self) -> About:
        """What is kept with it beside the model and the bill."""
        return self._all()[3]

    @property
    def good(self) -> bool | None:
        return self.about.good

    @property
    def positive(self) -> object:
        return self.about.positive

    @property
    def prediction_price(self) -> float | None:
        return self.about.prediction_price

    def summary(self) -> str:
        """What was bought, how good the model is beside guessing, what a prediction costs.

        >>> import numpy as np
        >>> import thrifty
        >>> X = np.random.default_rng(0).normal(size=(300, 4))
        >>> life = thrifty.Lifetime(prices=thrifty.PriceList(2, currency="EUR"), random_state=0)
        >>> print(life.learn("ill", X, X[:, 2] > 0.5, spend="600 EUR").summary())
        ... # doctest: +ELLIPSIS
        ill: bought ... of 1,200 values for ... EUR, ...
        Average precision for True: ... (... to ...), where guessing has 0....
        A prediction costs at most ... EUR a row.
        """
        receipt, unit = self.receipt, self.receipt.currency
        whole = receipt.n_examples * receipt.n_features
        bought = f"bought {receipt.cells:,} of {whole:,} values{_for_money(receipt)}"
        said = [f"{self.name}: {bought}, {receipt.reused_cells:,} were owned"]
        said.append(quality_sentence(self.quality, getattr(self.model, "classes_", None)))
        if self.prediction_price is not None:
            most = f"costs at most {_money(self.prediction_price, unit)}"
            if not unit and receipt.cost == receipt.cells:  # counted, nothing has a price
                most = f"needs at most {self.prediction_price:,.0f} of {receipt.n_features:,} cells"
            said.append(f"A prediction {most} a row.")
        return "\n".join(said)

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


def bought_for(receipt: Receipt) -> str:
    """How many cells, and for how much where they have a price.

    >>> bought_for(Receipt(1200, 600.0, 0, 0, 2, 4, 2, currency="EUR"))
    '1,200 cells bought for 600.00 EUR'
    """
    return f"{receipt.cells:,} cells bought{_for_money(receipt)}"


def _for_money(receipt: Receipt) -> str:
    """Nothing where nothing has a price: cells are counted."""
    counted = not receipt.currency and receipt.cost == receipt.cells
    return "" if counted else f" for {_money(receipt.cost, receipt.currency)}"


def quality_sentence(quality: Any, classes: AnyArray | None) -> str:
    """How good a model is, beside what guessing has; the first thing to know of it.

    >>> quality_sentence(None, None)
    'Its quality was not measured: there are too few rows, or its family measures none.'
    """
    if quality is None:
        return "Its quality was not measured: there are too few rows, or its family measures none."
    squared = getattr(quality, "r2", None)
    if squared is not None:
        said, beyond = f"R squared {squared}, where guessing has 0.", squared.low > 0
    else:
        code = getattr(quality, "positive", None)
        of = "" if code is None or classes is None else f" for {classes[code]}"
        guessing = f"{quality.guessing:.2f}"
        said = f"Average precision{of}: {quality.average_precision}, where guessing has {guessing}."
        beyond = quality.beyond_guessing
    if not beyond:
        said += (
            " That is nothing beyond guessing: other features, more rows or more money may help, "
            "or these features do not predict this label at all."
        )
    return said


def _money(amount: float, unit: str) -> str:
    """In cents; below one unit to the millionth, since a token's price is less than a cent.

    >>> _money(1234.5678, "EUR"), _money(0.00252, "USD")
    ('1,234.57 EUR', '0.00252 USD')
    """
    if not unit:
        return f"{amount:,.10g}"
    cents = f"{amount:,.2f}"
    small = amount < 1 and float(cents) != amount
    return f"{f'{amount:.6f}'.rstrip('0') if small else cents} {unit}"


def prediction_price(model: Estimator, cells: Cells) -> float:
    """What all that a model may ask for costs on a row that has none of it."""
    return cells.price_between([], model.features_.tolist())


def receipt_to_store(receipt: Receipt, about: About, features: Sequence[str]) -> Json:
    """A receipt as plain data, with what is kept beside it.

    Cells of very many features are packed, by their places.

    A look at each of a million features is hundreds of kilobytes of counts that nobody reads one
    by one: of such a list the features with most cells are kept. All sums stay exact.
    """
    data = {**receipt.to_dict(), **about.to_store()}
    if len(receipt.per_feature) <= 256:  # few enough to be listed by name
        return data
    counts = np.array([receipt.per_feature.get(name, 0) for name in features], dtype=np.int64)
    if int(counts.sum()) != sum(receipt.per_feature.values()):
        return data  # of features that the lifetime does not have
    by_count, narrow = np.argsort(-counts, kind="stable"), counts.max() < 256
    for most in (int((counts > 0).sum()), 10_000):
        kept = np.sort(by_count[:most])
        steps = np.diff(kept, prepend=0).astype(np.int32)
        both = {"steps": steps, "counts": counts[kept].astype(np.uint8 if narrow else np.int32)}
        packed = base64.b64encode(pack_arrays(both)).decode()
        if len(packed) <= 50_000:
            break
    return {**data, "per_feature": {}, "packed": packed}


def receipt_from_store(data: JsonLike, features: Sequence[str] | None) -> Receipt:
    """The inverse of :func:`receipt_to_store`."""
    given = About.without(data)
    packed = given.pop("packed", None)
    if packed is not None:
        arrays, names = unpack_arrays(base64.b64decode(str(packed))), features or ()
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


def parts_in_store(
    model: StoredModel, name: str, receipt: JsonLike, failure: JsonLike | None
) -> Parts:
    """A task as it stands in a store."""
    with readable(f"the task {name!r} in the store"):
        why = None if failure is None else Failure(**failure)
        return model, receipt_from_store(receipt, model.features), why, About.of(receipt)


def _model(family: AnyFamily, row: TaskRow, features: Sequence[str] | None) -> Estimator:
    model = dict(row.model)
    if isinstance(model.get("feature_names"), int):
        model["feature_names"] = list((features or ())[: model["feature_names"]])
    if row.family is not None and row.family != family.to_dict():
        family = family_from_dict(row.family)  # it was learned before the family was changed
    estimator: Estimator = family.load_estimator(model)
    return estimator
