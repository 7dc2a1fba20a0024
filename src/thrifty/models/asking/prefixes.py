"""The same estimator at growing prefixes of the order, each scaled on rows it did not see.

A model per prefix, not one model with gaps: a row that stops after two answers is judged by a
model that was made for those two. All of it comes from the table that was bought for learning; no
further cell is bought.

A prefix that is scaled on rows by which its features were put in order states too much: on wide
tables rows that stopped after three answers were right in .60 to .65 of the cases where .94 was
stated. So the order is found again without a part of the rows, and the prefixes of *that* order are
fitted without them; what they say of the held-out rows is what prefixes of this length are worth.
One that held-out rows show to be worse than a shorter one is not used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from thrifty.models.asking.order import Order, Price
from thrifty.models.fits.calibration import Scaling, fit_scaling_cautiously
from thrifty.models.fits.fitting import Fitted, fit_prefixes_together
from thrifty.models.fits.folds import deal_out, make_folds
from thrifty.models.table import Table
from thrifty.typing import AnyArray, Bools, EstimatorLike, Floats, Ints

#: finds an order on the rows of a table
Choose = Callable[[Table], Order]
#: the rows of each task that are left out together, and the order that was found without them
Parted = Sequence[tuple[Sequence[Ints], Order]]

#: each pipeline sees two thirds of the rows, as the folds of a fit do
_FOLDS = 3
#: rows of the rarest class without which the order is not found again; set by hand
_LEAST = 15
#: rows on which so many of the first features were bought are judged by; set by hand
_FIRST = 8
#: rows of each class without which all rows judge, or fit; set by hand
_ENOUGH = 20
#: a prefix is worse than a shorter one when it loses so many standard errors more
_WORSE = 2.0


def prefix_sizes(n_steps: int) -> list[int]:
    """How many steps each prefix has: 1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 32, 64, ... and all.

    >>> prefix_sizes(20), prefix_sizes(40)
    ([1, 2, 3, 4, 5, 6, 8, 10, 12, 20], [1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 40])
    """
    sizes, size = [1, 2, 3, 4, 5, 6, 8, 10, 12], 16
    while 3 * size < 2 * n_steps:
        sizes.append(size)
        size *= 2
    return [s for s in sizes if s < n_steps] + ([n_steps] if n_steps else [])


_SAME = Scaling(1.0, np.zeros(1))


@dataclass(frozen=True, eq=False)
class Prefix:
    """The first steps of the order and what is known once they are answered.

    Attributes
    ----------
    features : tuple of int
        all features of the prefix, in the order in which they are asked
    price : float
        what they cost, asked prefix by prefix on a row where nothing is owned
    model : estimator
        what was fitted on them; None: nothing is asked, the class shares are the answer
    scaling : Scaling
        of the model's probabilities
    price_after : float
        what the features of all later prefixes cost at once, where these are owned
    """

    features: tuple[int, ...]
    price: float
    model: Fitted | None
    scaling: Scaling
    price_after: float = 0.0

    def probabilities(self, values: Floats, shares: Floats) -> Floats:
        """(rows, classes) from the values of the prefix's features, in their order."""
        if self.model is None:
            return np.repeat(shares[None, :], len(values), axis=0)
        return self.scaling(all_classes(self.model, values, len(shares)))


@dataclass(frozen=True, eq=False)
class HeldOut:
    """What pipelines without some rows said of them at each length, before any scaling.

    ``judged``: the rows, by their positions in the table, that prefixes are scaled and judged on.
    ``fitted``: the lengths, by their places, that pipelines were fitted at; what is said at the
    lengths between lies between what is said there. ``prices``: what lengths cost in all.
    """

    parted: Parted
    p: Floats
    judged: Ints
    fitted: list[int]
    lengths: list[int]
    prices: list[float]


