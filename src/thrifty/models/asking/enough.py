"""How far a plain prediction asks: as far as what costs is expected to bring something.

Beginnings of the order are compared with all features on held-out rows: quick fits of both, with an
order that was found without the rows that judge them. Half of the paid steps are tried, half of
those, and so on; the shortest that surely loses next to nothing is enough. What answers in the end
is the whole fit on the features of that beginning: the quick ones choose, and are too weak to
answer. Rows of which all the rest is owned or free are answered by the whole model, which then
costs no more. Several tasks on the same cells are compared together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, Self

import numpy as np

from thrifty.cells import Cells
from thrifty.lazy import Asked, Asks, no_stopping
from thrifty.models.asking.ask import Keeper, prices_of
from thrifty.models.asking.order import Order, find_joint_order, find_order
from thrifty.models.asking.stored import fingerprint
from thrifty.models.cascade import CascadeStep, on_cascade
from thrifty.models.fits.calibration import fit_scaling
from thrifty.models.fits.fitting import (
    Fitted,
    NotBrought,
    fit_prefixes_together,
    fit_table,
    fit_tables,
    fitted_from_dict,
    in_one_thread,
)
from thrifty.models.fits.folds import FOLDS, make_folds
from thrifty.models.fits.quality import losses, says
from thrifty.models.table import Table
from thrifty.stopping import StoppingRule
from thrifty.typing import EstimatorLike, Floats, Ints, Json, JsonLike

#: a beginning is enough where what it loses more, and so many standard errors, are within this
#: part of what the features tell in all (docs/research/asking.md, What is enough)
_ERRORS, _PART = 1.0, 0.01
#: rows of each class, or of numbers, that have every cell; fewer cannot show that less is enough
_LEAST = 100


class Shortens(Asks, Protocol):
    """What this needs of a model; ``_enough`` keeps what was found, by prices."""

    table_: Table
    estimator: EstimatorLike | None
    estimator_: Fitted
    random_state: int | None
    steps_: tuple[CascadeStep, ...]
    _keeper: Keeper | None
    _enough: dict[object, Enough | None]

    def around(self, table: Table, fitted: Fitted) -> Self:
        """The same around another table."""


class Enough:
    """A model, and the shorter one that answers where the rest would have to be bought."""

    def __init__(self, whole: Asks, short: Asks, steps: tuple[CascadeStep, ...] = ()) -> None:
        self.whole, self.short, self._steps = whole, short, steps
        self.feature_names_, self.features_ = whole.feature_names_, short.features_

    def ask(
        self, cells: Cells, rows: Ints, *, stop: StoppingRule | None = None,
        spend: float | None = None, per_row: float | None = None,
    ) -> Asked:  # fmt: skip
        """Answer rows: "worth" where something was left that costs."""
        rows = np.asarray(rows, dtype=np.int64)
        seen = on_cascade(cells, self._steps) if self._steps else cells
        rest = seen.row_costs(rows, self.whole.features_)
        rest = rest - seen.row_costs(rows, self.short.features_)
        ends = rest > 1e-9
        no_stopping(self, stop, spend, per_row)  # what limits a row says itself how far to ask
        parts = [(ends, self.short.ask(cells, rows[ends]))] if ends.any() else []
        if not ends.all() or not len(rows):
            parts.append((~ends, self.whole.ask(cells, rows[~ends])))
        one = parts[0][1]
        values = np.empty(len(rows), dtype=one.values.dtype)
        p = None if one.probabilities is None else np.empty((len(rows), one.probabilities.shape[1]))
        for here, asked in parts:
            values[here] = asked.values
            if p is not None:
                p[here] = asked.probabilities
        why = np.where(ends, "worth", one.stopped[0] if len(rows) else "")
        why[~ends] = "finished"
        return Asked(values, p, tuple(why.tolist()))


def enough_of(models: Sequence[Shortens], cells: Cells) -> list[Asks]:
    """Each model, or what asks no further than it is worth at the prices of a reader.

    Tasks that were bought together are shortened together, others each alone.
    """
    if len(models) > 1 and not _alike(models):
        return [enough_of([model], cells)[0] for model in models]
    steps = models[0].steps_
    cells = on_cascade(cells, steps) if steps else cells
    paid = cells.prices[models[0].features_] > 0
    if paid.sum() < 2 or any(isinstance(m.estimator_, NotBrought) for m in models):
        return list(models)
    key = (prices_of(models, cells), *(id(model) for model in models[1:]))
    if key not in models[0]._enough:
        for model, made in zip(models, _found(models, cells)):
            model._enough[key] = made
    found: list[Asks] = []
    for model in models:
        found.append(model._enough[key] or model)
    return found


def _alike(models: Sequence[Shortens]) -> bool:
    """Whether tasks have the same rows, features and cells."""
    one = models[0].table_
    return not any(m.steps_ for m in models) and all(
        np.array_equal(one.rows, other.rows)
        and np.array_equal(one.features, other.features)
        and np.array_equal(one.bought, other.bought)
        and np.array_equal(one.values, other.values, equal_nan=True)
        and (one.labels.dtype.kind == "f") == (other.labels.dtype.kind == "f")
        for other in (model.table_ for model in models[1:])
    )


def _found(models: Sequence[Shortens], cells: Cells) -> list[Enough | None]:
    """From the store, or made and kept there."""
    tables, keeper = [model.table_ for model in models], models[0]._keeper
    estimators = [model.estimator for model in models]
    seed = models[0].random_state or 0
    about = ("enough", prices_of(models, cells))
    name = fingerprint(tables, [1.0] * len(tables), about, estimators)
    data = None if keeper is None else keeper.get(name)
    if data is None:
        with in_one_thread():
            which = _Compared(tables, estimators, cells, seed).enough()
            data = {"places": which, "models": _fits(tables, which, estimators, seed)}
        if keeper is not None:
            keeper.put(name, data)
    if data["places"] is None:
        return [None] * len(models)
    places = np.array(data["places"], dtype=np.int64)
    found: list[Enough | None] = []
    for model, kept in zip(models, data["models"]):
        table = model.table_.of_features(places)
        fitted = None if kept is None else fitted_from_dict(kept)
        if fitted is None:  # a user's, or of an earlier version
            fitted = fit_table(table, model.estimator, seed=seed)
        found.append(Enough(model, model.around(table, fitted), model.steps_))
    return found


def _fits(
    tables: Sequence[Table],
    which: Sequence[int] | None,
    estimators: Sequence[EstimatorLike | None],
    seed: int,
) -> list[Json | JsonLike | None]:
    """The whole fits on these features, as plain data; None for a user's estimator."""
    if which is None or estimators[0] is not None:
        return [None] * len(tables)
    parts = [table.of_features(np.array(which, dtype=np.int64)) for table in tables]
    return [fitted.to_dict() for fitted, _ in fit_tables(parts, None, seed)]


