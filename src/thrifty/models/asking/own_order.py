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
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from thrifty.models.asking.latent_classes import Codes, LatentClasses, fit_latent_classes
from thrifty.models.asking.order import Order, Price
from thrifty.models.asking.prefixes import HeldOut, Prefix, Prefixes, all_classes
from thrifty.models.fits.calibration import fit_scaling_cautiously
from thrifty.models.table import Table
from thrifty.typing import Bools, Floats, Ints

#: questions that a row is asked in its own order; set by hand
MOST_STEPS = 12
#: features of the fixed order that may be asked out of turn, for speed
MOST_FEATURES = 64
#: standard errors by which held-out rows must be answered better: with three, cube has its own
#: order on one split of three, and it is better on all of them
CLEAR = 1.5
#: before the last pipeline it is given up below so many
HOPE = -2.0
#: of what the prefix says beyond the model so much is believed: with half of it cube has .560, with
#: all .543 and with none .564 right at 3 cells, .826, .822 and .807 at 10 (benchmarks/afa.py)
_TRUST = 0.5
#: rows without which nothing is tried, and of each class
LEAST_ROWS, LEAST_OF_CLASS = 120, 15


@dataclass(frozen=True, eq=False)
class Chooser:
    """Which unit a row is asked next.

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
    """

    model: LatentClasses
    units: tuple[tuple[int, ...], ...]
    prices: Floats
    first: int

    @property
    def width(self) -> int:
        """So many features of the fixed order it knows."""
        return len(self.model.bins)

    def codes(self, values: Floats, known: Bools) -> Codes:
        """Of the first features; 0 where they are not known."""
        codes = self.model.codes(values[:, : self.width])
        return np.where(known[:, : self.width], codes, 0).astype(np.uint8)

    def choose(self, codes: Codes, known: Bools) -> Ints:
        """The next unit of each row; units of which all is known are never asked."""
        done = np.array([known[:, list(unit)].all(axis=1) for unit in self.units]).T
        per = np.where(done, -1.0, self.per_price(self.model.falls(codes)))
        return np.where(done.any(axis=1), per.argmax(axis=1), self.first)

    def per_price(self, falls: Floats) -> Floats:
        """What units promise for their price."""
        each = [-np.sort(-falls[:, list(unit)], axis=1) for unit in self.units]
        worth = np.column_stack([one[:, 0] + 0.5 * one[:, 1:].sum(axis=1) for one in each])
        return np.asarray(worth / np.maximum(self.prices, 1e-9))

    def more(self, logs: Floats, begins: Ints, codes: Codes) -> Floats:
        """(rows, classes): what a prefix of ``begins`` cells says, and the model from the others.

        ``logs``: what the prefix says.
        """
        before = np.where(np.arange(codes.shape[1]) < begins[:, None], codes, 0).astype(np.uint8)
        z = self.model.logs(codes) + _TRUST * (logs - self.model.logs(before))
        z = np.exp(z - z.max(axis=1, keepdims=True))
        return np.asarray(z / z.sum(axis=1, keepdims=True))


@dataclass(frozen=True, eq=False)
class OwnOrder(Prefixes):
    """Prefixes by the number of questions: none, then steps of a row's own, then longer ones.

    ``parts[1 : steps + 1]`` have no features of their own, only what they cost on average and how
    their probabilities are scaled; ``fixed`` are the prefixes of the fixed order.
    """

    chooser: Chooser = field(kw_only=True)
    fixed: Prefixes = field(kw_only=True)
    steps: int = field(kw_only=True)

    @property
    def units(self) -> tuple[tuple[int, ...], ...]:
        """What a row may want next."""
        return self.chooser.units

    @cached_property
    def _base(self) -> list[Prefix]:
        """The prefixes of the fixed order on which a row's own steps stand."""
        return [part for part in self.fixed.parts if len(part.features) <= self.chooser.width]

    def is_own(self, k: int) -> bool:
        """Whether a step differs from row to row."""
        return 1 <= k <= self.steps

    def choose(self, values: Floats, known: Bools) -> Ints:
        """The next unit of each row."""
        return self.chooser.choose(self.chooser.codes(values, known), known)

    def say(self, values: Floats, known: Bools, k: int) -> Floats:
        """(rows, classes) after k questions."""
        sizes = [len(part.features) for part in self._base]
        at, logs = _longest(sizes, known), np.zeros((len(values), len(self.shares)))
        for b in np.unique(at).tolist():
            here, part = at == b, self._base[b]
            p = np.repeat(self.shares[None, :], int(here.sum()), axis=0)
            if part.model is not None:
                p = all_classes(part.model, values[here, : sizes[b]], len(self.shares))
            logs[here] = np.log(np.clip(p, 1e-6, 1.0))
        codes = self.chooser.codes(values, known)
        return self.parts[k].scaling(self.chooser.more(logs, np.array(sizes)[at], codes))


