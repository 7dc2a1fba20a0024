"""How good a model is, from rows it did not see, with an interval.

Every row is scored by a model fitted without it (three folds) and counts for as many rows of the
task as it stands for: rows are bought by class, and without their weights a rare class would look
common. The interval is symmetric in log-odds, from draws of the
same rows with repetition, by class (Efron and Tibshirani, 1993): 1.96 of their standard deviations
times 1.25. As wide as the draws say it would hold too seldom: they know nothing of features that
the same rows chose, of models of fewer rows than the one that is judged, nor of cells that were not
bought. Of few rows they also know their own spread badly: below about 20 rows of the rarest class
the interval is wider still. A figure of 1 has no spread at all, yet k rows without a fault say only
that faults are not common: the low end is at most the figure times .025^(1 / k), k rows of the
rarest class (Clopper and Pearson, 1934). `python benchmarks/promises.py intervals` counts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from thrifty.array_types import Floats, Ints
from thrifty.typing import Json, JsonLike

__all__ = [
    "Figure",
    "Quality",
    "draws_of_rows",
    "figures_of",
    "quality_from_dict",
    "quality_of",
    "widened",
]

#: draws of the interval: its ends are the fifth of each side; set by hand
_DRAWS = 200
#: at most so many rows times draws at once: 32 MB of numbers
_AT_ONCE = 4_000_000
#: rows of every class without which nothing is said: two a fold; set by hand
_LEAST = 6
#: how much wider than the draws say: so wide that 95 % hold and no wider than 1.4 times what fresh
#: rows would say; chosen on the designs of `python benchmarks/promises.py intervals`
_WIDER = 1.25
#: and for few rows times 1 + (few / k)^3, the second at most, of average precision and of AUROC,
#: whose draws know their spread better; on the same designs, seeds 60000 to 60199: with 12 and 2.2
#: for both the AUROC of 60 rows held in 99 %, with 9 for both the average precision in 91.5 %
_FEW = ((10.5, 2.2), (7.5, 2.0))
#: of numbers; chosen with `python benchmarks/intervals.py --numbers`
_WIDER_NUMBERS = 2.0
#: at either end
_OUTSIDE = 0.025


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure and the ends of its interval, about 95 %."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.2f} ({self.low:.2f} to {self.high:.2f})"


@dataclass(frozen=True, slots=True)
class Quality:
    """Cross-validated quality of a model.

    Attributes
    ----------
    average_precision : Figure
        of the rarer class; of more than two, the mean over the classes
    auc : Figure
        area under the ROC curve, likewise
    guessing : float
        the average precision of guessing
    rows : int
        how many rows it was measured on
    rare : int or None
        code of the rarer class; None where there are more than two

    >>> codes = np.array([0] * 30 + [1] * 10)
    >>> right = np.column_stack([1.0 - codes, codes])
    >>> found = quality_of(right, codes, np.ones(40))
    >>> str(found.average_precision), found.guessing, found.rows
    ('1.00 (0.69 to 1.00)', 0.25, 40)
    """

    average_precision: Figure
    auc: Figure
    guessing: float
    rows: int
    rare: int | None

    @property
    def beyond_guessing(self) -> bool:
        """Whether rows left out show more than guessing would: the interval of the AUC does."""
        return self.auc.low > 0.5

    def to_dict(self) -> Json:
        """Plain data, for JSON."""
        precision, area = self.average_precision, self.auc
        return {
            "average_precision": [precision.value, precision.low, precision.high],
            "auc": [area.value, area.low, area.high],
            "guessing": self.guessing,
            "rows": self.rows,
            "rare": self.rare,
        }


def quality_from_dict(data: JsonLike | None) -> Quality | None:
    """The inverse of :meth:`Quality.to_dict`; None where nothing was measured."""
    if data is None:
        return None
    return Quality(
        Figure(*map(float, data["average_precision"])),
        Figure(*map(float, data["auc"])),
        float(data["guessing"]),
        int(data["rows"]),
        None if data["rare"] is None else int(data["rare"]),
    )


def quality_of(
    probabilities: Floats,
    codes: Ints,
    weights: Floats,
    seed: int = 0,
    wider: float = _WIDER,
    groups: Ints | None = None,
) -> Quality | None:
    """Quality of probabilities that came from models without the row; None with too few rows.

    Parameters
    ----------
    probabilities : array of float
        (rows, classes)
    codes, weights : array of int and array of float
        the class of each row, and how many rows it stands for
    wider : float
        how much wider than the draws say the intervals are
    groups : array of int or None
        rows that are drawn together: an interval is of so many groups, not of their rows
    """
    sizes = np.bincount(codes, minlength=probabilities.shape[1])
    if groups is not None:  # of each class, how many groups have it
        sizes = np.array([len(np.unique(groups[codes == c])) for c in range(len(sizes))])
    if sizes.min() < _LEAST:
        return None
    shares = np.bincount(codes, weights=weights, minlength=len(sizes)) / weights.sum()
    rare = int(shares.argmin()) if len(sizes) == 2 else None
    wanted = range(len(sizes)) if rare is None else [rare]
    counts = draws_of_rows(codes, np.random.default_rng(seed), groups)
    both = np.mean(
        [figures_of(probabilities[:, c], codes == c, counts * weights) for c in wanted], axis=0
    )
    figures = [_figure(drawn, int(sizes.min()), wider, few) for drawn, few in zip(both, _FEW)]
    guessing = float(np.mean([shares[c] for c in wanted]))
    return Quality(figures[0], figures[1], guessing, len(codes), rare)


def _figure(
    drawn: Floats, k: int, wider: float = _WIDER, few: tuple[float, float] = _FEW[0]
) -> Figure:
    """The first is the figure, the others its draws; k rows of the rarest class.

    >>> str(_figure(np.ones(201), 10)), str(_figure(np.ones(201), 100))
    ('1.00 (0.69 to 1.00)', '1.00 (0.96 to 1.00)')
    >>> str(_figure(np.repeat([0.5, 0.4, 0.6], [1, 100, 100]), 100))
    '0.50 (0.27 to 0.73)'
    """
    # half a row from either end: log-odds of nothing but ones
    edge = 0.5 / (k + 1)
    logs = logit(np.clip(drawn, edge, 1 - edge))
    half = 1.96 * min(wider * (1 + (few[0] / k) ** 3), max(wider, few[1])) * logs[1:].std()
    low, high = expit([logs[0] - half, logs[0] + half]).tolist()
    value, rows = float(drawn[0]), _OUTSIDE ** (1 / k)
    return Figure(value, min(low, value * rows), max(high, 1 - (1 - value) * rows))


def widened(at: float, low: float, high: float) -> tuple[float, float]:
    """The ends of an interval of a model of numbers, so much wider than the draws say.

    >>> widened(1.0, 0.5, 2.0)
    (0.0, 3.0)
    """
    return at - _WIDER_NUMBERS * (at - low), at + _WIDER_NUMBERS * (high - at)


def draws_of_rows(codes: Ints, rng: np.random.Generator, groups: Ints | None = None) -> Floats:
    """(1 + draws, rows) how often each row is drawn, by class; in the first line once each.

    With ``groups`` a group is drawn as a whole, among those that begin with the same class.
    """
    if groups is not None:
        _, first, at = np.unique(groups, return_index=True, return_inverse=True)
        return draws_of_rows(codes[first], rng)[:, at.reshape(-1)]
    n = max(20, min(_DRAWS, _AT_ONCE // len(codes)))
    counts = np.ones((1 + n, len(codes)))
    for code in np.unique(codes):
        rows = np.flatnonzero(codes == code)
        counts[1:, rows] = rng.multinomial(len(rows), np.full(len(rows), 1 / len(rows)), size=n)
    return counts


def figures_of(scores: Floats, positive: NDArray[np.bool_], weights: Floats) -> Floats:
    """(2, lines) average precision and area under the ROC curve, for each line of weights."""
    order = np.argsort(-scores, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(scores[order])), len(order) - 1)  # of equal scores
    here = weights[:, order]
    hits = np.cumsum(np.where(positive[order], here, 0.0), axis=1)[:, ends]
    passed = np.cumsum(here, axis=1)[:, ends]
    misses = passed - hits
    new_hits = np.diff(hits, axis=1, prepend=0.0)
    new_misses = np.diff(misses, axis=1, prepend=0.0)
    of_each = np.divide(hits, passed, out=np.zeros_like(hits), where=passed > 0)
    precision = (new_hits * of_each).sum(axis=1) / hits[:, -1]
    area = (new_misses * (hits - new_hits / 2)).sum(axis=1) / (hits[:, -1] * misses[:, -1])
    return np.vstack([precision, area])
