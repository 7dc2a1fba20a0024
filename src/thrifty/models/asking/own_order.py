"""An order of its own for each row, where that pays: the next cell by what the row has shown.

A model of latent classes, which answers from any subset, says how far each waiting cell is
expected to lower a row's entropy, per price; the row leaves the fixed order where another cell
promises more than the next of it. The first question is the same for
all rows and is found two steps ahead, so that a cell which says nothing itself but which of the
others counts is asked first. Answered is from the prefix of the longest beginning of the fixed
order that is known, and what the model says more from all that is known.

Whether it pays is judged by whole pipelines without a third of the rows each: own order, own
prefixes, own model; only if the log-loss of the held-out rows is lower at the same money, three
standard errors clear, are rows asked so. After the first MOST_STEPS questions the fixed order's
longer prefixes follow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from thrifty.array_types import Bools, Floats, Ints
from thrifty.models.asking.cross_fitted import Pipelines
from thrifty.models.asking.latent_classes import Codes, fit_latent_classes
from thrifty.models.asking.order import Order, Price
from thrifty.models.asking.prefixes import Prefix, Prefixes
from thrifty.models.fits.bins import Bins
from thrifty.models.fits.calibration import fit_scaling_cautiously
from thrifty.models.fits.logistic import fit_slope, softmax
from thrifty.models.table import Table
from thrifty.typing import Json

__all__ = ["Chooser", "OwnOrder", "along", "answer", "longest", "own_order"]

#: questions that a row is asked in its own order; set by hand
MOST_STEPS = 12
#: features of the fixed order that may be asked out of turn, for speed
MOST_FEATURES = 64
#: another cell must promise so many times what the next of the fixed order does; set by hand. What
#: latent classes promise is exact, as far as they are right
BEATS = 1.0
#: standard errors by which held-out rows must be answered better
CLEAR = 3.0
#: after the first pipeline it is given up below so many
HOPE = 1.0
#: rounds of a rough model, which looks whether there is hope
ROUGH_ROUNDS = 5
#: questions that it asks
ROUGH_STEPS = 6
#: rows without which nothing is tried, and of each class
LEAST_ROWS, LEAST_OF_CLASS = 120, 15


class SubsetModel(Protocol):
    """Answers from whatever cells of a row are known; codes are 0 where they are not."""

    @property
    def bins(self) -> tuple[Bins, ...]: ...
    def codes(self, values: Floats) -> Codes: ...
    def logs(self, codes: Codes) -> Floats: ...
    def falls(self, codes: Codes) -> Floats: ...
    def answers_of(self, j: int) -> tuple[Codes, Floats]: ...
    def to_dict(self) -> Json: ...


@dataclass(frozen=True, eq=False)
class Chooser:
    """Which unit a row is asked next.

    Attributes
    ----------
    model : SubsetModel
        over the first features of a fixed order, in that order
    units : tuple of tuple of int
        what is bought at once, as places in that order; in the fixed order
    prices : array of float
        of each unit, where only what is free is owned
    first : int
        the unit that is asked first
    exponent : float
        the power of the price that a fall is divided by
    beats : float
        how many times as much as the next of the fixed order another one must promise
    """

    model: SubsetModel
    units: tuple[tuple[int, ...], ...]
    prices: Floats
    first: int
    exponent: float
    beats: float

    def choose(self, codes: Codes, known: Bools) -> Ints:
        """The next unit of each row; units of which all is known are never asked."""
        done = np.array([known[:, list(unit)].all(axis=1) for unit in self.units]).T
        per = self._per_price(self.model.falls(np.where(known, codes, 0).astype(np.uint8)))
        per = np.where(done, -1.0, per)
        each, next_one = np.arange(len(codes)), done.argmin(axis=1)
        best = per.argmax(axis=1)
        leaves = per[each, best] > self.beats * np.maximum(per[each, next_one], 1e-4)
        chosen = np.where(leaves, best, next_one)
        return np.where(done.any(axis=1), chosen, self.first)

    def _per_price(self, falls: Floats) -> Floats:
        if all(len(unit) == 1 for unit in self.units):
            worth = falls[:, [unit[0] for unit in self.units]]
            return np.asarray(worth / np.maximum(self.prices, 1e-9) ** self.exponent)
        worth = np.zeros((len(falls), len(self.units)))
        for u, unit in enumerate(self.units):
            each = np.sort(falls[:, list(unit)], axis=1)[:, ::-1]
            worth[:, u] = each[:, 0] + 0.5 * each[:, 1:].sum(axis=1)
        return np.asarray(worth / np.maximum(self.prices, 1e-9) ** self.exponent)


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
    def base(self) -> tuple[Prefix, ...]:
        """The prefixes of the fixed order on which a row's own steps stand."""
        width = len(self.chooser.model.bins)
        return tuple(p for p in self.fixed.parts if len(p.features) <= width)


