"""Penalised logistic regression: one normal prior for every coefficient, intercepts free."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

from thrifty.array_types import Bools, Floats

__all__ = ["shrink_slope", "fit_intercepts", "fit_penalised", "fit_slope", "softmax"]

#: how far slopes are from 1 as a rule, in logarithms: its square is the .09 of docs/models.md
#: (Numbers, categories, gaps: 4). Set when controls came; on which sets was not noted
_SPREAD = 0.3
#: columns of two classes up to which Newton's method is the quicker one, at some thousand rows
_FEW = 32


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
    offset: Floats | float = 0.0,
    tolerance: float = 1e-9,
    near: Floats | None = None,
) -> tuple[Floats, Floats]:
    """Intercepts (c,) and coefficients (d, c); c is 1 for two classes, else one per class.

    The least of sum of w * log-loss + shrinkage / 2 * sum of squared coefficients; ``offset``: what
    stands beside the scores, (n, c); ``tolerance``: of the loss, where the search ends; ``near``:
    intercepts and coefficients, one after another, at which it begins.
    """
    n, d = design.shape
    if n_classes == 2 and d <= _FEW and isinstance(offset, float):
        found = _by_newton(design, codes == 1, weights, shrinkage, tolerance, near)
        return found[-1:], found[:-1, None]
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
        scores = design @ slopes + at + offset
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

    first = np.concatenate([start, np.zeros(d * columns)]) if near is None else near
    options = {"maxiter": 200, "ftol": tolerance, "gtol": 1e-6, "maxcor": 20}
    found = minimize(loss, first, jac=True, method="L-BFGS-B", options=options).x
    return found[:columns], found[columns:].reshape(d, columns)


def _by_newton(
    columns: Floats, is_one: Bools, weights: Floats, shrinkage: float, tolerance: float,
    near: Floats | None,
) -> Floats:  # fmt: skip
    """Coefficients, then the intercept, by Newton's method; a step is halved while the loss rises.

    ``tolerance``: of the loss, where the search ends.
    """
    n, d = columns.shape
    design = np.column_stack([columns, np.ones(n)])
    penalty = np.append(np.full(d, shrinkage), 0.0)
    at, ones = np.zeros(d + 1), weights @ is_one
    at[-1] = np.log(ones / (weights.sum() - ones))
    if near is not None:
        at = np.append(near[1:], near[0])

    def loss(some: Floats, scores: Floats) -> float:
        lost = weights @ (np.logaddexp(0.0, scores) - is_one * scores)
        return float(lost + 0.5 * penalty @ some**2)

    scores = design @ at
    before = loss(at, scores)
    for _ in range(50):
        p = expit(scores)
        slope = design.T @ (weights * (p - is_one)) + penalty * at
        curve = (design.T * (weights * p * (1 - p))) @ design + np.diag(penalty + 1e-9)
        step = np.linalg.solve(curve, slope)
        moved = design @ step
        while (now := loss(at - step, scores - moved)) > before and np.abs(step).max() > 1e-9:
            step, moved = step / 2, moved / 2
        at, scores, fell, before = at - step, scores - moved, before - now, now
        if fell <= tolerance * (1.0 + before):
            break
    return at


def fit_slope(scores: Floats, codes: NDArray[np.int64], weights: Floats) -> tuple[float, float]:
    """The factor in [0.2, 5] that makes scores from other rows fit these labels best, and the loss.

    Intercepts are fitted along with it and left: they belong to all rows.
    """
    if scores.shape[1] == 1:
        return _slope_of_two(scores[:, 0], codes, weights)
    tried = np.geomspace(0.2, 5.0, 7)
    for _ in range(2):  # a coarse look, then a finer one around the best
        losses = [_loss_at(slope, scores, codes, weights) for slope in tried]
        best = int(np.argmin(losses))
        slope, loss = float(tried[best]), losses[best]
        tried = np.clip(slope * np.geomspace(0.6, 1.7, 7), 0.2, 5.0)
    return slope, loss


def _slope_of_two(scores: Floats, codes: NDArray[np.int64], weights: Floats) -> tuple[float, float]:
    """Newton's method on intercept and slope; a slope outside its range is put to its end."""
    share = float(np.average(codes, weights=weights))
    at = np.array([np.log(share / (1 - share)) - np.average(scores, weights=weights), 1.0])
    for _ in range(25):
        p = softmax((at[0] + at[1] * scores)[:, None])[:, 1]
        wrong, curve = weights * (p - codes), weights * p * (1 - p)
        steps = np.array([wrong.sum(), wrong @ scores])
        a, b, c = curve.sum(), curve @ scores, curve @ scores**2
        ridge = 1e-6 * (a + c) + 1e-12
        move = np.linalg.solve([[a + ridge, b], [b, c + ridge]], steps)
        at -= np.clip(move, -2.0, 2.0)
        if np.abs(move).max() < 1e-7:
            break
    slope = float(np.clip(at[1], 0.2, 5.0))
    return slope, _loss_at(slope, scores[:, None], codes, weights)