def _longest(sizes: Sequence[int], known: Bools) -> Ints:
    """The longest prefix, as its place in ``sizes``, of which all is known."""
    run = np.logical_and.accumulate(known, axis=1).sum(axis=1)
    return np.asarray(np.searchsorted(np.asarray(sizes), run, side="right") - 1)


def own_order(
    table: Table, fixed: Prefixes, order: Order, price: Price, seed: int
) -> OwnOrder | None:
    """The rows' own order, where pipelines left out say clearly that it pays; else None."""
    held, (classes, codes) = fixed.held_out, np.unique(table.labels, return_inverse=True)
    table = replace(table, labels=codes.astype(np.int64))
    enough = table.n_rows >= LEAST_ROWS and np.bincount(codes).min() >= LEAST_OF_CLASS
    most = min(MOST_FEATURES, len(fixed.parts[-1].features))
    steps = min(MOST_STEPS, len(_units(order, most)))
    if held is None or not enough or not table.is_whole or steps < 2:
        return None
    p = np.tile(fixed.shares, (steps + 1, table.n_rows, 1))
    spent, gains = np.zeros((steps + 1, table.n_rows)), np.zeros(table.n_rows)
    done = np.zeros(table.n_rows, dtype=bool)
    for (out,), without in held.parted:
        rest = table.of_rows(np.setdiff1d(np.arange(table.n_rows), out))
        chooser = _chooser(rest, without, price, len(classes), seed, most)
        if chooser is None:
            return None
        p[:, out], spent[:, out] = _walked(chooser, table, without, out, held, steps)
        gains[out] = _gain(p[:, out], spent[:, out], held, fixed, out, table.labels[out])
        done[out] = True
        if _clear(gains[done], table.weights[done]) < (CLEAR if done.all() else HOPE):
            return None
    chooser = _chooser(table, order, price, len(classes), seed, most)
    parts, seen = list[Prefix](), list[Floats]()
    if chooser is None:
        return None
    for k in range(1, steps + 1):
        scaling = fit_scaling_cautiously(p[k, held.judged], fixed.codes, fixed.weights)
        mean = float(np.average(spent[k, held.judged], weights=fixed.weights))
        cost = fixed.parts[0].price + mean
        parts.append(Prefix((), cost, None, scaling, max(fixed.parts[-1].price - cost, 0.0)))
        seen.append(scaling(p[k, held.judged]))
    return along(chooser, fixed, parts, np.array(seen))


def _units(order: Order, most: int) -> list[tuple[int, ...]]:
    """Steps of the order, without what is free, as places in it; of so many features at most."""
    at, found = len(order.steps[0]), []
    for step in order.steps[1:]:
        if at + len(step) > most:
            break
        found.append(tuple(range(at, at + len(step))))
        at += len(step)
    return found


def _chooser(
    table: Table, order: Order, price: Price, n_classes: int, seed: int, most: int
) -> Chooser | None:
    """Fit the model and look two steps ahead for the first question."""
    units, free = _units(order, most), order.features(1)
    names = order.features()[: units[-1][-1] + 1]
    part = table.of_features(np.array([_places(table)[f] for f in names], dtype=np.int64))
    kinds = [n > 0 for n in part.categories or (0,) * part.width]
    model = fit_latent_classes(part.values, part.labels, part.weights, kinds, n_classes, seed)
    if model is None:
        return None
    prices = np.array([price(free, [names[i] for i in unit]) for unit in units])
    blind = Chooser(model, tuple(units), prices, 0)
    # where something is free rows differ from the start: the fixed order's first is taken
    return blind if free else replace(blind, first=_first(blind))


