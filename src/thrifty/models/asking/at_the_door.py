"""A model of a lifetime asks through the door: all it has, or in order until each row is decided.

Order and prefixes are made at the first prediction that may stop, from the table that was bought
for learning, and kept with the model for the prices they were made for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from threadpoolctl import threadpool_limits

from thrifty.array_types import Floats, Ints
from thrifty.cells import Cells
from thrifty.errors import BadParameter
from thrifty.lazy import FINISHED, Asked, Sure, Worth
from thrifty.lazy.stopping import StoppingRule
from thrifty.models.asking.ask import ask_in_order
from thrifty.models.asking.order import find_order
from thrifty.models.asking.prefixes import Prefixes, fit_prefixes
from thrifty.typing import AnyArray

if TYPE_CHECKING:
    from thrifty.models.held.classifier import ModelClassifier

__all__ = ["ask_model", "prefixes_of"]


def ask_model(
    model: ModelClassifier,
    cells: Cells,
    rows: Ints,
    *,
    stop: StoppingRule | None = None,
    spend: float | None = None,
    per_row: float | None = None,
) -> Asked:
    """Answer rows with a :class:`thrifty.ModelClassifier`."""
    if stop is not None and not isinstance(stop, Sure | Worth):
        raise BadParameter(
            f"models stop with thrifty.Sure(probability) or thrifty.Worth(...); got {stop!r}."
        )
    rows = np.asarray(rows, dtype=np.int64)
    if stop is None and spend is None and per_row is None:
        values = np.asarray(cells.get(rows, model.features_), dtype=np.float64)
        p = model.probabilities(values)
        return Asked(model.classes_[p.argmax(axis=1)], p, (FINISHED,) * len(rows))
    prefixes = prefixes_of(model, cells)
    if isinstance(stop, Worth) and stop.costs is not None:
        _check_errors(stop.costs, model.classes_)

    def get(some: Ints, features: Ints) -> AnyArray:
        return np.asarray(cells.get(rows[some], features), dtype=np.float64)

    def price(some: Ints, start: int, end: int) -> Floats:
        had = len(prefixes.parts[start].features) if start >= 0 else 0
        new = prefixes.parts[end].features[had:]
        return cells.row_costs(rows[some], list(new)) if new else np.zeros(len(some))

    answers = ask_in_order(
        prefixes, get, len(rows), stop=stop, spend=spend, per_row=per_row, owned_price=price
    )
    p = np.zeros((len(rows), len(model.classes_)))
    p[:, np.asarray(prefixes.classes, dtype=np.int64)] = answers.probabilities
    values = model.classes_[np.asarray(answers.values, dtype=np.int64)]
    return Asked(np.asarray(values), p, tuple(answers.stopped.tolist()))


def prefixes_of(model: ModelClassifier, cells: Cells) -> Prefixes:
    """Order and prefixes of a model at the prices of a door; made once for these prices."""
    price, orders = cells.price_between, cells.orders
    signature = (tuple(cells.prices[model.features_].tolist()), cells.fees, orders)
    kept = model._prefixes
    if signature not in kept:
        # Small fits: more threads than one only wait for each other.
        with threadpool_limits(1):
            seed = model.random_state or 0
            order = find_order(model.table_, price, orders, seed=seed)
            kept[signature] = fit_prefixes(model.table_, order, price, model.estimator, seed=seed)
    return kept[signature]


def _check_errors(costs: Floats, classes: AnyArray) -> None:
    if len(costs) != len(classes):
        raise BadParameter(
            f"errors must name a cost for each of the {len(classes)} classes "
            f"{classes.tolist()[:6]}; got {len(costs)}."
        )