@dataclass(frozen=True, eq=False)
class Prefixes:
    """Every prefix, and what each would have said of the rows of the table, out of fold.

    Attributes
    ----------
    seen : array of float
        (prefixes, rows, classes) calibrated probabilities, out of fold
    codes : array of int
        (rows,) the class of each row of the table
    weights : array of float
        (rows,) what each row stands for
    held_out : HeldOut or None
        what ``seen`` was made from; None from a store
    """

    parts: tuple[Prefix, ...]
    classes: AnyArray
    shares: Floats
    seen: Floats
    codes: Ints
    weights: Floats
    held_out: HeldOut | None = None

    def __len__(self) -> int:
        return len(self.parts)

    @property
    def prices(self) -> Floats:
        """What each prefix costs in all."""
        return np.array([part.price for part in self.parts])

    def losses(self) -> Floats:
        """The mean log-loss of each prefix, out of fold."""
        return np.asarray(np.average(self._losses(), axis=1, weights=self.weights))

    def _losses(self) -> Floats:
        right = self.seen[:, np.arange(len(self.codes)), self.codes]
        return np.asarray(-np.log(np.maximum(right, 1e-9)))

    def capped(self, n: int) -> Prefixes:
        """The first n prefixes alone."""
        return replace(self, parts=self.parts[:n], seen=self.seen[:n])

    def best_so_far(self) -> list[int]:
        """For each prefix the longest up to it that no shorter one clearly beats."""
        loss, share = self._losses(), self.weights / self.weights.sum()
        kept = [0]
        for k in range(1, len(self)):
            more = loss[k] - loss[kept[-1]]
            mean = float(share @ more)
            error = float(np.sqrt(share**2 @ (more - mean) ** 2))
            kept.append(kept[-1] if mean > _WORSE * error else k)
        return kept


def fit_prefixes(
    table: Table,
    order: Order,
    price: Price,
    estimator: EstimatorLike | None = None,
    *,
    seed: int = 0,
    sizes: Sequence[int] | None = None,
    choose: Choose | None = None,
) -> Prefixes:
    """Fit the estimator at every prefix of one task.

    Parameters
    ----------
    choose : Choose or None
        how an order is found on other rows: probabilities are then scaled on rows that chose
        neither order nor model; None: on held-out rows of the models alone
    sizes : sequence of int or None
        steps of each prefix; None: 1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 32, ... and all
    """
    parted = _parted(table, order, choose, seed)
    _, (made,) = fit_ladders([table], order, price, [estimator], parted, seed=seed, sizes=sizes)
    return made


def fit_ladders(
    tables: Sequence[Table],
    order: Order,
    price: Price,
    estimators: Sequence[EstimatorLike | None],
    parted: Parted,
    *,
    seed: int = 0,
    sizes: Sequence[int] | None = None,
) -> tuple[tuple[tuple[int, ...], ...], tuple[Prefixes, ...]]:
    """Steps along one order, and the prefixes of several tasks; the same rows are fitted at once.

    Each task answers from the best prefix so far; a step at which none has a better one is none.
    """
    steps = [0, *(s + 1 for s in (sizes or prefix_sizes(len(order.steps) - 1)))]
    beginnings = _beginnings(order, [s for s in steps if s <= len(order.steps)])
    lengths = [len(features) for features in beginnings]
    fitted = _fitted_places(lengths)
    ladders = [_Ladder(table, len(lengths), order) for table in tables]
    places = {int(f): i for i, f in enumerate(tables[0].features)}

    def models(which: Sequence[int], out: Sequence[Ints] | None) -> list[Fitted]:
        columns = np.array([places[f] for f in which], dtype=np.int64)
        parts = [ladder.part(columns, None if out is None else out[t])
                 for t, ladder in enumerate(ladders)]  # fmt: skip
        return fit_prefixes_together(parts, estimators, seed)

    for out, without in parted:
        for k in range(len(lengths)):
            which = _beginning(without, lengths[k])
            columns = np.array([places[f] for f in which], dtype=np.int64)
            found = models(which, out) if k in fitted and which else [None] * len(tables)
            for ladder, model, rows in zip(ladders, found, out):
                ladder.say(k, columns, model, rows)
    made = [models(features, None) if features else [None] * len(tables) for features in beginnings]
    paid = _paid(beginnings, price)
    scaled = []
    for t, ladder in enumerate(ladders):
        parts = [Prefix(tuple(f), paid[k], made[k][t], _SAME) for k, f in enumerate(beginnings)]
        held = HeldOut(parted, ladder.said(lengths, fitted), ladder.judged, fitted, lengths, paid)
        scaled.append(ladder.scaled(parts, held))
    best = [one.best_so_far() for one in scaled]
    used = [k for k in range(len(lengths)) if any(which[k] == k for which in best)]
    after = [price(beginnings[k], beginnings[used[-1]]) for k in used]
    tasks = []
    for one, which in zip(scaled, best):
        kept = [
            replace(one.parts[which[k]], price=paid[k], price_after=a) for k, a in zip(used, after)
        ]
        tasks.append(replace(one, parts=tuple(kept), seen=one.seen[[which[k] for k in used]]))
    return tuple(tuple(beginnings[k]) for k in used), tuple(tasks)


