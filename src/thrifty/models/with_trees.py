"""The linear score with boosted trees beside it, where rows left out say that they help.

On Boolean features that act together (fingerprints of molecules, answers) trees see what a sum
cannot; on words they only add noise. Both are fitted on parts of the joint rows and judged on the
rest; the share of the trees is the one with the least loss there. The linear score reads features
beyond the joint ones when it predicts, which those rows cannot show: unless the joint ones carry
nearly all of it, it stays alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from thrifty.models.boosted import BoostedTrees, boosted_from_dict, grow_boosted
from thrifty.models.linear import LinearScore, fit_linear
from thrifty.models.measured import Quality, quality_from_dict
from thrifty.models.table import Table
from thrifty.outside import Json, JsonLike

__all__ = ["LinearAndTrees", "carried", "fit_wide", "grow_joint", "linear_and_trees_from_dict"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

#: shares of the trees that are tried
_SHARES = (0.0, 0.25, 0.5, 0.75)
#: parts of the rows, and rows of either class that the joint rows must have
_FOLDS, _LEAST = 3, 30
#: of the linear score's variance, what the joint features must carry
_CARRIED = 0.85
#: the trees must lower the loss by this part of it
_GAIN = 0.005


@dataclass(frozen=True, eq=False)
class LinearAndTrees:
    """A mixture of log-odds; ``joint``: the positions of the trees' features in the table."""

    linear: LinearScore
    trees: BoostedTrees
    joint: Ints
    share: float
    offset: float
    classes_: Ints
    quality: Quality | None = None

    def decision_function(self, values: Floats) -> Floats:
        """Log-odds of class 1."""
        values = np.asarray(values, dtype=np.float64)
        grown = self.trees.scores(values[:, self.joint])[:, 0] + self.offset
        return (1 - self.share) * self.linear.decision_function(values) + self.share * grown

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
            "offset": self.offset,
            "quality": None if self.quality is None else self.quality.to_dict(),
        }


def linear_and_trees_from_dict(data: JsonLike) -> LinearAndTrees:
    """The inverse of :meth:`LinearAndTrees.to_dict`."""
    return LinearAndTrees(
        LinearScore.from_dict(data["linear"]),
        boosted_from_dict(data["trees"]),
        np.array(data["joint"], dtype=np.int64),
        float(data["share"]),
        float(data["offset"]),
        np.array([0, 1]),
        quality_from_dict(data.get("quality")),
    )


def fit_wide(table: Table, seed: int = 0) -> LinearScore | LinearAndTrees:
    """The linear score, with trees beside it where they help."""
    linear = fit_linear(table)
    joint, rows = table.joint()
    sizes = np.bincount(table.labels[rows].astype(np.int64), minlength=2)
    if sizes.min() < _LEAST or carried(linear, joint) < _CARRIED:
        return linear
    share = _share(table, joint, rows, seed)
    if share == 0:
        return linear
    trees, offset = grow_joint(table, joint, rows, seed)
    return LinearAndTrees(linear, trees, joint, share, offset, np.array([0, 1]))


def carried(linear: LinearScore, joint: Ints) -> float:
    """How much of the linear score's variance the joint features carry."""
    mu = linear.centres_
    each = linear.coef_**2 * mu * (1 - mu)
    return float(each[joint].sum() / max(each.sum(), 1e-12))


def grow_joint(table: Table, joint: Ints, rows: Ints, seed: int) -> tuple[BoostedTrees, float]:
    """Trees on joint rows, and what their log-odds lack since rows were drawn by class."""
    codes = table.labels[rows].astype(np.int64)
    values = table.values[np.ix_(rows, joint)]
    none = np.zeros(len(joint), dtype=bool)
    trees = grow_boosted(values, codes, np.ones(len(rows)), none, seed)
    weights = table.weights[rows]
    stood_for = weights[codes == 1].sum() / weights[codes == 0].sum()
    drawn = (codes == 1).sum() / (codes == 0).sum()
    return trees, float(np.log(stood_for) - np.log(drawn))


def _share(table: Table, joint: Ints, rows: Ints, seed: int) -> float:
    """The trees' share with the least loss on rows left out."""
    codes = table.labels[rows].astype(np.int64)
    folds = np.zeros(len(rows), dtype=np.int64)
    for code in (0, 1):
        at = np.flatnonzero(codes == code)
        folds[at] = np.arange(len(at)) % _FOLDS
    by_line, by_trees = np.zeros(len(rows)), np.zeros(len(rows))
    for fold in range(_FOLDS):
        out, kept = rows[folds == fold], rows[folds != fold]
        rest = np.setdiff1d(np.arange(table.n_rows), out)
        values = table.values[out]
        by_line[folds == fold] = fit_linear(table.of_rows(rest)).decision_function(values)
        trees, offset = grow_joint(table, joint, kept, seed)
        by_trees[folds == fold] = trees.scores(values[:, joint])[:, 0] + offset
    losses = [_loss((1 - w) * by_line + w * by_trees, codes) for w in _SHARES]
    best = int(np.argmin(losses))
    return _SHARES[best] if losses[best] < (1 - _GAIN) * losses[0] else 0.0


def _loss(scores: Floats, codes: Ints) -> float:
    """The log-loss of the best line through the scores, both classes weighing alike."""
    line = LogisticRegression(C=1e3, class_weight="balanced").fit(scores[:, None], codes)
    p = np.clip(line.predict_proba(scores[:, None])[np.arange(len(codes)), codes], 1e-9, 1.0)
    return float(-(np.log(p[codes == 1]).mean() + np.log(p[codes == 0]).mean()) / 2)
