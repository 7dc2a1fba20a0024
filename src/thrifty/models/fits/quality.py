"""How good a model is, from rows it did not see, with an interval.

Every row is scored by a model fitted without it (three folds) and counts for as many rows of the
task as it stands for: rows are bought by class, and without their weights a rare class would look
common. Rows that chose the features are left out where enough others are there: on them features
look better than they are. The interval is symmetric in log-odds, from draws of the same rows with
repetition, by class (Efron and Tibshirani, 1993): 1.96 of their standard deviations times 1.25, 1.3
where rows were left out. As wide as the draws say it would hold too seldom: they know nothing of
models of fewer rows than the one that is judged, nor of cells that were not bought. Of few rows
they also know their own spread badly: below about 20 rows of the rarest class the interval is wider
still. A figure of 1 has no spread at all, yet k rows without a fault say only that faults are not
common: the low end is at most the figure times .025^(1 / k), k rows of the rarest class (Clopper
and Pearson, 1934).

It holds in about 92 % of the cases or more; of few rows without any signal in 85 %, and then the
model says so. `python benchmarks/promises.py quality` counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from thrifty.models.fits.folds import FOLDS, make_folds
from thrifty.models.table import Table
from thrifty.typing import AnyArray, Floats, Ints, Json, JsonLike

#: draws of the interval: its ends are the fifth of each side; set by hand
_DRAWS = 200
#: rows of every class without which nothing is said: two a fold; set by hand
LEAST = 6
#: how much wider than the draws say: so wide that 95 % hold and no wider than 1.4 times what fresh
#: rows would say; and where rows that chose the features are left out. Chosen on the designs of
#: `python benchmarks/promises.py quality`, the second on its wide Booleans, where 1.1 missed 11.5 %
#: of 1,040 seeds
_WIDER, _WIDER_FRESH = 1.25, 1.3
#: and for few rows times 1 + (few / k)^3, the second at most, of average precision and of AUROC,
#: whose draws know their spread better; on the same designs, seeds 60000 to 60199: with 12 and 2.2
#: for both the AUROC of 60 rows held in 99 %, with 9 for both the average precision in 91.5 %
_FEW = ((10.5, 2.2), (7.5, 2.0))


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure and the ends of its interval, 95 %."""

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
        of the class of interest; of more than two, the mean over the classes
    auc : Figure
        area under the ROC curve, likewise
    guessing : float
        the average precision of guessing
    rows : int
        how many rows it was measured on
    positive : int or None
        code of the class of interest, the rarer where nobody said; None where there are more than
        two
    other : Figure or None
        of two classes the average precision of the other one; None in stores of earlier versions

    Examples
    --------
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
    positive: int | None
    other: Figure | None = None

    def of(self, code: int | None) -> Quality:
        """The same with this class as the one of interest, where both were measured.

        >>> codes = np.array([0] * 30 + [1] * 10)
        >>> found = quality_of(np.column_stack([1.0 - codes, codes]), codes, np.ones(40)).of(0)
        >>> found.positive, found.guessing, found.of(1).guessing
        (0, 0.75, 0.25)
        """
        if code is None or code == self.positive or self.positive is None or self.other is None:
            return self
        return replace(
            self,
            average_precision=self.other,
            other=self.average_precision,
            guessing=1 - self.guessing,
            positive=code,
        )

    @property
    def beyond_guessing(self) -> bool:
        """Whether held-out rows show more than guessing: the interval of the AUC is above it.

        By a little more than a half: features look better on the rows that chose them.
        """
        # an AUC up to this is taken for guessing: of tables of noise, 900 x 30, a third of the
        # intervals begin above a half, and more than promised still above this
        # (tests/models/test_no_signal.py)
        guessing = 0.53
        return self.auc.low > guessing

    def to_dict(self) -> Json:
        """Plain data, for JSON."""
        return {
            k: list(astuple(v)) if isinstance(v, Figure) else v
            for k, v in ((one.name, getattr(self, one.name)) for one in fields(self))
            if k != "other" or v is not None
        }


