"""The default mixture where dozens are fitted: for prefixes, with rows left out by somebody else.

The same parts as in :mod:`thrifty.models.fits.mixture`: a card, a line, boosted trees, a forest.
Shares, slope and shift are found on what parts without some rows said of them, which whoever
asks in order has anyway; so each length is fitted four times and not seven. Trees are lighter:
boosted ones learn twice as fast, half as many; with three classes and more a tree tells all of them
at once; forests come from a kernel of ours, and bins are made once for all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from thrifty.array_types import Bools, Floats, Ints
from thrifty.kernels.any_subset import add_scores, grow_tree
from thrifty.models.fits.boosting import (
    InBins,
    boosting_bins,
    category_sets,
    forest_bins,
    forest_weight,
    grow_boosted_in_bins,
    grow_forest_in_bins,
    how_to_grow,
)
from thrifty.models.fits.line import Line, LineDesign
from thrifty.models.fits.logistic import fit_intercepts, fit_slope, shrink_slope, softmax
from thrifty.models.fits.mixture import BINS, FEW, FOREST, SOFT, Mixture, mixture_of, shares_of
from thrifty.models.fits.points import Design, Points
from thrifty.models.fits.tree_sums import TreeSum, add_up, in_values

__all__ = ["Parts", "ForAllLengths", "fit_parts", "grow_for_all_classes", "mix"]

#: of the usual trees so many, each learning so many times as fast
FEWER, FASTER = 0.5, 2.0
#: trees of a forest that is kept; half of them where it only says how parts are mixed and scaled
OF_A_FOREST = 40
#: trees that tell several classes at once; depth, rate and ridge as of models of any subset
TREES, DEPTH, RATE, RIDGE, LEAST = 100, 4, 0.15, 1.0, 1.0
#: the shares of the parts are tried in thirds
STEPS = 3
#: of the loss, where the search for points and slopes ends
TOLERANCE = 1e-7


@dataclass(frozen=True, eq=False)
class Parts:
    """What a mixture is made of, fitted on the same rows; no trees where they were too few."""

    card: Points
    line: Points | Line
    trees: tuple[TreeSum, ...]

    def scores(self, values: Floats) -> list[Floats]:
        """(rows, c) of each part: card, line, boosted trees, forest."""
        return [part.scores(values) for part in (self.card, self.line, *self.trees)]


@dataclass(frozen=True, eq=False)
class ForAllLengths:
    """A table as every part reads it, made once for all lengths and all rows left out."""

    values: Floats
    codes: Ints
    weights: Floats
    n_classes: int
    categories: Bools
    design: Design
    lines: LineDesign
    for_boosting: InBins
    for_forest: InBins

    @classmethod
    def of(
        cls, values: Floats, codes: Ints, weights: Floats, categories: Bools | None, n_classes: int
    ) -> ForAllLengths:
        told = np.zeros(values.shape[1], dtype=bool) if categories is None else categories
        soft = (weights / weights.mean()) ** SOFT
        design, lines = Design.of(values, soft, told, BINS), LineDesign.of(values, told)
        boosted, forest = boosting_bins(values, told), forest_bins(values, told)
        return cls(values, codes, soft, n_classes, told, design, lines, boosted, forest)


def fit_parts(
    table: ForAllLengths, rows: Ints, which: Ints, seed: int, *, kept: bool = True
) -> Parts:
    """Fit all parts on some rows and features; every class must be among them.

    ``kept``: the line becomes points, as models are kept; else it serves to score rows left out.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3))
    >>> y, every = (X[:, 0] > 0.5).astype(int), np.arange(300)
    >>> parts = fit_parts(ForAllLengths.of(X, y, np.ones(300), None, 2), every, np.arange(3), 0)
    >>> model, _ = mix(parts, parts.scores(X), y, np.ones(300), every)
    >>> float((model.predict(X) == y).mean()) > 0.95
    True
    """
    codes, soft, n_classes = table.codes, table.weights, table.n_classes
    design = table.design.of_features(which)
    card = design.fit(rows, codes, n_classes, soft, 1.0, TOLERANCE)
    line = table.lines.of_features(which).fit(rows, codes, n_classes, soft, TOLERANCE)
    values, told = table.values[np.ix_(rows, which)], table.categories[which]
    y, w = codes[rows], soft[rows]
    trees: tuple[TreeSum, ...] = ()
    if np.bincount(y, minlength=n_classes).min() >= FEW:
        binned = table.for_forest.part(rows, which)
        if n_classes == 2:
            usual = how_to_grow(len(rows))
            how = replace(usual, trees=round(FEWER * usual.trees), rate=FASTER * usual.rate)
            boosted = grow_boosted_in_bins(table.for_boosting.part(rows, which), y, w, seed, how)
        else:
            boosted = grow_for_all_classes(binned, values, y, w, n_classes)
        n_trees = OF_A_FOREST if kept else OF_A_FOREST // 2
        trees = (boosted, grow_forest_in_bins(binned, values, y, w, seed, n_trees))
    return Parts(card, line.as_points(values, told) if kept else line, trees)


def mix(
    parts: Parts, left_out: Sequence[Floats], codes: Ints, weights: Floats, judges: Ints
) -> tuple[Mixture, Floats]:
    """The parts as one model, by what parts without them said of rows; and its word on these rows.

    Parameters
    ----------
    parts : Parts
        fitted on all rows
    left_out : sequence of array of float
        (rows, c) scores of each part, of every row from parts that did not see it
    judges : array of int
        the rows that say how the parts are mixed and stretched
    """
    n = min(len(left_out), 2 + len(parts.trees))
    says, counts = codes[judges], weights[judges] / weights[judges].mean()
    shares = shares_of([one[judges] for one in left_out[: min(n, 3)]], says, counts, STEPS)
    outside = np.asarray(sum(share * one for share, one in zip(shares, left_out)))
    of_forest = FOREST * forest_weight(len(codes)) if n == 4 else 0.0
    if n == 4:
        shares = tuple((1 - of_forest) * share for share in shares)
        outside = (1 - of_forest) * outside + of_forest * left_out[3]
    slope = fit_slope(outside[judges], says, counts)[0]
    slope = shrink_slope(slope, outside[judges], says, counts)
    shift = fit_intercepts(slope * outside[judges], says, counts)
    classes = np.arange(max(2, outside.shape[1]))
    trees = list(zip((*shares[2:], of_forest), parts.trees))
    assert isinstance(parts.line, Points)
    made = mixture_of(classes, parts.card, parts.line, trees, shares[:2], slope, shift)
    return made, softmax(slope * outside + shift)


def grow_for_all_classes(
    binned: InBins, values: Floats, codes: Ints, weights: Floats, n_classes: int
) -> TreeSum:
    """Boosted trees whose leaves hold a score for each of several classes."""
    # 0 is for what is not there, as for cells that were not asked
    there = np.where(np.isnan(binned.values), 0, binned.values + 1)
    shown = np.ascontiguousarray(there.astype(np.uint8))
    shares = np.bincount(codes, weights, n_classes) + 0.5
    base, hot = np.log(shares / shares.sum()), np.eye(n_classes)[codes]
    inner = (1 << DEPTH) - 1
    feature, cut = np.full((TREES, inner), -1, dtype=np.int64), np.zeros((TREES, inner), np.int64)
    gap_right, leaf = np.zeros((TREES, inner), dtype=bool), np.zeros((TREES, inner + 1, n_classes))
    scores, columns = np.tile(base, (len(codes), 1)), np.ascontiguousarray(shown.T)
    everyone, w = np.arange(values.shape[1], dtype=np.int64), weights[:, None] / weights.mean()
    for t in range(TREES):
        p = softmax(scores)
        grow_tree(
            columns, w * (hot - p), w * np.maximum(p * (1 - p), 1e-4), everyone,
            max(int(shown.max()) + 1, 3), DEPTH, RATE, RIDGE, LEAST,
            feature[t], cut[t], gap_right[t], leaf[t],
        )  # fmt: skip
        now = slice(t, t + 1)
        add_scores(shown, feature[now], cut[now], gap_right[now], leaf[now], scores)
    grown = in_values(_from_heaps(feature, cut, gap_right, leaf, base - base.mean()), binned.edges)
    return replace(grown, sets=category_sets(grown, values, binned.categories))


def _from_heaps(feature: Ints, cut: Ints, gap_right: Bools, leaf: Floats, base: Floats) -> TreeSum:
    """Complete trees as lists of nodes, once for each class; thresholds between bins."""
    trees, inner = feature.shape
    size = 2 * inner + 1
    here = np.arange(size)
    below = np.where(here < inner, 2 * here + 1, here)
    above = np.where(here < inner, 2 * here + 2, here)
    at = np.repeat(np.arange(trees) * size, size)
    none = np.zeros((trees, inner + 1))
    used = np.hstack([feature, none - 1]).ravel() >= 0
    of = np.where(used, np.hstack([feature, none]).ravel(), 0).astype(np.int64)
    threshold = np.where(used, np.hstack([cut, none]).ravel() - 0.5, np.inf)
    gaps_left = ~np.hstack([gap_right, none.astype(bool)]).ravel()
    parts = []
    for c in range(len(base)):
        value = np.hstack([np.zeros((trees, inner)), leaf[:, :, c]]).ravel()
        one = TreeSum(
            np.arange(trees) * size, np.full(trees, c), of, threshold, np.tile(below, trees) + at,
            np.tile(above, trees) + at, gaps_left, value, {}, np.zeros(len(base)),
        )  # fmt: skip
        parts.append((1.0, one))
    return replace(add_up(parts), base=base)
