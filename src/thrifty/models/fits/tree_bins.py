"""Numbers as a few bins, on which trees are grown, and their cuts as numbers again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from thrifty.array_types import Bools, Floats
from thrifty.models.fits.tree_sums import TreeSum

__all__ = ["bin_edges", "in_bins", "in_values"]

#: the most bins of a number
_BINS = 64


def bin_edges(column: Floats) -> Floats:
    """Limits between at most 64 bins: halfway between values, or at quantiles of many of them.

    scikit-learn bins too, but asks for 254 weighted quantiles a feature, one at a time: on some
    hundred rows that was nine tenths of the time.
    """
    distinct = np.unique(column[~np.isnan(column)])
    if len(distinct) > _BINS:
        known = column[~np.isnan(column)]
        cuts = np.quantile(known, np.arange(1, _BINS) / _BINS, method="nearest")
        return np.unique(cuts)
    below, above = distinct[:-1], distinct[1:]
    with np.errstate(invalid="ignore", over="ignore"):
        middle = below / 2 + above / 2
    return np.where(np.isfinite(middle) & (middle > below), middle, above)


def in_bins(values: Floats, edges: list[Floats], categories: Bools) -> Floats:
    """Numbers as bins; categories as they are. A column without a value becomes a constant."""
    found = np.where(np.isnan(values).all(axis=0), 0.0, values)
    for f, limits in enumerate(edges):
        if not categories[f]:
            known = ~np.isnan(found[:, f])
            found[known, f] = np.searchsorted(limits, found[known, f], side="right")
    return found


def in_values(trees: TreeSum, edges: list[Floats]) -> TreeSum:
    """Thresholds between bins as thresholds of values: at most the number before a bin's limit."""
    threshold = trees.threshold.copy()
    inner = np.flatnonzero(trees.left != np.arange(len(trees.left)))
    for node in inner.tolist():
        limits = edges[int(trees.feature[node])]
        # a threshold beyond all bins parts gaps from values, and stays infinite
        if node not in trees.sets and threshold[node] < len(limits):
            threshold[node] = np.nextafter(limits[int(threshold[node])], -np.inf)
    return replace(trees, threshold=threshold)