def shrink_slope(slope: float, scores: Floats, codes: NDArray[np.int64], weights: Floats) -> float:
    """The slope, shrunk to 1 the more the less the rows say of it.

    Few rare rows are easily told apart on paper, and then any slope is too small; new rows pay for
    it. With v the sampling variance of the slope, at 1, the part _SPREAD^2 / (_SPREAD^2 + v) of
    its logarithm is kept.

    >>> z, y = np.array([[-1.0], [-0.5], [0.5], [1.0]]), np.array([0, 0, 1, 1])
    >>> 1.0 < shrink_slope(5.0, z, y, np.ones(4)) < 1.5
    True
    >>> many = shrink_slope(0.5, np.repeat(z, 500, axis=0), np.tile([0, 1], 1000), np.ones(2000))
    >>> 0.5 < many < 0.6
    True
    """
    p = softmax(scores + fit_intercepts(scores, codes, weights))
    z = np.hstack([np.zeros_like(scores), scores]) if scores.shape[1] == 1 else scores
    curve = np.abs(weights)[:, None] * p * (1 - p)
    z = z - (curve * z).sum(axis=0) / np.maximum(curve.sum(axis=0), 1e-12)  # intercepts are free
    mean = (p * z).sum(axis=1)
    told = weights * (z[np.arange(len(z)), codes] - mean)
    sure = float(weights @ (p * (z - mean[:, None]) ** 2).sum(axis=1))
    if sure <= 0:
        return 1.0
    kept = _SPREAD**2 / (_SPREAD**2 + float(told @ told) / sure**2)
    return float(slope**kept)


def fit_intercepts(scores: Floats, codes: NDArray[np.int64], weights: Floats) -> Floats:
    """What has to be added to scores so that the mean prediction is the share of each class."""
    columns = scores.shape[1]
    n_classes = columns + (columns == 1)
    wanted = np.bincount(codes, weights=weights, minlength=n_classes) / weights.sum()
    wanted = wanted.clip(1e-9)
    found = np.zeros(columns)
    for _ in range(50):
        p = softmax(scores + found)
        mean = weights @ p / weights.sum()
        if columns == 1:  # Newton's method, kept from jumping
            curve = float(weights @ (p[:, 1] * p[:, 0]) / weights.sum())
            step = np.clip((wanted[1:] - mean[1:]) / max(curve, 1e-9), -3.0, 3.0)
        else:
            step = _step_of_many(p, mean, wanted, weights)
        found += step
        if np.abs(step).max() < 1e-9:
            break
    return found


def _step_of_many(p: Floats, mean: Floats, wanted: Floats, weights: Floats) -> Floats:
    """Far off, each class is scaled to its share; near, Newton's method ends in a few steps."""
    scaling: Floats = np.log(wanted) - np.log(mean.clip(1e-12))
    if np.abs(scaling).max() > 0.5:
        return scaling
    curve = np.diag(mean) - (p * weights[:, None]).T @ p / weights.sum()
    # A shift of all classes changes nothing: the curve is flat there, and a step has none of it.
    flat = np.full_like(curve, 1.0 / len(mean))
    try:
        step: Floats = np.clip(np.linalg.solve(curve + flat, wanted - mean), -3.0, 3.0)
    except np.linalg.LinAlgError:  # every row is certain: there is no curve to go by
        return scaling
    return step


def _loss_at(slope: float, scores: Floats, codes: NDArray[np.int64], weights: Floats) -> float:
    """Mean log-loss of stretched scores, shifted to the shares of the classes."""
    stretched = scores * slope
    p = softmax(stretched + fit_intercepts(stretched, codes, weights))
    return -float(np.average(np.log(p[np.arange(len(p)), codes] + 1e-12), weights=weights))
