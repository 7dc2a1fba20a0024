"""Beginnings of an order, and what each knows: the same estimator at growing prefixes.

A model per prefix, not one model with gaps: a row that stops after two answers is judged by a
model that was made for those two. All of it comes from the tables that were bought for learning; no
further cell is bought. One task has a ladder of its own; several have one order, where their rows
are known to be the same, and else take turns.

A prefix that is scaled on rows by which its features were put in order states too much: on wide
tables rows that stopped after three answers were right in .60 to .65 of the cases where .94 was
stated. So the order is found again without a part of the rows, and the prefixes of *that* order are
fitted without them; what they say of the held-out rows is what prefixes of this length are worth.
One that held-out rows show to be worse than a shorter one is not used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from thrifty.models.asking.order import Order, Price
from thrifty.models.fits.calibration import Scaling, fit_scaling_cautiously
from thrifty.models.fits.fitting import Fitted, fit_prefixes_together
from thrifty.models.fits.folds import deal_out, make_folds
from thrifty.models.fits.quality import losses, says
from thrifty.models.table import Table
from thrifty.typing import AnyArray, Bools, EstimatorLike, Floats, Ints

if TYPE_CHECKING:
    from thrifty.models.asking.own_order import Chooser


#: finds an order on the rows of tables
Choose = Callable[[Sequence[Table]], Order]
#: the rows of each task that are left out together, and the order that was found without them
Parted = Sequence[tuple[Sequence[Ints], Order]]

#: each pipeline of one task sees two thirds of the rows, as the folds of a fit do; of several half
_FOLDS, _FOLDS_OF_SEVERAL = 3, 2
#: rows of the rarest class without which the order is not found again; set by hand
_LEAST = 15
#: rows on which so many of the first features were bought are judged by; set by hand
_FIRST = 8
#: rows of each class without which all rows judge, or fit; set by hand
_ENOUGH = 20
#: a prefix is worse than a shorter one when it loses so many standard errors more
_WORSE = 2.0
#: one is enough where what it loses more, with its standard error, is within this part of what all
#: features tell, on so many rows of each class (docs/research/asking.md, What is enough)
_PART, _TOLD = 0.01, 100


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
    scaling: Scaling = _SAME
    price_after: float = 0.0

    def said(self, values: Floats, shares: Floats) -> Floats:
        """(rows, classes) from the values of its features, in their order; or numbers (rows, 1)."""
        said = self.plainly(values, shares)
        return said if self.model is None or len(shares) == 1 else self.scaling(said)

    def plainly(self, values: Floats, shares: Floats) -> Floats:
        """The same before any scaling."""
        if self.model is None:
            return np.repeat(shares[None, :], len(values), axis=0)
        return _said(self.model, values, shares)


def _said(model: Fitted, values: Floats, shares: Floats) -> Floats:
    """Before any scaling; a class that a fold lacked gets next to nothing."""
    if len(shares) == 1:
        return says(model, values, 0)
    p = np.clip(says(model, values, len(shares)), 1e-6, 1.0)
    return np.asarray(p / p.sum(axis=1, keepdims=True))


@dataclass(frozen=True, eq=False)
class HeldOut:
    """What pipelines without some rows said of them at each length, before any scaling.

    ``judged``: the rows, by their positions in the table, that prefixes are scaled and judged on.
    ``fitted``: the lengths, by their places, that pipelines were fitted at; what is said at the
    lengths between lies between what is said there. ``prices``: what lengths cost in all.
    """

    parted: Parted
    said: Floats
    judged: Ints
    fitted: list[int]
    lengths: list[int]
    prices: list[float]


@dataclass(frozen=True, eq=False)
class Prefixes:
    """Every prefix of a task, and what each would have said of the rows of the table, out of fold.

    Attributes
    ----------
    classes : array
        codes of the classes; empty for numbers
    shares : array of float
        of the classes; of numbers their mean
    seen : array of float
        (prefixes, rows, classes) calibrated probabilities, out of fold; numbers in one column
    codes : array
        (rows,) the class of each row of the table, or its number
    weights : array of float
        (rows,) what each row stands for
    chooser : Chooser or None
        asks rows in an order of their own at its steps, which have no features here
    held_out : HeldOut or None
        what ``seen`` was made from; None from a store
    """

    parts: tuple[Prefix, ...]
    classes: AnyArray
    shares: Floats
    seen: Floats
    codes: AnyArray
    weights: Floats
    chooser: Chooser | None = None
    held_out: HeldOut | None = None

    def __len__(self) -> int:
        return len(self.parts)

    @property
    def fixed(self) -> Prefixes:
        """Of the one order, whatever order rows have of their own."""
        return self if self.chooser is None else self.chooser.fixed

    @property
    def prices(self) -> Floats:
        """What each prefix costs in all."""
        return np.array([part.price for part in self.parts])

    def losses(self) -> Floats:
        """The mean loss of each prefix, out of fold: logarithmic, or the squared error."""
        return np.asarray(np.average(self.row_losses(), axis=1, weights=self.weights))

    def row_losses(self) -> Floats:
        """(prefixes, rows) the same of each row."""
        return np.array([losses(said, self.codes) for said in self.seen])

    def capped(self, n: int) -> Prefixes:
        """The first n prefixes alone."""
        return replace(self, parts=self.parts[:n], seen=self.seen[:n])

    def best_so_far(self) -> list[int]:
        """For each prefix the longest up to it that no shorter one clearly beats."""
        lost, kept = self.row_losses(), [0]
        for k in range(1, len(self)):
            mean, error = mean_and_error(lost[k] - lost[kept[-1]], self.weights)
            kept.append(kept[-1] if mean > _WORSE * error else k)
        return kept


@dataclass(frozen=True, eq=False)
class Ladder:
    """Steps of all tasks together; ``tasks[t].parts[k]`` is what task t reads at step k.

    ``features[k]``: all that was asked by step k, in order. ``is_joint``: whether every task reads
    every cell; else each its own, in turn.
    """

    features: tuple[tuple[int, ...], ...]
    tasks: tuple[Prefixes, ...]
    is_joint: bool = True

    def enough(self) -> int:
        """The shortest beginning that surely loses next to nothing beside the last, as its place.

        The last, where rows are too few to show it.
        """
        last = len(self.features) - 1
        if not all(can_tell(task.codes) for task in self.tasks):
            return last
        weights = np.mean([task.weights for task in self.tasks], axis=0)
        lost = np.sum([task.row_losses() for task in self.tasks], axis=0)
        told = max(float(np.average(lost[0] - lost[last], weights=weights)), 0.0)
        for k in range(last):
            mean, error = mean_and_error(lost[k] - lost[last], weights)
            if self.features[k] and mean + error <= _PART * told:
                return k
        return last


def can_tell(labels: AnyArray) -> bool:
    """Whether rows are enough to show that less is enough: of each class, or twice of numbers."""
    if labels.dtype.kind == "f":
        return len(labels) >= 2 * _TOLD
    return bool(np.unique(labels, return_counts=True)[1].min() >= _TOLD)


def mean_and_error(of: Floats, weights: Floats) -> tuple[float, float]:
    """The weighted mean over rows, and its standard error."""
    share = weights / weights.sum()
    mean = float(share @ of)
    return mean, float(np.sqrt(share**2 @ (of - mean) ** 2))


def ladder_of(prefixes: Prefixes) -> Ladder:
    """Of one task its own steps are the common ones."""
    return Ladder(tuple(part.features for part in prefixes.parts), (prefixes,))


def fit_ladder(
    tables: Sequence[Table],
    order: Order,
    price: Price,
    estimators: Sequence[EstimatorLike | None] | None = None,
    *,
    seed: int = 0,
    sizes: Sequence[int] | None = None,
    choose: Choose | None = None,
) -> Ladder:
    """Fit the estimators at every prefix of an order; of several tasks on the same features.

    Each task answers from the best prefix so far; a step at which none has a better one is none.

    Parameters
    ----------
    choose : Choose or None
        how an order is found on other rows: probabilities are then scaled on rows that chose
        neither order nor model; None: on held-out rows of the models alone
    sizes : sequence of int or None
        steps of each prefix; None: 1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 32, ... and all
    """
    estimators = [None] * len(tables) if estimators is None else estimators
    steps = [0, *(s + 1 for s in (sizes or prefix_sizes(len(order.steps) - 1)))]
    beginnings = _beginnings(order, [s for s in steps if s <= len(order.steps)])
    lengths = [len(features) for features in beginnings]
    fitted, parted = _fitted_places(lengths), _parted(tables, order, choose, seed)
    tasks = [_Task(table, len(lengths), order) for table in tables]
    places = {int(f): i for i, f in enumerate(tables[0].features)}

    def models(which: Sequence[int], out: Sequence[Ints] | None) -> list[Fitted]:
        columns = np.array([places[f] for f in which], dtype=np.int64)
        parts = [
            task.part(columns, None if out is None else out[t]) for t, task in enumerate(tasks)
        ]
        return fit_prefixes_together(parts, estimators, seed)

    nothing = [None] * len(tables)
    for out, without in parted:
        for k, length in enumerate(lengths):
            which = without.beginning(length)
            columns = np.array([places[f] for f in which], dtype=np.int64)
            found = models(which, out) if k in fitted and which else nothing
            for task, model, rows in zip(tasks, found, out):
                task.hold_out(k, columns, model, rows)
    made = [models(features, None) if features else nothing for features in beginnings]
    paid = [price((), beginnings[0])]
    for had, features in pairwise(beginnings):
        paid.append(paid[-1] + price(had, features))
    every = []
    for t, task in enumerate(tasks):
        parts = [Prefix(tuple(f), paid[k], made[k][t]) for k, f in enumerate(beginnings)]
        held = HeldOut(parted, task.between(lengths, fitted), task.judged, fitted, lengths, paid)
        every.append(task.scaled(parts, held))
    best = [one.best_so_far() for one in every]
    used = [k for k in range(len(lengths)) if any(which[k] == k for which in best)]
    after = [price(beginnings[k], beginnings[used[-1]]) for k in used]
    kept = []
    for one, which in zip(every, best):
        parts = [
            replace(one.parts[which[k]], price=paid[k], price_after=a) for k, a in zip(used, after)
        ]
        kept.append(replace(one, parts=tuple(parts), seen=one.seen[[which[k] for k in used]]))
    return Ladder(tuple(tuple(beginnings[k]) for k in used), tuple(kept))


class _Task:
    """What one task's prefixes say of held-out rows, until they are scaled."""

    def __init__(self, table: Table, n: int, order: Order) -> None:
        self.numbers = table.labels.dtype.kind == "f"
        self.table, self.classes = table, np.zeros(0, dtype=np.int64)
        self.shares = np.array([0.0])
        if self.numbers:
            self.shares[0] = np.average(table.labels, weights=table.weights)
        else:
            self.classes, codes = np.unique(table.labels, return_inverse=True)
            self.table = replace(table, labels=codes.reshape(-1).astype(np.int64))
            shares = np.bincount(self.table.labels, table.weights, len(self.classes))
            self.shares = np.asarray(shares / shares.sum())
        first = np.isin(table.features, order.features()[:_FIRST])
        # a row that was never asked says nothing of what asking it brings
        there = np.asarray(table.bought[:, first].all(axis=1))
        self.judged = self._enough(there, np.arange(table.n_rows))
        self.said = np.tile(self.shares, (n, table.n_rows, 1))
        self.known = np.ones((n, table.n_rows), dtype=bool)

    def _enough(self, there: Bools, rows: Ints) -> Ints:
        """Of some rows those that are there, where there are enough of each class; else all."""
        some = rows[there[rows]]
        counts = [len(some)]
        if not self.numbers:
            counts = np.bincount(self.table.labels[some], minlength=len(self.classes)).tolist()
        return some if min(counts) >= _ENOUGH else rows

    def part(self, columns: Ints, out: Ints | None) -> Table:
        """The rows that fit a prefix: with every cell of it, where they are enough.

        What was not bought is a gap to the model then.
        """
        rows = np.arange(self.table.n_rows)
        rows = rows if out is None else np.setdiff1d(rows, out)
        there = np.asarray(self.table.bought[:, columns].all(axis=1))
        part = self.table.of_rows(self._enough(there, rows))
        return part.weighing_as(self.table).of_features(columns)

    def hold_out(self, k: int, columns: Ints, model: Fitted | None, out: Ints) -> None:
        """Of held-out rows, what is said of them, and whether all cells were there."""
        self.known[k, out] = self.table.bought[np.ix_(out, columns)].all(axis=1)
        if model is not None:
            self.said[k, out] = _said(model, self.table.values[np.ix_(out, columns)], self.shares)

    def between(self, lengths: Sequence[int], fitted: Sequence[int]) -> Floats:
        """(lengths, rows, classes) on a line between the nearest lengths that were fitted."""
        of = self.said if self.numbers else np.log(self.said)
        for a, k, b, part in _between(lengths, fitted):
            of[k] = (1 - part) * of[a] + part * of[b]
        p = of if self.numbers else np.exp(of)
        return p if self.numbers else np.asarray(p / p.sum(axis=2, keepdims=True))

    def scaled(self, parts: Sequence[Prefix], held: HeldOut) -> Prefixes:
        """Prefixes whose probabilities mean what they say, as far as held-out rows can tell."""
        scalings = dict.fromkeys(range(len(parts)), _SAME)
        for k in held.fitted if not self.numbers else ():
            on = self.judged if parts[k].model is None else self._enough(self.known[k], self.judged)
            codes = self.table.labels[on]
            scalings[k] = fit_scaling_cautiously(held.said[k][on], codes, self._weights(on))
        if not self.numbers:
            # what is said in between is a mean of two, as such too modest: scaled by itself it
            # would be sure too soon
            for a, k, b, part in _between(held.lengths, held.fitted):
                scalings[k] = scalings[a].towards(scalings[b], part)
        parts = tuple(replace(part, scaling=scalings[k]) for k, part in enumerate(parts))
        said, plain = held.said[:, self.judged], self.numbers
        seen = [s if plain or not p.model else p.scaling(s) for s, p in zip(said, parts)]
        return Prefixes(
            parts,
            self.classes,
            self.shares,
            np.array(seen),
            self.table.labels[self.judged],
            self._weights(self.judged),
            held_out=held,
        )

    def _weights(self, rows: Ints) -> Floats:
        return self.table.of_rows(rows).weighing_as(self.table).weights


