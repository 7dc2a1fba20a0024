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
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from thrifty import kernels
from thrifty.trees.gains import Gain, highest
from thrifty.typing import AnyArray, Floats, Ints

#: each feature's best cut: class counts (C, k) of the true side, and thresholds (k,), NaN where the
#: counts alone are known and the threshold is found when the feature is chosen
Cuts: TypeAlias = tuple[Ints, Floats]


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
    cuts: Cuts, totals: Ints, prices: Floats, gain: Gain, values_of: Callable[[int], AnyArray]
) -> tuple[int, float] | None:
    """The feature of the highest gain, ties to the first, and its threshold; None if none varies.

    The feature is its place among those that have ``cuts``.
    """
    counts, thresholds = cuts
    at = highest(gain(counts, totals, prices))
    if at is None:
        return None
    threshold = float(thresholds[at])
    if np.isnan(threshold):
        n_false = int(totals.sum() - counts[:, at].sum())
        around = np.partition(values_of(at), (n_false - 1, n_false))
        threshold = halfway(around[n_false - 1], around[n_false])
    return at, threshold


def _cuts(
    whole: Ints,
    by_kernel: Callable[[int, bool], Ints],
    values_of: Callable[[int], AnyArray],
    codes: Ints,
    totals: Ints,
    prices: Floats,
    gain: Gain,
) -> Cuts:
    """The best cut of each feature, of those without gaps by a kernel where the gain has one.

    The kernel is told what to maximise, and whether features are compared by the same gain: then
    only the best one need be exact.
    """
    k = len(prices)
    counts, thresholds = np.zeros((len(totals), k), dtype=np.int64), np.full(k, np.nan)
    slow = np.ones(k, dtype=np.bool_)
    by = gain if gain.cut_by is None else gain.cut_by
    if by.kernel is not None and len(whole):
        counts[:, whole] = by_kernel(by.kernel, by is gain)
        slow[whole] = False
    for i in np.flatnonzero(slow).tolist():
        price = float(prices[i])
        counts[:, i], thresholds[i] = best_by_gain(values_of(i), codes, totals, price, by)
    return counts, thresholds


def block_cuts(values: AnyArray, codes: Ints, totals: Ints, prices: Floats, gain: Gain) -> Cuts:
    """The best cuts of a few features: ``values`` (n, k) of the node's rows."""
    whole = np.flatnonzero(~np.isnan(values).any(axis=0))

    def by_kernel(criterion: int, across: bool) -> Ints:
        table, some = kernels.xlogx_table(len(values)), values[:, whole]
        if gain.pure_child:
            rows = np.arange(len(values))
            return kernels.best_pure_child_counts(some, rows, codes, totals, table, criterion)
        by_feature = np.ascontiguousarray(some.T)
        return kernels.best_counts_sorted(by_feature, codes, totals, table, criterion)

    return _cuts(whole, by_kernel, lambda i: values[:, i], codes, totals, prices, gain)


class RealTable:
    """Values (S, N), coded once into bins for the kernel; features with gaps are kept apart."""

    def __init__(self, values: AnyArray) -> None:
        self.values = values if values.dtype in (np.float32, np.float64) else values.astype(float)
        none = not np.isnan(self.values.min())  # one quick pass: most tables have no gaps
        gaps = np.zeros(values.shape[1], bool) if none else np.isnan(self.values).any(axis=0)
        self.whole = np.flatnonzero(~gaps)
        self._table = self.values[:, self.whole] if gaps.any() else self.values
        self._bins: NDArray[np.uint8] | None = None
        self._exact = np.zeros(0, dtype=np.bool_)

    def best(
        self, rows: Ints, codes: Ints, totals: Ints, prices: Floats, gain: Gain
    ) -> tuple[int, float] | None:
        """The best split of all features on some rows, whose classes are ``codes``."""
        node, table = (rows, codes, totals), kernels.xlogx_table(len(rows))

        def by_kernel(criterion: int, across: bool) -> Ints:
            if gain.pure_child:
                return kernels.best_pure_child_counts(self._table, *node, table, criterion)
            if self._bins is None:
                self._bins, self._exact = _bins_of(self._table)
            coded = self._table, self._bins, self._exact
            return kernels.best_counts(*coded, *node, table, criterion, across)

        def values_of(f: int) -> AnyArray:
            return np.asarray(self.values[rows, f])

        cuts = _cuts(self.whole, by_kernel, values_of, codes, totals, prices, gain)
        return choose(cuts, totals, prices, gain, values_of)


def _bins_of(table: AnyArray) -> tuple[NDArray[np.uint8], NDArray[np.bool_]]:
    """Codes (N, S) from borders at even ranks of a sample, and which features they tell exactly.

    A feature of at most 64 different values in the sample gets one bin for each of them.
    """
    # rows looked at for the borders of the bins; exactness does not depend on them, speed does
    sample = 512
    S, N = table.shape
    rows = np.linspace(0, S - 1, min(S, sample)).astype(np.int64)
    ordered = np.sort(np.ascontiguousarray(table[rows].T), axis=1)
    m = ordered.shape[1]
    inner = kernels.BINS - 1
    edges = np.ascontiguousarray(ordered[:, (np.arange(1, kernels.BINS) * m) // kernels.BINS])
    steps = ordered[:, 1:] > ordered[:, :-1]
    few = np.flatnonzero(steps.sum(axis=1) <= inner)
    for f in few.tolist():
        different = ordered[f, 1:][steps[f]]
        edges[f, : len(different)] = different
        edges[f, len(different) :] = np.inf
    bins = np.empty((N, S), dtype=np.uint8)
    kernels.bin_values(table, edges, bins)
    exact = np.zeros(N, dtype=np.bool_)
    for f in few.tolist():
        values = np.concatenate([ordered[f, :1], edges[f]])
        exact[f] = bool((values[bins[f]] == table[:, f]).all())
    return bins, exact
