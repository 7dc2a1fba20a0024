"""What is believed of a Boolean feature's effect, and what a further look at it is worth.

The effect of feature f is delta = logit p(x=1 | rare class) - logit mu, mu being how often it is 1
elsewhere. Its prior is fixed: most features have none to speak of, a few a large one,

    delta ~ .75 N(0, .35^2) + .25 N(.3, 1.6^2),

and mu is what the background's looks say, with a few pseudo-looks at the overall rate. Both are
taken on a grid of Gauss-Hermite points. With h the weight that the feature's values have in a
log-loss (h = .7 mu(1-mu) + .3 p1(1-p1)), acting on one number d instead of the unknown delta loses

    Loss = min_d E[h (delta - d)^2] = E[h delta^2] - E[h delta]^2 / E[h],

and the knowledge gradient of m further looks is how far Loss is expected to fall (Frazier, Powell
and Dayanik, 2008, for the idea): the outcomes are weighed by the belief itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

from thrifty.array_types import Floats, Ints

__all__ = [
    "CHUNK",
    "Belief",
    "Looked",
    "Summary",
    "believe",
    "knowledge_gradient",
    "overall_rate",
    "summarise",
]

# Where nothing else is said: those of the first prototype, chosen on tmc2007_500, slashdot and
# bibtex (docs/models.md, *Measured*; `python benchmarks/models.py` measures with them).
#: features judged together, so that their grids stay small; nothing that is bought depends on it
CHUNK = 2048
#: the prior of an effect: (weight, mean, standard deviation, grid points)
_PRIOR = ((0.75, 0.0, 0.35, 5), (0.25, 0.3, 1.6, 9))
#: grid points for the background's rate
_RATES = 3
#: the background's rate counts the overall rate as so many looks
_PSEUDO = 5.0
#: of a feature's weight in the log-loss, what falls on rows outside the rare class
_OUTSIDE = 0.7
#: rates are kept so far from 0 and 1
_EDGE = 1e-3
#: and the standard error of their logit below this
_WIDEST = 1.5
#: the overall rate starts from so many ones
_OVERALL_ONES = 1
#: in so many looks
_OVERALL_LOOKS = 20


@dataclass(frozen=True, eq=False)
class Looked:
    """Counts per feature: looks and ones in the rare class, and outside of it."""

    rare: Floats
    rare_ones: Floats
    outside: Floats
    outside_ones: Floats

    def of(self, features: Ints) -> Looked:
        """Of some features."""
        return Looked(
            self.rare[features],
            self.rare_ones[features],
            self.outside[features],
            self.outside_ones[features],
        )


@dataclass(frozen=True, eq=False)
class Belief:
    """A posterior on a grid, per feature: arrays (features, points).

    ``weight`` sums to 1 over the points, ``effect`` is delta, ``rate`` the rate in the rare class,
    ``base`` the rate outside, ``h`` the weight in the log-loss; ``centre`` (features,) the
    background's rate itself.
    """

    weight: Floats
    effect: Floats
    h: Floats
    rate: Floats
    base: Floats
    centre: Floats

    def mean(self) -> Floats:
        """The expected effect."""
        mean: Floats = (self.weight * self.effect).sum(axis=1)
        return mean

    def variance(self) -> Floats:
        """The variance of the effect."""
        square: Floats = (self.weight * self.effect**2).sum(axis=1)
        return np.maximum(square - self.mean() ** 2, 0.0)

    def worth(self) -> Floats:
        """What using the feature is expected to lower the loss by, were it the only one."""
        mean_h: Floats = (self.weight * self.h).sum(axis=1)
        return self.mean() ** 2 * mean_h


def _hermite(n: int) -> tuple[Floats, Floats]:
    points, weights = np.polynomial.hermite_e.hermegauss(n)
    return points, weights / weights.sum()


def _effects() -> tuple[Floats, Floats]:
    points, weights = [], []
    for share, mean, spread, n in _PRIOR:
        at, w = _hermite(n)
        points.append(mean + spread * at)
        weights.append(share * w)
    return np.concatenate(points), np.concatenate(weights)


_EFFECTS, _EFFECT_WEIGHTS = _effects()
_POINTS, _POINT_WEIGHTS = _hermite(_RATES)


def overall_rate(looked: Looked) -> float:
    """How often a feature is 1 outside the rare class, over all of them.

    >>> one = np.ones(1)
    >>> overall_rate(Looked(one, one, 100 * one, 29 * one))
    0.25
    """
    ones = looked.outside_ones.sum() + _OVERALL_ONES
    return float(ones / (looked.outside.sum() + _OVERALL_LOOKS))


def believe(looked: Looked, overall: float) -> Belief:
    """The posterior of every feature.

    >>> three = Looked(np.array([0.0, 20, 20]), np.array([0.0, 2, 15]), *np.full((2, 3), 100.0)
    ...                * [[1], [0.1]])
    >>> [round(float(e), 1) for e in believe(three, 0.1).mean()]
    [0.1, -0.0, 3.2]
    """
    n = len(looked.rare)
    trust = looked.outside + _PSEUDO
    centre = np.clip((looked.outside_ones + _PSEUDO * overall) / trust, _EDGE, 1 - _EDGE)
    spread = np.minimum(1 / np.sqrt(trust * centre * (1 - centre)), _WIDEST)
    base_logit = logit(centre)[:, None] + spread[:, None] * _POINTS
    shape = (n, len(_EFFECTS), len(_POINTS))
    rate = np.clip(expit(base_logit[:, None, :] + _EFFECTS[None, :, None]), 1e-12, 1 - 1e-12)
    base = np.broadcast_to(expit(base_logit)[:, None, :], shape)
    ones, zeros = looked.rare_ones, looked.rare - looked.rare_ones
    log_weight = ones[:, None, None] * np.log(rate) + zeros[:, None, None] * np.log1p(-rate)
    log_weight += np.log(_EFFECT_WEIGHTS)[None, :, None] + np.log(_POINT_WEIGHTS)
    log_weight = log_weight.reshape(n, -1)
    weight = np.exp(log_weight - log_weight.max(axis=1, keepdims=True))
    weight /= weight.sum(axis=1, keepdims=True)
    h = _OUTSIDE * base * (1 - base) + (1 - _OUTSIDE) * rate * (1 - rate)
    effect = np.broadcast_to(_EFFECTS[None, :, None], shape)
    flat = (n, len(_EFFECTS) * len(_POINTS))
    return Belief(
        weight,
        effect.reshape(flat),
        h.reshape(flat),
        rate.reshape(flat),
        base.reshape(flat),
        centre,
    )


def knowledge_gradient(belief: Belief, rate: Floats, m: int) -> Floats:
    """How far Loss is expected to fall with m more looks at rows where x = 1 at ``rate``.

    ``rate`` is ``belief.rate`` for rows of the rare class, ``belief.base`` for the others.

    >>> nothing = believe(Looked(*np.zeros((4, 1))), 0.1)
    >>> a, b = (float(knowledge_gradient(nothing, nothing.rate, m)[0]) for m in (2, 12))
    >>> 0 < a < b
    True
    """
    wh = belief.weight * belief.h
    whd = wh * belief.effect
    odds = rate / (1 - rate)
    chance = (1 - rate) ** m  # of no one among m looks; then of 1, 2, ...
    kept = np.zeros(len(wh))
    for ones in range(m + 1):
        total = np.einsum("ij,ij->i", wh, chance)
        tilted = np.einsum("ij,ij->i", whd, chance)
        kept += tilted * tilted / np.maximum(total, 1e-300)
        chance = chance * odds * ((m - ones) / (ones + 1))
    fall: Floats = kept - whd.sum(axis=1) ** 2 / wh.sum(axis=1)
    return np.maximum(fall, 0.0)


@dataclass(frozen=True, eq=False)
class Summary:
    """A belief in four numbers per feature: see :class:`Belief`."""

    mean: Floats
    variance: Floats
    worth: Floats
    centre: Floats


def summarise(looked: Looked) -> Summary:
    """What is believed of every feature, without keeping the grids."""
    overall = overall_rate(looked)
    n = len(looked.rare)
    parts = []
    for start in range(0, n, CHUNK):
        belief = believe(looked.of(np.arange(start, min(n, start + CHUNK))), overall)
        parts.append((belief.mean(), belief.variance(), belief.worth(), belief.centre))
    return Summary(*(np.concatenate(column) for column in zip(*parts)))
