"""An order of its own for each row, where that pays: the next cell by what the row has shown.

A model of latent classes, which answers from any subset, says how far each waiting cell is
expected to lower a row's entropy, per price; the row is asked the cell that promises most. The
first question is the same for all rows and is found two steps ahead, so that a cell which says
nothing itself but which of the others counts is asked first. Answered is from the prefix of the
longest beginning of the fixed order that is known, and what the model says more from all that is
known.

Whether it pays is judged by whole pipelines without a third of the rows each: own order, own
prefixes, own model; only if the log-loss of the held-out rows is clearly lower at the same money
are rows asked so. After the first questions the fixed order's longer prefixes follow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from thrifty.models.asking.ladder import HeldOut, Prefix, Prefixes, mean_and_error
from thrifty.models.asking.latent_classes import Codes, LatentClasses, fit_latent_classes
from thrifty.models.asking.order import Order, Price
from thrifty.models.fits.calibration import fit_scaling_cautiously
from thrifty.models.fits.quality import losses
from thrifty.models.table import Table
from thrifty.typing import Bools, Floats, Ints

#: questions that a row is asked in its own order; set by hand
MOST_STEPS = 12
#: features of the fixed order that may be asked out of turn, for speed
MOST_FEATURES = 64
#: standard errors by which held-out rows must be answered better: with three, cube has its own
#: order on one split of three, and it is better on all of them
CLEAR = 1.5
#: of what the prefix says beyond the model so much is believed: with half of it cube has .560, with
#: all .543 and with none .564 right at 3 cells, .826, .822 and .807 at 10 (benchmarks/afa.py)
_TRUST = 0.5
#: rows without which nothing is tried, and of each class
LEAST_ROWS, LEAST_OF_CLASS = 120, 15


@dataclass(frozen=True, eq=False)
class Chooser:
    """Which unit a row is asked next, and what is said after it.

    Attributes
    ----------
    model : LatentClasses
        over the first features of a fixed order, in that order
    units : tuple of tuple of int
        what is bought at once, as places in that order; in the fixed order
    prices : array of float
        of each unit, where only what is free is owned
    first : int
        the unit that is asked first
    fixed : Prefixes
        of the fixed order
    steps : int
        so many questions are a row's own: steps 1 to ``steps`` of its ladder
    """

    model: LatentClasses
    units: tuple[tuple[int, ...], ...]
    prices: Floats
    first: int
    fixed: Prefixes
    steps: int

    @property
    def width(self) -> int:
        """So many features of the fixed order it knows."""
        return len(self.model.bins)

    def is_own(self, k: int) -> bool:
        """Whether a step differs from row to row."""
        return 1 <= k <= self.steps

    def wanted(self, values: Floats, known: Bools) -> Bools:
        """(rows, features): the next unit of each row; never one of which all is known."""
        done = np.array([known[:, list(unit)].all(axis=1) for unit in self.units]).T
        falls = self.per_price(self.model.falls(self._codes(values, known)))
        unit = np.where(done, -1.0, falls).argmax(axis=1)
        unit = np.where(done.any(axis=1), unit, self.first)
        belongs = np.zeros((len(self.units), known.shape[1]), dtype=bool)
        for u, places in enumerate(self.units):
            belongs[u, list(places)] = True
        return belongs[unit]

    def said(self, values: Floats, known: Bools, part: Prefix) -> Floats:
        """(rows, classes) from all that is known, scaled as at a step."""
        base = [one for one in self.fixed.parts if len(one.features) <= self.width]
        sizes = np.array([len(one.features) for one in base])
        at, p = _longest(sizes, known), np.zeros((len(values), len(self.fixed.shares)))
        for b in np.unique(at).tolist():
            here = at == b
            p[here] = base[b].plainly(values[here, : sizes[b]], self.fixed.shares)
        return part.scaling(self.more(p, sizes[at], values, known))

    def more(self, p: Floats, begins: Ints, values: Floats, known: Bools) -> Floats:
        """What a prefix of ``begins`` cells says, p, and the model from the others."""
        codes = self._codes(values, known)
        before = np.where(np.arange(codes.shape[1]) < begins[:, None], codes, 0).astype(np.uint8)
        z = self.model.logs(codes)
        z = z + _TRUST * (np.log(np.clip(p, 1e-6, 1.0)) - self.model.logs(before))
        z = np.exp(z - z.max(axis=1, keepdims=True))
        return np.asarray(z / z.sum(axis=1, keepdims=True))

    def per_price(self, falls: Floats) -> Floats:
        """What units promise for their price."""
        each = [-np.sort(-falls[:, list(unit)], axis=1) for unit in self.units]
        worth = np.column_stack([one[:, 0] + 0.5 * one[:, 1:].sum(axis=1) for one in each])
        return np.asarray(worth / np.maximum(self.prices, 1e-9))

    def _codes(self, values: Floats, known: Bools) -> Codes:
        """Of the first features; 0 where they are not known."""
        codes = self.model.codes(values[:, : self.width])
        return np.where(known[:, : self.width], codes, 0).astype(np.uint8)

    def looking_ahead(self) -> Chooser:
        """With the first unit after which the best second one is expected to leave least open."""
        model, ahead = self.model, np.zeros(len(self.units))
        alone = self.per_price(model.falls(np.zeros((1, self.width), dtype=np.uint8)))[0]
        for u, unit in enumerate(self.units):
            answers, weight = model.answers_of(unit[0])
            after = np.zeros((len(answers), self.width), dtype=np.uint8)
            after[:, unit[0]] = answers
            then = model.falls(after)
            then[:, list(unit)] = 0.0
            second = self.per_price(then)
            best = second.argmax(axis=1)
            fall = alone[u] * self.prices[u] + second.max(axis=1) * self.prices[best]
            cost = np.maximum(self.prices[u] + self.prices[best], 1e-9)
            ahead[u] = float(weight @ (fall / cost)) / max(float(weight.sum()), 1e-12)
        best_first = int(ahead.argmax())
        return replace(self, first=best_first if ahead[best_first] > 1.1 * ahead[0] else 0)


def _longest(sizes: Ints, known: Bools) -> Ints:
    """The longest prefix, as its place in ``sizes``, of which all is known."""
    run = np.logical_and.accumulate(known, axis=1).sum(axis=1)
    return np.asarray(np.searchsorted(sizes, run, side="right") - 1)


def own_order(
    table: Table, fixed: Prefixes, order: Order, price: Price, seed: int
) -> Prefixes | None:
    """The rows' own order, where pipelines left out say clearly that it pays; else None."""
    held, codes = fixed.held_out, np.unique(table.labels, return_inverse=True)[1].reshape(-1)
    steps = min(MOST_STEPS, len(_units(order, len(fixed.parts[-1].features))))
    few = table.n_rows < LEAST_ROWS or np.bincount(codes).min() < LEAST_OF_CLASS
    if held is None or few or not table.is_whole or steps < 2 or not len(fixed.classes):
        return None
    table = replace(table, labels=codes.astype(np.int64))
    p = np.tile(fixed.shares, (steps + 1, table.n_rows, 1))
    spent = np.zeros((steps + 1, table.n_rows))
    for (out,), without in held.parted:
        rest = table.of_rows(np.setdiff1d(np.arange(table.n_rows), out))
        chooser = _chooser(rest, without, price, fixed, steps, seed)
        if chooser is None:
            return None
        p[:, out], spent[:, out] = _walked(chooser, table, without, out, held)
    chooser = _chooser(table, order, price, fixed, steps, seed)
    if chooser is None:
        return None
    parts, seen, known = list[Prefix](), list[Floats](), fixed.row_losses()
    gains = np.zeros(len(fixed.codes))
    for k in range(1, steps + 1):
        scaling = fit_scaling_cautiously(p[k, held.judged], fixed.codes, fixed.weights)
        seen.append(scaling(p[k, held.judged]))
        paid = fixed.parts[0].price + spent[k, held.judged]
        alike = [np.interp(paid[i], fixed.prices, known[:, i]) for i in range(len(paid))]
        gains += np.array(alike) - losses(seen[-1], fixed.codes)
        cost = float(np.average(paid, weights=fixed.weights))
        parts.append(Prefix((), cost, None, scaling, max(fixed.parts[-1].price - cost, 0.0)))
    mean, error = mean_and_error(gains, fixed.weights)
    return with_chooser(chooser, parts, np.array(seen)) if mean >= CLEAR * error else None


