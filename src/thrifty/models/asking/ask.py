"""A model asks through a reader: all it has, or in order until each row is decided.

Order and prefixes are made at the first prediction that may stop, from the tables that were bought
for learning, and kept for the prices they were made for; several tasks have one order. A plain
prediction asks as far as what costs is expected to bring something: to the beginning of the order
that surely loses next to nothing on held-out rows. What answers then is the whole fit on the
features of that beginning: prefixes are fitted quickly, which is enough to choose, and too weak to
answer. Rows of which all the rest is owned or free are answered by the whole model, which then
costs no more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol, Self

import numpy as np

from thrifty.cells import Cells
from thrifty.errors import BadParameter
from thrifty.lazy import FINISHED, Asked, Asks, no_stopping
from thrifty.models.asking.certificate import CertifiedPrefixes, SureOf, certify, seen_of
from thrifty.models.asking.ladder import (
    Choose,
    Ladder,
    can_tell,
    fit_ladder,
    in_turn,
    ladder_of,
    tables_together,
)
from thrifty.models.asking.order import find_order
from thrifty.models.asking.own_order import own_order
from thrifty.models.asking.stored import fingerprint, ladder_from_dict, ladder_to_dict
from thrifty.models.asking.walk import Walk
from thrifty.models.cascade import CascadeStep, on_cascade
from thrifty.models.fits.fitting import (
    Fitted,
    NotBrought,
    fit_table,
    fit_tables,
    fitted_from_dict,
    in_one_thread,
)
from thrifty.models.fits.quality import says
from thrifty.models.table import Table
from thrifty.stopping import StoppingRule, Sure, rule_for_models
from thrifty.typing import AnyArray, EstimatorLike, Floats, Ints, Json, JsonLike


class Keeper(Protocol):
    """Where prefixes are kept between processes."""

    def get(self, name: str) -> JsonLike | None: ...
    def put(self, name: str, data: Json) -> None: ...


class AsksInOrder(Asks, Protocol):
    """What asking needs of a model; what was made is kept with it, by prices."""

    table_: Table
    classes_: AnyArray
    estimator: EstimatorLike | None
    estimator_: Fitted
    random_state: int | None
    steps_: tuple[CascadeStep, ...]
    _ladders: dict[object, Ladder]
    _certificates: dict[object, CertifiedPrefixes]
    _enough: dict[object, Asks]
    _keeper: Keeper | None

    def around(self, table: Table, fitted: Fitted) -> Self:
        """The same around another table."""


def ask(
    model: AsksInOrder,
    cells: Cells,
    rows: Ints,
    *,
    stop: StoppingRule | None = None,
    spend: float | None = None,
    per_row: float | None = None,
) -> Asked:
    """Answer rows with a model of classes or of numbers."""
    rows, stop = np.asarray(rows, dtype=np.int64), rule_for_models(stop)
    check_rule(model, stop)
    if stop is None and spend is None and per_row is None:
        values = np.asarray(cells.get(rows, model.features_), dtype=np.float64)
        return _answer(model, _whole(model, values), None, np.full(len(rows), FINISHED))
    words = ""
    if isinstance(stop, Sure) and stop.certified:
        made = _certificate_of(model, cells, stop)
        ladder, stop, words = ladder_of(made.prefixes), made.rule, made.words
    else:
        # falls are known along one order alone
        one_order = stop is not None and stop.weighs_falls
        ladder = ladder_for([model], cells, one_order=one_order)
    (asked,), _ = ask_together([model], ladder, cells, rows, [stop], spend, per_row)
    return replace(asked, promise=words or asked.promise)


def check_rule(model: AsksInOrder, stop: StoppingRule | None) -> None:
    """Refuse a rule that means nothing to a model."""
    if stop is not None and _is_of_numbers(model):
        raise BadParameter(
            f"a model of numbers has no classes to be sure of: leave out stop={stop!r}. "
            "per_row= and spend= limit what it asks for."
        )
    if stop is not None:
        stop.check_classes(model.classes_)


def ask_together(
    models: Sequence[AsksInOrder],
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
        return cells.row_costs(rows[some], list(features)) if len(features) else np.zeros(len(some))

    walk = Walk(
        ladder,
        get,
        cost,
        len(rows),
        rules=rules,
        weights=weights,
        spend=spend,
        per_row=per_row,
        sold_together=cells.sells_together,
    ).run()
    return answers_of(models, walk), walk


def answers_of(models: Sequence[AsksInOrder], walk: Walk) -> list[Asked]:
    """What each model says after a pass."""
    found = []
    for model, task, said, why, rule in zip(
        models, walk.ladder.tasks, walk.p, walk.why, walk.rules
    ):
        if not _is_of_numbers(model):
            p = np.zeros((len(said), len(model.classes_)))
            p[:, np.asarray(task.classes, dtype=np.int64)] = said
            said = p
        asked = _answer(model, said, rule, why)
        promise = seen_of(task, rule) if isinstance(rule, Sure | SureOf) else ""
        found.append(replace(asked, promise=promise))
    return found


def _is_of_numbers(model: AsksInOrder) -> bool:
    return model.table_.labels.dtype.kind == "f"


def _whole(model: AsksInOrder, values: Floats) -> Floats:
    """What all of a model says: probabilities, or numbers in one column."""
    n_classes = 0 if _is_of_numbers(model) else len(model.classes_)
    return says(model.estimator_, values, n_classes)


def _answer(model: AsksInOrder, said: Floats, rule: StoppingRule | None, why: AnyArray) -> Asked:
    if _is_of_numbers(model):
        return Asked(said[:, 0], None, tuple(why.tolist()))
    chosen = said.argmax(axis=1) if rule is None else rule.decide(said)
    return Asked(model.classes_[chosen], said, tuple(why.tolist()))


# Order and prefixes.


def ladder_for(
    models: Sequence[AsksInOrder],
    cells: Cells,
    weights: Sequence[float] = (1.0,),
    kept: dict[object, Ladder] | None = None,
    *,
    one_order: bool = False,
) -> Ladder:
    """Order and prefixes of models at the prices of a reader: made once, or read from the store.

    ``kept``: where those of several models are kept; one keeps its own. ``one_order``: the same
    for all rows.
    """
    kept = models[0]._ladders if kept is None else kept
    about = (*_prices_of(models, cells), *weights)
    if about not in kept:
        made: list[Ladder] = []

        def make() -> Json | None:
            made.append(_made(models, cells, weights))
            return ladder_to_dict(made[0])

        data = _from_store(models, [model.table_ for model in models], about, make)
        # as a store keeps it: the same bits in memory and reopened
        found = None if data is None else ladder_from_dict(data)
        if found is None and not made:  # of an earlier version
            make()
        kept[about] = found or made[0]
    if one_order and kept[about].tasks[0].chooser is not None:
        return ladder_of(kept[about].tasks[0].fixed)
    return kept[about]


def _from_store(
    models: Sequence[AsksInOrder],
    tables: Sequence[Table],
    about: object,
    make: Callable[[], Json | None],
) -> JsonLike | None:
    """What is kept of tables, or made and kept."""
    keeper = models[0]._keeper
    name = fingerprint(tables, about, [model.estimator for model in models])
    data = None if keeper is None else keeper.get(name)
    if data is not None:
        return data
    with in_one_thread():  # small fits: more threads than one only wait for each other
        made = make()
    if keeper is not None and made is not None:
        keeper.put(name, made)
    return made


def _made(models: Sequence[AsksInOrder], cells: Cells, weights: Sequence[float]) -> Ladder:
    choose, seed = _choose(models, cells, weights), models[0].random_state or 0
    price = cells.price_between
    tables: list[Table] | None = [model.table_ for model in models]
    if len(models) > 1:
        tables = tables_together([model.table_ for model in models])
    if tables is None:
        return in_turn([ladder_for([m], cells, one_order=True).tasks[0] for m in models])
    order, estimators = choose(tables), [model.estimator for model in models]
    made = fit_ladder(tables, order, price, estimators, seed=seed, choose=choose)
    if len(models) > 1:
        return made
    return ladder_of(own_order(tables[0], made.tasks[0], order, price, seed) or made.tasks[0])


def _choose(
    models: Sequence[AsksInOrder], cells: Cells, weights: Sequence[float] = (1.0,)
) -> Choose:
    seed, price, orders = models[0].random_state or 0, cells.price_between, cells.orders
    return lambda tables: find_order(tables, price, orders, weights=weights, seed=seed)


def _prices_of(models: Sequence[AsksInOrder], cells: Cells) -> tuple[object, ...]:
    """The prices that an order was made for."""
    features = np.unique(np.concatenate([model.features_ for model in models]))
    return tuple(cells.prices[features].tolist()), cells.fees, cells.orders


def _certificate_of(model: AsksInOrder, cells: Cells, rule: Sure) -> CertifiedPrefixes:
    """The certificate of a rule at the prices of a reader; made once."""
    kept, key = model._certificates, (_prices_of([model], cells), rule.probability)
    if key not in kept:
        choose, seed = _choose([model], cells), model.random_state or 0
        with in_one_thread():
            kept[key] = certify(
                model.table_, rule, choose, cells.price_between, model.estimator, seed
            )
    return kept[key]


# As far as it brings something.


class Enough:
    """A model, and the shorter one that answers where the rest would have to be bought."""

    def __init__(self, whole: AsksInOrder, short: AsksInOrder) -> None:
        self.whole, self.short = whole, short
        self.feature_names_, self.features_ = whole.feature_names_, short.features_

    def ask(
        self,
        cells: Cells,
        rows: Ints,
        *,
        stop: StoppingRule | None = None,
        spend: float | None = None,
        per_row: float | None = None,
    ) -> Asked:
        """Answer rows: "worth" where something was left that costs."""
        no_stopping(self, stop, spend, per_row)  # what limits a row says itself how far to ask
        rows, steps = np.asarray(rows, dtype=np.int64), self.whole.steps_
        cells = on_cascade(cells, steps) if steps else cells
        costs = [cells.row_costs(rows, one.features_) for one in (self.whole, self.short)]
        ends = costs[0] - costs[1] > 1e-9
        said = np.zeros((len(rows), 1 if _is_of_numbers(self.whole) else len(self.whole.classes_)))
        for here, model in ((ends, self.short), (~ends, self.whole)):
            values = np.asarray(cells.get(rows[here], model.features_), dtype=np.float64)
            said[here] = _whole(model, values) if here.any() else 0.0
        return _answer(self.whole, said, None, np.where(ends, "worth", FINISHED))


def enough_of(
    models: Sequence[AsksInOrder], cells: Cells, kept: dict[object, Ladder] | None = None
) -> list[Asks]:
    """Each model, or what asks no further than it is worth at the prices of a reader.

    Tasks that have one order are shortened together, others each alone.
    """
    steps = models[0].steps_
    if any(isinstance(m.estimator_, NotBrought) or not can_tell(m.table_.labels) for m in models):
        return list(models)
    if len(models) > 1:
        apart = any(model.steps_ for model in models)
        ladder = None if apart else ladder_for(models, cells, [1.0] * len(models), kept)
        if ladder is None or not ladder.is_joint:
            return [enough_of([model], cells)[0] for model in models]
    cells = on_cascade(cells, steps) if steps else cells
    if (cells.prices[models[0].features_] > 0).sum() < 2:
        return list(models)
    key = (_prices_of(models, cells), *(id(model) for model in models[1:]))
    if key not in models[0]._enough:
        ladder = ladder_for(models, cells, [1.0] * len(models), kept, one_order=True)
        k = ladder.enough()
        if k == len(ladder.features) - 1:
            found: list[Asks] = list(models)
        else:
            found = _shortened(models, ladder.features[k])
        for model, one in zip(models, found):
            model._enough[key] = one
    return [model._enough[key] for model in models]


def _shortened(models: Sequence[AsksInOrder], features: Sequence[int]) -> list[Asks]:
    """The whole fits on some features; from the store, or made and kept there."""
    tables, seed = [], models[0].random_state or 0
    for model in models:
        place = {f: j for j, f in enumerate(model.table_.features.tolist())}
        which = [place[f] for f in features if f in place]
        tables.append(model.table_.of_features(np.array(which, dtype=np.int64)))

    def make() -> Json | None:
        if any(model.estimator is not None for model in models):
            return None
        return {"models": [fitted.to_dict() for fitted, _ in fit_tables(tables, None, seed)]}

    data, found = _from_store(models, tables, "enough", make), list[Asks]()
    for t, (model, table) in enumerate(zip(models, tables)):
        fitted = None if data is None else fitted_from_dict(data["models"][t])
        if fitted is None:  # a user's, or of an earlier version
            fitted = fit_table(table, model.estimator, seed=seed)
        found.append(Enough(model, model.around(table, fitted)))
    return found
