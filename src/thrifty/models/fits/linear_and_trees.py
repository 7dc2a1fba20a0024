"""The linear score with trees, which see on joint rows what a sum cannot.

*A correction.* Boosted trees are fitted to what the linear score gets wrong on rows left out of it
(one Newton step, with a ridge), and added to it, the more the more joint rows there are.
*A forest* is a quarter of the mixture. Whether either is used is not asked of rows left out: they
say it too badly (docs/models.md).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from thrifty.array_types import Floats, Ints
from thrifty.models.card import Card, card_in_mixture
from thrifty.models.fits.boosting import (
    HowToGrow,
    InBins,
    boosting_bins,
    forest_weight,
    grow_boosted_in_bins,
    grow_extra_trees,
    grow_forest_in_bins,
)
from thrifty.models.fits.folds import folds_in_turn_by_class
from thrifty.models.fits.linear_score import LinearScore, fit_linear
from thrifty.models.fits.logistic import fit_two_classes
from thrifty.models.fits.plain_trees import PlainTrees, Words, tree_sum_as_trees
from thrifty.models.fits.quality import Quality, quality_from_dict
from thrifty.models.fits.tree_sums import TreeSum, add_up, tree_sum_from_dict
from thrifty.models.table import Table
from thrifty.typing import Json, JsonLike

__all__ = [
    "JointRows",
    "LinearAndTrees",
    "fit_wide",
    "grow_beside",
    "joint_rows",
    "linear_and_trees_from_dict",
    "trust_of",
]


#: folds of the joint rows; set by hand
_FOLDS = 3
#: rows of either class that trees need: five a fold; set by hand
_FEWEST = 15
#: the forest's share: +1.5 % of average precision over 18 tables of eight wide sets at 5 and 10 %
#: (docs/models.md, What did not work)
_FOREST = 0.25
# A correction counts clip((joint rows - _FROM) / _FULL, 0, 1) of itself: on few rows trees fit
# their noise, which jester_items showed; how the two numbers were found was not noted.
_FROM = 100
_FULL = 300
#: how it is grown: smaller trees than usual and a ridge, for a Newton step; not noted either
_CORRECTION = HowToGrow(trees=60, leaves=4, in_leaf=5, rate=0.05, ridge=5.0)
#: the same with half as many trees that learn twice as fast, for prefixes
_SOONER = replace(_CORRECTION, trees=30, rate=0.1)
#: trees of their forests
_FEWER = 20
#: the least slope of what rows left out ask of the linear score, so that a correction is at most so
#: many times enlarged; set by hand
_FLATTEST = 0.3


@dataclass(frozen=True, eq=False)
class LinearAndTrees:
    """Log-odds: a part of the linear score, and trees over the features at ``joint`` in the table.

    ``share``: of the forest in the mixture; the rest is the linear score, corrected.
    """

    linear: LinearScore
    trees: TreeSum
    joint: Ints
    share: float
    classes_: Ints
    quality: Quality | None = None

    def decision_function(self, values: Floats) -> Floats:
        """Log-odds of class 1."""
        values = np.asarray(values, dtype=np.float64)
        grown = self.trees.scores(values[:, self.joint])[:, 0]
        return (1 - self.share) * self.linear.decision_function(values) + grown

    def predict_proba(self, values: Floats) -> Floats:
        """Probabilities of both classes."""
        p = expit(self.decision_function(values))
        return np.column_stack([1 - p, p])

    def predict(self, values: Floats) -> Ints:
        """The likelier class."""
        return (self.decision_function(values) > 0).astype(np.int64)

    @property
    def measured(self) -> bool:
        """Its quality was looked for when it was fitted."""
        return True

    def summary(self) -> str:
        """What it is, in a sentence."""
        return card_in_mixture(0.0, self.share, len(self.trees.roots))

    def scorecard(self, names: Sequence[str], words: Words, classes: Sequence[Hashable]) -> Card:
        """The card of its linear score."""
        return self.linear.scorecard(names, words, classes)

    def as_trees(self, names: Sequence[str], words: Words) -> PlainTrees:
        """The same scores as a sum of small trees."""
        base, trees = self.linear.trees_times(names, 1 - self.share)
        joint = [names[j] for j in self.joint.tolist()]
        more, grown = tree_sum_as_trees(self.trees, joint, {}, 1.0)
        return PlainTrees(self.classes_, base + more, trees + grown)

    def to_dict(self) -> Json:
        """Plain data, for JSON."""
        return {
            "model": "LinearAndTrees",
            "linear": self.linear.to_dict(),
            "trees": self.trees.to_dict(),
            "joint": self.joint.tolist(),
            "share": self.share,
            "quality": None if self.quality is None else self.quality.to_dict(),
        }


def linear_and_trees_from_dict(data: JsonLike) -> LinearAndTrees:
    """The inverse of :meth:`LinearAndTrees.to_dict`."""
    return LinearAndTrees(
        LinearScore.from_dict(data["linear"]),
        tree_sum_from_dict(data["trees"]),
        np.array(data["joint"], dtype=np.int64),
        float(data["share"]),
        np.array([0, 1]),
        quality_from_dict(data.get("quality")),
    )


@dataclass(frozen=True, eq=False)
class JointRows:
    """Rows on which features were bought together, in folds; ``line``: their scores, left out."""

    features: Ints
    rows: Ints
    codes: Ints
    folds: Ints
    line: Floats

    def but(self, fold: int) -> JointRows:
        """Without the rows of a fold."""
        kept = self.folds != fold
        return JointRows(
            self.features, self.rows[kept], self.codes[kept], self.folds[kept], self.line[kept]
        )

    def values(self, table: Table) -> Floats:
        return table.values[np.ix_(self.rows, self.features)]


def joint_rows(table: Table) -> JointRows | None:
    """The joint rows with linear scores from fits without them; None where they are too few.

    What a row left out added to the belief about effects stays in it: with that taken out too the
    line looks so weak that trees are given too much (slashdot at 10 %: .435, not .450).
    """
    features, rows = table.joint()
    codes = table.labels[rows].astype(np.int64)
    if np.bincount(codes, minlength=2).min() < _FEWEST:
        return None
    groups = None if table.groups is None else table.groups[rows]
    folds = folds_in_turn_by_class(codes, _FOLDS, groups)
    line = np.zeros(len(rows))
    for fold in range(_FOLDS):
        out = rows[folds == fold]
        rest = np.setdiff1d(np.arange(table.n_rows), out)
        line[folds == fold] = fit_linear(table.of_rows(rest)).decision_function(table.values[out])
    return JointRows(features, rows, codes, folds, line)


def fit_wide(
    table: Table, joint: JointRows, seed: int = 0, *, quick: bool = False
) -> LinearAndTrees:
    """The linear score with trees; ``quick``: its forest from a kernel of ours, for prefixes."""
    linear = fit_linear(table)
    share = _FOREST * forest_weight(len(joint.rows))
    trees = grow_beside(table, linear, joint, share, trust_of(joint), seed, quick=quick)
    return LinearAndTrees(linear, trees, joint.features, share, np.array([0, 1]))


def grow_beside(
    table: Table, linear: LinearScore, joint: JointRows, share: float, trust: float, seed: int,
    *, quick: bool = False,
) -> TreeSum:  # fmt: skip
    """The trees of a model: a forest with its share, and a correction that is so much trusted."""
    values, binned = _binned(table, joint)
    parts = [(share, _forest(binned, values, joint, seed, quick))]
    if trust > 0:
        parts.append(((1 - share) * trust, _correction(binned, joint, seed, quick)))
    return add_up(parts, _shift(table, linear, joint, share, add_up(parts)))


def _binned(table: Table, joint: JointRows) -> tuple[Floats, InBins]:
    values = joint.values(table)
    return values, boosting_bins(values, np.zeros(len(joint.features), dtype=bool))


def trust_of(joint: JointRows) -> float:
    """How much of a correction is added: on few rows trees fit their noise (jester_items)."""
    return float(np.clip((len(joint.rows) - _FROM) / _FULL, 0.0, 1.0))


def _correction(binned: InBins, joint: JointRows, seed: int, quick: bool) -> TreeSum:
    """One Newton step from the linear score, in its units, by trees with a ridge."""
    told, at = fit_two_classes(joint.line[:, None], joint.codes == 1, 1e3)
    p = np.clip(expit(told[0] * joint.line + at), 0.02, 0.98)
    weights = p * (1 - p)
    how = _SOONER if quick else _CORRECTION
    step = grow_boosted_in_bins(binned, (joint.codes - p) / weights, weights, seed, how)
    return add_up([(1 / max(float(told[0]), _FLATTEST), step)])


def _forest(binned: InBins, values: Floats, joint: JointRows, seed: int, quick: bool) -> TreeSum:
    ones = np.ones(len(joint.codes))
    if quick:  # no feature is a category, so that forests and boosted trees read the same bins
        return grow_forest_in_bins(binned, values, joint.codes, ones, seed, _FEWER)
    return grow_extra_trees(values, joint.codes, ones, binned.categories, seed)


def _shift(
    table: Table, linear: LinearScore, joint: JointRows, share: float, trees: TreeSum
) -> float:
    """What keeps the mean probability of the joint rows, as they stand for all, where it was.

    The forest knows nothing of how rows were drawn by class; this makes up for it too.
    """
    line = linear.decision_function(table.values[joint.rows])
    moved = (1 - share) * line + trees.scores(joint.values(table))[:, 0]
    weights = table.weights[joint.rows]

    def off(a: float) -> float:
        return float(weights @ (expit(moved + a) - expit(line)))

    return float(brentq(off, -60.0, 60.0, xtol=1e-6))