def quality_from_dict(data: JsonLike | None) -> Quality | None:
    """The inverse of :meth:`Quality.to_dict`; None where nothing was measured."""
    if data is None:
        return None
    positive, other = data["positive"], data.get("other")
    return Quality(
        Figure(*map(float, data["average_precision"])),
        Figure(*map(float, data["auc"])),
        float(data["guessing"]),
        int(data["rows"]),
        None if positive is None else int(positive),
        None if other is None else Figure(*map(float, other)),
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
    if sizes.min() < LEAST:
        return None
    shares = np.bincount(codes, weights=weights, minlength=len(sizes)) / weights.sum()
    counts = draws_of_rows(codes, np.random.default_rng(seed), groups)
    every = [
        figures_of(probabilities[:, c], codes == c, counts * weights) for c in range(len(sizes))
    ]
    k = int(sizes.min())
    if len(sizes) == 2:
        rare = int(shares.argmin())
        found = [_figure(every[c][0], k, wider, _FEW[0]) for c in (rare, 1 - rare)]
        area = _figure(every[rare][1], k, wider, _FEW[1])
        return Quality(found[0], area, float(shares[rare]), len(codes), rare, found[1])
    precision, area = (
        _figure(drawn, k, wider, few) for drawn, few in zip(np.mean(every, axis=0), _FEW)
    )
    return Quality(precision, area, float(shares.mean()), len(codes), None)


def _figure(
    drawn: Floats, k: int, wider: float = _WIDER, few: tuple[float, float] = _FEW[0]
) -> Figure:
    """The first is the figure, the others its draws; k rows of the rarest class.

    >>> str(_figure(np.ones(201), 10)), str(_figure(np.ones(201), 100))
    ('1.00 (0.69 to 1.00)', '1.00 (0.96 to 1.00)')
    >>> str(_figure(np.repeat([0.5, 0.4, 0.6], [1, 100, 100]), 100))
    '0.50 (0.27 to 0.73)'
    """
    outside = 0.025  # at either end
    # half a row from either end: log-odds of nothing but ones
    edge = 0.5 / (k + 1)
    logs = logit(np.clip(drawn, edge, 1 - edge))
    half = 1.96 * min(wider * (1 + (few[0] / k) ** 3), max(wider, few[1])) * logs[1:].std()
    low, high = expit([logs[0] - half, logs[0] + half]).tolist()
    value, rows = float(drawn[0]), outside ** (1 / k)
    return Figure(value, min(low, value * rows), max(high, 1 - (1 - value) * rows))


def draws_of_rows(codes: Ints, rng: np.random.Generator, groups: Ints | None = None) -> Floats:
    """(1 + draws, rows) how often each row is drawn, by class; in the first line once each.

    With ``groups`` a group is drawn as a whole, among those that begin with the same class.
    """
    at_once = 4_000_000  # at most so many rows times draws at once: 32 MB of numbers
    if groups is not None:
        _, first, at = np.unique(groups, return_index=True, return_inverse=True)
        return draws_of_rows(codes[first], rng)[:, at.reshape(-1)]
    n = max(20, min(_DRAWS, at_once // len(codes)))
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


@dataclass(frozen=True, slots=True)
class NumberQuality:
    """Cross-validated quality of a model of numbers.

    Attributes
    ----------
    r2 : Figure
        part of the variance of y that it explains, with a 95 % interval
    error : Figure
        root of the mean square of what is wrong, likewise
    rows : int
        how many rows it was measured on
    """

    r2: Figure
    error: Figure
    rows: int


def says(fitted: Any, values: Floats, n_classes: int) -> Floats:
    """What a model says of rows: a probability for each class, or numbers in one column."""
    if not n_classes:
        return np.asarray(fitted.predict(values), dtype=np.float64).reshape(-1, 1)
    p = np.zeros((len(values), n_classes))
    p[:, np.asarray(fitted.classes_, dtype=np.int64)] = fitted.predict_proba(values)
    return p


def losses(said: Floats, labels: AnyArray) -> Floats:
    """Of each row: the logarithmic loss of its class, the squared error of its number.

    >>> losses(np.array([[0.5, 0.5], [0.25, 0.75]]), np.array([0, 0])).round(2).tolist()
    [0.69, 1.39]
    """
    surest = 1e-6  # a probability is no closer to 0 than this when its logarithm is taken
    if labels.dtype.kind == "f":
        return np.asarray((said[:, 0] - labels) ** 2)
    right = said[np.arange(len(said)), labels.astype(np.int64)]
    return np.asarray(-np.log(np.maximum(right, surest)))


def said_left_out(
    table: Table, fit: Callable[[Table], Any], seed: int, folds: Ints | None = None
) -> Floats | None:
    """What is said of each row by a model of the others, fold by fold; as :func:`says` has it.

    None with too few rows, or where an estimator refuses fewer. ``folds``: -1 for rows that are in
    every fit and of which nothing is said.
    """
    codes = None if table.labels.dtype.kind == "f" else table.labels.astype(np.int64)
    if folds is None:
        folds = make_folds(table.n_rows, FOLDS, seed, codes, table.groups)
    if folds is None:
        return None
    n_classes = 0 if codes is None else int(codes.max()) + 1
    found = np.zeros((table.n_rows, max(n_classes, 1)))
    for fold in range(int(folds.max()) + 1):
        out = np.flatnonzero(folds == fold)
        try:
            fitted = fit(table.of_rows(np.flatnonzero(folds != fold)))
        except (ArithmeticError, ValueError):
            return None
        found[out] = says(fitted, table.values[out], n_classes)
    return found


def quality_left_out(table: Table, fit: Callable[[Table], Any], seed: int) -> Quality | None:
    """Of a classifier; None with too few rows, or where it cannot be fitted on fewer."""
    p = said_left_out(table, fit, seed)
    if p is None:
        return None
    return quality_on(table, p, table.labels.astype(np.int64), seed)


def quality_on(table: Table, said: Floats, codes: Ints, seed: int) -> Quality | None:
    """Of what is said of the rows of a table by models without them, by those that chose nothing.

    On rows that chose the features these look better than they are: on wide tables without any
    signal the AUROC of such rows was .69.
    """
    fresh = np.flatnonzero(table.chose_nothing)
    some = table.of_rows(fresh).weighing_as(table)
    wider = _WIDER if len(fresh) == table.n_rows else _WIDER_FRESH
    return quality_of(said[fresh], codes[fresh], some.weights, seed, wider, some.groups)


def numbers_left_out(table: Table, fit: Callable[[Table], Any], seed: int) -> NumberQuality | None:
    """Of a regressor; None with too few rows, or where it cannot be fitted on fewer."""
    least_numbers = 24  # rows that a figure of numbers needs; set by hand
    said = said_left_out(table, fit, seed) if table.labels.min() < table.labels.max() else None
    fresh = np.flatnonzero(table.chose_nothing)
    some = table.of_rows(fresh)
    n = some.n_rows if some.groups is None else len(np.unique(some.groups))
    if said is None or n < least_numbers:
        return None
    y = np.asarray(some.labels, dtype=np.float64)
    draws = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=_DRAWS)
    if some.groups is not None:  # a group is drawn as a whole
        draws = draws[:, np.unique(some.groups, return_inverse=True)[1].reshape(-1)]
    counts = np.vstack([np.ones(len(y)), draws]) * some.weights
    share = counts / counts.sum(axis=1, keepdims=True)
    wrong = share @ (said[fresh, 0] - y) ** 2
    spread = share @ y**2 - (share @ y) ** 2
    left = _number_figure(wrong / np.maximum(spread, 1e-300), n)
    r2 = Figure(1 - left.value, 1 - left.high, 1 - left.low)
    squares = _number_figure(wrong, n)
    return NumberQuality(r2, Figure(*np.sqrt(astuple(squares)).tolist()), len(y))


def _number_figure(draws: Floats, n: int) -> Figure:
    """The first is the figure, the others its draws; of what is left wrong, from n rows or groups.

    What is judged was learned from all rows, what is measured from two thirds of them: in
    logarithms it is left by k / n less, give or take as much.

    >>> str(_number_figure(np.repeat([2.0, 1.0, 4.0], [1, 100, 100]), 400))
    '2.00 (0.44 to 8.74)'
    >>> str(_number_figure(np.repeat([2.0, 1.0, 4.0], [1, 100, 100]), 40))
    '2.00 (0.35 to 7.68)'
    """
    # chosen on seeds 0 to 39 of the designs of `python benchmarks/promises.py quality`
    less, wider = 8.0 / n, 1.1
    logs = np.log(np.maximum(draws, 1e-300))
    half = 1.96 * np.hypot(wider * logs[1:].std(), less)
    low, high = np.exp([logs[0] - less - half, logs[0] - less + half]).tolist()
    return Figure(float(draws[0]), low, high)


def quality_words(quality: Quality | None, classes: Sequence[object]) -> str:
    """What was measured, in a sentence.

    >>> quality_words(None, [0, 1])
    'Quality was not measured.'
    """
    if quality is None:
        return "Quality was not measured."
    of = "mean over the classes" if quality.positive is None else f"of {classes[quality.positive]}"
    nothing = " These rows show nothing beyond guessing; intervals then hold in 85 %."
    return (
        f"On {quality.rows:,} held-out rows (cross-validated, weighted as they were "
        f"bought): average precision {quality.average_precision} {of}, where guessing has "
        f"{quality.guessing:.2f}; AUC {quality.auc}; 95 % intervals."
        f"{'' if quality.beyond_guessing else nothing}"
    )
