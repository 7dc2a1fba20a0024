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
from thrifty.trees.gains import Gain
from thrifty.typing import AnyArray, Floats, Ints


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


def _cut_columns(
    whole: Ints,
    by_kernel: Callable[[CutKernel], Ints],
    values_of: Callable[[int], AnyArray],
    codes: Ints,
    totals: Ints,
    prices: Floats,
    gain: Gain,
) -> CutColumns:
    """The best cut of each feature, of those without gaps by a kernel where the gain has one."""
    k = len(prices)
    counts, thresholds = np.zeros((len(totals), k), dtype=np.int64), np.full(k, np.nan)
    slow = np.ones(k, dtype=np.bool_)
    rule = kernel_of(gain)
    if rule is not None and len(whole):
        counts[:, whole] = by_kernel(rule)
        slow[whole] = False
    by = cut_gain(gain)
    for i in np.flatnonzero(slow).tolist():
        price = float(prices[i])
        counts[:, i], thresholds[i] = best_by_gain(values_of(i), codes, totals, price, by)
    return CutColumns(counts, thresholds)


def block_columns(
    values: AnyArray, codes: Ints, totals: Ints, prices: Floats, gain: Gain
) -> CutColumns:
    """The best cuts of a few features: ``values`` (n, k) of the node's rows."""
    whole = np.flatnonzero(~np.isnan(values).any(axis=0))

    def by_kernel(rule: CutKernel) -> Ints:
        table, some = kernels.xlogx_table(len(values)), values[:, whole]
        if rule.pure_child:
            rows = np.arange(len(values))
            return kernels.best_pure_child_counts(some, rows, codes, totals, table, rule.criterion)
        by_feature = np.ascontiguousarray(some.T)
        return kernels.best_counts_sorted(by_feature, codes, totals, table, rule.criterion)

    return _cut_columns(whole, by_kernel, lambda i: values[:, i], codes, totals, prices, gain)


def cut_gain(gain: Gain) -> Gain:
    """The gain that chooses the cut of a feature."""
    return gain if gain.cut_by is None else gain.cut_by


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
    ) -> Choice | None:
        """The best split of all features on some rows, whose classes are ``codes``."""

        def values_of(f: int) -> AnyArray:
            return np.asarray(self.values[rows, f])

        def by_kernel(rule: CutKernel) -> Ints:
            return self._by_kernel(rows, codes, totals, rule)

        columns = _cut_columns(self.whole, by_kernel, values_of, codes, totals, prices, gain)
        return choose(columns, totals, prices, gain, values_of)

    def _by_kernel(self, rows: Ints, codes: Ints, totals: Ints, rule: CutKernel) -> Ints:
        table = kernels.xlogx_table(len(rows))
        if rule.pure_child:
            return kernels.best_pure_child_counts(
                self._table, rows, codes, totals, table, rule.criterion
            )
        if self._bins is None:
            self._bins, self._exact = _bins_of(self._table)
        return kernels.best_counts(
            self._table, self._bins, self._exact, rows, codes, totals, table,
            rule.criterion, rule.across,
        )  # fmt: skip


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
