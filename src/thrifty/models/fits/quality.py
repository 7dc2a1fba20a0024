"""How good a model is, from rows it did not see, with an interval.

Every row is scored by a model fitted without it (three folds) and counts for as many rows of the
task as it stands for: rows are bought by class, and without their weights a rare class would look
common. The interval is the middle 95 % of draws of the same rows with repetition, by class (Efron
and Tibshirani, 1993), twice as wide in log-odds: such draws know nothing of features that the same
rows chose, nor of cells that were not bought, and held the figure of new rows in 72 of 107 models
(average precision) and 83 (area under the curve); twice as wide in 102 and 105
(`benchmarks/intervals.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from thrifty.array_types import Floats, Ints
from thrifty.typing import Json, JsonLike

__all__ = ["Figure", "Quality", "quality_from_dict", "quality_of", "widened"]

#: draws of the interval: its ends are the fifth of each side; set by hand
_DRAWS = 200
#: at most so many rows times draws at once: 32 MB of numbers
_AT_ONCE = 4_000_000
#: rows of every class without which nothing is said: two a fold; set by hand
_LEAST = 6
#: how much wider than the draws say; chosen on tmc2007_500, slashdot, nhanes, jester_items and
#: yeast, held to all sets by `python benchmarks/intervals.py`
_WIDER = 2.0
#: figures are kept so far from 0 and 1 for it; set by hand
_EDGE = 1e-3


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
    ('1.00 (1.00 to 1.00)', 0.25, 40)
    """

    average_precision: Figure
    auc: Figure
    guessing: float
    rows: int
    rare: int | None

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
    probabilities: Floats, codes: Ints, weights: Floats, seed: int = 0
) -> Quality | None:
    """Quality of probabilities that came from models without the row; None with too few rows.

    Parameters
    ----------
    probabilities : array of float
        (rows, classes)
    codes, weights : array of int and array of float
        the class of each row, and how many rows it stands for
    """
    sizes = np.bincount(codes, minlength=probabilities.shape[1])
    if sizes.min() < _LEAST:
        return None
    shares = np.bincount(codes, weights=weights, minlength=len(sizes)) / weights.sum()
    rare = int(shares.argmin()) if len(sizes) == 2 else None
    wanted = range(len(sizes)) if rare is None else [rare]
    counts = _draws(codes, np.random.default_rng(seed))
    both = np.mean(
        [_figures(probabilities[:, c], codes == c, counts * weights) for c in wanted], axis=0
    )
    figures = [_figure(float(x[0]), *np.quantile(x[1:], (0.025, 0.975)).tolist()) for x in both]
    guessing = float(np.mean([shares[c] for c in wanted]))
    return Quality(figures[0], figures[1], guessing, len(codes), rare)


def _figure(value: float, low: float, high: float) -> Figure:
    """The ends twice as far from the value, in log-odds; what is certain stays so.

    >>> str(_figure(0.5, 0.4, 0.5)), str(_figure(1.0, 1.0, 1.0))
    ('0.50 (0.31 to 0.50)', '1.00 (1.00 to 1.00)')
    """
    lower, upper = expit(widened(*logit(np.clip([value, low, high], _EDGE, 1 - _EDGE))))
    return Figure(value, min(float(lower), low), max(float(upper), high))


def widened(at: float, low: float, high: float) -> tuple[float, float]:
    """The ends of an interval, so much wider than the draws say.

    >>> widened(1.0, 0.5, 2.0)
    (0.0, 3.0)
    """
    return at - _WIDER * (at - low), at + _WIDER * (high - at)


def _draws(codes: Ints, rng: np.random.Generator) -> Floats:
    """(1 + draws, rows) how often each row is drawn; in the first line once each."""
    n = max(20, min(_DRAWS, _AT_ONCE // len(codes)))
    counts = np.ones((1 + n, len(codes)))
    for code in np.unique(codes):
        rows = np.flatnonzero(codes == code)
        counts[1:, rows] = rng.multinomial(len(rows), np.full(len(rows), 1 / len(rows)), size=n)
    return counts


def _figures(scores: Floats, positive: NDArray[np.bool_], weights: Floats) -> Floats:
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