def answer(chooser: Chooser, logs: Floats, begins: Ints, codes: Codes, known: Bools) -> Floats:
    """(rows, classes) of rows that know ``known`` and whose prefix of ``begins`` cells says
    ``logs``."""
    model, place = chooser.model, np.arange(codes.shape[1])
    now = model.logs(np.where(known, codes, 0).astype(np.uint8))
    before = model.logs(np.where(place < begins[:, None], codes, 0).astype(np.uint8))
    z = logs + now - before
    z = np.exp(z - z.max(axis=1, keepdims=True))
    return np.asarray(z / z.sum(axis=1, keepdims=True))


def longest(sizes: Sequence[int], known: Bools) -> Ints:
    """The longest prefix, as its place in ``sizes``, of which all is known."""
    run = np.logical_and.accumulate(known, axis=1).sum(axis=1)
    return np.asarray(np.searchsorted(np.asarray(sizes), run, side="right") - 1)


def own_order(
    table: Table, fixed: Prefixes, order: Order, price: Price, seed: int, exponent: float = 1.0
) -> OwnOrder | None:
    """The rows' own order, where pipelines left out say clearly that it pays; else None."""
    pipes = fixed.pipelines
    classes, codes = np.unique(table.labels, return_inverse=True)
    table = replace(table, labels=codes.astype(np.int64))
    enough = table.n_rows >= LEAST_ROWS and np.bincount(codes).min() >= LEAST_OF_CLASS
    # with two classes it paid nowhere
    if pipes is None or len(classes) == 2 or not enough or not table.is_whole:
        return None
    steps = min(MOST_STEPS, len(_units(order)))
    if steps < 2:
        return None
    p = np.tile(fixed.shares, (steps + 1, table.n_rows, 1))
    spent = np.zeros((steps + 1, table.n_rows))
    gains = np.zeros(table.n_rows)

    def clear_without(i: int, *, rough: bool = False) -> float:
        """Standard errors after the pipelines up to i; a rough one looks at its own rows alone."""
        out, found = pipes.parted[i]
        rest = table.of_rows(np.setdiff1d(np.arange(table.n_rows), out))
        chooser = _chooser(rest, found, price, len(classes), seed, exponent, rough=rough)
        walked = _walked(
            chooser, table, found, out, pipes, fixed, min(steps, ROUGH_STEPS) if rough else steps
        )
        if not rough:
            p[:, out], spent[:, out] = walked
        gains[out] = _gain(*walked, pipes, fixed, out, table.labels)
        some = np.concatenate([one for one, _ in pipes.parted[: i + 1]])
        return _clear(gains[some], table.weights[some])

    if clear_without(0, rough=True) < HOPE:
        return None
    last = len(pipes.parted) - 1
    if any(clear_without(i) < (HOPE if i < last else CLEAR) for i in range(last + 1)):
        return None
    chooser = _chooser(table, order, price, len(classes), seed, exponent)
    return along(chooser, fixed, *_steps(p, spent, fixed, pipes.judged, steps))


def _units(order: Order) -> list[tuple[int, ...]]:
    """Steps of the order, without what is free, as places in it; as far as MOST_FEATURES."""
    at, found = len(order.steps[0]), []
    for step in order.steps[1:]:
        if at + len(step) > MOST_FEATURES:
            break
        found.append(tuple(range(at, at + len(step))))
        at += len(step)
    return found


def _chooser(
    table: Table, order: Order, price: Price, n_classes: int, seed: int, exponent: float,
    *, rough: bool = False,
) -> Chooser:  # fmt: skip
    """Fit the model and look two steps ahead for the first question."""
    units = _units(order)
    names = order.features()[: units[-1][-1] + 1]
    at = {int(f): j for j, f in enumerate(table.features)}
    part = table.of_features(np.array([at[f] for f in names], dtype=np.int64))
    kinds = [n > 0 for n in part.categories or (0,) * part.width]
    rounds = {"rounds": ROUGH_ROUNDS} if rough else {}
    model = fit_latent_classes(
        part.values, part.labels, part.weights, kinds, n_classes, seed, **rounds
    )
    free = order.features(1)
    prices = np.array([price(free, [names[i] for i in unit]) for unit in units])
    blind = Chooser(model, tuple(units), prices, 0, exponent, BEATS)
    return replace(blind, first=_first(blind, len(free)))


