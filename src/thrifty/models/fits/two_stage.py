"""A first stage on what is known of every row, corrected by what was bought on some of them.

The first stage is a stack (:mod:`.stack`) over features that are free, or known of all rows. What
it says of a row it did not see is one more column of the second stage, a stack over all features on
the rows that have them. The second stage is used only as far as it surely lowers the loss on
held-out rows, so that what was paid for makes no model worse than the free columns alone.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from thrifty.models.fits.calibration import softmax
from thrifty.models.fits.quality import LEAST, Quality, losses, quality_on
from thrifty.models.fits.stack import Scores, Stack, fit_stack, stack_from_dict
from thrifty.models.scorecard import CategoryNames, Scorecard
from thrifty.models.table import Table
from thrifty.typing import Floats, Ints, Json, JsonLike


@dataclass(frozen=True, eq=False)
class TwoStage(Scores):
    """Both stages; the second has the first one's scores as its last features."""

    first: Stack
    second: Stack
    part: float
    quality: Quality | None = None
    error: float = np.nan

    def __post_init__(self) -> None:
        object.__setattr__(self, "classes_", self.first.classes_)

    def scores(self, values: Floats) -> Floats:
        """(rows, c) log-odds, or numbers."""
        below = self.first.scores(values[:, : self._width])
        above = self.second.scores(np.hstack([values, below]))
        return (1 - self.part) * below + self.part * above

    @property
    def _width(self) -> int:
        return len(self.first.ridge.bins)

    def summary(self) -> str:
        """What it is, in a sentence."""
        return (
            f"A first stage of {self._width} features that are known of every row, corrected by a "
            f"second one that was bought on some. First stage: {self.first.summary()}"
        )

    def scorecard(
        self, names: Sequence[str], words: CategoryNames, classes: Sequence[Hashable]
    ) -> Scorecard:
        """The scorecard of the first stage."""
        return self.first.scorecard(names[: self._width], words, classes)

    def to_dict(self) -> Json:
        """Plain data, for JSON."""
        return {
            "model": "TwoStage",
            "first": self.first.to_dict(),
            "second": self.second.to_dict(),
            "part": self.part,
            "error": None if np.isnan(self.error) else self.error,
        }


def two_stage_from_dict(data: JsonLike) -> TwoStage:
    """The inverse of :meth:`TwoStage.to_dict`."""
    first, second = stack_from_dict(data["first"]), stack_from_dict(data["second"])
    error = data["error"]
    return TwoStage(
        first,
        second,
        float(data["part"]),
        second.quality,
        np.nan if error is None else float(error),
    )


def fit_two_stages(table: Table, seed: int = 0) -> tuple[TwoStage | Stack, Floats | None]:
    """Both stages, the first over the leading ``table.first`` features; or the first alone.

    With what is said of every row that was left out, as :func:`.stack.fit_stack` does.
    """
    # the steps in which the part of the correction is tried, and by how many standard errors a
    # part must lower the loss: none loses .02 on random lists of emotions (`benchmarks/paired.py
    # lists`)
    steps, sure = 4, 1.5
    k = table.first
    below = table.of_features(np.arange(k))
    first, said = fit_stack(below, seed)
    rows = np.flatnonzero(table.bought[:, k:].any(axis=1))
    if said is None or not _enough(table, rows):
        return first, said
    numbers = table.labels.dtype.kind == "f"
    offset = said if numbers else _log_odds(said)
    upper = _with_columns(table.of_rows(rows).weighing_as(table), offset[rows])
    second, again = fit_stack(upper, seed)
    if again is None:
        return first, said
    above = again if numbers else _log_odds(again)
    weights, y = upper.weights, upper.labels
    codes = y if numbers else np.searchsorted(first.classes_, y).astype(np.int64)

    def mixed(part: float) -> Floats:
        """What is said with so much of the correction."""
        scores = (1 - part) * offset[rows] + part * above
        return scores if numbers else softmax(scores)

    tried = np.array([losses(mixed(s / steps), codes) for s in range(steps + 1)])
    share, gained = weights / weights.sum(), tried[0] - tried
    gains = gained @ share
    errors = np.sqrt((gained - gains[:, None]) ** 2 @ share**2)
    step = int(np.argmax(gains - sure * errors))
    if not step:
        return first, said
    part, found = step / steps, said.copy()
    found[rows] = mixed(part)
    if numbers:
        error = float(np.sqrt(tried[step] @ share))
        return TwoStage(first, second, part, None, error), found
    quality = quality_on(upper, found[rows], codes, seed)
    quality = quality or first.quality
    return TwoStage(first, replace(second, quality=quality), part, quality), found


def _enough(table: Table, rows: Ints) -> bool:
    kinds = table.labels if table.labels.dtype.kind != "f" else np.zeros(table.n_rows)
    return all((kinds[rows] == kind).sum() >= LEAST for kind in np.unique(kinds))


def _with_columns(table: Table, offset: Floats) -> Table:
    """The table with the first stage's scores as its last features."""
    c = offset.shape[1]
    names = np.arange(c) + int(table.features.max(initial=-1)) + 1
    return replace(
        table,
        features=np.r_[table.features, names],
        values=np.hstack([table.values, offset]),
        bought=np.hstack([table.bought, np.ones(offset.shape, dtype=bool)]),
        categories=(*table.categories, *((0,) * c)) if table.categories else (),
        background=None,
        first=0,
    )


def _log_odds(p: Floats) -> Floats:
    logs = np.log(np.clip(p, 1e-4, 1.0))
    return logs[:, 1:] - logs[:, :1] if p.shape[1] == 2 else logs - logs.mean(axis=1, keepdims=True)
