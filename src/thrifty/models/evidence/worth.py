"""When more would not pay: the rule of tasks that were not told what to spend.

A task that was told spends that. One that was not has a limit (:func:`.learning.allowance_of`) and
stops before it where the next purchase is expected to lower the loss by less than a fiftieth of
what it has fallen so far. Expected from what was bought:

- *rows*: models of a third and of two thirds of the rows, judged on the same rows left out; where
  the excess of the loss goes with one over the rows, half as many again gain 2/9 of the difference.
  So rows are enough where the loss is about a sixteenth of its fall above what these features
  can reach;
- *features*: the next batch is taken to be worth what the last three were, together, in the loss on
  rows left out (the score tests of those waiting rest on too few rows to show a small gain);
- *Boolean features* of a wide table are looked at and completed in three stages, a quarter of the
  limit, half of it, all of it; after each the rule for rows judges those that are complete. (The
  knowledge gradient of further looks says nothing here: half as many again promise half of what
  was learned so far, from the first round to the last.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from thrifty.array_types import Bools, Floats, Ints
from thrifty.cells import Cells
from thrifty.models.fits.folds import stratified_folds
from thrifty.models.fits.logistic import fit_intercepts, softmax
from thrifty.models.fits.points import Design, oof_scores

__all__ = ["BY_HALF_AS_MANY", "curve_of", "is_hopeless", "judges_worth", "still_falls", "would_pay"]

#: of the fall of the loss so far, what the next purchase must be expected to add. .01 and .04 were
#: tried beside it on eleven sets, one split each (docs/models.md, the table on its first page)
_PART = 0.02
#: purchases of features that are judged together. Chosen with it
_LAST = 3
#: purchases, and rows of the rarest class, after which a loss that never fell is taken for one that
#: will not. Set by hand; cervical and tables of noise stop by it
_PURCHASES, _RARE_ROWS = 6, 30
#: bins of a feature at most while a task buys
_BINS = 8
#: of the loss from a third of the rows less that from two thirds, what half as many rows again take
#: off. Where the excess is c / rows of n, that is (c / n - c / 1.5 n) / (3 c / n - 1.5 c / n)
BY_HALF_AS_MANY = 2 / 9


def judges_worth(cells: Cells) -> bool:
    """Whether a task stops where more would not pay: where nobody said what to spend."""
    return cells.spend is None


def would_pay(gain: float, fall: float, hopeless: bool = False) -> bool:
    """Whether a purchase is worth it; where nothing was learned yet, everything is.

    ``hopeless``: much was bought, so that nothing learned is nothing to be learned.

    >>> would_pay(0.008, 0.3), would_pay(0.004, 0.3), would_pay(0.002, -0.1)
    (True, False, True)
    >>> would_pay(0.002, -0.1, hopeless=True)
    False
    """
    return not hopeless if fall <= 0 else gain >= _PART * fall


def is_hopeless(losses: Sequence[float], fall: float, rare: int) -> bool:
    """Whether purchase after purchase told nothing of rows left out, with enough rows to tell.

    ``rare``: rows of the rarest class among them.

    >>> is_hopeless([0.4] * 9, -0.01, rare=40), is_hopeless([0.4] * 9, 0.01, rare=40)
    (True, False)
    """
    return fall <= 0 and len(losses) >= _PURCHASES and rare >= _RARE_ROWS


def still_falls(losses: Sequence[float], fall: float) -> bool:
    """Whether the last purchases together were worth it; the first few always are.

    >>> still_falls([0.6, 0.4, 0.35, 0.349, 0.349], fall=0.3)
    True
    >>> still_falls([0.6, 0.352, 0.351, 0.349, 0.348], fall=0.3)
    False
    """
    return len(losses) <= _LAST or would_pay(losses[-1 - _LAST] - losses[-1], fall)


@dataclass(frozen=True, eq=False)
class Shape:
    """How a table of a kind of label is looked for: the numbers that were chosen for it.

    ``kinds``: kinds of labels that rows are counted by (classes; 1 for numbers); ``said``: what the
    least look is, in words; ``looking``: the share of the money that halving may take;
    ``least_look``, ``most_looks``: rows of each kind in the first look at least, in the last at
    most; ``most_rounds``: how often features are halved; ``start``: the table begins with so many
    rows that a feature costs this share of what is left; ``at_first``: and with this part of the
    most rows at least; ``rows_of_all``: the part of all rows that it has at most while features
    wait, unless few are chosen; ``width``: features of a table of so many cells;
    ``most_features``: of a model where all cells can be had; None: they are chosen all the same;
    ``whole``: whether rows are bought whole where most cells are gaps.
    """

    kinds: int
    said: str
    looking: float
    least_look: int
    most_looks: int
    most_rounds: int
    start: float
    width: Callable[[float], float]
    at_first: float = 1.0
    rows_of_all: float = 1.0
    most_features: int | None = None
    whole: bool = False


@dataclass(frozen=True, eq=False)
class Curve:
    """How a quick model of some features learns from rows.

    ``p``: what a model of the others says of each row; ``loss``: of that; ``fall``: how far below
    that of the shares; ``by_rows``: what half as many rows again would take off.
    """

    p: Floats
    loss: float
    fall: float
    by_rows: float


def curve_of(
    values: Floats, y: Ints, categories: Bools, n_classes: int, groups: Ints | None = None
) -> Curve:
    """From cards of a third and of two thirds of the rows.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(900, 1))
    >>> y = (X[:, 0] + 0.3 * rng.normal(size=900) > 0).astype(int)
    >>> few, many = (curve_of(X[:n], y[:n], np.array([False]), 2) for n in (60, 900))
    >>> would_pay(few.by_rows, few.fall), would_pay(many.by_rows, many.fall)
    (True, False)
    """
    ones = np.ones(len(y))
    shares = np.tile(np.bincount(y, minlength=n_classes) / len(y), (len(y), 1))
    alone = mean_loss(shares, y)
    folds = stratified_folds(y, np.random.default_rng(0), groups)
    if folds is None:
        return Curve(shares, alone, 0.0, 0.0)
    design = Design.of(values, ones, categories, _BINS)
    scores = oof_scores(design, y, n_classes, ones, 1.0, folds)
    p = softmax(scores + fit_intercepts(scores, y, ones))
    from_two, from_one = mean_loss(p, y), 0.0
    for fold in np.unique(folds):
        few, rest = np.flatnonzero(folds == fold), np.flatnonzero(folds != fold)
        said = softmax(design.scores(design.fit(few, y, n_classes, ones, 1.0), rest))
        from_one += mean_loss(said, y[rest]) / len(np.unique(folds))
    return Curve(p, from_two, alone - from_two, BY_HALF_AS_MANY * (from_one - from_two))


def mean_loss(p: Floats, y: Ints) -> float:
    """Mean log-loss."""
    return -float(np.log(p[np.arange(len(y)), y] + 1e-9).mean())