def _first(chooser: Chooser, n_free: int) -> int:
    """The unit after which the best second one is expected to leave least open.

    Where something is free, rows differ from the start, and the fixed order's first is taken.
    """
    model = chooser.model
    if n_free:
        return 0
    nothing = np.zeros((1, len(model.bins)), dtype=np.uint8)
    alone = model.falls(nothing)
    ahead = np.zeros(len(chooser.units))
    for u, unit in enumerate(chooser.units):
        j = unit[0]
        answers, weight = model.answers_of(j)
        after = np.zeros((len(answers), len(model.bins)), dtype=np.uint8)
        after[:, j] = answers
        then = model.falls(after)
        then[:, list(unit)] = 0.0
        second = chooser._per_price(then)
        best = second.argmax(axis=1)
        fall = second.max(axis=1) * chooser.prices[best] ** chooser.exponent
        cost = chooser.prices[u] + chooser.prices[best]
        total = chooser._per_price(alone)[0, u] * chooser.prices[u] ** chooser.exponent + fall
        ahead[u] = float(weight @ (total / np.maximum(cost, 1e-9) ** chooser.exponent))
        ahead[u] /= max(float(weight.sum()), 1e-12)
    best_first = int(ahead.argmax())
    return best_first if ahead[best_first] > 1.1 * ahead[0] else 0


def _walked(
    chooser: Chooser, table: Table, order: Order, out: Ints, pipes: Pipelines, fixed: Prefixes,
    steps: int,
) -> tuple[Floats, Floats]:  # fmt: skip
    """What held-out rows are answered after each question, and what they cost until then."""
    at = {int(f): j for j, f in enumerate(table.features)}
    width = len(chooser.model.bins)
    which = np.array([at[f] for f in order.features()[:width]], dtype=np.int64)
    codes = chooser.model.codes(table.of_features(which).of_rows(out).values)
    known = np.zeros(codes.shape, dtype=bool)
    known[:, : len(order.steps[0])] = True
    sizes = [len(part.features) for part in fixed.parts]
    within = [k for k in pipes.fitted if sizes[k] <= width]
    logs = np.log(np.clip(pipes.p[:, out], 1e-6, 1.0))
    each = np.arange(len(out))
    p, spent = [pipes.p[0, out]], [np.zeros(len(out))]
    for _ in range(steps):
        unit = chooser.choose(codes, known)
        for u in np.unique(unit):
            known[np.ix_(unit == u, chooser.units[u])] = True
        k = np.array(within)[longest([sizes[i] for i in within], known)]
        begins = np.array(sizes)[k]
        p.append(answer(chooser, logs[k, each], begins, codes, known))
        spent.append(spent[-1] + chooser.prices[unit])
    return np.array(p), np.array(spent)


def _gain(
    p: Floats, spent: Floats, pipes: Pipelines, fixed: Prefixes, out: Ints, labels: Ints
) -> Floats:
    """Of each held-out row: how much less it loses than with the fixed order at the same money."""
    each, y = np.arange(len(out)), labels[out]
    ours = -np.log(np.clip(np.array([_stretched(one, y) for one in p[1:]])[:, each, y], 1e-6, 1.0))
    theirs = -np.log(np.clip(pipes.p[pipes.fitted][:, out, y], 1e-6, 1.0))
    prices = fixed.prices[pipes.fitted]
    alike = np.array([np.interp(spent[1:, i], prices, theirs[:, i]) for i in range(len(out))])
    return np.asarray((alike.T - ours).mean(axis=0))


def _stretched(p: Floats, y: Ints) -> Floats:
    """With the slope that the other half of the rows asks for: as they are scaled in the end."""
    found, scores = np.empty_like(p), np.log(np.clip(p, 1e-6, 1.0))
    scores = scores[:, 1:] - scores[:, :1] if p.shape[1] == 2 else scores
    half = np.arange(len(p)) % 2 == 0
    for some, others in ((half, ~half), (~half, half)):
        slope, _ = fit_slope(scores[others], y[others], np.ones(int(others.sum())))
        found[some] = softmax(slope * scores[some])
    return found


def _clear(gains: Floats, weights: Floats) -> float:
    """The mean in standard errors."""
    share = weights / weights.sum()
    mean = float(share @ gains)
    return mean / max(float(np.sqrt(share**2 @ (gains - mean) ** 2)), 1e-12)


def _steps(
    p: Floats, spent: Floats, fixed: Prefixes, judged: Ints, steps: int
) -> tuple[list[Prefix], Floats]:
    """What a row's own steps cost, how they are scaled, and what they say of held-out rows."""
    parts, seen = [], []
    for k in range(1, steps + 1):
        scaling = fit_scaling_cautiously(p[k, judged], fixed.codes, fixed.weights)
        mean = float(np.average(spent[k, judged], weights=fixed.weights))
        cost = fixed.parts[0].price + mean
        parts.append(Prefix((), cost, None, scaling, max(fixed.parts[-1].price - cost, 0.0)))
        seen.append(scaling(p[k, judged]))
    return parts, np.array(seen)


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
        tuple(parts), fixed.classes, fixed.shares, said, fixed.codes, fixed.weights, None,
        chooser=chooser, fixed=replace(fixed, pipelines=None), steps=len(steps),
    )  # fmt: skip