def _first(chooser: Chooser) -> int:
    """The unit after which the best second one is expected to leave least open."""
    model, ahead = chooser.model, np.zeros(len(chooser.units))
    alone = chooser.per_price(model.falls(np.zeros((1, chooser.width), dtype=np.uint8)))[0]
    for u, unit in enumerate(chooser.units):
        answers, weight = model.answers_of(unit[0])
        after = np.zeros((len(answers), chooser.width), dtype=np.uint8)
        after[:, unit[0]] = answers
        then = model.falls(after)
        then[:, list(unit)] = 0.0
        second = chooser.per_price(then)
        best = second.argmax(axis=1)
        fall = alone[u] * chooser.prices[u] + second.max(axis=1) * chooser.prices[best]
        cost = np.maximum(chooser.prices[u] + chooser.prices[best], 1e-9)
        ahead[u] = float(weight @ (fall / cost)) / max(float(weight.sum()), 1e-12)
    best_first = int(ahead.argmax())
    return best_first if ahead[best_first] > 1.1 * ahead[0] else 0


def _places(table: Table) -> dict[int, int]:
    return {int(f): j for j, f in enumerate(table.features)}


def _walked(
    chooser: Chooser, table: Table, order: Order, out: Ints, held: HeldOut, steps: int
) -> tuple[Floats, Floats]:
    """What held-out rows are answered after each question, and what they cost until then."""
    which = np.array([_places(table)[f] for f in order.features()[: chooser.width]])
    values = table.values[np.ix_(out, which)]
    known = np.zeros(values.shape, dtype=bool)
    known[:, : len(order.steps[0])] = True
    within = [k for k in held.fitted if held.lengths[k] <= chooser.width]
    sizes, each = np.array([held.lengths[k] for k in within]), np.arange(len(out))
    logs = np.log(np.clip(held.p[np.array(within)[:, None], out], 1e-6, 1.0))
    p, spent = [held.p[0, out]], [np.zeros(len(out))]
    for _ in range(steps):
        unit = chooser.choose(chooser.codes(values, known), known)
        for u in np.unique(unit):
            known[np.ix_(unit == u, chooser.units[u])] = True
        at = _longest(sizes.tolist(), known)
        p.append(chooser.more(logs[at, each], sizes[at], chooser.codes(values, known)))
        spent.append(spent[-1] + chooser.prices[unit])
    return np.array(p), np.array(spent)


def _gain(
    p: Floats, spent: Floats, held: HeldOut, fixed: Prefixes, out: Ints, labels: Ints
) -> Floats:
    """Of each held-out row: how much less it loses than with the fixed order at the same money."""
    each = np.arange(len(out))

    def losses(said: Floats) -> Floats:
        return -np.log(np.clip(said[:, each, labels], 1e-6, 1.0))

    ours = losses(np.array([_stretched(one, labels) for one in p[1:]]))
    theirs, prices = losses(held.p[held.fitted][:, out]), np.array(held.prices)[held.fitted]
    alike = np.array([np.interp(spent[1:, i], prices, theirs[:, i]) for i in range(len(out))])
    return np.asarray((alike.T - ours).mean(axis=0))


def _stretched(p: Floats, y: Ints) -> Floats:
    """As the other half of the rows asks for: as they are scaled in the end."""
    found, half = np.empty_like(p), np.arange(len(p)) % 2 == 0
    for some in (half, ~half):
        found[some] = fit_scaling_cautiously(p[~some], y[~some], np.ones(int((~some).sum())))(
            p[some]
        )
    return found


def _clear(gains: Floats, weights: Floats) -> float:
    """The mean in standard errors."""
    share = weights / weights.sum()
    mean = float(share @ gains)
    return mean / max(float(np.sqrt(share**2 @ (gains - mean) ** 2)), 1e-12)


def along(chooser: Chooser, fixed: Prefixes, steps: Sequence[Prefix], seen: Floats) -> OwnOrder:
    """Nothing, a row's own steps, then the longer prefixes of the fixed order."""
    reached = sum(len(unit) for unit in chooser.units[: len(steps)])
    last = len(fixed.parts) - 1
    later = [k for k, p in enumerate(fixed.parts) if k == last or len(p.features) > reached]
    parts = [fixed.parts[0], *steps]
    for k in later:
        part = fixed.parts[k]
        parts.append(replace(part, price=max(part.price, parts[-1].price)))
    said = np.concatenate([fixed.seen[:1], seen, fixed.seen[later]])
    return OwnOrder(
        tuple(parts), fixed.classes, fixed.shares, said, fixed.codes, fixed.weights,
        chooser=chooser, fixed=fixed, steps=len(steps),
    )  # fmt: skip
