"""Is a model still as good as when it was learned? A test that may be looked at every day.

When a model was learned, held-out rows of its fits gave scores to both classes: the reference. If
nothing has changed, scores of outcomes and of the reference are drawn alike in each class, and it
is chance which of them are which. So each class is compared by ranks, in normal scores (van der
Waerden), whose variance over all such draws is known: nothing is estimated from the reference, and
the test is as exact with 60 rows or an AUROC of .99 as with thousands. *Both classes*: positives
that stand lower and negatives that stand higher, added. *The positives alone*: with less noise; it
counts :data:`_LESS` standard errors less, and not where the negatives have come down as well, for
then the AUROC is as it was. The larger of the two decides, and its chance is that of either.

A look every day would find something sooner or later. So the test decides at set places alone.
Outcomes are worth n1 n0 / (n1 + n0) of their positives and negatives. The first decision is at half
a :data:`BLOCK`, six more follow until it is full (a third positive: about 299 outcomes), so that a
fall is seen soon, whenever the positives come; then of the last block, two, four, eight and so on,
again at every quarter of them: wherever a fall begins, a window begins near to it, and a fall in
autumn is not thinned by a good summer. Looking in between changes nothing. The first block has
nearly all of the chance of a false alarm; the others share the rest, each less than the one before,
so that a year of any length has at most 5 % (`python benchmarks/promises.py monitoring`; the levels
were chosen on other seeds).

Have inputs moved? Cells that predictions asked for, held against those that were learned from.

Of every feature of a model, the cells it was learned from are laid into at most eight bins of equal
weight (categories are bins of their own) and one for gaps; a prediction counts what it is told in
the same bins. Counts are kept, never values. A feature that was asked of some rows alone says
nothing here: which rows were asked for it depends on what was told before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np

from thrifty.typing import AnyArray, Bools, Floats, Ints

if TYPE_CHECKING:
    from thrifty.models.table import Table

#: what a block of outcomes is worth: n1 n0 / (n1 + n0) of its positives and negatives
BLOCK = 66.5
#: shares of the first block at which it is judged, and the chance of a false alarm at each
_FIRST_BLOCK = (
    (0.5, 0.0014),
    (0.625, 0.0057),
    (0.75, 0.0152),
    (0.8125, 0.019),
    (0.875, 0.0238),
    (0.9375, 0.0285),
    (1.0, 0.0342),
)
#: windows after it end at each of so many parts of them, and the chance of a false alarm at the
#: first of them
_STEPS, _LATER = 4, 0.006
#: by how many standard errors less the positives count alone
_LESS = 0.3
_NORMAL = NormalDist()


@dataclass(frozen=True, eq=False)
class Reference:
    """Scores of the two classes on held-out rows when the model was learned.

    >>> Reference(np.array([0.1, 0.2]), np.array([0.15, 0.9])).auroc
    0.75
    """

    negatives: Floats
    positives: Floats

    @property
    def auroc(self) -> float:
        return float(_share_below(self.negatives, self.positives).mean())

    def interval(self) -> tuple[float, float]:
        """Of the AUROC, 95 %.

        >>> rng = np.random.default_rng(0)
        >>> low, high = Reference(rng.normal(size=200), rng.normal(1, 1, 100)).interval()
        >>> low < 0.76 < high and 0.05 < high - low < 0.15
        True
        """
        p, n = self._places
        error = np.sqrt(p.var() / len(p) + n.var() / len(n))
        value = self.auroc
        return float(max(value - 1.96 * error, 0)), float(min(value + 1.96 * error, 1))

    @property
    def _places(self) -> tuple[Floats, Floats]:
        """Of each positive the share of negatives below it; of each negative, positives above."""
        p = _share_below(self.negatives, self.positives)
        return p, 1 - _share_below(self.positives, self.negatives)

    def fallen(self, scores: Floats, y: Bools) -> float:
        """How far below it outcomes stand, in standard errors."""
        lower, of_lower = _moved_down(self.positives, scores[y])
        higher, of_higher = _moved_down(scores[~y], self.negatives)
        tiny = 1e-12  # scores may be all alike
        both = (lower + higher) / max(of_lower + of_higher, tiny) ** 0.5
        if higher / max(of_higher, tiny) ** 0.5 < -2.0:  # so far the negatives may come along
            return float(both)
        return float(max(both, lower / max(of_lower, tiny) ** 0.5 - _LESS))


def _chance(fallen: float) -> float:
    """At most the chance that either of the two comparisons stands so far below by luck."""
    return _NORMAL.cdf(-fallen) + _NORMAL.cdf(-fallen - _LESS)


def _moved_down(before: Floats, after: Floats) -> tuple[float, float]:
    """By how many normal scores ``after`` is lower, and the variance of that among all draws.

    >>> down, variance = _moved_down(np.array([1.0, 2, 3, 4]), np.array([0.0, 0, 0]))
    >>> down / variance**0.5 > 2
    True
    """
    from scipy.special import ndtri  # takes long to load

    both = np.concatenate([before, after])
    normal = ndtri(_share_below(both, both))  # ties in the middle: never 0 or 1
    down = normal[: len(before)].mean() - normal[len(before) :].mean()
    spread = ((normal - normal.mean()) ** 2).sum() / max(len(both) - 1, 1)
    return float(down), float(spread * (1 / len(before) + 1 / len(after)))


def _share_below(reference: Floats, scores: Floats) -> Floats:
    ordered = np.sort(reference)
    low = np.searchsorted(ordered, scores, side="left")
    high = np.searchsorted(ordered, scores, side="right")
    return np.asarray((low + high) / (2 * len(ordered)))


@dataclass(frozen=True, eq=False)
class Watched:
    """What the test has decided: at which outcome it cried.

    ``decided`` is the outcome from which on it says that a model is as good as it was, None before.
    """

    alarm_at: int | None
    decided: int | None

    @property
    def sentence(self) -> str:
        if self.alarm_at is not None:
            return "worse"
        return "too few to say" if self.decided is None else "still as good as when it was learned"


def watch(reference: Reference, scores: Floats, y: Bools) -> Watched:
    """Decide on outcomes in the order in which they became known.

    >>> rng = np.random.default_rng(0)
    >>> learned = Reference(rng.normal(size=600), rng.normal(1.2, 1, 300))
    >>> y = rng.random(400) < 0.3
    >>> watch(learned, rng.normal(size=400) + 1.2 * y, y).sentence
    'still as good as when it was learned'
    >>> watch(learned, rng.normal(size=400), y).sentence
    'worse'
    >>> watch(learned, rng.normal(size=40), y[:40]).sentence
    'too few to say'
    """
    y = np.asarray(y, dtype=bool)
    for start, end, chance in _decisions(y):
        if _chance(reference.fallen(scores[start:end], y[start:end])) < chance:
            return Watched(end - 1, end - 1)
    # before this much of a block that nothing was found says too little
    speaks = _ends(y, 0.75 * BLOCK)[:1]
    return Watched(None, int(speaks[0]) if len(speaks) else None)


def _ends(y: Bools, worth: float) -> Ints:
    """After how many outcomes each block is full.

    >>> _ends(np.arange(1000) % 3 == 0, 66.5)
    array([299, 598, 898])
    """
    ends: list[int] = []
    start = 0
    while True:
        n1, n0 = np.cumsum(y[start:]), np.cumsum(~y[start:])
        full = np.flatnonzero(n1 * n0 >= worth * (n1 + n0))
        full = full[n1[full] * n0[full] > 0]
        if not len(full):
            return np.array(ends, dtype=np.int64)
        start += int(full[0]) + 1
        ends.append(start)


def _decisions(y: Bools) -> Iterator[tuple[int, int, float]]:
    """From where to where outcomes are judged, and with which chance of a false alarm.

    They come in the order of their ends.
    """
    found = [
        (0, int(end), chance)
        for share, chance in _FIRST_BLOCK
        for end in _ends(y, share * BLOCK)[:1]
    ]
    ends = [0, *_ends(y, BLOCK / _STEPS).tolist()]
    n, step = len(ends) - 1, 1
    while _STEPS * step <= n:  # windows of a block, two, four, eight, ... by quarters of their own
        for end in range((_STEPS + (step == 1)) * step, n + 1, step):
            chance = _LATER * (_STEPS / end) ** 1.5  # less and less: their sum is small
            found.append((ends[end - _STEPS * step], ends[end], chance))
        step *= 2
    yield from sorted(found, key=lambda one: (one[1], -one[0]))


def begins(reference: Reference, scores: Floats, y: Bools, places: Sequence[int]) -> int:
    """Where a fall begins, most likely, among some places: from there on they stand lowest.

    >>> rng = np.random.default_rng(0)
    >>> learned = Reference(rng.normal(size=600), rng.normal(1.2, 1, 300))
    >>> y = rng.random(600) < 0.3
    >>> scores = rng.normal(size=600) + 1.2 * y * (np.arange(600) < 300)
    >>> begins(learned, scores, y, range(0, 600, 100))
    300
    """
    worth = []
    for start in places:
        n1, n0 = int(y[start:].sum()), int((~y[start:]).sum())
        if n1 * n0 > 0 and n1 * n0 >= BLOCK / 4 * (n1 + n0):
            worth.append(start)
    return max(worth or [0], key=lambda start: reference.fallen(scores[start:], y[start:]))


_BINS = 8
#: the last bin is that of gaps
_WIDTH = _BINS + 1


@runtime_checkable
class HasTable(Protocol):
    """A model that keeps what it was learned from."""

    feature_names_: tuple[str, ...]
    table_: Table


@dataclass(frozen=True, slots=True)
class Moved:
    """A feature whose values are not spread as they were: how far, and how many rows say so."""

    feature: str
    distance: float
    rows: int


@dataclass(frozen=True, eq=False)
class InputBins:
    """Where the bins of each feature end, and what share of what was learned from is in each.

    ``counted`` is how many rows those shares are worth.
    """

    features: Ints
    edges: Floats
    shares: Floats
    counted: Floats

    def places(self, positions: Ints, values: Floats) -> Ints:
        """The bin of each value, (n, k); in the bins of one position each column."""
        found = np.zeros(values.shape, dtype=np.int64)
        for edge in self.edges[positions].T:  # NaN, where there are fewer, is below nothing
            found += edge < values
        return np.where(np.isnan(values), _BINS, found)


def bins_of(table: Table) -> InputBins:
    """The bins of a table, each with about as much weight as any other.

    >>> from thrifty.models.table import Table
    >>> values = np.arange(80.0)[:, None]
    >>> table = Table(np.array([3]), np.arange(80), values, np.ones((80, 1), bool), np.ones(80),
    ...               np.zeros(80))
    >>> bins_of(table).shares.round(3).tolist()
    [[0.125, 0.125, 0.125, 0.125, 0.125, 0.125, 0.125, 0.125, 0.0]]
    """
    k = len(table.features)
    edges, shares, counted = np.full((k, _BINS - 1), np.nan), np.zeros((k, _WIDTH)), np.zeros(k)
    for i in range(k):
        there = table.bought[:, i]
        values = table.values[there, i].astype(np.float64)
        weights = table.weights[there].astype(np.float64)
        known = ~np.isnan(values)
        if known.any():
            order = np.argsort(values[known], kind="stable")
            level = np.cumsum(weights[known][order]) / weights[known].sum()
            at = np.searchsorted(level, np.arange(1, _BINS) / _BINS, side="left")
            ends = np.unique(values[known][order][np.minimum(at, len(order) - 1)])
            edges[i, : len(ends)] = ends
        one = InputBins(table.features[i : i + 1], edges[i : i + 1], shares[:1], counted[:1])
        total = weights.sum()
        if total > 0:
            bins = one.places(np.zeros(1, dtype=np.int64), values[:, None])[:, 0]
            shares[i] = np.bincount(bins, weights, minlength=_WIDTH) / total
            counted[i] = total**2 / (weights**2).sum()
    return InputBins(table.features, edges, shares, counted)


class InputCounts:
    """What a prediction is told, in the bins of its model."""

    def __init__(self, bins: InputBins) -> None:
        self._bins = bins
        self._at = {f: i for i, f in enumerate(bins.features.tolist())}
        self.counts = np.zeros((len(bins.features), _WIDTH), dtype=np.int64)
        #: by row, the positions that were told: a row is counted once
        self._seen: Bools = np.zeros((0, len(bins.features)), dtype=np.bool_)

    def __call__(self, rows: Ints, features: Ints, values: AnyArray) -> None:
        """Watches a reader."""
        known = [(c, self._at[f]) for c, f in enumerate(features.tolist()) if f in self._at]
        if not known or not len(rows):
            return
        columns, positions = np.array(known, dtype=np.int64).T
        self._make_room(int(rows.max()) + 1)
        _, first = np.unique(rows, return_index=True)  # a row may be asked for twice
        at_once = 8192
        for start in range(0, len(first), at_once):
            some = first[start : start + at_once]
            told = np.asarray(values[some[:, None], columns], dtype=np.float64)
            self._count(rows[some][:, None], positions, told)

    def _make_room(self, n: int) -> None:
        if n > len(self._seen):
            more = np.zeros((max(n, 2 * len(self._seen)), self._seen.shape[1]), dtype=np.bool_)
            more[: len(self._seen)] = self._seen
            self._seen = more

    def _count(self, rows: Ints, positions: Ints, told: Floats) -> None:
        """Rows (n, 1) and the positions of their columns; what is told of them, (n, k)."""
        new = ~self._seen[rows, positions]
        self._seen[rows, positions] = True
        at = np.broadcast_to(positions, told.shape)[new] * _WIDTH
        bins = self._bins.places(positions, told)[new]
        self.counts += np.bincount(at + bins, minlength=self.counts.size).reshape(self.counts.shape)


def moved_inputs(
    names: tuple[str, ...], shares: Floats, counted: Floats, counts: Ints, rows: int
) -> tuple[Moved, ...]:
    """Features asked of all rows whose counts are not those that were learned from, farthest first.

    >>> shares, counted = np.full((1, 9), 1 / 9), np.array([900.0])
    >>> moved_inputs(("tsh",), shares, counted, np.array([[100] * 9]), 900)
    ()
    >>> moved_inputs(("tsh",), shares, counted, np.array([[300, 75, 75, 75, 75, 75, 75, 75, 75]]),
    ...              900)
    (Moved(feature='tsh', distance=0.30..., rows=900),)
    """
    from scipy.special import chdtrc  # takes long to load

    asked = np.flatnonzero((counts.sum(axis=1) == rows) & (rows > 0) & (counted > 0))
    found = []
    for i in asked.tolist():
        now = counts[i] / rows
        both = (counts[i] + shares[i] * counted[i]) / (rows + counted[i])
        there = both > 0
        apart = (now[there] - shares[i][there]) ** 2 / both[there]
        statistic = float(apart.sum()) / (1 / rows + 1 / counted[i])
        chance = float(chdtrc(max(int(there.sum()) - 1, 1), statistic))
        a, b = (now + 0.5 / rows), (shares[i] + 0.5 / counted[i])
        distance = float(((a / a.sum() - b / b.sum()) * np.log(a / a.sum() * b.sum() / b)).sum())
        # unlikely over all features together; and far, for many rows find any trifle (from a
        # population stability index of .1 on its users begin to look)
        if chance < 0.01 / len(asked) and distance > 0.1:
            found.append(Moved(names[i], distance, rows))
    return tuple(sorted(found, key=lambda one: -one.distance))