def with_chooser(chooser: Chooser, steps: Sequence[Prefix], seen: Floats) -> Prefixes:
    """Nothing, a row's own steps, then the longer prefixes of the fixed order."""
    fixed = chooser.fixed
    reached = sum(len(unit) for unit in chooser.units[: len(steps)])
    last = len(fixed.parts) - 1
    later = [k for k, p in enumerate(fixed.parts) if k == last or len(p.features) > reached]
    parts = [fixed.parts[0], *steps]
    for k in later:
        part = fixed.parts[k]
        parts.append(replace(part, price=max(part.price, parts[-1].price)))
    said = np.concatenate([fixed.seen[:1], seen, fixed.seen[later]])
    return replace(fixed, parts=tuple(parts), seen=said, chooser=chooser)


def _units(order: Order, width: int) -> list[tuple[int, ...]]:
    """Steps of the order, without what is free, as places in it; of some features at most."""
    at, found = len(order.steps[0]), []
    for step in order.steps[1:]:
        if at + len(step) > min(MOST_FEATURES, width):
            break
        found.append(tuple(range(at, at + len(step))))
        at += len(step)
    return found


def _chooser(
    table: Table, order: Order, price: Price, fixed: Prefixes, steps: int, seed: int
) -> Chooser | None:
    """Fit the model and look two steps ahead for the first question."""
    units = _units(order, len(fixed.parts[-1].features))
    free, names = order.features(1), order.features()[: units[-1][-1] + 1]
    place = {int(f): j for j, f in enumerate(table.features)}
    part = table.of_features(np.array([place[f] for f in names], dtype=np.int64))
    kinds = [n > 0 for n in part.categories or (0,) * part.width]
    n_classes = len(fixed.shares)
    model = fit_latent_classes(part.values, part.labels, part.weights, kinds, n_classes, seed)
    if model is None:
        return None
    prices = np.array([price(free, [names[i] for i in unit]) for unit in units])
    blind = Chooser(model, tuple(units), prices, 0, fixed, min(steps, len(units)))
    # where something is free rows differ from the start: the fixed order's first is taken
    return blind if free else blind.looking_ahead()


def _walked(
    chooser: Chooser, table: Table, order: Order, out: Ints, held: HeldOut
) -> tuple[Floats, Floats]:
    """What held-out rows are answered after each question, and what they cost until then."""
    place = {int(f): j for j, f in enumerate(table.features)}
    which = np.array([place[f] for f in order.features()[: chooser.width]])
    values = table.values[np.ix_(out, which)]
    known = np.zeros(values.shape, dtype=bool)
    known[:, : len(order.steps[0])] = True
    within = np.array([k for k in held.fitted if held.lengths[k] <= chooser.width])
    sizes, each = np.array(held.lengths)[within], np.arange(len(out))
    costs = np.zeros(known.shape[1])
    for unit, cost in zip(chooser.units, chooser.prices):
        costs[unit[0]] = cost
    said = held.said[within[:, None], out]
    p, spent = [held.said[0, out]], [np.zeros(len(out))]
    for _ in range(chooser.steps):
        wanted = chooser.wanted(values, known)
        spent.append(spent[-1] + wanted @ costs)
        known |= wanted
        at = _longest(sizes, known)
        p.append(chooser.more(said[at, each], sizes[at], values, known))
    return np.array(p), np.array(spent)
