"""The fit for a wide table with holes: logistic regression, penalised by what is believed.

Cells that were not bought stand at the background's mean. Columns are scaled by the size that
their effect is believed to have, so that one penalty shrinks each by its own (an adaptive ridge;
Zou, 2006, for the lasso). Two such fits are averaged: one as it is, one with the naive score, the
sum of believed effects, as a column of its own; of a rare row's own look its share in the belief is
taken out there, for that look was counted when the effect was estimated.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit, logit

from thrifty.array_types import Bools, Floats, Ints
from thrifty.models.card import DOUBLING, Card, CardRow, card_in_mixture, plain
from thrifty.models.fits.logistic import fit_two_classes
from thrifty.models.fits.plain_trees import Node, PlainTrees, Words, linear_as_trees
from thrifty.models.fits.quality import Quality, quality_from_dict
from thrifty.models.table import Table
from thrifty.typing import Json, JsonLike

__all__ = ["LinearScore", "fit_linear"]

# Where nothing else is said these were chosen with the wide way of buying on tmc2007_500, slashdot
# and bibtex, most of them for its first prototype (docs/models.md, Measured).
#: inverse strength of the ridge; .02 and .3 were .01 to .02 worse (same page, What did not work)
_C = 0.05
#: of an effect's variance, what counts towards its size: size^2 = mean^2 + _VARIANCE variance
_VARIANCE = 0.2
#: the naive score's column is so many times its standard deviation: penalised that much less
_NAIVE = 3.0
#: whole rows are looked for among so many last ones: the first chose the features
_LAST = 30
#: and so many of them are needed
_WHOLE = 20
#: new rare rows have n / (n + _OPTIMISM) of the mean probability that n rare rows show
_OPTIMISM = 40.0
#: points and weights for the mean over normal noise (Gauss and Hermite)
_POINTS, _PARTS = np.polynomial.hermite_e.hermegauss(7)


class LinearScore:
    """Log-odds that are linear in the features' distance from their background.

    >>> score = LinearScore(np.array([2.0]), np.array([0.5]), 0.0)
    >>> score.predict_proba(np.array([[0.5], [np.nan]]))[:, 1].tolist()
    [0.5, 0.5]
    """

    def __init__(
        self,
        coefficients: Floats,
        centres: Floats,
        intercept: float,
        quality: Quality | None = None,
    ) -> None:
        self.coef_, self.centres_, self.intercept_ = coefficients, centres, intercept
        self.classes_ = np.array([0, 1])
        self.measured = True
        #: measured on rows left out; None where they cannot show it
        self.quality = quality

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

    def summary(self) -> str:
        """What it is, in a sentence."""
        return card_in_mixture(0.0, 0.0, 0)

    def scorecard(self, names: Sequence[str], words: Words, classes: Sequence[Hashable]) -> Card:
        """Points for a yes; a no gets none, and the base holds what it would be worth."""
        label = plain(classes[1])
        unit = float(np.log(2.0) / DOUBLING)
        worth = self.coef_ / unit
        spread = self.coef_**2 * self.centres_ * (1 - self.centres_)
        rows = [
            CardRow(str(names[f]), "yes", float(worth[f]), float(self.centres_[f]), label)
            for f in np.argsort(-spread, kind="stable").tolist()
            if spread[f] > 1e-12
        ]
        base = float((self.intercept_ - self.coef_ @ self.centres_) / unit)
        return Card(tuple(rows), {label: base}, DOUBLING)

    def as_trees(self, names: Sequence[str], words: Words) -> PlainTrees:
        """The same scores as a sum of small trees."""
        return PlainTrees(self.classes_, *self.trees_times(names, 1.0))

    def trees_times(self, names: Sequence[str], times: float) -> tuple[Floats, list[Node]]:
        """Base and trees of so many times the scores."""
        return linear_as_trees(self.coef_, self.centres_, self.intercept_, names, times)

    def to_dict(self) -> Json:
        """Plain data, for JSON."""
        return {
            "model": "LinearScore",
            "coefficients": self.coef_.tolist(),
            "centres": self.centres_.tolist(),
            "intercept": self.intercept_,
            "quality": None if self.quality is None else self.quality.to_dict(),
        }

    @classmethod
    def from_dict(cls, data: JsonLike) -> LinearScore:
        """The inverse of :meth:`to_dict`."""
        return cls(
            np.array(data["coefficients"]),
            np.array(data["centres"]),
            data["intercept"],
            quality_from_dict(data.get("quality")),
        )


def fit_linear(table: Table) -> LinearScore:
    """Fit a table that says what is believed of its features."""
    assert table.centres is not None and table.effects is not None
    rare = table.labels == table.rare_code
    whole, seldom = _whole_rows(table, rare)
    bought = table.bought.copy()
    bought[np.ix_(whole, seldom)] = False  # what is to be judged by these cells must not see them
    coefficients, intercept = _coefficients(replace(table, bought=bought), rare)
    intercept += _true_odds(table, rare)
    lift = _lift_of_unseen(table, rare, coefficients)
    if lift is None:
        intercept -= _unseen_variance(table, rare, coefficients) / 2
    else:
        intercept = _intercept_for_share(table, rare, coefficients, lift)
    sign = 1.0 if table.rare_code == 1 else -1.0
    return LinearScore(sign * coefficients, table.centres, sign * intercept)


def _true_odds(table: Table, rare: Bools) -> float:
    """What the intercept lacks: rows were drawn by class (King and Zeng, 2001).

    Within a class they were drawn at random, so that the slopes need no correction.
    """
    drawn = rare.sum() / max((~rare).sum(), 1)
    stood_for = table.weights[rare].sum() / max(table.weights[~rare].sum(), 1e-9)
    return float(np.log(stood_for) - np.log(drawn))


def _unseen_variance(table: Table, rare: Bools, coefficients: Floats) -> float:
    """How much more a score varies when all its features are seen than it did here.

    Half of it is what the mean of a small probability grows by when its log-odds vary so.
    """
    assert table.centres is not None
    each = coefficients**2 * table.centres * (1 - table.centres)
    return float((1 - table.bought[~rare].mean(axis=0)) @ each)


def _whole_rows(table: Table, rare: Bools) -> tuple[Ints, Bools]:
    """Rows outside the rare class on which all was bought, and the features seldom bought there.

    Only among the last: the first rows chose the features, and show too few ones. No rows where
    there are too few of them, or no such feature.
    """
    last = np.flatnonzero(~rare)[-_LAST:]
    whole = last[table.bought[last].all(axis=1)]
    seldom: Bools = table.bought[~rare].mean(axis=0) < 0.5
    return (whole if len(whole) >= _WHOLE and seldom.any() else whole[:0]), seldom


def _lift_of_unseen(table: Table, rare: Bools, coefficients: Floats) -> tuple[float, float] | None:
    """What features that are seldom bought add to a row's score: mean and variance, on whole rows.

    Such features were chosen since they were hardly ever 1 where they were looked at, and words
    come together: on bibtex they lift the mean by 1 and the variance by 2, where beliefs say 0 and
    0.3.
    None: there are no whole rows to see it on.
    """
    assert table.centres is not None
    whole, seldom = _whole_rows(table, rare)
    if not len(whole):
        return None
    apart = table.values[whole] - table.centres
    without = apart[:, ~seldom] @ coefficients[~seldom]
    scores = apart @ coefficients
    return float((scores - without).mean()), float(max(scores.var() - without.var(), 0.0))


def _intercept_for_share(
    table: Table, rare: Bools, coefficients: Floats, lift: tuple[float, float]
) -> float:
    """The intercept at which the mean probability is the rare class's share of all rows.

    The rare rows chose the features and made the coefficients; new ones score lower. Their mean
    probability is taken to be n / (n + 40) of what is seen on n of them.
    """
    assert table.centres is not None
    apart = np.where(table.bought, table.values - table.centres, 0.0)
    seldom = table.bought[~rare].mean(axis=0) < 0.5
    others = apart[~rare][:, ~seldom] @ coefficients[~seldom] + lift[0]
    ours = apart[rare] @ coefficients
    share = float(table.weights[rare].sum() / table.weights.sum())
    fresh = float(rare.sum() / (rare.sum() + _OPTIMISM))
    noise, part = lift[1] ** 0.5 * _POINTS, _PARTS / _PARTS.sum()

    def off(a: float) -> float:
        mean_others = float((expit(a + others[:, None] + noise) @ part).mean())
        mean = share * fresh * float(expit(a + ours).mean()) + (1 - share) * mean_others
        return mean - share

    return float(brentq(off, -80.0, 80.0, xtol=1e-6))


def _coefficients(table: Table, rare: Bools) -> tuple[Floats, float]:
    """The mean of the two fits."""
    assert table.centres is not None and table.effects is not None
    mean, variance = table.effects[:, 0], table.effects[:, 1]
    apart = np.where(table.bought, table.values - table.centres, 0.0)
    if not (table.bought & (table.values != table.values[:1])).any():
        # not a feature varies: what is left out of the naive score would tell the classes apart
        return np.zeros(table.width), float(np.log(rare.sum() / max((~rare).sum(), 1)))
    size = np.sqrt(mean**2 + _VARIANCE * variance)
    columns = apart * size
    plain, at = fit_two_classes(columns, rare, _C)
    naive = _naive_scores(apart, rare, table)
    unit = naive.std() / _NAIVE + 1e-9
    both = np.column_stack([columns, naive / unit])
    with_naive, by = fit_two_classes(both, rare, _C, (np.append(plain, 0.0), at))
    by_naive = with_naive[:-1] * size + with_naive[-1] / unit * mean
    return (plain * size + by_naive) / 2, (at + by) / 2


def _naive_scores(apart: Floats, rare: Bools, table: Table) -> Floats:
    """The sum of believed effects on each row, without what its own looks added to them."""
    assert table.centres is not None and table.effects is not None
    mean, variance = table.effects[:, 0], table.effects[:, 1]
    scores: Floats = apart @ mean
    apart_from_rare = table.values[rare] - _rare_rates(table)
    counted = np.where(table.bought[rare], apart_from_rare, 0.0) * variance
    scores[rare] -= (apart[rare] * counted).sum(axis=1)
    return scores


def _rare_rates(table: Table) -> Floats:
    """How often each feature is believed to be 1 in the rare class."""
    assert table.centres is not None and table.effects is not None
    rates: Floats = expit(logit(table.centres) + table.effects[:, 0])
    return rates
