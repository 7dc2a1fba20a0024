"""Where to cut a real-valued feature: exact thresholds, and what becomes of missing values.

A split of a real-valued feature is (feature, threshold), "x >= threshold", the threshold halfway
between two neighbouring values at the node. Each feature brings its best cut, chosen by the gain's
own *cut rule*; the features are then compared by the gain at those cuts:

- entropy and Gini choose both by themselves;
- the gain ratio and the price-aware gains choose the cut by entropy, as C4.5 does, which for EG2,
  CS-ID3 and IDX is also their own best cut (they grow with entropy, the price being one number);
- lists choose, by entropy or Gini, among the cuts that leave one side pure;
- a user's function chooses the cut by itself.

Missing values (NaN): rows that lack a value follow the larger child, the one with more of the rows
that have it (the false child of two equals). Gains count those rows where they go.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thrifty import kernels
from thrifty.array_types import Floats, Ints
from thrifty.trees.gains.gain import Gain
from thrifty.typing import AnyArray

__all__ = [
    "Choice", "CutColumns", "CutKernel", "best_by_gain", "block_columns", "choose", "cut_gain",
    "halfway", "kernel_of", "true_side",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Choice:
    """The best split of some features at a node; ``index`` counts among those features."""

    index: int
    threshold: float


@dataclass(frozen=True, slots=True)
class CutColumns:
    """The best cut of each feature: class counts of its true side, and thresholds.

    ``thresholds`` holds NaN where the cut is told by its counts alone and the threshold is found
    when the feature is chosen.
    """

    counts: Ints
    thresholds: Floats


def halfway(low: float, high: float) -> float:
    """Between two neighbouring values: above the lower, at most the upper, whatever rounding does.

    >>> halfway(1.0, 2.0), halfway(1.0, np.nextafter(1.0, 2.0)) > 1.0
    (1.5, True)
    """
    low, high = float(low), float(high)
    middle = low / 2 + high / 2
    return middle if low < middle <= high else high


def true_side(values: AnyArray, threshold: float) -> NDArray[np.bool_]:
    """Which rows go to the true child; rows without a value follow the larger child."""
    # In double precision: a threshold between two neighbouring floats is itself no float32.
    side = np.asarray(values.astype(np.float64, copy=False) >= threshold)
    missing = np.isnan(values)
    if missing.any():
        known = int(side.sum())
        side[missing] = known > len(side) - int(missing.sum()) - known
    return side


class CutKernel(NamedTuple):
    """Which kernel finds the cuts of a gain: what it maximises, and among which cuts.

    ``across``: the features are compared by the same gain, so only the best one need be exact.
    """

    criterion: int
    across: bool
    pure_child: bool = False


def kernel_of(gain: Gain) -> CutKernel | None:
    """The rule of a gain that the kernels know; None where the gain itself must be asked."""
    if gain.kernel is not None:
        return CutKernel(gain.kernel, True, gain.pure_child)
    if gain.cut_by is not None and gain.cut_by.kernel is not None:
        return CutKernel(gain.cut_by.kernel, False)
    return None


def best_by_gain(
    values: AnyArray, codes: Ints, totals: Ints, price: float, gain: Gain
) -> tuple[Ints, float]:
    """The best cut of one feature by any function of counts, missing values included.

    Returns the class counts of its true side (zero where it cannot be cut) and the threshold.
    """
    known = ~np.isnan(values)
    order = np.argsort(values[known], kind="stable")
    ordered, classes = values[known][order], codes[known][order]
    ends = np.flatnonzero(ordered[:-1] < ordered[1:])
    if not len(ends):
        return np.zeros(len(totals), dtype=np.int64), np.nan
    below = np.cumsum(classes == np.arange(len(totals))[:, None], axis=1)
    false = below[:, ends]
    missing = np.bincount(codes[~known], minlength=len(totals))
    true_is_larger = len(ordered) - (ends + 1) > ends + 1
    true = totals[:, None] - false - np.where(true_is_larger, 0, missing[:, None])
    gains = gain(true, totals, np.full(len(ends), price))
    at = int(np.argmax(gains))
    return true[:, at], halfway(ordered[ends[at]], ordered[ends[at] + 1])


def choose(
    columns: CutColumns,
    totals: Ints,
    prices: Floats,
    gain: Gain,
    values_of: Callable[[int], AnyArray],
) -> Choice | None:
    """The feature of the highest gain at its best cut, ties to the first; None if none varies."""
    gains = gain(columns.counts, totals, prices)
    at = int(np.argmax(gains)) if len(gains) else 0
    if not len(gains) or gains[at] == -np.inf:
        return None
    threshold = float(columns.thresholds[at])
    if np.isnan(threshold):
        n_false = int(totals.sum() - columns.counts[:, at].sum())
        around = np.partition(values_of(at), (n_false - 1, n_false))
        threshold = halfway(around[n_false - 1], around[n_false])
    return Choice(at, threshold)


def block_columns(
    values: AnyArray, codes: Ints, totals: Ints, prices: Floats, gain: Gain
) -> CutColumns:
    """The best cuts of a few features: ``values`` (n, k) of the node's rows."""
    k = values.shape[1]
    counts = np.zeros((len(totals), k), dtype=np.int64)
    thresholds = np.full(k, np.nan)
    rule = kernel_of(gain)
    whole = ~np.isnan(values).any(axis=0)
    fast = np.flatnonzero(whole) if rule is not None else np.zeros(0, dtype=np.int64)
    if rule is not None and len(fast):
        table = kernels.xlogx_table(len(values))
        if rule.pure_child:
            counts[:, fast] = kernels.best_pure_child_counts(
                values[:, fast], np.arange(len(values)), codes, totals, table, rule.criterion
            )
        else:
            by_feature = np.ascontiguousarray(values[:, fast].T)
            counts[:, fast] = kernels.best_counts_sorted(
                by_feature, codes, totals, table, rule.criterion
            )
    by = cut_gain(gain)
    for i in np.setdiff1d(np.arange(k), fast).tolist():
        counts[:, i], thresholds[i] = best_by_gain(
            values[:, i], codes, totals, float(prices[i]), by
        )
    return CutColumns(counts, thresholds)


def cut_gain(gain: Gain) -> Gain:
    """The gain that chooses the cut of a feature."""
    return gain if gain.cut_by is None else gain.cut_by
