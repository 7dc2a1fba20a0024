"""Probabilities that mean what they say: a slope and constants, fitted out of fold.

Platt's scaling (1999) for any number of classes: softmax(a log p + b). A prefix that is too sure of
itself would stop too early, so every prefix is scaled on rows it did not see. Two numbers for all
scores follow the many rows in the middle: where labels of the surest rows are noisy the top is flat
and a slope does not see it. So no class is given more than held-out rows at its top support.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from thrifty.typing import Floats

#: how far slopes are from 1 as a rule, in logarithms; and at most (docs/research/dead_ends.md,
#: What to fit)
SPREAD, _FARTHEST = 0.3, 5.0


def softmax(scores: Floats) -> Floats:
    """Probabilities, a column per class; a single column of scores is the log-odds of the second.

    >>> softmax(np.array([[0.0], [100.0]])).round(3).tolist()
    [[0.5, 0.5], [0.0, 1.0]]
    """
    if scores.shape[1] == 1:  # most often: the same numbers in half of the time
        below = np.exp(-np.abs(scores))
        small, large = below / (1.0 + below), 1.0 / (1.0 + below)
        up = scores >= 0
        return np.hstack([np.where(up, small, large), np.where(up, large, small)])
    top = np.exp(scores - scores.max(axis=1, keepdims=True))
    found: Floats = top / top.sum(axis=1, keepdims=True)
    return found


def fit_slope(
    scores: Floats, codes: NDArray[np.int64], weights: Floats, spread: float = np.inf
) -> tuple[float, Floats]:
    """The factor that makes scores from other rows fit these labels best, and what is added then.

    ``spread``: the logarithm of the factor is normal around 0 with this deviation before these rows
    are seen. Few rare rows are easily told apart on paper, and then any slope is too small; new
    rows pay for it.

    >>> z, y = np.array([[-1.0], [-0.5], [0.5], [1.0]]), np.array([0, 0, 1, 1])
    >>> round(fit_slope(z, y, np.ones(4))[0], 2), fit_slope(z, y, np.ones(4), SPREAD)[0] < 1.5
    (5.0, True)
    >>> 0.8 < fit_slope(z, np.array([1, 0, 1, 0]), np.ones(4), SPREAD)[0] < 1  # few say little
    True
    >>> many = np.repeat(0.5 * z, 500, axis=0)
    >>> fit_slope(many, np.tile([0, 1], 1000), np.ones(2000), SPREAD)[0] < 0.6
    True
    """
    return _fit_odds(scores, codes, weights, spread, np.log(_FARTHEST))


def fit_intercepts(scores: Floats, codes: NDArray[np.int64], weights: Floats) -> Floats:
    """What has to be added to scores so that the mean prediction is the share of each class.

    >>> z, y = np.array([[3.0], [4.0], [5.0], [4.5]]), np.array([0, 1, 1, 0])
    >>> shift = fit_intercepts(z, y, np.ones(4))
    >>> round(float((1 / (1 + np.exp(-z - shift))).mean()), 6)
    0.5
    """
    return _fit_odds(scores, codes, weights, np.inf, 0.0)[1]


def _fit_odds(
    scores: Floats, codes: NDArray[np.int64], weights: Floats, spread: float, farthest: float
) -> tuple[float, Floats]:
    """Slope, at most so far from 1 in logarithms, and intercepts of least loss: Platt (1999)."""
    share = weights / weights.sum()
    rows = 1 / float((share**2).sum())  # as many rows of equal weight say as much
    each, c = np.arange(len(scores)), scores.shape[1]
    hot = np.eye(max(c, 2))[codes][:, -c:]

    def loss(found: Floats) -> tuple[float, Floats]:
        log, times = found[0], np.exp(found[0])
        p = softmax(times * scores + found[1:])
        wrong = share[:, None] * (p[:, -c:] - hot)
        steep = times * float((wrong * scores).sum()) + log / (rows * spread**2)
        value = (log / spread) ** 2 / (2 * rows) - share @ np.log(
            np.maximum(p[each, codes], 1e-300)
        )
        return float(value), np.append(steep, wrong.sum(axis=0))

    bounds = [(-farthest, farthest), *[(None, None)] * c]
    options = {"ftol": 1e-14, "gtol": 1e-9}
    found = minimize(
        loss, np.zeros(1 + c), jac=True, method="L-BFGS-B", bounds=bounds, options=options
    ).x
    return float(np.exp(found[0])), found[1:]


@dataclass(frozen=True, eq=False)
class Scaling:
    """p -> softmax(slope log p + shift), the likeliest class at most what is supported.

    Attributes
    ----------
    most : array of float or None
        (classes,) what the probability of each class may be, at least a half; None: anything

    Examples
    --------
    >>> Scaling(1.0, np.zeros(2))(np.array([[0.2, 0.8]])).round(6).tolist()
    [[0.2, 0.8]]
    >>> Scaling(1.0, np.zeros(2), np.array([0.9, 0.7]))(np.array([[0.2, 0.8]])).round(3).tolist()
    [[0.3, 0.7]]
    """

    slope: float
    shift: Floats
    most: Floats | None = None

    def __call__(self, p: Floats) -> Floats:
        scaled = softmax(self.slope * _logs(p) + self.shift)
        return scaled if self.most is None else _at_most(scaled, self.most)

    def towards(self, other: Scaling, part: float) -> Scaling:
        """Between this and another: so large a part of the way."""
        most = None
        if self.most is not None and other.most is not None:
            most = (1 - part) * self.most + part * other.most
        slope = (1 - part) * self.slope + part * other.slope
        return Scaling(slope, (1 - part) * self.shift + part * other.shift, most)


def _at_most(p: Floats, most: Floats) -> Floats:
    """The likeliest class lowered to what it may have; the others share the rest as they did."""
    # beyond what is supported log-odds go on so slowly: rows keep their order and gain nothing
    beyond = 1e-3
    each, likely = np.arange(len(p)), p.argmax(axis=1)
    top = np.clip(p[each, likely], 1e-12, 1 - 1e-12)
    limit = np.clip(most[likely], 0.5, 1 - 1e-12)
    odds, bound = np.log(top / (1 - top)), np.log(limit / (1 - limit))
    lowered = 1 / (1 + np.exp(-(bound + beyond * (odds - bound))))
    new = np.where(odds > bound, lowered, top)
    out: Floats = p * ((1 - new) / (1 - top))[:, None]
    out[each, likely] = new
    return out


def fit_scaling(p: Floats, y: NDArray[np.int64], weights: Floats) -> Scaling:
    """The scaling of least weighted log-loss whose slope is drawn a little towards 1."""
    # how far slopes are from 1 before these rows are seen, in logarithms; set by hand
    spread = 0.7
    slope, _ = fit_slope(_logs(p), y, weights, spread)
    return _with_shares(slope, p, y, weights)


def fit_scaling_cautiously(p: Floats, y: NDArray[np.int64], weights: Floats) -> Scaling:
    """The same with its slope a standard error lower: what few rows support says less.

    And no class is given more than these rows support (:func:`most_supported`).

    >>> y = np.arange(40) % 2
    >>> p = np.where(y[:, None] == [0, 1], 0.8, 0.2)
    >>> careful = fit_scaling_cautiously(p, y, np.ones(40))
    >>> bool(careful.slope < fit_scaling(p, y, np.ones(40)).slope)
    True
    """
    least = 0.05  # a slope is above 0: rows keep their order
    found = fit_scaling(p, y, weights)
    scaled, logs = found(p), _logs(p)
    mean = (scaled * logs).sum(axis=1, keepdims=True)
    share = weights / weights.sum()
    rows = 1.0 / float((share**2).sum())  # as many rows of equal weight say as much
    spread = float(share @ (scaled * (logs - mean) ** 2).sum(axis=1))
    error = 1.0 / np.sqrt(max(rows * spread, 1e-9) + 2.0)
    lower = _with_shares(max(found.slope - error, least), p, y, weights)
    return replace(lower, most=most_supported(lower(p), y, weights))


def _with_shares(slope: float, p: Floats, y: NDArray[np.int64], weights: Floats) -> Scaling:
    """So steep, and each class as frequent as it is."""
    return Scaling(slope, fit_intercepts(slope * _logs(p), y, weights))


def _logs(p: Floats) -> Floats:
    return np.asarray(np.log(np.clip(p, 1e-9, 1.0)))


def most_supported(p: Floats, y: NDArray[np.int64], weights: Floats) -> Floats:
    """For each class the largest share right among its surest rows, were one more of them wrong.

    At every level the rows that are at least so likely of a class are looked at; the further row
    weighs what rows of the other classes do. One more row was chosen on tmc2007_500, made_wide,
    slashdot and jester_items (`python benchmarks/sure.py`). On medical, yahoo_arts_500 and
    tox21_maccs it holds at .9 and not at .95 (docs/research/asking.md, Sure).

    >>> p = np.tile([[0.1, 0.9]], (9, 1))
    >>> most_supported(p, np.ones(9, dtype=np.int64), np.ones(9)).tolist()
    [0.5, 0.9]
    """
    found = np.full(p.shape[1], 0.5)
    for c in range(p.shape[1]):
        here = np.flatnonzero(p[:, c] >= 0.5)
        if not len(here):
            continue
        here = here[np.argsort(-p[here, c], kind="stable")]
        others = weights[y != c] if (y != c).any() else weights
        one_more = float((others**2).sum() / others.sum())
        right = np.cumsum(np.where(y[here] == c, weights[here], 0.0))
        ends = np.append(np.diff(p[here, c]) != 0, True)  # rows that are alike count together
        share = right / (np.cumsum(weights[here]) + one_more)
        found[c] = max(0.5, float(share[ends].max()))
    return found