def _parted(tables: Sequence[Table], order: Order, choose: Choose | None, seed: int) -> Parted:
    """Parts of the rows with an order found without each; the same order where rows are few."""
    one, several = tables[0], len(tables) > 1
    codes, n = None, _FOLDS_OF_SEVERAL if several else _FOLDS
    if not several and one.labels.dtype.kind != "f":
        codes = np.unique(one.labels, return_inverse=True)[1].reshape(-1)
    folds, again = [], choose is not None
    for table in tables:  # rows that are the same are in the same part for every task
        fold = make_folds(table.n_rows, n, seed, codes, table.groups)
        again &= fold is not None and (codes is None or np.bincount(codes).min() >= _LEAST)
        few = max(2, min(n, table.n_rows))
        folds.append(deal_out(table.n_rows, few, table.groups) if fold is None else fold)
    found = []
    for i in range(n):
        out = [np.flatnonzero(fold == i) for fold in folds]
        rest = [t.of_rows(np.flatnonzero(f != i)).weighing_as(t) for t, f in zip(tables, folds)]
        if all(len(part) for part in out) and all(len(np.unique(t.labels)) > 1 for t in rest):
            found.append((out, choose(rest) if again and choose is not None else order))
    return found


def _beginnings(order: Order, steps: Sequence[int]) -> list[list[int]]:
    """The features of so many steps, each set once; the first is what is free."""
    found: list[list[int]] = []
    for n in steps:
        features = order.features(n if n else 1)
        if not found or len(features) > len(found[-1]):
            found.append(features)
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


