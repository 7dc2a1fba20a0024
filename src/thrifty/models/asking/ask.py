"""A model asks through a reader: all it has, or in order until each row is decided.

*Classes*: order and prefixes are made at the first prediction that may stop, from the tables that
were bought for learning, and kept for the prices they were made for; several tasks have one order.
*Numbers*: features are asked in the order in which they were bought, the most useful first; a model
for each beginning of the order is fitted when it is first needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Protocol

import numpy as np

from thrifty.cells import Cells
from thrifty.errors import BadParameter
from thrifty.lazy import FINISHED, Asked
from thrifty.models.asking.certificate import CertifiedPrefixes, certify, seen_of
from thrifty.models.asking.horizon import prefix_lengths
from thrifty.models.asking.joint import joint_ladder
from thrifty.models.asking.order import find_order
from thrifty.models.asking.own_order import OwnOrder, own_order
from thrifty.models.asking.prefixes import Choose, Prefixes, fit_prefixes
from thrifty.models.asking.stored import fingerprint, ladder_from_dict, ladder_to_dict
from thrifty.models.asking.walk import Ladder, Walk, ladder_of
from thrifty.models.fits.fitting import Fitted, fit_table, in_one_thread
from thrifty.models.table import Table
from thrifty.stopping import StoppingRule, Sure, rule_for_models
from thrifty.typing import AnyArray, EstimatorLike, Floats, Ints, Json, JsonLike


class Keeper(Protocol):
    """Where prefixes are kept between processes."""

    def get(self, name: str) -> JsonLike | None: ...
    def put(self, name: str, data: Json) -> None: ...


class HasFeatures(Protocol):
    """Whose prices an order is made for."""

    @property
    def features_(self) -> Ints: ...


class AsksForClasses(Protocol):
    """What asking needs of a classifier; what was made is kept with it, by prices."""

    table_: Table
    features_: Ints
    classes_: AnyArray
    estimator: EstimatorLike | None
    random_state: int | None
    _prefixes: dict[object, Ladder]
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
    if isinstance(stop, Sure) and stop.certified:
        made = certificate_of(model, cells, stop)
        ladder, stop = ladder_of(made.prefixes), made.rule
        (asked,), _ = ask_together([model], ladder, cells, rows, [stop], spend, per_row)
        return replace(asked, promise=made.words)
    if stop is not None and stop.weighs_falls:  # falls are known along one order alone
        ladder = ladder_of(fixed_prefixes(model, cells))
    else:
        ladder = ladder_for([model], cells)
    (asked,), _ = ask_together([model], ladder, cells, rows, [stop], spend, per_row)
    return asked


def ask_together(
    models: Sequence[AsksForClasses],
    ladder: Ladder,
    cells: Cells,
    rows: Ints,
    rules: Sequence[StoppingRule | None],
    spend: float | None = None,
    per_row: float | None = None,
    weights: Sequence[float] = (1.0,),
) -> tuple[list[Asked], Walk]:
    """Every model's answers from one pass of the rows, and the pass."""

    def get(some: Ints, features: Ints) -> AnyArray:
        return np.asarray(cells.get(rows[some], features), dtype=np.float64)

    def cost(some: Ints, features: Sequence[int]) -> Floats:
        return cells.row_costs(rows[some], list(features)) if features else np.zeros(len(some))

    walk = Walk(
        ladder, get, cost, len(rows), rules=rules, weights=weights, spend=spend, per_row=per_row,
        sold_together=cells.sells_together,
    ).run()  # fmt: skip
    found = []
    for t, (model, task, rule) in enumerate(zip(models, ladder.tasks, rules)):
        said, codes = walk.p[t], np.asarray(task.classes, dtype=np.int64)
        chosen = said.argmax(axis=1) if rule is None else rule.decide(said)
        p = np.zeros((len(rows), len(model.classes_)))
        p[:, codes] = said
        promise = seen_of(task, rule) if isinstance(rule, Sure) else ""
        values = np.asarray(model.classes_[codes[chosen]])
        found.append(Asked(values, p, tuple(walk.why[t].tolist()), promise))
    return found, walk


def ladder_for(
    models: Sequence[AsksForClasses],
    cells: Cells,
    weights: Sequence[float] = (1.0,),
    kept: dict[object, Ladder] | None = None,
) -> Ladder:
    """Order and prefixes of models at the prices of a reader: made once, or read from the store.

    ``kept``: where those of several models are kept; one keeps its own.
    """
    kept = models[0]._prefixes if kept is None else kept
    signature = prices_of(models, cells)
    if signature in kept:
        return kept[signature]
    keeper, tables = models[0]._keeper, [model.table_ for model in models]
    name = fingerprint(tables, weights, signature, [model.estimator for model in models])
    data = None if keeper is None else keeper.get(name)
    found = None if data is None else ladder_from_dict(data)
    if found is None:
        # Small fits: more threads than one only wait for each other.
        with in_one_thread():
            found = _made(models, cells, weights)
        data = ladder_to_dict(found)
        if keeper is not None and data is not None:
            keeper.put(name, data)
        # as a store keeps it: the same bits in memory and reopened
        found = found if data is None else ladder_from_dict(data) or found
    kept[signature] = found
    return found


def _made(models: Sequence[AsksForClasses], cells: Cells, weights: Sequence[float]) -> Ladder:
    seed, price = models[0].random_state or 0, cells.price_between
    if len(models) > 1:
        return joint_ladder(
            [model.table_ for model in models],
            lambda: [fixed_prefixes(model, cells) for model in models],
            weights,
            price,
            cells.orders,
            [model.estimator for model in models],
            seed,
        )
    (model,), choose = models, _choose(models[0], cells)
    order = choose(model.table_)
    fixed = fit_prefixes(
        model.table_, order, price, model.estimator, seed=seed, choose=choose
    )  # fmt: skip
    return ladder_of(own_order(model.table_, fixed, order, price, seed) or fixed)


def fixed_prefixes(model: AsksForClasses, cells: Cells) -> Prefixes:
    """The prefixes of a model's one order, whatever order rows have of their own."""
    (made,) = ladder_for([model], cells).tasks
    return made.fixed if isinstance(made, OwnOrder) else made


def prices_of(models: Sequence[HasFeatures], cells: Cells) -> tuple[object, ...]:
    """The prices that an order was made for."""
    features = np.unique(np.concatenate([model.features_ for model in models]))
    return tuple(cells.prices[features].tolist()), cells.fees, cells.orders


def _choose(model: AsksForClasses, cells: Cells) -> Choose:
    seed = model.random_state or 0
    return partial(find_order, price=cells.price_between, orders=cells.orders, seed=seed)


def certificate_of(model: AsksForClasses, cells: Cells, rule: Sure) -> CertifiedPrefixes:
    """The certificate of a rule at the prices of a reader; made once."""
    kept, key = model._certificates, (prices_of([model], cells), rule.probability)
    if key not in kept:
        choose, seed = _choose(model, cells), model.random_state or 0
        with in_one_thread():
            kept[key] = certify(
                model.table_, rule, choose, cells.price_between, model.estimator, seed
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
