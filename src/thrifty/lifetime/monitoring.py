"""Is a model still as good as when it was learned? A test that may be looked at every day.

When a model was learned, rows left out of its fits gave scores to both classes: the reference. What
became true since is laid into it. The score of a row that turned out positive has a place among the
reference's negatives (the share of them below it), a negative one a place among the positives (the
share above it); the mean place of either is the AUROC where nothing has changed. How far the places
of the positives, and of all rows, have fallen below the reference's AUROC is measured in standard
errors, those of the reference included. Beyond :func:`alarm` at any look the model is worse.

Its numbers were chosen by simulation, `python benchmarks/monitoring.py`, so that a look every day
of a year gives a false alarm in at most 5 of 100 years.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from thrifty.array_types import Bools, Floats

__all__ = ["LEAST", "Reference", "Watched", "alarm", "watch"]

#: standard errors below a reference without end, and how much fewer they are with an error of its
#: own, which all looks share; see above
_ALARM, _SHARED = 3.0, 25.0
#: rows of each class before anything is said
LEAST = 20


def alarm(error: float) -> float:
    """Standard errors below the reference at which a model is called worse.

    >>> alarm(0.0)
    3.0
    """
    return max(_ALARM - _SHARED * error, 2.3)


@dataclass(frozen=True, eq=False)
class Reference:
    """Scores of the two classes on rows left out when the model was learned.

    >>> Reference(np.array([0.1, 0.2]), np.array([0.15, 0.9])).auroc
    0.75
    """

    negatives: Floats
    positives: Floats

    def places(self, scores: Floats, y: Bools) -> Floats:
        """Of each row, the share of the other class's reference that it stands on the right of."""
        below = _share_below(self.negatives, scores)
        above = 1 - _share_below(self.positives, scores)
        return np.where(y, below, above)

    @property
    def auroc(self) -> float:
        return float(_share_below(self.negatives, self.positives).mean())

    def spreads(self) -> tuple[float, float, float]:
        """Spread of the places of positives, of negatives, and the AUROC's standard error."""
        p = _share_below(self.negatives, self.positives)
        n = 1 - _share_below(self.positives, self.negatives)
        error = np.sqrt(p.var() / len(p) + n.var() / len(n))
        return float(max(p.std(), 1e-3)), float(max(n.std(), 1e-3)), float(error)


def _share_below(reference: Floats, scores: Floats) -> Floats:
    ordered = np.sort(reference)
    low = np.searchsorted(ordered, scores, side="left")
    high = np.searchsorted(ordered, scores, side="right")
    return np.asarray((low + high) / (2 * len(ordered)))


@dataclass(frozen=True, eq=False)
class Watched:
    """How far below the reference each look stood, and the first look of an alarm."""

    standard_errors: Floats
    alarm_at: int | None
    enough: bool

    @property
    def sentence(self) -> str:
        if not self.enough:
            return "too few to say"
        return "still as good as when it was learned" if self.alarm_at is None else "worse"


def watch(reference: Reference, scores: Floats, y: Bools) -> Watched:
    """Look after every outcome, in the order in which they became known.

    >>> rng = np.random.default_rng(0)
    >>> learned = Reference(rng.normal(size=600), rng.normal(1.2, 1, 300))
    >>> y = rng.random(400) < 0.3
    >>> watch(learned, rng.normal(size=400) + 1.2 * y, y).sentence
    'still as good as when it was learned'
    >>> watch(learned, rng.normal(size=400), y).sentence
    'worse'
    """
    y = np.asarray(y, dtype=bool)
    fallen = reference.auroc - reference.places(scores, y)
    of_p, of_n, error = reference.spreads()
    n1, n0 = np.cumsum(y), np.cumsum(~y)
    positives, both = np.cumsum(np.where(y, fallen, 0.0)), np.cumsum(fallen)
    n = n1 + n0
    with np.errstate(divide="ignore", invalid="ignore"):
        z1 = positives / np.sqrt(of_p**2 * n1 + (error * n1) ** 2)
        z2 = both / np.sqrt(of_p**2 * n1 + of_n**2 * n0 + (error * n) ** 2)
    enough = (n1 >= LEAST) & (n0 >= LEAST)
    found = np.where(enough, np.fmax(z1, z2), -np.inf)
    beyond = np.flatnonzero(found > alarm(error))
    return Watched(found, int(beyond[0]) if len(beyond) else None, bool(enough.any()))
