"""Is a model still as good as when it was learned? A test that may be looked at every day.

When a model was learned, rows left out of its fits gave scores to both classes: the reference. How
far outcomes lie below it is measured in standard errors, those of both sides, in two ways. *The
distance of the classes*: the AUROC, with the errors of DeLong, DeLong and Clarke-Pearson (1988),
and the same in normal scores of the reference (van der Waerden), which a shift of either class
moves with less noise than ranks. *The positives alone*: their places among the reference's
negatives; it counts a little less, and not where the negatives have moved along, for then the AUROC
is as it was. The larger of the two decides.

A look every day would find something sooner or later. So the test decides at set places alone: when
outcomes are worth as much as :data:`BLOCK` of each class (a third positive, 299 outcomes), and then
for each further block, each pair of blocks, four, eight, and so on, from which it follows that a
fall in autumn is not thinned by a good summer. Looking in between changes nothing. The first block
has nearly all of the chance of a false alarm, because a fall from .80 to .70 is to be found by its
end; the others share the rest, each less than the one before, so that a year of any length has at
most 5 % (`python benchmarks/monitoring.py`; the levels were chosen on other seeds than it reports).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist

import numpy as np

from thrifty.array_types import Bools, Floats, Ints

__all__ = ["BLOCK", "Reference", "Watched", "begins", "watch"]

#: what a block of outcomes is worth: n1 n0 / (n1 + n0) of its positives and negatives
BLOCK = 66.5
#: chance of a false alarm at the end of the first block, at half of it, and of all others together
#: on each level; see above
_FIRST, _HALF, _LATER = 0.0345, 0.0005, 0.0008
#: how much normal scores count beside the AUROC; by how many standard errors less the positives
#: count alone, and how far the negatives may have come along. Chosen among 18 by 3,000 runs of one
#: block with other seeds
_NORMAL_PART, _LESS, _ALONG = 0.7, 0.4, 1.5
#: the least spread that a standard error is made of, where one class has hardly any
_LEAST_SPREAD = 1e-3
_NORMAL = NormalDist()


@dataclass(frozen=True, eq=False)
class Reference:
    """Scores of the two classes on rows left out when the model was learned.

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

    @cached_property
    def _places(self) -> tuple[Floats, Floats]:
        """Of each positive the share of negatives below it; of each negative, positives above."""
        p = _share_below(self.negatives, self.positives)
        return p, 1 - _share_below(self.positives, self.negatives)

    def fallen(self, scores: Floats, y: Bools) -> float:
        """How far below it outcomes stand, in standard errors."""
        p, n = self._places
        n1, n0 = int(y.sum()), int((~y).sum())
        of_p, of_n = _variance(p, n1), _variance(n, n0)
        now = float(_share_below(scores[~y], scores[y]).mean())
        by_auroc = (p.mean() - now) / np.sqrt(of_p + of_n)
        by_both = _NORMAL_PART * self._distance_fallen(scores, y) + (1 - _NORMAL_PART) * by_auroc
        here = self._ordered
        positives = p.mean() - _share_below(here.negatives, scores[y]).mean()
        negatives = n.mean() - 1 + _share_below(here.positives, scores[~y]).mean()
        along = negatives < -_ALONG * np.sqrt(of_n)
        alone = -np.inf if along else positives / np.sqrt(of_p) - _LESS
        return float(max(by_both, alone))

    def _distance_fallen(self, scores: Floats, y: Bools) -> float:
        p, n = self._normal_scores
        new_p, new_n = self._normal(scores[y]), self._normal(scores[~y])
        fallen = (p.mean() - n.mean()) - (new_p.mean() - new_n.mean())
        return float(fallen / np.sqrt(_variance(p, len(new_p)) + _variance(n, len(new_n))))

    @cached_property
    def _normal_scores(self) -> tuple[Floats, Floats]:
        return self._normal(self.positives), self._normal(self.negatives)

    @cached_property
    def _ordered(self) -> Reference:
        return Reference(np.sort(self.negatives), np.sort(self.positives))

    def _normal(self, scores: Floats) -> Floats:
        """Normal scores in the reference, both classes counting alike."""
        from scipy.special import ndtri  # takes long to load

        here = self._ordered
        share = (_share_below(here.negatives, scores) + _share_below(here.positives, scores)) / 2
        least = 0.5 / (len(self.negatives) + len(self.positives))
        return np.asarray(ndtri(np.clip(share, least, 1 - least)))


def _variance(reference: Floats, n: int) -> float:
    """Of the difference of two means: of the reference's values, and of n outcomes'."""
    return float(max(reference.std(), _LEAST_SPREAD) ** 2 * (1 / n + 1 / len(reference)))


def _share_below(reference: Floats, scores: Floats) -> Floats:
    ordered = np.sort(reference)
    low = np.searchsorted(ordered, scores, side="left")
    high = np.searchsorted(ordered, scores, side="right")
    return np.asarray((low + high) / (2 * len(ordered)))


@dataclass(frozen=True, eq=False)
class Watched:
    """What the test has decided: at which outcome it cried.

    ``decided`` is the last outcome at which it has decided anything, None before the first block.
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
    ends = _ends(y, BLOCK)
    decided = int(ends[0]) if len(ends) else None
    for start, end, chance in _decisions(y, ends):
        if reference.fallen(scores[start:end], y[start:end]) > -_NORMAL.inv_cdf(chance):
            return Watched(end - 1, end - 1)
    return Watched(None, decided)


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


def _decisions(y: Bools, ends: Ints) -> Iterator[tuple[int, int, float]]:
    """From where to where outcomes are judged, and with which chance of a false alarm.

    They come in the order of their ends.
    """
    found = [(0, int(end), _HALF) for end in _ends(y, BLOCK / 2)[:1]]
    starts = np.concatenate([[0], ends])
    level = 0
    while 2**level <= len(ends):
        size = 2**level
        for k in range(len(ends) // size):
            later = _LATER / (k + 1) ** 1.5
            chance = _FIRST if level == k == 0 else later
            found.append((int(starts[k * size]), int(starts[(k + 1) * size]), chance))
        level += 1
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
