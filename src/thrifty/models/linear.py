"""The fit for a wide table with holes: logistic regression, shrunk by what is believed already.

Cells that were not bought stand at the background's mean. Columns are scaled by the size that
their effect is believed to have, so that one penalty shrinks each by its own (an adaptive ridge;
Zou, 2006, for the lasso). Two such fits are averaged: one as it is, one with the naive score, the
sum of believed effects, as a column of its own; of a rare row's own look its share in the belief is
taken out there, for that look was counted when the effect was estimated.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression

from thrifty.models.table import Table

__all__ = ["LinearScore", "fit_linear"]

Floats = NDArray[np.float64]

#: inverse strength of the ridge
_C = 0.05
#: of an effect's variance, what counts towards its size
_VARIANCE = 0.2
#: the naive score's column is so many times its standard deviation: penalised that much less
_NAIVE = 3.0


class LinearScore:
    """Log-odds that are linear in the features' distance from their background.

    >>> score = LinearScore(np.array([2.0]), np.array([0.5]), 0.0)
    >>> score.predict_proba(np.array([[0.5], [np.nan]]))[:, 1].tolist()
    [0.5, 0.5]
    """

    def __init__(self, coefficients: Floats, centres: Floats, intercept: float) -> None:
        self.coef_, self.centres_, self.intercept_ = coefficients, centres, intercept
        self.classes_ = np.array([0, 1])

    def decision_function(self, values: Floats) -> Floats:
        """Log-odds of class 1; a gap stands at the background's mean."""
        apart = np.nan_to_num(np.asarray(values, dtype=np.float64) - self.centres_)
        scores: Floats = apart @ self.coef_ + self.intercept_
        return scores

    def predict_proba(self, values: Floats) -> Floats:
        """Probabilities of both classes."""
        p = expit(self.decision_function(values))
        return np.column_stack([1 - p, p])

    def predict(self, values: Floats) -> NDArray[np.int64]:
        """The likelier class."""
        return (self.decision_function(values) > 0).astype(np.int64)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return {
            "model": "LinearScore",
            "coefficients": self.coef_.tolist(),
            "centres": self.centres_.tolist(),
            "intercept": self.intercept_,
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> LinearScore:
        """The inverse of :meth:`to_dict`."""
        return cls(np.array(data["coefficients"]), np.array(data["centres"]), data["intercept"])


def fit_linear(table: Table) -> LinearScore:
    """Fit a table that says what is believed of its features."""
    assert table.centres is not None and table.effects is not None
    mean, variance = table.effects[:, 0], table.effects[:, 1]
    apart = np.where(table.bought, table.values - table.centres, 0.0)
    rare = table.labels == table.rare_code
    size = np.sqrt(mean**2 + _VARIANCE * variance)
    weights = table.weights / table.weights.mean()
    columns = apart * size
    plain = _ridge(columns, rare, weights)
    naive = _naive_scores(apart, rare, table)
    unit = naive.std() / _NAIVE + 1e-9
    with_naive = _ridge(np.column_stack([columns, naive / unit]), rare, weights)
    by_naive = with_naive.coef_[0, :-1] * size + with_naive.coef_[0, -1] / unit * mean
    coefficients = (plain.coef_[0] * size + by_naive) / 2
    intercept = float(plain.intercept_[0] + with_naive.intercept_[0]) / 2
    sign = 1.0 if table.rare_code == 1 else -1.0
    return LinearScore(sign * coefficients, table.centres, sign * intercept)


def _ridge(columns: Floats, rare: NDArray[np.bool_], weights: Floats) -> Any:
    return LogisticRegression(C=_C, max_iter=300).fit(columns, rare, weights)


def _naive_scores(apart: Floats, rare: NDArray[np.bool_], table: Table) -> Floats:
    """The sum of believed effects on each row, without what its own looks added to them."""
    assert table.centres is not None and table.effects is not None
    mean, variance = table.effects[:, 0], table.effects[:, 1]
    rate = expit(logit(table.centres) + mean)
    own = np.where(table.bought, table.values - rate, 0.0) * variance
    counted = np.where(rare[:, None], own, 0.0)
    scores: Floats = (apart * (mean - counted)).sum(axis=1)
    return scores
