"""How often a model's own 95 % intervals hold the figures of new rows, on five designs.

    python benchmarks/promises.py intervals -n 400

Each fit is a task of its own with the library's defaults: 12 numbers of which 4 tell the label, 30,
60, 150 or 500 rows; and 150 Boolean features, 1,000 rows, a fifth of the cells (the wide way). The
truth is the figure on 6,000 further rows. From 150 rows on the width is held beside that of a
bootstrap of the same model's scores on as many fresh rows, with the same class counts.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score, roc_auc_score

import thrifty
from thrifty.models.fits.quality import Quality

__all__ = ["DESIGNS", "intervals", "one_fit"]

Rows = tuple[NDArray[np.float64], NDArray[np.int64]]

_RATES = np.random.default_rng(0).uniform(0.03, 0.12, 150)
_FRESH, _DRAWS = 6000, 200


def numbers(rng: np.random.Generator, n: int, strong: float = 1.0) -> Rows:
    """Four of twelve numbers tell the label, two of them together."""
    X = rng.normal(size=(n, 12))
    z = X[:, :4] @ [1.2, 0.9, 0.6, 0.4] + 0.6 * X[:, 0] * X[:, 1]
    return X, (rng.random(n) < 1 / (1 + np.exp(-strong * (1.3 * z - 0.9)))).astype(np.int64)


def plain(rng: np.random.Generator, n: int) -> Rows:
    """Labels that nearly follow: a perfect score on few rows is common."""
    return numbers(rng, n, strong=3.0)


def wide(rng: np.random.Generator, n: int) -> Rows:
    """Eight of 150 seldom true Booleans."""
    X = rng.random((n, 150)) < _RATES
    p = 1 / (1 + np.exp(3.2 - 2.2 * X[:, :8].sum(axis=1)))
    return X, (rng.random(n) < p).astype(np.int64)


#: rows of a task, how they are drawn, and what is spent
DESIGNS: dict[str, tuple[int, Callable[[np.random.Generator, int], Rows], str | None]] = {
    "30 rows": (30, plain, None),
    "60 rows": (60, numbers, None),
    "150 rows": (150, numbers, None),
    "500 rows": (500, numbers, None),
    "wide Boolean": (1000, wide, "20 %"),
}


def one_fit(design: str, seed: int) -> dict[str, tuple[float, float, float, float]] | None:
    """Of each figure: low, high, truth and the width of fresh rows; None without a figure."""
    n, draw, spend = DESIGNS[design]
    rng = np.random.default_rng([n, seed])
    X, y = draw(rng, n)
    life = thrifty.Lifetime(random_state=seed)
    if np.bincount(y, minlength=2).min() < 6:
        return None
    model = life.learn("task", X, y, **({} if spend is None else {"spend": spend})).model
    quality: Quality | None = model.quality_
    if quality is None:
        return None
    fresh, labels = draw(rng, _FRESH)
    scores, positive = model.predict_proba(fresh)[:, quality.rare], labels == quality.rare
    found = {}
    figures = (quality.average_precision, average_precision_score), (quality.auc, roc_auc_score)
    for name, (figure, score) in zip(("AP", "AUROC"), figures):
        width = _width(scores, positive, y == quality.rare, score, rng) if n >= 150 else np.nan
        found[name] = (figure.low, figure.high, float(score(positive, scores)), width)
    return found


def _width(scores, positive, like, score, rng) -> float:  # type: ignore[no-untyped-def]
    """Of the middle 95 % of draws of fresh rows, as many of each class as the task has."""
    parts = np.flatnonzero(positive), np.flatnonzero(~positive)
    some = [rng.choice(part, n) for part, n in zip(parts, (like.sum(), (~like).sum()))]
    drawn = [np.concatenate([rng.choice(part, len(part)) for part in some]) for _ in range(_DRAWS)]
    low, high = np.quantile([score(positive[i], scores[i]) for i in drawn], (0.025, 0.975))
    return float(high - low)


def intervals(n: int) -> None:
    """Of n fits of each design, how many hold, and how wide they are."""
    for design in DESIGNS:
        fits = [fit for fit in (one_fit(design, seed) for seed in range(n)) if fit is not None]
        for name in ("AP", "AUROC"):
            low, high, truth, fresh = np.array([fit[name] for fit in fits]).T
            holds, width = int(((low <= truth) & (truth <= high)).sum()), (high - low).mean()
            print(
                f"{design}, {name}: {holds} of {len(fits)} hold ({holds / len(fits):.1%}), mean "
                f"width {width:.3f}"
                + ("" if np.isnan(fresh).any() else f", {width / fresh.mean():.2f} of fresh rows'"),
                flush=True,
            )