class _Ladder:
    """What one task's prefixes say of held-out rows, until they are scaled."""

    def __init__(self, table: Table, n: int, order: Order) -> None:
        self.classes, codes = np.unique(table.labels, return_inverse=True)
        self.table = replace(table, labels=codes.astype(np.int64))
        shares = np.bincount(codes, table.weights, len(self.classes))
        self.shares = np.asarray(shares / shares.sum())
        first = np.isin(table.features, order.features()[:_FIRST])
        # a row that was never asked says nothing of what asking it brings
        there = np.asarray(table.bought[:, first].all(axis=1))
        self.judged = self._enough(there, np.arange(table.n_rows))
        self.logs = np.tile(np.log(self.shares), (n, table.n_rows, 1))
        self.known = np.ones((n, table.n_rows), dtype=bool)

    def _enough(self, there: Bools, rows: Ints) -> Ints:
        """Of some rows those that are there, where there are enough of each class; else all."""
        some, codes = rows[there[rows]], self.table.labels
        counts = np.bincount(codes[some], minlength=int(codes.max()) + 1)
        return some if counts.min() >= _ENOUGH else rows

    def part(self, columns: Ints, out: Ints | None) -> Table:
        """The rows that fit a prefix: with every cell of it, where they are enough.

        What was not bought is a gap to the model then.
        """
        every = np.arange(self.table.n_rows)
        whole = self.table if out is None else self.table.of_rows(np.setdiff1d(every, out))
        part = whole.weighing_as(self.table).of_features(columns)
        if part.is_whole:
            return part
        useful = np.flatnonzero(part.bought.all(axis=1))
        counts = np.bincount(part.labels[useful], minlength=len(self.classes))
        return part.of_rows(useful).weighing_as(part) if counts.min() >= _ENOUGH else part

    def say(self, k: int, columns: Ints, model: Fitted | None, out: Ints) -> None:
        """Of held-out rows, what is said of them, and whether all cells were there."""
        self.known[k, out] = self.table.bought[np.ix_(out, columns)].all(axis=1)
        if model is not None:
            values = self.table.values[np.ix_(out, columns)]
            self.logs[k, out] = np.log(all_classes(model, values, len(self.shares)))

    def said(self, lengths: Sequence[int], fitted: Sequence[int]) -> Floats:
        """(lengths, rows, classes) of held-out rows, at every length."""
        _fill_between(self.logs, lengths, fitted)
        p = np.exp(self.logs)
        return np.asarray(p / p.sum(axis=2, keepdims=True))

    def scaled(self, parts: Sequence[Prefix], held: HeldOut) -> Prefixes:
        """Prefixes whose probabilities mean what they say, as far as held-out rows can tell."""
        scalings: dict[int, Scaling] = {}
        for k in held.fitted:
            on = self.judged if parts[k].model is None else self._enough(self.known[k], self.judged)
            weights = self.table.of_rows(on).weighing_as(self.table).weights
            scalings[k] = fit_scaling_cautiously(held.p[k][on], self.table.labels[on], weights)
        _scale_between(scalings, held.lengths)
        parts = tuple(replace(part, scaling=scalings[k]) for k, part in enumerate(parts))
        said = held.p[:, self.judged]
        seen = [s if part.model is None else part.scaling(s) for s, part in zip(said, parts)]
        weights = self.table.of_rows(self.judged).weighing_as(self.table).weights
        codes = self.table.labels[self.judged].astype(np.int64)
        return Prefixes(parts, self.classes, self.shares, np.array(seen), codes, weights, held)


