"""A whole task's values, made ready for learning from scratch with thresholds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thrifty import kernels
from thrifty.array_types import Floats, Ints
from thrifty.trees.gains.cuts import (
    Choice,
    CutColumns,
    CutKernel,
    best_by_gain,
    choose,
    cut_gain,
    kernel_of,
)
from thrifty.trees.gains.gain import Gain
from thrifty.typing import AnyArray

__all__ = ["RealTable"]

#: rows looked at for the borders of the bins; exactness does not depend on them, speed does
_SAMPLE = 512


class RealTable:
    """Values (S, N), coded once into bins for the kernel; features with gaps are kept apart."""

    def __init__(self, values: AnyArray) -> None:
        self.values = values if values.dtype in (np.float32, np.float64) else _floats(values)
        none = not np.isnan(self.values.min())  # one quick pass: most tables have no gaps
        gaps = np.zeros(values.shape[1], bool) if none else np.isnan(self.values).any(axis=0)
        self.gapped = np.flatnonzero(gaps)
        self.whole = np.flatnonzero(~gaps)
        self._table = self.values if not len(self.gapped) else self.values[:, self.whole]
        self._bins: NDArray[np.uint8] | None = None
        self._exact = np.zeros(0, dtype=np.bool_)

    def best(
        self, rows: Ints, codes: Ints, totals: Ints, prices: Floats, gain: Gain
    ) -> Choice | None:
        """The best split of all features on some rows, whose classes are ``codes``."""
        N = self.values.shape[1]
        counts = np.zeros((len(totals), N), dtype=np.int64)
        thresholds = np.full(N, np.nan)
        rule = kernel_of(gain)
        slow = np.arange(N)
        if rule is not None:
            slow = self.gapped
            if len(self.whole):
                counts[:, self.whole] = self._by_kernel(rows, codes, totals, rule)
        by = cut_gain(gain)
        for f in slow.tolist():
            counts[:, f], thresholds[f] = best_by_gain(
                self.values[rows, f], codes, totals, float(prices[f]), by
            )
        columns = CutColumns(counts, thresholds)
        return choose(columns, totals, prices, gain, lambda f: self.values[rows, f])

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


def _floats(values: AnyArray) -> Floats:
    return values.astype(np.float64)


def _bins_of(table: AnyArray) -> tuple[NDArray[np.uint8], NDArray[np.bool_]]:
    """Codes (N, S) from borders at even ranks of a sample, and which features they tell exactly.

    A feature of at most 64 different values in the sample gets one bin for each of them.
    """
    S, N = table.shape
    rows = np.linspace(0, S - 1, min(S, _SAMPLE)).astype(np.int64)
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
