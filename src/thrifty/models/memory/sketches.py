"""Quantile sketches: how a feature's values are spread among all rows, as earlier tasks saw it.

Kept for every feature that was looked at: how many rows that rests on, the share of gaps, and up
to 32 quantiles of the values. Rows of each class count as the class does in the task, so that it is
the spread among all rows, whatever the task bought most of. The choice of features does not use it:
looking at rows of the rare class alone and comparing them with it did not pay (docs/models.md).
"""

from __future__ import annotations

import numpy as np

from thrifty.array_types import Floats
from thrifty.models.memory.layers import Sketch

__all__ = ["remember"]

# Both set by hand before 0.2; nothing that is bought depends on them.
#: quantiles kept
_QUANTILES = 32
#: rows beyond which a sketch rests on no more, so that it can still change
_MOST = 2000


def remember(old: Sketch | None, values: Floats, weights: Floats) -> Sketch:
    """The sketch with further values, each weighted by what its row stands for.

    >>> note = remember(None, np.array([1.0, 2.0, np.nan, 3.0]), np.ones(4))
    >>> note["rows"], note["gaps"], note["at"][0], note["at"][-1]
    (4.0, 0.25, 1.0, 3.0)
    >>> remember(note, np.full(12, np.nan), np.ones(12))["gaps"]
    0.8125
    """
    here = ~np.isnan(values) & np.isfinite(values)
    n = float(weights.sum() ** 2 / (weights**2).sum()) if len(values) else 0.0  # Kish's rows
    mass = weights / weights.sum() * n if n else weights
    gaps = float(mass[np.isnan(values)].sum())
    known, parts = values[here], mass[here]
    rows = n
    if old:
        before = float(old["rows"])
        gaps += float(old["gaps"]) * before
        rows += before
        at = np.array(old["at"], dtype=np.float64)
        if len(at):
            known = np.concatenate([known, at])
            share = before * (1 - float(old["gaps"])) / len(at)
            parts = np.concatenate([parts, np.full(len(at), share)])
    return {
        "rows": min(rows, float(_MOST)),
        "gaps": gaps / rows if rows else 0.0,
        "at": _quantiles(known, parts).tolist(),
    }


def _quantiles(values: Floats, mass: Floats) -> Floats:
    """At most 32 values, each standing for the same mass."""
    if not len(values) or mass.sum() <= 0:
        return np.zeros(0)
    order = np.argsort(values, kind="stable")
    below = np.cumsum(mass[order]) - mass[order] / 2
    n = min(_QUANTILES, len(values))
    wanted = (np.arange(n) + 0.5) / n * mass.sum()
    at = np.clip(np.searchsorted(below, wanted), 0, len(values) - 1)
    return np.asarray(values[order][at])
