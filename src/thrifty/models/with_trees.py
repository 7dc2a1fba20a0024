"""The linear score with boosted trees: what it gets wrong, and, where they help, beside it.

On the joint rows, where features were bought together, trees see what a sum cannot. Two uses:

*A correction.* Trees are fitted to what the linear score gets wrong on rows left out of it (one
Newton step, by boosting with a ridge), and added to it, the more the more joint rows there are.
*A mixture.* Trees of their own are mixed in where rows left out say that this lowers the loss. The
linear score reads features beyond the joint ones when it predicts, which those rows cannot show:
unless the joint ones carry nearly all of it, nothing is mixed in.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from thrifty.models.boosted import BoostedTrees, HowToGrow, add_up, boosted_from_dict, grow_boosted
from thrifty.models.linear import LinearScore, fit_linear
from thrifty.models.measured import Quality, quality_from_dict
from thrifty.models.table import Table
from thrifty.outside import Json, JsonLike

__all__ = [
    "JointRows",
    "LinearAndTrees",
    "carried",
    "fit_wide",
    "grow_beside",
    "joint_rows",
    "linear_and_trees_from_dict",
    "trust_of",
]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

#: shares of the trees of their own that are tried
_SHARES = (0.0, 0.25, 0.5, 0.75)
#: parts of the rows; rows of either class that a correction and a mixture need
_FOLDS, _FEWEST, _LEAST = 3, 15, 30
#: of the linear score's variance, what the joint features must carry for a mixture
_CARRIED = 0.85
#: a mixture must lower the loss by this part of it
_GAIN = 0.005
#: a correction counts from so many joint rows on, and fully with so many more
_FROM, _FULL = 100, 300
#: how it is grown
_CORRECTION = HowToGrow(trees=60, leaves=4, in_leaf=5, rate=0.05, ridge=5.0)
#: the least slope of what rows left out ask of the linear score
_FLATTEST = 0.3


@dataclass(frozen=True, eq=False)
class LinearAndTrees:
    """Log-odds: a part of the linear score, and trees over the features at ``joint`` in the table.

    ``share``: of trees of their own in the mixture; the rest is the linear score, corrected.
    """

    linear: LinearScore
    trees: BoostedTrees
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
        boosted_from_dict(data["trees"]),
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
    folds = np.zeros(len(rows), dtype=np.int64)
    for code in (0, 1):
        at = np.flatnonzero(codes == code)
        folds[at] = np.arange(len(at)) % _FOLDS
    line = np.zeros(len(rows))
    for fold in range(_FOLDS):
        out = rows[folds == fold]
        rest = np.setdiff1d(np.arange(table.n_rows), out)
        line[folds == fold] = fit_linear(table.of_rows(rest)).decision_function(table.values[out])
    return JointRows(features, rows, codes, folds, line)


def fit_wide(
    table: Table, joint: JointRows | None, seed: int = 0
) -> LinearScore | LinearAndTrees:
    """The linear score, with trees where they help."""
    linear = fit_linear(table)
    if joint is None:
        return linear
    share, trust = _share(table, linear, joint, seed), trust_of(joint)
    if share == 0 and trust == 0:
        return linear
    trees = grow_beside(table, linear, joint, share, trust, seed)
    return LinearAndTrees(linear, trees, joint.features, share, np.array([0, 1]))


def carried(linear: LinearScore, joint: Ints) -> float:
    """How much of the linear score's variance the joint features carry."""
    mu = linear.centres_
    each = linear.coef_**2 * mu * (1 - mu)
    return float(each[joint].sum() / max(each.sum(), 1e-12))


def grow_beside(
    table: Table, linear: LinearScore, joint: JointRows, share: float, trust: float, seed: int
) -> BoostedTrees:
    """The trees of a model: trees of their own with a share, a correction that is so trusted."""
    parts = []
    if trust > 0:
        step = add_up([(trust, _correction(table, joint, seed))])
        parts.append((1 - share, add_up([(1.0, step)], _shift(table, linear, joint, step))))
    if share > 0:
        parts.append((share, _own_trees(table, joint, seed)))
    return add_up(parts)


def trust_of(joint: JointRows) -> float:
    """How much of a correction is added: on few rows trees fit their noise (jester_items)."""
    return float(np.clip((len(joint.rows) - _FROM) / _FULL, 0.0, 1.0))


def _correction(table: Table, joint: JointRows, seed: int) -> BoostedTrees:
    """One Newton step from the linear score, in its units, by trees with a ridge."""
    told = LogisticRegression(C=1e3).fit(joint.line[:, None], joint.codes)
    p = np.clip(told.predict_proba(joint.line[:, None])[:, 1], 0.02, 0.98)
    weights = p * (1 - p)
    none = np.zeros(len(joint.features), dtype=bool)
    step = grow_boosted(
        joint.values(table), (joint.codes - p) / weights, weights, none, seed, _CORRECTION
    )
    return add_up([(1 / max(float(told.coef_[0, 0]), _FLATTEST), step)])


def _shift(
    table: Table, linear: LinearScore, joint: JointRows, correction: BoostedTrees
) -> float:
    """What keeps the mean probability of the joint rows, as they stand for all, where it was."""
    line = linear.decision_function(table.values[joint.rows])
    moved = line + correction.scores(joint.values(table))[:, 0]
    weights = table.weights[joint.rows]

    def off(a: float) -> float:
        return float(weights @ (expit(moved + a) - expit(line)))

    return float(brentq(off, -40.0, 40.0, xtol=1e-6))


def _own_trees(table: Table, joint: JointRows, seed: int) -> BoostedTrees:
    """Trees on joint rows, with what their log-odds lack since rows were drawn by class."""
    codes, none = joint.codes, np.zeros(len(joint.features), dtype=bool)
    trees = grow_boosted(joint.values(table), codes, np.ones(len(codes)), none, seed)
    weights = table.weights[joint.rows]
    stood_for = weights[codes == 1].sum() / weights[codes == 0].sum()
    drawn = (codes == 1).sum() / (codes == 0).sum()
    return add_up([(1.0, trees)], float(np.log(stood_for) - np.log(drawn)))


def _share(table: Table, linear: LinearScore, joint: JointRows, seed: int) -> float:
    """The share of trees of their own with the least loss on rows left out."""
    sizes = np.bincount(joint.codes, minlength=2)
    if sizes.min() < _LEAST or carried(linear, joint.features) < _CARRIED:
        return 0.0
    line, own, trust = joint.line.copy(), np.zeros(len(joint.rows)), trust_of(joint)
    for fold in range(_FOLDS):
        kept, out = joint.but(fold), joint.folds == fold
        values = joint.values(table)[out]
        own[out] = _own_trees(table, kept, seed).scores(values)[:, 0]
        if trust > 0:
            line[out] += trust * _correction(table, kept, seed).scores(values)[:, 0]
    losses = [_loss((1 - w) * line + w * own, joint.codes) for w in _SHARES]
    best = int(np.argmin(losses))
    return _SHARES[best] if losses[best] < (1 - _GAIN) * losses[0] else 0.0


def _loss(scores: Floats, codes: Ints) -> float:
    """The log-loss of the best line through the scores, both classes weighing alike."""
    line = LogisticRegression(C=1e3, class_weight="balanced").fit(scores[:, None], codes)
    p = np.clip(line.predict_proba(scores[:, None])[np.arange(len(codes)), codes], 1e-9, 1.0)
    return float(-(np.log(p[codes == 1]).mean() + np.log(p[codes == 0]).mean()) / 2)