def _between(lengths: Sequence[int], fitted: Sequence[int]) -> list[tuple[int, int, int, float]]:
    """Lengths at which no rows were left out: between which two, and how far from the first."""
    return [
        (a, k, b, (lengths[k] - lengths[a]) / (lengths[b] - lengths[a]))
        for a, b in pairwise(fitted)
        for k in range(a + 1, b)
    ]


def in_turn(own: Sequence[Prefixes]) -> Ladder:
    """Each task's next step in turn; a task reads the longest beginning of its own that is there.

    What one task asks serves another only where it is in its order too.
    """
    asked: list[int] = []
    steps: list[tuple[int, ...]] = [()]
    for k in range(1, max(len(one) for one in own)):
        for one in own:
            new = [f for f in one.parts[min(k, len(one) - 1)].features if f not in set(asked)]
            if new:
                asked += new
                steps.append(tuple(asked))
    tasks = []
    for one in own:
        which = [
            max(k for k, part in enumerate(one.parts) if not k or there.issuperset(part.features))
            for there in map(set, steps)
        ]
        parts = tuple(one.parts[k] for k in which)
        tasks.append(replace(one, parts=parts, seen=one.seen[which]))
    return Ladder(tuple(steps), tuple(tasks), is_joint=False)


def tables_together(tables: Sequence[Table]) -> list[Table] | None:
    """Each task's table over cells that were bought together for all; None: too little.

    Rows are the same where their examples have the same ids, or where the tasks were learned from
    the same rows at once; what one task bought of a row another may use.
    """
    keys = _keys(tables)
    if keys is None:
        return None
    known = reduce(np.intersect1d, keys)
    known = known[known != 0]
    rows = [np.argsort(key)[np.searchsorted(np.sort(key), known)] for key in keys]
    features = np.unique(np.concatenate([table.features for table in tables]))
    values = np.full((len(known), len(features)), np.nan)
    bought, sizes = np.zeros(values.shape, dtype=bool), [0] * len(features)
    for table, some in zip(tables, rows):
        for j, column in enumerate(np.searchsorted(features, table.features).tolist()):
            here = table.bought[some, j]
            values[here, column] = table.values[some[here], j]
            bought[:, column] |= here
            sizes[column] = table.categories[j] if table.categories else 0
    joined = [
        replace(
            table.of_rows(some).weighing_as(table),
            features=features,
            values=values,
            bought=bought,
            background=None,
            first=0,
            categories=tuple(sizes) if any(sizes) else (),
        )
        for table, some in zip(tables, rows)
    ]
    found = [table.block() for table in joined]
    for block, table in zip(found, tables):
        counts = np.unique(block.labels, return_counts=True)[1]
        if table.labels.dtype.kind == "f":
            counts = np.array([block.n_rows])
        elif len(counts) < len(np.unique(table.labels)):
            return None
        if counts.min(initial=block.n_rows) < _ENOUGH:
            return None
    return found if found[0].width > 1 else None


def _keys(tables: Sequence[Table]) -> list[AnyArray] | None:
    """Which examples rows are, the same in every task; None where that is not known."""
    found = [t.keys for t in tables if t.keys is not None]
    if len(found) == len(tables):
        return list(found)
    first = tables[0]
    for other in tables[1:]:
        common, ours, theirs = np.intersect1d(first.features, other.features, return_indices=True)
        if (
            not np.array_equal(first.rows, other.rows)
            or not len(common)
            or not np.array_equal(first.values[:, ours], other.values[:, theirs], equal_nan=True)
        ):
            return None
    return [(first.rows + 1).astype(np.uint64)] * len(tables)
