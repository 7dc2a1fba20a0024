"""A model in two rungs: what is known of every row first, then what was bought on some of them.

The lower rung is the mixture over the features that are known of all rows, free ones for instance.
The upper rung corrects it: a penalised line over the other features, fitted on the rows that have
them, with the score that the lower rung gives a row it did not see as its offset. It is
used only as far as it lowers the loss on rows left out, so that what was paid makes no model worse.
(physionet_icu, 18 free columns of 41, 3,000 rows, splits 0 and 1: the lower rung .450; with 3, 5,
10 and 20 % of the other cells .453 .456 .465 .477 by this line, .452 .449 .458 .465 by small
boosted trees; docs/models.md, Rungs.)
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from thrifty.array_types import Bools, Floats, Ints
from thrifty.models.card import Card
from thrifty.models.fits.folds import stratified_folds
from thrifty.models.fits.line import Columns, Line
from thrifty.models.fits.logistic import fit_intercepts, fit_penalised, softmax
from thrifty.models.fits.mixture import Mixture, fit_mixture_left_out, mixture_from_dict
from thrifty.models.fits.plain_trees import PlainTrees, Words
from thrifty.models.fits.points import Points, points_from_dict
from thrifty.models.fits.quality import Quality, quality_from_dict, quality_of
from thrifty.models.table import Table
from thrifty.typing import Json, JsonLike

__all__ = ["Lower", "Rungs", "fit_rungs", "lower_rung", "rungs_from_dict", "tells_enough"]

#: prior deviation of a standardised column's coefficient; .03 and .1 of its square were tried on
#: physionet_icu, splits 0 and 1: .477 and .482 at 20 %, .4535 and .4528 at 3 %
_SCALE = 0.1
#: prior deviation from 1 of what the lower rung's score is multiplied by; set by hand
_STRETCH = 0.3
#: rows of each class that a correction needs
_FEWEST = 6
#: a lower rung is worth one where it lowers the loss by this part of it; set by hand
_FALL = 0.02
#: parts of the correction that are tried
_PARTS = (0.0, 0.25, 0.5, 0.75, 1.0)
#: scores are kept so far from certain
_EDGE = 1e-4


@dataclass(frozen=True, eq=False)
class Rungs:
    """Logits of the lower rung, and a line over the other features.

    Attributes
    ----------
    lower : Mixture
        over the features at ``below`` in the table
    upper : Points
        the line as points, over those at ``above``
    slope : float
        what the lower rung's log-odds are multiplied by
    """

    lower: Mixture
    upper: Points
    below: Ints
    above: Ints
    slope: float
    quality: Quality | None = None

    @property
    def classes_(self) -> Ints:
        """Codes of the classes."""
        return self.lower.classes_

    def scores(self, values: Floats) -> Floats:
        """(rows, c) logits."""
        values = np.asarray(values, dtype=np.float64)
        below = self.lower.scores(values[:, self.below])
        return np.asarray(self.slope * below + self.upper.scores(values[:, self.above]))

    def predict_proba(self, values: Floats) -> Floats:
        """Probabilities, a column per class."""
        return softmax(self.scores(values))

    def predict(self, values: Floats) -> Ints:
        """The most likely class."""
        likely: Ints = self.classes_[self.predict_proba(values).argmax(axis=1)]
        return likely

    @property
    def measured(self) -> bool:
        """Its quality was looked for when it was fitted."""
        return True

    def summary(self) -> str:
        """What it is, in a sentence."""
        return (
            f"{len(self.below)} features that are known of every row, and a correction by "
            f"{len(self.above)} that were bought on some. {self.lower.summary()}"
        )

    def scorecard(
        self, names: Sequence[str], words: Words, classes: Sequence[Hashable]
    ) -> Card | None:
        """The card of the lower rung."""
        return self.lower.scorecard([names[i] for i in self.below.tolist()], words, classes)

    def as_trees(self, names: Sequence[str], words: Words) -> PlainTrees:
        """The same scores as a sum of small trees."""
        lower = replace(
            self.lower,
            slope=self.slope * self.lower.slope,
            intercepts=self.slope * self.lower.intercepts,
        ).as_trees([names[i] for i in self.below.tolist()], words)
        more, steps = self.upper.as_trees([names[i] for i in self.above.tolist()], words)
        return PlainTrees(lower.codes, lower.base + more, lower.trees + steps)

    def to_dict(self) -> Json:
        """Plain data, for JSON."""
        return {
            "model": "Rungs",
            "lower": self.lower.to_dict(),
            "upper": self.upper.to_dict(),
            "below": self.below.tolist(),
            "above": self.above.tolist(),
            "slope": self.slope,
            "quality": None if self.quality is None else self.quality.to_dict(),
        }


def rungs_from_dict(data: JsonLike) -> Rungs:
    """The inverse of :meth:`Rungs.to_dict`."""
    return Rungs(
        mixture_from_dict(data["lower"]),
        points_from_dict(data["upper"]),
        np.array(data["below"], dtype=np.int64),
        np.array(data["above"], dtype=np.int64),
        float(data["slope"]),
        quality_from_dict(data.get("quality")),
    )


Lower = tuple[Mixture, Floats]


def lower_rung(table: Table, seed: int) -> Lower:
    """The mixture over the features that are known of all rows, and its logits of rows left out."""
    below = np.flatnonzero(table.bought.all(axis=0))
    named = _named(table, below)
    made, left_out = fit_mixture_left_out(
        table.values[:, below], table.labels, table.weights, categories=named, seed=seed
    )
    codes = np.searchsorted(made.classes_, table.labels).astype(np.int64)
    made = replace(made, quality=quality_of(left_out, codes, table.weights, seed))
    log = np.log(np.clip(left_out, _EDGE, 1 - _EDGE))
    if log.shape[1] == 2:
        return made, log[:, 1:] - log[:, :1]
    return made, log - log.mean(axis=1, keepdims=True)


def tells_enough(lower: Lower, table: Table) -> bool:
    """Whether the lower rung says more of rows left out than the shares of the classes do."""
    made, offset = lower
    codes = np.searchsorted(made.classes_, table.labels).astype(np.int64)
    flat = np.zeros_like(offset)
    alone, told = _loss(flat, codes, table.weights), _loss(offset, codes, table.weights)
    return told < (1 - _FALL) * alone


def fit_rungs(table: Table, seed: int = 0, lower_one: Lower | None = None) -> Rungs | Mixture:
    """Both rungs; the lower one alone where the other does not lower the loss on rows left out.

    ``lower_one``: the lower rung, where it was fitted already.
    """
    below = np.flatnonzero(table.bought.all(axis=0))
    above = np.flatnonzero(~table.bought.all(axis=0))
    lower, offset = lower_one or lower_rung(table, seed)
    rows = np.flatnonzero(table.bought.all(axis=1)) if len(above) else np.zeros(0, dtype=np.int64)
    codes = np.searchsorted(lower.classes_, table.labels).astype(np.int64)
    n_classes = len(lower.classes_)
    sizes = np.bincount(codes[rows], minlength=n_classes)
    if not len(rows) or sizes.min() < _FEWEST:
        return lower
    fit = _Upper(table, rows, above, codes[rows], offset[rows], n_classes)
    left_out = fit.left_out(seed)
    weights, y = table.of_rows(rows).weighing_as(table).weights, codes[rows]
    part = _part(offset[rows], left_out, y)
    if not part:
        return lower
    outside = offset[rows] + part * (left_out - offset[rows])
    shift = fit_intercepts(outside, y, weights)
    slope, line = fit.line(np.arange(len(rows)))
    upper = replace(line, coefficients=part * line.coefficients, intercepts=shift)
    quality = quality_of(softmax(outside + shift), y, weights, seed)
    return Rungs(
        lower,
        upper.as_points(fit.values, fit.named),
        below,
        above,
        1 + part * (slope - 1),
        quality or lower.quality,
    )


def _part(offset: Floats, left_out: Floats, codes: Ints) -> float:
    """How much of the correction lowers the loss on rows left out most; 0: none does.

    Every row counts as it was bought: with the weights of all rows a few common ones would decide.
    """
    ones = np.ones(len(codes))
    losses = [_loss(offset + s * (left_out - offset), codes, ones) for s in _PARTS]
    return _PARTS[int(np.argmin(losses))]


class _Upper:
    """The line over the upper features, on the rows that have them."""

    def __init__(
        self, table: Table, rows: Ints, above: Ints, codes: Ints, offset: Floats, n_classes: int
    ) -> None:
        self.values, self.named = table.values[np.ix_(rows, above)], _named(table, above)
        self.codes, self.offset, self.n_classes = codes, offset, n_classes
        self.columns = Columns.of(self.values, self.named)
        self.made = self.columns.matrix(self.values)

    def line(self, rows: Ints) -> tuple[float, Line]:
        """From some of them: what the lower rung's score is multiplied by, and the line."""
        offset, made = self.offset[rows], _SCALE * self.made[rows]
        design = np.hstack([_STRETCH * offset, made])
        intercepts, slopes = fit_penalised(
            design, self.codes[rows], self.n_classes, np.ones(len(rows)), 1.0, offset
        )
        columns = offset.shape[1]
        slope = 1.0 + _STRETCH * float(np.diag(slopes[:columns]).mean())
        return max(slope, 0.2), Line(self.columns, intercepts, _SCALE * slopes[columns:])

    def left_out(self, seed: int) -> Floats:
        """What is said of each row by a line without its fold."""
        found = np.zeros_like(self.offset)
        folds = stratified_folds(self.codes, np.random.default_rng(seed))
        assert folds is not None
        for fold in np.unique(folds):
            rest, out = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
            slope, line = self.line(rest)
            found[out] = slope * self.offset[out] + self.made[out] @ line.coefficients
        return found


def _loss(scores: Floats, codes: Ints, weights: Floats) -> float:
    p = softmax(scores + fit_intercepts(scores, codes, weights))
    return -float(np.average(np.log(p[np.arange(len(p)), codes] + 1e-12), weights=weights))


def _named(table: Table, which: Ints) -> Bools:
    sizes = table.categories or (0,) * table.width
    return np.array([sizes[i] > 0 for i in which.tolist()], dtype=bool)
