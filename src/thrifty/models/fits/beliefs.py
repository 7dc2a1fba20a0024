"""What a few rows let one believe of a feature's effect: most have next to none, some a large one.

Two priors of the spike-and-slab kind (George and McCulloch, 1993). *Boolean features, two classes*:
the difference of the log-odds of a 1 between the rarer class and the others is
.75 N(0, .35^2) + .25 N(.3, 1.6^2), on a grid, with the rate among the others known as well as it
was counted (also by earlier tasks). *Any column*: the standardised difference is
.75 N(0, .1^2) + .25 N(0, .6^2), in closed form. Both priors were chosen on tmc2007_500, rcv1s1_500
and nhanes before this version and are the same for every table; learning them from a task's own
rows failed (docs/research).
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit, logit

from thrifty.typing import Bools, Floats

_NODES, _MASSES = np.polynomial.hermite_e.hermegauss(9)
#: effects on the grid, and how likely each is before anything was seen
_EFFECTS = np.r_[0.35 * _NODES, 0.3 + 1.6 * _NODES]
_PRIOR = np.r_[0.75 * _MASSES, 0.25 * _MASSES] / _MASSES.sum()
#: the background rate is known up to sampling: three points of a normal (Gauss and Hermite)
_OFF, _OFF_MASS = np.array([-1.732, 0.0, 1.732]), np.array([1.0, 4.0, 1.0]) / 6
#: of standardised columns: (share, deviation) of the two parts
_PARTS = ((0.75, 0.1), (0.25, 0.6))


def believe_rates(
    rare: Floats, rare_ones: Floats, other: Floats, other_ones: Floats
) -> tuple[Floats, Floats, Floats, Floats]:
    """Effects of Boolean features: mean, variance, what they explain, and the background's rates.

    Parameters
    ----------
    rare, rare_ones : array of float
        rows of the rarer class that were sampled, by feature, and how many of them are 1
    other, other_ones : array of float
        the same outside that class, earlier tasks' rows included

    Examples
    --------
    >>> mean, *_ = believe_rates(*np.array([[20.0, 20], [18, 2], [40, 40], [4, 4]]))
    >>> bool(mean[0] > 2.5 and abs(mean[1]) < 0.3)
    True
    """
    pseudo = 5.0  # samples of its own that a background rate is drawn to the mean rate with
    overall = (other_ones.sum() + 1.0) / (other.sum() + 20.0)
    mu = np.clip((other_ones + pseudo * overall) / (other + pseudo), 1e-3, 1 - 1e-3)
    off = np.minimum(1 / np.sqrt((other + pseudo) * mu * (1 - mu)), 1.5)
    base = logit(mu)[:, None] + off[:, None] * _OFF
    p = np.clip(expit(base[:, :, None] + _EFFECTS), 1e-9, 1 - 1e-9).reshape(len(mu), -1)
    logs = np.log(np.outer(_OFF_MASS, _PRIOR).ravel())
    logs = logs + rare_ones[:, None] * np.log(p) + (rare - rare_ones)[:, None] * np.log1p(-p)
    weight = np.exp(logs - logs.max(axis=1, keepdims=True))
    weight /= weight.sum(axis=1, keepdims=True)
    effect = np.tile(_EFFECTS, len(_OFF))
    mean = weight @ effect
    spread = 0.7 * mu * (1 - mu) + 0.3 * (weight * p * (1 - p)).sum(axis=1)
    return mean, np.maximum(weight @ effect**2 - mean**2, 0.0), mean**2 * spread, mu


def believe_columns(columns: Floats, known: Bools, target: Floats) -> tuple[Floats, Floats]:
    """Effects of any columns on (n, t) targets: mean and variance, (t, columns).

    A column is seen on the rows where it is ``known``; what it holds elsewhere does not count.

    >>> x = np.linspace(-1, 1, 50)[:, None]
    >>> mean, variance = believe_columns(x, np.ones((50, 1), bool), (x > 0).astype(float))
    >>> bool(mean[0, 0] > 1.0)
    True
    """
    n = np.maximum(known.sum(axis=0), 1)
    z = np.where(known, columns, 0.0)
    z = np.where(known, z - z.sum(axis=0) / n, 0.0)
    spread = np.sqrt((z**2).sum(axis=0) / n)
    varies = spread > 1e-9
    z = z / np.where(varies, spread, 1.0)
    scale = np.maximum(target.std(axis=0), 1e-9)
    seen = ((target - target.mean(axis=0)) / scale**2).T @ z / n * varies
    noise = (1.0 / (n * scale[:, None] ** 2)) + np.zeros_like(seen)
    logs, means, left = [], [], []
    for share, deviation in _PARTS:
        total = deviation**2 + noise
        logs.append(np.log(share) - 0.5 * np.log(total) - seen**2 / (2 * total))
        means.append(seen * deviation**2 / total)
        left.append(deviation**2 * noise / total)
    weight = np.exp(np.array(logs) - np.max(logs, axis=0))
    weight /= weight.sum(axis=0)
    mean = (weight * np.array(means)).sum(axis=0)
    variance = (weight * (np.array(left) + np.array(means) ** 2)).sum(axis=0) - mean**2
    return mean, np.maximum(variance, 0.0)


def expected_size(mean: Floats, variance: Floats) -> Floats:
    """How large an effect is believed to be: what a column of a ridge is multiplied by."""
    # how much of the variance of a belief counts as size beside its mean: spec, adaptive ridge
    of_variance = 0.2
    return np.sqrt(mean**2 + of_variance * variance)
