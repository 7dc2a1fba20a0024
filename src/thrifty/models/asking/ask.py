"""A model asks through a reader: all it has, or in order until each row is decided.

*Classes*: order and prefixes are made at the first prediction that may stop, from the table that
was bought for learning, and kept with the model for the prices they were made for. *Numbers*:
features are asked in the order in which they were bought, the most useful first; a model for each
beginning of the order is fitted when it is first needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Protocol

import numpy as np

from thrifty.array_types import Floats, Ints
from thrifty.cells import Cells
from thrifty.errors import BadParameter
from thrifty.lazy import FINISHED, Asked
from thrifty.models.asking.certificate import CertifiedPrefixes, certify, seen_of
from thrifty.models.asking.cross_fitted import Choose
from thrifty.models.asking.horizon import prefix_lengths
from thrifty.models.asking.order import COMPARED, find_order
from thrifty.models.asking.own_order import OwnOrder, own_order
from thrifty.models.asking.own_rounds import ask_in_own_order
from thrifty.models.asking.prefixes import Prefixes, fit_prefixes
from thrifty.models.asking.rounds import ask_in_order
from thrifty.models.asking.stored import fingerprint, prefixes_from_dict, prefixes_to_dict
from thrifty.models.fits.fitting import Fitted, fit_table, in_one_thread
from thrifty.models.table import Table
from thrifty.stopping import StoppingRule, Sure, rule_for_models
from thrifty.typing import AnyArray, EstimatorLike, Json, JsonLike

__all__ = [
    "AsksForClasses",
    "AsksForNumbers",
    "Keeper",
    "Orders",
    "ask_classes",
    "ask_numbers",
    "best_order_of",
    "prefixes_of",
]


#: the fixed order, and the rows' own where it pays
Orders = tuple[Prefixes, OwnOrder | None]


class Keeper(Protocol):
    """Where prefixes are kept between processes."""

    def get(self, name: str) -> JsonLike | None: ...
    def put(self, name: str, data: Json) -> None: ...


class AsksForClasses(Protocol):
    """What asking needs of a classifier; what was made is kept with it, by prices."""

    table_: Table
    features_: Ints
    classes_: AnyArray
    estimator: EstimatorLike | None
    random_state: int | None
    _prefixes: dict[object, Orders]
    _certificates: dict[object, CertifiedPrefixes]
    _keeper: Keeper | None

    def probabilities(self, values: Floats) -> Floats:
        """From the values of ``features_`` alone."""


class AsksForNumbers(Protocol):
    """What asking needs of a regressor; ``_prefixes`` keeps what was fitted, by length."""

    table_: Table
    features_: Ints
    estimator: EstimatorLike | None
    random_state: int | None
    _prefixes: dict[object, Fitted]

    def numbers(self, values: Floats) -> Floats:
        """From the values of ``features_`` alone."""


def ask_classes(
    model: AsksForClasses,
    cells: Cells,
    rows: Ints,
    *,
    stop: StoppingRule | None = None,
    spend: float | None = None,
    per_row: float | None = None,
) -> Asked:
    """Answer rows with a :class:`thrifty.ModelClassifier`."""
    stop = rule_for_models(stop)
    rows = np.asarray(rows, dtype=np.int64)
    if stop is None and spend is None and per_row is None:
        values = np.asarray(cells.get(rows, model.features_), dtype=np.float64)
        p = model.probabilities(values)
        return Asked(model.classes_[p.argmax(axis=1)], p, (FINISHED,) * len(rows))
    if stop is not None:
        stop.check_classes(model.classes_)
    prefixes, stop, promise = _ready(model, cells, stop)

    def get(some: Ints, features: Ints) -> AnyArray:
        return np.asarray(cells.get(rows[some], features), dtype=np.float64)

    def price(some: Ints, start: int, end: int) -> Floats:
        had = len(prefixes.parts[start].features) if start >= 0 else 0
        new = prefixes.parts[end].features[had:]
        return cells.row_costs(rows[some], list(new)) if new else np.zeros(len(some))

    def cost(some: Ints, features: Sequence[int]) -> Floats:
        return cells.row_costs(rows[some], list(features)) if features else np.zeros(len(some))

    together = cells.sells_together
    if isinstance(prefixes, OwnOrder):
        answers = ask_in_own_order(
            prefixes, get, len(rows), cost, stop=stop, spend=spend, per_row=per_row,
            sold_together=together,
        )  # fmt: skip
    else:
        answers = ask_in_order(
            prefixes, get, len(rows), stop=stop, spend=spend, per_row=per_row, owned_price=price,
            sold_together=together,
        )  # fmt: skip
    p = np.zeros((len(rows), len(model.classes_)))
    p[:, np.asarray(prefixes.classes, dtype=np.int64)] = answers.probabilities
    values = model.classes_[np.asarray(answers.values, dtype=np.int64)]
    return Asked(np.asarray(values), p, tuple(answers.stopped.tolist()), promise)


def _ready(
    model: AsksForClasses, cells: Cells, stop: StoppingRule | None
) -> tuple[Prefixes, StoppingRule | None, str]:
    """Prefixes and rule of a prediction, and what is promised of them.

    A rule that weighs falls, and a certificate, keep the fixed order.
    """
    if not isinstance(stop, Sure):
        weighs = stop is not None and stop.weighs_falls
        return prefixes_of(model, cells) if weighs else best_order_of(model, cells), stop, ""
    if stop.certified:
        made = certificate_of(model, cells, stop)
        return made.prefixes, made.rule, made.words
    prefixes = best_order_of(model, cells)
    return prefixes, stop, seen_of(prefixes, stop)


def _signature(model: AsksForClasses, cells: Cells) -> tuple[object, ...]:
    """The prices that an order was made for."""
    return tuple(cells.prices[model.features_].tolist()), cells.fees, cells.orders


#: pipelines without some rows take what the score test says at each step, for speed
_COMPARED_WITHOUT = 1


def _choose(model: AsksForClasses, cells: Cells, compared: int = COMPARED) -> Choose:
    return partial(
        find_order,
        price=cells.price_between,
        orders=cells.orders,
        seed=model.random_state or 0,
        compared=compared,
    )


def prefixes_of(model: AsksForClasses, cells: Cells) -> Prefixes:
    """Order and prefixes of a model at the prices of a reader; made once for these prices."""
    return _made(model, cells)[0]


def best_order_of(model: AsksForClasses, cells: Cells) -> Prefixes:
    """The same, or the rows' own order where that pays (:class:`OwnOrder`)."""
    fixed, own = _made(model, cells)
    return fixed if own is None else own