def _parted(table: Table, order: Order, choose: Choose | None, seed: int) -> Parted:
    """Thirds of the rows with an order found without each; the same order where rows are few."""
    codes = np.unique(table.labels, return_inverse=True)[1].reshape(-1)
    fold = make_folds(len(codes), _FOLDS, seed, codes, table.groups)
    again = choose is not None and fold is not None and np.bincount(codes).min() >= _LEAST
    if fold is None:
        fold = deal_out(len(codes), max(2, min(_FOLDS, len(codes))), table.groups)
    found = []
    for i in np.unique(fold):
        rest = table.of_rows(np.flatnonzero(fold != i)).weighing_as(table)
        if len(np.unique(rest.labels)) > 1:
            without = choose(rest) if again and choose is not None else order
            found.append(([np.flatnonzero(fold == i)], without))
    return found


def _beginnings(order: Order, steps: Sequence[int]) -> list[list[int]]:
    """The features of so many steps, each set once; the first is what is free."""
    found: list[list[int]] = []
    for n in steps:
        features = order.features(n if n else 1)
        if not found or len(features) > len(found[-1]):
            found.append(features)
    return found


def _beginning(order: Order, length: int) -> list[int]:
    """The features of the first steps that have so many together."""
    found: list[int] = []
    for step in order.steps:
        if len(found) >= length:
            break
        found += step
    return found


def _paid(beginnings: Sequence[Sequence[int]], price: Price) -> list[float]:
    """What each costs in all, asked one after another."""
    found = [price((), beginnings[0])]
    for had, features in pairwise(beginnings):
        found.append(found[-1] + price(had, features))
    return found


def _fitted_places(lengths: Sequence[int]) -> list[int]:
    """Lengths at which rows are left out, by their places: 0, 1, 2, 4, 8, 16, 64, ..., the last.

    What is said at the others lies between. Beyond 16 none that is more than an eighth of the last:
    those are the most expensive.

    >>> _fitted_places([0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 32, 50])
    [0, 1, 2, 4, 7, 10, 12]
    """
    found, power = {0, len(lengths) - 1}, 1
    while power < lengths[-1] if power <= 16 else 8 * power <= lengths[-1]:
        found.add(next(k for k, length in enumerate(lengths) if length >= power))
        power *= 2 if power < 16 else 4
    return sorted(found)


def _fill_between(of: Floats, lengths: Sequence[int], fitted: Sequence[int]) -> None:
    """On a line between the nearest lengths that were fitted, in place; lengths come first."""
    for a, b in pairwise(fitted):
        for k in range(a + 1, b):
            part = (lengths[k] - lengths[a]) / (lengths[b] - lengths[a])
            of[k] = (1 - part) * of[a] + part * of[b]


def _scale_between(scalings: dict[int, Scaling], lengths: Sequence[int]) -> None:
    """Scalings of the lengths at which no rows were left out, in place.

    From those at which some were: what is taken to be said in between is a mean of two, as such too
    modest, and what was scaled by it was sure too soon.
    """
    for a, b in pairwise(sorted(scalings)):
        for k in range(a + 1, b):
            part = (lengths[k] - lengths[a]) / (lengths[b] - lengths[a])
            scalings[k] = scalings[a].towards(scalings[b], part)


def all_classes(model: Fitted, values: Floats, n_classes: int) -> Floats:
    """Probabilities over all class codes; a class that a fold lacked gets none."""
    p = np.zeros((len(values), n_classes))
    if len(values):
        p[:, np.asarray(model.classes_, dtype=np.int64)] = model.predict_proba(values)
    p = np.clip(p, 1e-6, 1.0)
    return np.asarray(p / p.sum(axis=1, keepdims=True))
