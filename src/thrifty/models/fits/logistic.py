"""Penalised logistic regression, and what makes its log-odds honest: slopes and intercepts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize, minimize_scalar

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


def fit_penalised(
    design: Floats,
    codes: NDArray[np.int64],
    n_classes: int,
    weights: Floats,
    shrinkage: float,
    tolerance: float = 1e-9,
) -> tuple[Floats, Floats]:
    """Intercepts (c,) and coefficients (d, c); c is 1 for two classes, else one per class.

    The least of sum of w * log-loss + shrinkage / 2 * sum of squared coefficients; ``tolerance``:
    of the loss, where the search ends.
    """
    d, columns = design.shape[1], 1 if n_classes == 2 else n_classes
    target = np.eye(n_classes)[codes][:, -columns:]
    shares = np.bincount(codes, weights=weights, minlength=n_classes) + 1e-9
    start = np.log(shares / shares.sum())
    start = start[1:] - start[:1] if columns == 1 else start - start.mean()
    scale = 1.0 / weights.sum()  # an objective of order 1 whatever the weights

    def loss(flat: Floats) -> tuple[float, Floats]:
        at, slopes = flat[:columns], flat[columns:].reshape(d, columns)
        scores = design @ slopes + at
        if columns == 1:
            norm = np.logaddexp(0.0, scores)
            wrong = softmax(scores)[:, 1:] - target
        else:
            norm = np.logaddexp.reduce(scores, axis=1, keepdims=True)
            wrong = np.exp(scores - norm) - target
        value = weights @ (norm[:, 0] - (scores * target).sum(axis=1))
        wrong *= weights[:, None]
        value += 0.5 * shrinkage * float((slopes**2).sum())
        steps = design.T @ wrong + shrinkage * slopes
        return float(value * scale), np.concatenate([wrong.sum(axis=0), steps.ravel()]) * scale

    first = np.concatenate([start, np.zeros(d * columns)])
    options = {"maxiter": 200, "ftol": tolerance, "gtol": 1e-6, "maxcor": 20}
    found = minimize(loss, first, jac=True, method="L-BFGS-B", options=options).x
    return found[:columns], found[columns:].reshape(d, columns)


def fit_slope(
    scores: Floats, codes: NDArray[np.int64], weights: Floats, spread: float = np.inf
) -> tuple[float, float]:
    """The factor that makes scores from other rows fit these labels best, and the mean log loss.

    Intercepts are fitted along with it and left: they belong to all rows. ``spread``: the
    logarithm of the factor is normal around 0 with this deviation before these rows are seen. Few
    rare rows are easily told apart on paper, and then any slope is too small; new rows pay for it.

    >>> z, y = np.array([[-1.0], [-0.5], [0.5], [1.0]]), np.array([0, 0, 1, 1])
    >>> round(fit_slope(z, y, np.ones(4))[0], 2), fit_slope(z, y, np.ones(4), SPREAD)[0] < 1.5
    (5.0, True)
    >>> 0.8 < fit_slope(z, np.array([1, 0, 1, 0]), np.ones(4), SPREAD)[0] < 1  # few say little
    True
    >>> many = np.repeat(0.5 * z, 500, axis=0)
    >>> fit_slope(many, np.tile([0, 1], 1000), np.ones(2000), SPREAD)[0] < 0.6
    True
    """
    share = weights / weights.sum()
    rows = 1 / float((share**2).sum())  # as many rows of equal weight say as much

    def loss(log: float) -> float:
        stretched = np.exp(log) * scores
        p = softmax(stretched + fit_intercepts(stretched, codes, weights))
        return -float(share @ np.log(p[np.arange(len(p)), codes] + 1e-12))

    ends = (-np.log(_FARTHEST), np.log(_FARTHEST))
    best = minimize_scalar(
        lambda log: loss(log) + (log / spread) ** 2 / (2 * rows), bounds=ends, method="bounded",
        options={"xatol": 1e-4},
    ).x  # fmt: skip
    return float(np.exp(best)), loss(best)


def fit_intercepts(scores: Floats, codes: NDArray[np.int64], weights: Floats) -> Floats:
    """What has to be added to scores so that the mean prediction is the share of each class.

    >>> z, y = np.array([[3.0], [4.0], [5.0], [4.5]]), np.array([0, 1, 1, 0])
    >>> shift = fit_intercepts(z, y, np.ones(4))
    >>> round(float((1 / (1 + np.exp(-z - shift))).mean()), 6)
    0.5
    """
    two = scores.shape[1] == 1
    z = np.hstack([np.zeros_like(scores), scores]) if two else scores
    share = weights / weights.sum()
    wanted = np.bincount(codes, weights=share, minlength=z.shape[1]).clip(1e-9)
    found = np.zeros(z.shape[1])
    for _ in range(50):
        p = softmax(z + found)
        mean = share @ p
        step = np.log(wanted) - np.log(mean.clip(1e-12))
        if np.abs(step).max() < 0.5:  # far off, classes are scaled to their shares; near, Newton
            curve = np.diag(mean) - (p * share[:, None]).T @ p
            # a shift of all classes changes nothing: of all such steps the shortest
            step = np.clip(np.linalg.lstsq(curve, wanted - mean, rcond=1e-12)[0], -3.0, 3.0)
        found += step
        if np.abs(step).max() < 1e-9:
            break
    return found[1:] - found[:1] if two else found