def _made(model: AsksForClasses, cells: Cells) -> Orders:
    kept, signature = model._prefixes, _signature(model, cells)
    if signature not in kept and model._keeper is not None:
        name = fingerprint(model.table_, signature, model.estimator)
        data = model._keeper.get(name)
        if data is not None:
            kept[signature] = prefixes_from_dict(data)
    if signature not in kept:
        seed = model.random_state or 0
        without = _choose(model, cells, _COMPARED_WITHOUT)
        # Small fits: more threads than one only wait for each other.
        with in_one_thread():
            order = _choose(model, cells)(model.table_)
            price = cells.price_between
            fixed = fit_prefixes(
                model.table_, order, price, model.estimator, seed=seed, choose=without
            )
            own = own_order(model.table_, fixed, order, price, seed)
        made = prefixes_to_dict(fixed, own)
        if model._keeper is not None and made is not None:
            model._keeper.put(fingerprint(model.table_, signature, model.estimator), made)
        # as a store keeps them: the same bits in memory and reopened
        alone = replace(fixed, pipelines=None), own
        kept[signature] = alone if made is None else prefixes_from_dict(made)
    return kept[signature]


def certificate_of(model: AsksForClasses, cells: Cells, rule: Sure) -> CertifiedPrefixes:
    """The certificate of a rule at the prices of a reader; made once."""
    kept, key = model._certificates, (_signature(model, cells), rule.probability)
    if key not in kept:
        with in_one_thread():
            kept[key] = certify(
                model.table_,
                rule,
                _choose(model, cells),
                cells.price_between,
                model.estimator,
                model.random_state or 0,
            )
    return kept[key]


def ask_numbers(
    model: AsksForNumbers,
    cells: Cells,
    rows: Ints,
    *,
    stop: StoppingRule | None = None,
    spend: float | None = None,
    per_row: float | None = None,
) -> Asked:
    """Answer rows with a :class:`thrifty.ModelRegressor`."""
    if stop is not None:
        raise BadParameter(
            f"a model of numbers has no classes to be sure of: leave out stop={stop!r}. "
            "per_row= and spend= limit what it asks for."
        )
    rows = np.asarray(rows, dtype=np.int64)
    steps = prefix_lengths(len(model.features_))
    costs = np.column_stack(
        [np.zeros(len(rows))] + [cells.row_costs(rows, model.features_[:k]) for k in steps[1:]]
    )
    at = np.full(len(rows), len(steps) - 1)
    why = np.full(len(rows), FINISHED, dtype=object)
    if per_row is not None:
        at = (costs <= per_row + 1e-9).sum(axis=1) - 1
        why[at < len(steps) - 1] = "per_row"
    if spend is not None:
        each = np.arange(len(rows))
        for most in range(len(steps) - 1, -1, -1):
            cut = np.minimum(at, most)
            if costs[each, cut].sum() <= spend + 1e-9:
                break
        why[cut < at] = "spend"
        at = cut
    values = np.zeros(len(rows))
    for k in np.unique(at).tolist():
        here = np.flatnonzero(at == k)
        values[here] = _answers(model, cells, rows[here], steps[k])
    return Asked(values, None, tuple(why.tolist()))


def _answers(model: AsksForNumbers, cells: Cells, rows: Ints, k: int) -> Floats:
    table = model.table_
    if k == 0:
        return np.full(len(rows), float(np.average(table.labels, weights=table.weights)))
    values = np.asarray(cells.get(rows, model.features_[:k]), dtype=np.float64)
    if k == len(model.features_):
        return model.numbers(values)
    if k not in model._prefixes:
        with in_one_thread():
            seed = model.random_state or 0
            model._prefixes[k] = fit_table(table.prefix(k), model.estimator, seed=seed)
    return np.asarray(model._prefixes[k].predict(values), dtype=np.float64)