class _Compared:
    """Beginnings of an order beside all features, on rows that are left out."""

    def __init__(
        self,
        tables: Sequence[Table],
        estimators: Sequence[EstimatorLike | None],
        cells: Cells,
        seed: int,
    ) -> None:
        self.tables, self.estimators, self.cells, self.seed = tables, estimators, cells, seed
        one = tables[0]
        self.numbers = one.labels.dtype.kind == "f"
        self.sizes = [0 if self.numbers else int(t.labels.max()) + 1 for t in tables]
        self.judged = np.flatnonzero(one.bought.all(axis=1))
        codes = one.labels.astype(np.int64) if len(tables) == 1 and not self.numbers else None
        self.folds = make_folds(one.n_rows, FOLDS, seed, codes, one.groups)
        #: rows of each fold, those of the others of each task, and the order that they give
        self.parts: list[tuple[Ints, list[Table], Order]] = []

    def enough(self) -> list[int] | None:
        """The places of the features that are; None: all of them."""
        if not self._can_tell():
            return None
        assert self.folds is not None
        for k in range(FOLDS):
            rows = np.flatnonzero(self.folds != k)
            rest = [t.of_rows(rows).weighing_as(t) for t in self.tables]
            if any(len(np.unique(t.labels)) < n for t, n in zip(rest, self.sizes)):
                return None
            out = self.judged[self.folds[self.judged] == k]
            self.parts.append((out, rest, self._order(rest)))
        order, whole = self._order(self.tables), self._losses(None)
        told = max(self._guessed() - self._mean(whole), 0.0)
        steps, best = len(order.steps) - 1, None
        while steps > 1:
            steps = (steps + 1) // 2
            more = self._losses(steps) - whole
            mean = self._mean(more)
            error = float(np.sqrt(self._shares() ** 2 @ (more - mean) ** 2))
            if mean + _ERRORS * error <= _PART * told:
                best = self._places(self.tables[0], order, steps)
        return best

    def _can_tell(self) -> bool:
        if self.folds is None:
            return False
        if self.numbers:
            return len(self.judged) >= 2 * _LEAST
        labels = [t.labels[self.judged].astype(np.int64) for t in self.tables]
        least = (np.bincount(y, minlength=n).min() for y, n in zip(labels, self.sizes))
        return bool(min(least) >= _LEAST)

    def _order(self, tables: Sequence[Table]) -> Order:
        price, orders = self.cells.price_between, self.cells.orders
        if self.numbers:  # in the order in which they were bought, the most useful first
            features = tables[0].features.tolist()
            free = tuple(f for f in features if price((), [f]) <= 0)
            paid = [(f,) for f in features if f not in free]
            return Order((free, *paid), (0.0,) * (len(paid) + 1))
        if len(tables) == 1:
            return find_order(tables[0], price, orders, seed=self.seed)
        return find_joint_order(tables, [1.0] * len(tables), price, orders, seed=self.seed)

    def _places(self, table: Table, order: Order, steps: int | None) -> list[int]:
        if steps is None:
            return list(range(table.width))
        place = {f: j for j, f in enumerate(table.features.tolist())}
        return [place[f] for f in order.features(steps + 1)]

    def _losses(self, steps: int | None) -> Floats:
        """What judged rows lose after so many paid steps, summed over the tasks; None: all."""
        n, said = self.tables[0].n_rows, []
        for size in self.sizes:
            said.append(np.zeros((n, max(size, 1))))
        for out, rest, order in self.parts:
            which = np.array(self._places(rest[0], order, steps), dtype=np.int64)
            some = [table.of_features(which) for table in rest]
            values = self.tables[0].values[np.ix_(out, which)]
            fitted = fit_prefixes_together(some, self.estimators, self.seed)
            for t, model in enumerate(fitted):
                said[t][out] = says(model, values, self.sizes[t])
        return np.asarray(sum(self._lost(t, p[self.judged]) for t, p in enumerate(said)))

    def _lost(self, t: int, said: Floats) -> Floats:
        y, weights = self.tables[t].labels[self.judged], self._weights(t)
        if self.sizes[t]:
            said = fit_scaling(said, y.astype(np.int64), weights)(said)
        return losses(said, y)

    def _guessed(self) -> float:
        """What is lost where nothing is known of a row."""
        total = 0.0
        for t, size in enumerate(self.sizes):
            y, share = self.tables[t].labels[self.judged], self._weights(t)
            share = share / share.sum()
            guess = share @ (np.eye(size)[y.astype(np.int64)] if size else y[:, None])
            total += float(share @ losses(np.tile(guess, (len(y), 1)), y))
        return total

    def _weights(self, t: int) -> Floats:
        return self.tables[t].weights[self.judged]

    def _shares(self) -> Floats:
        weights = np.mean([self._weights(t) for t in range(len(self.tables))], axis=0)
        return np.asarray(weights / weights.sum())

    def _mean(self, lost: Floats) -> float:
        return float(self._shares() @ lost)
