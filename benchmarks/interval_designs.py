"""How often a model's own 95 % intervals hold the figures of new rows, on five designs.

    python benchmarks/promises.py intervals -n 400
    python benchmarks/promises.py intervals -n 400 --design "150 rows" --first 1000

Each fit is a task of its own with the library's defaults: 12 numbers of which 4 tell the label, 30,
60, 150 or 500 rows; and 150 Boolean features, 1,000 rows, a fifth of the cells (the wide way). The
truth is the figure on 6,000 further rows. From 150 rows on the width is held beside that of a
bootstrap of the same model's scores on as many fresh rows as the figure was measured on, with the
same class counts, each class weighing what it does among all rows; and beside that of as many rows
as the task has, which is more where only a part of the rows was bought. Fits are kept in
benchmarks/results/intervals.jsonl as they are made: interrupted, it goes on where it was; delete
the file to measure anew after a change.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score, roc_auc_score

import thrifty
from thrifty.array_types import Bools, Floats
from thrifty.models.fits.quality import Quality, draws_of_rows, figures_of
from thrifty.models.table import Table

__all__ = ["DESIGNS", "intervals", "one_fit"]


Random = np.random.Generator
Rows = tuple[NDArray[np.float64], NDArray[np.int64]]

_RATES = np.random.default_rng(0).uniform(0.03, 0.12, 150)
_FRESH = 6000
#: fits as they are made
_KEPT = Path(__file__).parent / "results/intervals.jsonl"


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


def one_fit(design: str, seed: int) -> dict[str, tuple[float, ...]] | None:
    """Of each figure: low, high, truth and two widths of fresh rows; None without a figure."""
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
    scores, positive = model.predict_proba(fresh)[:, quality.positive], labels == quality.positive
    counts = [_measured(model.table_, quality), (int((y == quality.positive).sum()), len(y))]
    widths = np.full((2, 2), np.nan)
    if n >= 150:
        widths = np.array([_widths(scores, positive, *count, rng) for count in counts])
    ap, auc = quality.average_precision, quality.auc
    return {
        "AP": (ap.low, ap.high, float(average_precision_score(positive, scores)), *widths[:, 0]),
        "AUROC": (auc.low, auc.high, float(roc_auc_score(positive, scores)), *widths[:, 1]),
    }


def _measured(table: Table, quality: Quality) -> tuple[int, int]:
    """Rows of the rare class among those that a figure was measured on, and all of them."""
    rows = table.joint()[1] if table.effects is not None else np.flatnonzero(table.rows >= 0)
    assert len(rows) == quality.rows, (len(rows), quality.rows)
    return int((table.labels[rows] == quality.positive).sum()), len(rows)


def _widths(scores: Floats, positive: Bools, rare: int, rows: int, rng: Random) -> Floats:
    """Of the middle 95 % of draws of fresh rows, so many of each class: of AP and of AUROC."""
    parts = np.flatnonzero(positive), np.flatnonzero(~positive)
    some = np.concatenate([rng.choice(part, n) for part, n in zip(parts, (rare, rows - rare))])
    share = positive.mean()
    weight = np.where(positive[some], share / rare, (1 - share) / (rows - rare))
    drawn = draws_of_rows(positive[some].astype(np.int64), rng)[1:]
    low, high = np.quantile(
        figures_of(scores[some], positive[some], drawn * weight), (0.025, 0.975), axis=1
    )
    return np.asarray(high - low)


def intervals(n: int, designs: Iterable[str] = tuple(DESIGNS), first: int = 0) -> None:
    """Of n fits of each design, from a seed on, how many hold, and how wide they are."""
    kept = dict(map(json.loads, _KEPT.read_text().splitlines())) if _KEPT.exists() else {}
    for design in designs:
        for seed in range(first, first + n):
            if f"{design} {seed}" not in kept:
                kept[f"{design} {seed}"] = one_fit(design, seed)
                with _KEPT.open("a") as file:
                    file.write(json.dumps([f"{design} {seed}", kept[f"{design} {seed}"]]) + "\n")
        fits = [
            fit for seed in range(first, first + n) if (fit := kept[f"{design} {seed}"]) is not None
        ]
        for name in ("AP", "AUROC"):
            _say(design, name, np.array([fit[name] for fit in fits], dtype=np.float64))


def _say(design: str, name: str, fits: NDArray[np.float64]) -> None:
    low, high, truth, measured, task = fits.T
    holds, width = int(((low <= truth) & (truth <= high)).sum()), (high - low).mean()
    print(
        f"{design}, {name}: {holds} of {len(fits)} hold ({holds / len(fits):.1%}), mean width",
        end=" ",
    )
    beside = (
        f", {width / measured.mean():.2f} of as many fresh rows', {width / task.mean():.2f} of "
    )
    print(f"{width:.3f}" + ("" if np.isnan(task).any() else f"{beside}a task's"), flush=True)
