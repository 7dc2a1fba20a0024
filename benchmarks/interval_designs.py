"""Tasks on which a model's own 95 % intervals are held beside the figures of new rows.

Each fit is a task of its own: 12 numbers of which 4 tell the label, 150 Booleans of which 8 do, and
the same without any signal; labels of two classes, or numbers. The truth is the figure of the model
on 4,000 further rows.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score, r2_score, roc_auc_score

import thrifty

__all__ = ["CLASSES", "DESIGNS", "NUMBERS", "one_fit"]

Rows = tuple[NDArray[np.float64], NDArray[Any]]
Draw = Callable[[np.random.Generator, int], Rows]

_RATES = np.random.default_rng(0).uniform(0.03, 0.12, 150)
_FRESH = 4000


def numbers(rng: np.random.Generator, n: int) -> Rows:
    """Four of twelve numbers tell the label, two of them together."""
    X = rng.normal(size=(n, 12))
    z = X[:, :4] @ [1.2, 0.9, 0.6, 0.4] + 0.6 * X[:, 0] * X[:, 1]
    return X, (rng.random(n) < 1 / (1 + np.exp(-(1.3 * z - 0.9)))).astype(np.int64)


def wide(rng: np.random.Generator, n: int) -> Rows:
    """Eight of 150 seldom true Booleans."""
    X = rng.random((n, 150)) < _RATES
    p = 1 / (1 + np.exp(3.2 - 2.2 * X[:, :8].sum(axis=1)))
    return X, (rng.random(n) < p).astype(np.int64)


def noise(rng: np.random.Generator, n: int, like: Draw) -> Rows:
    """The same features; labels that they do not tell, three in ten."""
    return like(rng, n)[0], (rng.random(n) < 0.3).astype(np.int64)


def heights(rng: np.random.Generator, n: int) -> Rows:
    """Numbers of the first four of twelve, with as much noise as signal."""
    X = rng.normal(size=(n, 12))
    z = X[:, :4] @ [1.2, 0.9, 0.6, 0.4] + 0.6 * X[:, 0] * X[:, 1]
    return X, z + 1.6 * rng.normal(size=n)


def wide_heights(rng: np.random.Generator, n: int) -> Rows:
    """Numbers of eight of 150 seldom true Booleans."""
    X = rng.random((n, 150)) < _RATES
    return X, X[:, :8].sum(axis=1) + 0.5 * rng.normal(size=n)


def only_noise(rng: np.random.Generator, n: int) -> Rows:
    """Numbers of which the features tell nothing."""
    return rng.normal(size=(n, 12)), rng.normal(size=n)


Designs = dict[str, tuple[int, Draw, str]]
#: rows of a task, how they are drawn, and what is spent
CLASSES: Designs = {
    "60 rows": (60, numbers, "100 %"),
    "150 rows": (150, numbers, "100 %"),
    "500 rows, half of the cells": (500, numbers, "50 %"),
    "wide Booleans": (1000, wide, "20 %"),
    "noise, 150 rows": (150, partial(noise, like=numbers), "100 %"),
    "noise, wide Booleans": (600, partial(noise, like=wide), "20 %"),
}
#: the same of numbers
NUMBERS: Designs = {
    "numbers, 60 rows": (60, heights, "100 %"),
    "numbers, 150 rows": (150, heights, "100 %"),
    "numbers, 500 rows, half of the cells": (500, heights, "50 %"),
    "numbers, wide Booleans": (1000, wide_heights, "20 %"),
    "numbers, noise, 150 rows": (150, only_noise, "100 %"),
}
DESIGNS = CLASSES | NUMBERS


def one_fit(design: str, seed: int) -> dict[str, tuple[float, float, float]] | None:
    """Of each figure: low, high, truth; None where the model states none."""
    n, draw, spend = DESIGNS[design]
    rng = np.random.default_rng([n, seed])
    X, y = draw(rng, n)
    life = thrifty.Lifetime(random_state=seed)
    model = life.learn("task", X, y, spend=spend).model
    quality = model.quality_
    if quality is None:
        return None
    fresh, truth = draw(rng, _FRESH)
    if design in NUMBERS:
        r2 = quality.r2
        return {"R squared": (r2.low, r2.high, float(r2_score(truth, model.predict(fresh))))}
    scores, positive = model.predict_proba(fresh)[:, quality.positive], truth == quality.positive
    ap, auc = quality.average_precision, quality.auc
    return {
        "AP": (ap.low, ap.high, float(average_precision_score(positive, scores))),
        "AUROC": (auc.low, auc.high, float(roc_auc_score(positive, scores))),
    }
