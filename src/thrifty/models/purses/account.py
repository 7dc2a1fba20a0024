"""The purse of beliefs: an order for the rare class and one for the others, and counts alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from thrifty.array_types import Bools, Floats, Ints
from thrifty.cells import Cells
from thrifty.models.belief import Looked
from thrifty.models.purses.purse import owned_first, owns_rows
from thrifty.models.stairs import StairCells

__all__ = ["Account"]

#: parts of what is left that joint rows are bought in, where prices are expectations: what tells
#: most is asked of the dear one most often, and cells that money ends before would be guesses
_CAUTIOUS = (0.5, 0.5, 0.5, 0.5)
#: features that are taken to share a fee on a row. Set with fees that are paid once a row, before
#: 0.2; not measured since
_FEE_SHARED_BY = 40


class Account:
    """Of each class the rows stand in one random order; a feature is looked at on a prefix of it.

    So whatever is bought later contains what was bought before, and what a feature was looked at
    is two numbers. Values are not kept: the door gives what was paid for again, for nothing.

    Attributes
    ----------
    rare, others : array of int
        the rows of the rare class and all others, in the order of looking
    a, b : array of int
        how many of ``rare`` and of ``others`` each feature was looked at
    there : array of bool
        features that a model may use: what a source lacks, and what is asked on the way to another
        answer, is 0 on every row for nothing, and would lower what is believed of all others
    parts : tuple of float
        a large purchase is made in so many, each a part of what is left then
    """

    def __init__(
        self, cells: Cells, codes: Ints, allowance: float, rng: np.random.Generator
    ) -> None:
        self.cells, self.allowance, self._at_first = cells, allowance, cells.allowance
        self.rare_code = int(np.bincount(codes, minlength=2).argmin())
        order = owned_first(cells, rng.permutation(len(codes)))
        is_rare = codes[order] == self.rare_code
        self.rare, self.others = order[is_rare], order[~is_rare]
        N = cells.n_features
        self.there = ~np.asarray(cells.absent)
        expected = isinstance(cells, StairCells) and cells.expected
        self.parts = _CAUTIOUS if expected else (1.0,)
        self.a, self.b = np.zeros(N, dtype=np.int64), np.zeros(N, dtype=np.int64)
        self.a_ones, self.b_ones = np.zeros(N), np.zeros(N)
        self.prices = np.asarray(cells.prices, dtype=np.float64)
        self.fees = [(fee, _mask(members, N)) for fee, members in cells.fees]
        self._margins = self.prices - sum((fee * of for fee, of in self.fees), np.zeros(N))
        self._counted = 0.0
        self._look_at_owned()

    def _look_at_owned(self) -> None:
        """Rows that are owned whole, a control cohort's for instance, cost nothing: look at all."""
        if not owns_rows(self.cells):
            return
        every = np.flatnonzero(self.there)
        heads = []
        for rows in (self.rare, self.others):
            costs = self.cells.row_costs(rows, every)
            heads.append(int(np.argmax(costs > 0)) if (costs > 0).any() else len(rows))
        if max(heads):
            self.look(every, *(np.full(len(every), n) for n in heads))
            self._counted = 0.0

    @property
    def share(self) -> float:
        """The rare class's share of the rows."""
        return len(self.rare) / (len(self.rare) + len(self.others))

    @property
    def left(self) -> float:
        """What may still be spent: the door's word where it has one, else our own count."""
        live, counted = self.cells.allowance, self.allowance - self._counted
        if live is None or self._at_first is None:
            return counted
        # cells that were owned are counted, and not paid for
        return min(live, max(counted, self.allowance - (self._at_first - live)))

    def cost(self, features: Ints, a: Ints, b: Ints) -> Floats:
        """At most so much to have looked at these features on a rare and b other rows, each.

        A fee is counted with the first feature that takes it to a row, so sums are what they cost
        together and every beginning of the list costs the sum of its own.
        """
        more = np.maximum(a - self.a[features], 0) + np.maximum(b - self.b[features], 0)
        costs: Floats = more * self._margins[features]
        for fee, of in self.fees:
            for to, at in ((a, self.a), (b, self.b)):
                opened = int(at[of].max(initial=0))
                rows = np.where(of[features], np.maximum(to, opened), opened)
                costs += fee * np.diff(np.maximum.accumulate(rows), prepend=opened)
        return costs

    def cost_with_shared_fees(self, features: Ints, a: Ints, b: Ints) -> Floats:
        """What each would cost where a fee is shared with so many other features."""
        more_a, more_b = a - self.a[features], b - self.b[features]
        costs: Floats = (np.maximum(more_a, 0) + np.maximum(more_b, 0)) * self._margins[features]
        for fee, of in self.fees:
            share = fee / min(_FEE_SHARED_BY, max(int(of.sum()), 1))
            for to, at in ((a, self.a), (b, self.b)):
                new = np.maximum(to - int(at[of].max(initial=0)), 0)
                costs += share * np.where(of[features], new, 0)
        return costs

    def look(self, features: Ints, a: Ints, b: Ints) -> None:
        """Have looked at these features on the first a rare and the first b other rows, each."""
        self._counted += float(self.cost(features, a, b).sum())
        self._extend(features, a, self.rare, self.a, self.a_ones)
        self._extend(features, b, self.others, self.b, self.b_ones)

    def _extend(self, features: Ints, to: Ints, rows: Ints, at: Ints, ones: Floats) -> None:
        more = to > at[features]
        features, to = features[more], to[more]
        step = at[features] * (len(rows) + 1) + to  # features with the same step: one rectangle
        for code in np.unique(step).tolist():
            group = features[step == code]
            start, end = divmod(code, len(rows) + 1)
            ones[group] += self.cells.get(rows[start:end], group).sum(axis=0)
            at[group] = end

    def looked(self, background_looks: Floats, background_ones: Floats) -> Looked:
        """The counts, the background's together with this task's looks outside the rare class."""
        return Looked(
            self.a.astype(np.float64),
            self.a_ones,
            self.b + background_looks,
            self.b_ones + background_ones,
        )


def _mask(members: Sequence[int], n: int) -> Bools:
    mask = np.zeros(n, dtype=bool)
    mask[list(members)] = True
    return mask
