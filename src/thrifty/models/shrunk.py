"""Shrunk logistic regression: one normal prior for every coefficient, intercepts free."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

__all__ = ["fit_intercepts", "fit_shrunk", "fit_slope", "softmax"]

Floats = NDArray[np.float64]


def softmax(scores: Floats) -> Floats:
    """Probabilities, a column per class; a single column of scores is the log-odds of the second.

    >>> softmax(np.array([[0.0], [100.0]])).round(3).tolist()
    [[0.5, 0.5], [0.0, 1.0]]
    """
    if scores.shape[1] == 1:
        scores = np.hstack([np.zeros_like(scores), scores])
    top = np.exp(scores - scores.max(axis=1, keepdims=True))
    found: Floats = top / top.sum(axis=1, keepdims=True)
    return found


def fit_shrunk(
    design: Floats, codes: NDArray[np.int64], n_classes: int, weights: Floats, shrinkage: float
) -> tuple[Floats, Floats]:
    """Intercepts (c,) and coefficients (d, c); c is 1 for two classes, else one per class.

    The least of sum of w * log-loss + shrinkage / 2 * sum of squared coefficients.
    """
    n, d = design.shape
    columns = 1 if n_classes == 2 else n_classes
    target = np.zeros((n, n_classes))
    target[np.arange(n), codes] = 1.0
    target = target[:, 1:] if columns == 1 else target
    shares = np.bincount(codes, weights=weights, minlength=n_classes) + 1e-9
    start = np.log(shares / shares.sum())
    start = start[1:] - start[:1] if columns == 1 else start - start.mean()
    scale = 1.0 / weights.sum()  # an objective of order 1 whatever the weights

    def loss(flat: Floats) -> tuple[float, Floats]:
        at, slopes = flat[:columns], flat[columns:].reshape(d, columns)
        scores = design @ slopes + at
        if columns == 1:
            eta = scores[:, 0]
            value = weights @ (np.logaddexp(0.0, eta) - target[:, 0] * eta)
            wrong = softmax(scores)[:, 1:] - target
        else:
            shifted = scores - scores.max(axis=1, keepdims=True)
            norm = np.log(np.exp(shifted).sum(axis=1, keepdims=True))
            value = -(weights @ ((shifted - norm) * target).sum(axis=1))
            wrong = np.exp(shifted - norm) - target
        wrong *= weights[:, None]
        value += 0.5 * shrinkage * float((slopes**2).sum())
        steps = design.T @ wrong + shrinkage * slopes
        return float(value * scale), np.concatenate([wrong.sum(axis=0), steps.ravel()]) * scale

    first = np.concatenate([start, np.zeros(d * columns)])
    options = {"maxiter": 200, "ftol": 1e-9, "gtol": 1e-6, "maxcor": 20}
    found = minimize(loss, first, jac=True, method="L-BFGS-B", options=options).x
    return found[:columns], found[columns:].reshape(d, columns)


def fit_slope(scores: Floats, codes: NDArray[np.int64], weights: Floats) -> float:
    """The factor in [0.2, 5] that makes scores from other rows fit these labels best.

    Intercepts are fitted along with it and left: they belong to all rows.
    """
    columns = scores.shape[1]
    n_classes = columns + (columns == 1)
    tried = np.geomspace(0.2, 5.0, 9)
    for _ in range(2):  # a coarse look, then a finer one around the best
        losses = [_loss_at(slope, scores, codes, n_classes, weights) for slope in tried]
        best = float(tried[int(np.argmin(losses))])
        tried = np.clip(best * np.geomspace(2 / 3, 1.5, 9), 0.2, 5.0)
    return best


def fit_intercepts(scores: Floats, codes: NDArray[np.int64], weights: Floats) -> Floats:
    """What has to be added to scores so that the mean prediction is the share of each class."""
    columns = scores.shape[1]
    n_classes = columns + (columns == 1)
    wanted = np.bincount(codes, weights=weights, minlength=n_classes) / weights.sum()
    wanted = wanted.clip(1e-9)
    found = np.zeros(columns)
    for _ in range(50):
        mean = weights @ softmax(scores + found) / weights.sum()
        step = np.log(wanted) - np.log(mean.clip(1e-12))
        found += step[1:] - step[:1] if columns == 1 else step
        if np.abs(step).max() < 1e-9:
            break
    return found


def _loss_at(
    slope: float, scores: Floats, codes: NDArray[np.int64], n_classes: int, weights: Floats
) -> float:
    shifted = scores * slope
    p = softmax(shifted + fit_intercepts(shifted, codes, weights))
    return float(-(weights @ np.log(p[np.arange(len(p)), codes] + 1e-12)))
