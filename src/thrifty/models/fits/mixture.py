"""The default model: a line, a card, boosted trees, a forest and a kernel on the same cells, mixed.

Which of them is better depends on the data and cannot be told from a few hundred rows, so it is
not tried to: all are fitted, and the scores of the first three mixed with the weights that fit rows
left out best. (Picking one of them by cross-validation was worse.) The forest is a third of the
mixture, whatever those rows say, and a fifth of the whole is kernel ridge, unless rows belong
together: a row that is left out alone would find the others of its group. The whole is then
stretched to what they ask for, and shifted so that the mean prediction is the share of each class:
with inverse-probability weights on the rows, the share among all rows of the task and not among
those that were bought.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from thrifty.array_types import Bools, Floats, Ints
from thrifty.errors import BadInput
from thrifty.models.card import Card, card_in_mixture
from thrifty.models.fits.boosting import (
    forest_weight,
    grow_boosted,
    grow_extra_trees,
    how_to_grow,
    told_by_trees,
)
from thrifty.models.fits.folds import stratified_folds
from thrifty.models.fits.kernel_ridge import (
    KernelRidge,
    Near,
    columns_of,
    fit_kernels,
    kernel_from_dict,
    takes,
)
from thrifty.models.fits.line import LineDesign, line_left_out
from thrifty.models.fits.logistic import (
    fit_intercepts,
    fit_slope,
    shrink_slope,
    slope_losses,
    softmax,
)
from thrifty.models.fits.plain_trees import PlainTrees, Words, tree_sum_as_trees
from thrifty.models.fits.points import Design, Points, oof_scores, points_from_dict
from thrifty.models.fits.quality import Quality, quality_from_dict
from thrifty.models.fits.tree_sums import TreeSum, add_up, tree_sum_from_dict
from thrifty.typing import Json, JsonLike

__all__ = [
    "Mixture",
    "fit_mixture",
    "fit_mixture_left_out",
    "mixture_from_dict",
    "mixture_of",
    "shares_of",
]

Grow = Callable[[Floats, Ints, Floats], TreeSum]

#: rows of the rarest class before trees are grown; made sets and four of scikit-learn's, `python
#: benchmarks/small_tables.py` (20 rows: one set better, one worse; docs/models.md, Small tables)
FEW = 12
#: the shares in the mixture are tried in sixths: 28 mixtures of three parts; set by hand
_STEPS = 6
#: the forest's share: its trees err elsewhere than the others do, which rows left out show so badly
#: that to mix it in by them gained .9 % where a third gained 1.3 % (docs/models.md, What did not
#: work); chosen on nhanes, spam, emotions and cal500
FOREST = 1 / 3
# How much more loss a mixture may have for each squared step from equal shares: the factor is
# 1 + (_PULL + _PULL_ROWS / rows) step^2, since few rows left out say little. They came with the
# lines, whose constants were chosen on made data and scikit-learn's breast_cancer, wine, diabetes
# and digits (docs/models.md, Numbers, categories, gaps).
_PULL = 0.02
_PULL_ROWS = 4.0
#: the power of the rows' weights with which they are fitted: full weights make few rows count
#: for most of it (nhanes, 3 others a rare row: .493 with 1, .502 with .5, .504 with 0); mixing,
#: stretching and shifting use the weights themselves
SOFT = 0.5
#: rows of each class that did not choose the features, for them alone to judge the mixture; set by
#: hand (docs/models.md, Numbers, categories, gaps: 4)
_JUDGES = 30
#: the share of kernel ridge, in the same way. Chosen on yeast, spam and cal500, confirmed on
#: emotions, nhanes, thyroid0387_cost and physionet_icu (docs/models.md, Kernel ridge)
KERNEL = 0.2
#: the most bins of a number in the card, as a ScorecardClassifier has; set by hand before 0.2
BINS = 12


@dataclass(frozen=True, eq=False)
class Mixture:
    """A mixture of a card, a line and trees, over class codes.

    Attributes
    ----------
    classes_ : array of int
        codes of the classes
    card, line, trees : Points and TreeSum or None
        the three, the line as points in fine steps; trees, boosted ones and those of a forest as
        they were mixed, is None where there were too few rows for them
    shares : tuple of float
        of card, line, trees and kernel in the mixture
    slope, intercepts : float and array of float
        what makes the mixture's probabilities honest
    quality : Quality or None
        measured on rows left out; None where there were too few
    kernel : KernelRidge or None
        None where rows were too few or too many for it, or belong together
    """

    classes_: Ints
    card: Points
    line: Points
    trees: TreeSum | None
    shares: tuple[float, float, float, float]
    slope: float
    intercepts: Floats
    quality: Quality | None = None
    kernel: KernelRidge | None = None

    def scores(self, values: Floats) -> Floats:
        """(rows, c) logits; c is 1 for two classes."""
        found = np.zeros((len(values), len(self.intercepts)))
        for part, share in zip((self.card, self.line, self.trees, self.kernel), self.shares):
            if part is not None and share > 0:
                found += share * part.scores(values)
        return self.slope * found + self.intercepts

    def predict_proba(self, values: Floats) -> Floats:
        """Probabilities, a column per class; NaN for gaps."""
        return softmax(self.scores(np.asarray(values, dtype=np.float64)))

    def predict(self, values: Floats) -> Ints:
        """The most likely class."""
        likely: Ints = self.classes_[self.predict_proba(values).argmax(axis=1)]
        return likely

    @property
    def measured(self) -> bool:
        """Its quality was looked for when it was fitted."""
        return True

    def summary(self) -> str:
        """What it is, in a sentence."""
        _, line, trees, kernel = self.shares
        n_trees = 0 if self.trees is None else len(self.trees.roots)
        return card_in_mixture(line, trees, n_trees, kernel)

    def scorecard(self, names: Sequence[str], words: Words, classes: Sequence[Hashable]) -> Card:
        """The card that is a part of it."""
        return self.card.card(names, words, [classes[code] for code in self.classes_.tolist()])

    def as_trees(self, names: Sequence[str], words: Words) -> PlainTrees:
        """The same scores as a sum of small trees, and of what rows say that are near."""
        card, line, share, near = self.shares
        base, trees = self.card.as_trees(names, words, self.slope * card)
        more, steps = self.line.as_trees(names, words, self.slope * line)
        base, trees = base + more, trees + steps
        if self.trees is not None and share:
            more, grown = tree_sum_as_trees(self.trees, names, words, self.slope * share)
            base, trees = base + more, trees + grown
        base = base + self.intercepts
        if self.kernel is None:
            return PlainTrees(self.classes_, base, trees)
        more, rows = self.kernel.as_rows(names, words, self.slope * near)
        return PlainTrees(self.classes_, base + more, trees, rows)

    def to_dict(self) -> Json:
        """Plain data, for JSON; "Stack" is what stores have always called it."""
        return {
            "model": "Stack",
            "classes": self.classes_.tolist(),
            "card": self.card.to_dict(),
            "line": self.line.to_dict(),
            "trees": None if self.trees is None else self.trees.to_dict(),
            "shares": list(self.shares),
            "slope": self.slope,
            "intercepts": self.intercepts.tolist(),
            "quality": None if self.quality is None else self.quality.to_dict(),
            **({} if self.kernel is None else {"kernel": self.kernel.to_dict()}),
        }


def mixture_from_dict(data: JsonLike) -> Mixture:
    """The inverse of :meth:`Mixture.to_dict`; those of 0.2 have no share of a kernel."""
    card, line, trees, kernel = map(float, (*data["shares"], 0.0)[:4])
    near, points = data.get("kernel"), points_from_dict(data["card"])
    return Mixture(
        np.array(data["classes"], dtype=np.int64),
        points,
        points_from_dict(data["line"]),
        None if data["trees"] is None else tree_sum_from_dict(data["trees"]),
        (card, line, trees, kernel),
        float(data["slope"]),
        np.array(data["intercepts"], dtype=np.float64),
        quality_from_dict(data.get("quality")),
        None if near is None else kernel_from_dict(near, len(points.bins)),
    )


def fit_mixture(
    values: Floats,
    labels: Ints,
    weights: Floats,
    *,
    categories: Bools | None = None,
    seed: int = 0,
    shrinkage: float = 1.0,
) -> Mixture:
    """Fit all parts on the same rows and mix them.

    Parameters
    ----------
    values, labels, weights : array of float and array of int
        what was bought (NaN for gaps), class codes, rows stood for
    categories : array of bool or None
        which features are categories
    seed : int
        of the folds and the trees
    shrinkage : float
        of the card

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3))
    >>> y = (X[:, 0] > 0.5).astype(int)
    >>> model = fit_mixture(X, y, np.ones(300))
    >>> float((model.predict(X) == y).mean()) > 0.95
    True
    """
    made, _ = fit_mixture_left_out(
        values, labels, weights, categories=categories, seed=seed, shrinkage=shrinkage
    )
    return made


def fit_mixture_left_out(
    values: Floats,
    labels: Ints,
    weights: Floats,
    *,
    categories: Bools | None = None,
    seed: int = 0,
    shrinkage: float = 1.0,
    borrowed: Bools | None = None,
    looked: int = 0,
    groups: Ints | None = None,
) -> tuple[Mixture, Floats]:
    """The same, with the probabilities of every row from parts that did not see it.

    ``borrowed``: rows of the population whose class is not known, among the others of two classes.
    ``looked``: so many rows, the first, chose the features, and are no judges of the mixture where
    there are enough others. ``groups``: rows that are left out together.
    """
    classes, codes = np.unique(labels, return_inverse=True)
    codes = codes.reshape(-1).astype(np.int64)
    if len(classes) < 2:
        raise BadInput("a classifier needs rows of at least two classes; got one.")
    if categories is None:
        categories = np.zeros(values.shape[1], dtype=bool)
    weights = weights / weights.mean()
    soft = weights**SOFT
    n_classes, everything = len(classes), np.arange(len(codes))
    design = Design.of(values, soft, categories, BINS)
    card = design.fit(everything, codes, n_classes, soft, shrinkage)
    lines = LineDesign.of(values, categories)
    line = lines.fit(everything, codes, n_classes, soft).as_points(values, categories)
    folds = stratified_folds(codes, np.random.default_rng(seed), groups)
    if folds is None:
        own = (design.scores(card, everything) + line.scores(values)) / 2
        shift = fit_intercepts(own, codes, weights)
        return Mixture(classes, card, line, None, (0.5, 0.5, 0.0, 0.0), 1.0, shift), softmax(
            own + shift
        )
    left_out = [
        oof_scores(design, codes, n_classes, soft, shrinkage, folds),
        line_left_out(lines, codes, n_classes, soft, folds),
    ]
    grow = _ways_to_grow(categories, seed) if np.bincount(codes).min() >= FEW else []
    by_trees = [_trees_left_out(values, codes, soft, folds, way) for way in grow]
    left_out += by_trees[:1]
    again, says, counts = _judges(codes, weights, borrowed, looked)
    shares = shares_of([part[again] for part in left_out], says, counts)
    outside, of_forest = _mixture(left_out, shares), FOREST * forest_weight(len(codes))
    if grow:
        shares = tuple((1 - of_forest) * share for share in shares)
        outside = (1 - of_forest) * outside + of_forest * by_trees[1]
    near: Near | None = None
    if grow and groups is None and takes(len(codes)):
        near = _kernel(lines, values, codes, seed)
    if near is not None:
        stretch = fit_slope(near[1][again], says, counts)[0]
        outside = (1 - KERNEL) * outside + KERNEL * stretch * near[1]
    slope = shrink_slope(fit_slope(outside[again], says, counts)[0], outside[again], says, counts)
    # trees know their own rows too well: the shift is found on rows left out, as the slope was
    shift = fit_intercepts(slope * outside[again], says, counts)
    grown = list(zip((*shares[2:], of_forest), [way(values, codes, soft) for way in grow]))
    made = mixture_of(classes, card, line, grown, shares[:2], slope, shift)
    if near is not None:
        made = _with_kernel(made, near[0].times(stretch))
    return made, softmax(slope * outside + shift)


def _kernel(lines: LineDesign, values: Floats, codes: Ints, seed: int) -> Near | None:
    """Kernel ridge of the classes, and what it says of each row left out alone."""
    every, n_classes = np.arange(len(codes)), int(codes.max()) + 1
    told = told_by_trees(values, codes, seed)
    return fit_kernels(lines, told, [(every, columns_of(codes, n_classes))])[0]


def _with_kernel(made: Mixture, kernel: KernelRidge) -> Mixture:
    """The mixture with its share of a kernel."""
    card, line, trees = ((1 - KERNEL) * share for share in made.shares[:3])
    return replace(made, kernel=kernel, shares=(card, line, trees, KERNEL))


def mixture_of(
    classes: Ints,
    card: Points,
    line: Points,
    trees: Sequence[tuple[float, TreeSum]],
    shares: Sequence[float],
    slope: float,
    shift: Floats,
) -> Mixture:
    """A mixture of parts; ``trees`` with their shares, ``shares`` those of card and line."""
    grown, share = _together([tree for _, tree in trees], [part for part, _ in trees])
    return Mixture(classes, card, line, grown, (shares[0], shares[1], share, 0.0), slope, shift)


def _judges(
    codes: Ints, weights: Floats, borrowed: Bools | None, looked: int
) -> tuple[Ints, Ints, Floats]:
    """Which rows, with which class and weight, say how good the mixture is.

    Those that did not choose the features, where there are enough of each class; a class weighs as
    much as ever. Rows of the population hold the rare class by its share p: their mean is (1 - p)
    times that of the others and p times that of the rare class, which is taken off again with rare
    rows that count as others, by a negative weight (du Plessis, Niu and Sugiyama, 2014).
    """
    every, fresh = np.arange(len(codes)), np.arange(looked, len(codes))
    sizes = np.bincount(codes, weights=weights)
    if np.bincount(codes[fresh], minlength=len(sizes)).min() >= _JUDGES:
        there = np.bincount(codes[fresh], weights=weights[fresh])
        weights = weights * (sizes / there)[codes]
        every = fresh
    if borrowed is None or not borrowed.any():
        return every, codes[every], weights[every]
    many = int(codes[borrowed][0])
    rare = every[codes[every] != many]
    share = float(weights[rare].sum() / weights[every].sum())
    counts = weights.copy()
    counts[borrowed] /= 1 - share
    taken_off = -weights[rare] / weights[rare].sum() * share * counts[borrowed].sum()
    return (
        np.append(every, rare),
        np.append(codes[every], np.full(len(rare), many)),
        np.append(counts[every], taken_off),
    )


def _ways_to_grow(categories: Bools, seed: int) -> list[Grow]:
    """Trees one after another, each for what is still wrong, and trees side by side."""

    def boosted(values: Floats, codes: Ints, weights: Floats) -> TreeSum:
        return grow_boosted(values, codes, weights, categories, seed, how_to_grow(len(codes)))

    def forest(values: Floats, codes: Ints, weights: Floats) -> TreeSum:
        return grow_extra_trees(values, codes, weights, categories, seed)

    return [boosted, forest]


def _trees_left_out(
    values: Floats, codes: Ints, weights: Floats, folds: Ints, grow: Grow
) -> Floats:
    """Scores of every row from trees grown without its fold."""
    parts: list[tuple[Ints, Floats]] = []
    for fold in np.unique(folds):
        rest, out = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        parts.append((out, grow(values[rest], codes[rest], weights[rest]).scores(values[out])))
    found = np.zeros((len(codes), parts[0][1].shape[1]))
    for out, scores in parts:
        found[out] = scores
    return found


def _together(grown: Sequence[TreeSum], shares: Sequence[float]) -> tuple[TreeSum | None, float]:
    """All trees as one part of the mixture, and its share."""
    used = [(share, trees) for share, trees in zip(shares, grown) if share > 0]
    total = float(sum(share for share, _ in used))
    return (add_up([(share / total, trees) for share, trees in used]) if used else None), total


def _mixture(left_out: list[Floats], shares: Sequence[float]) -> Floats:
    found: Floats = sum(share * part for share, part in zip(shares, left_out))  # type: ignore[assignment]
    return found


def shares_of(
    left_out: list[Floats], codes: Ints, weights: Floats, steps: int = _STEPS
) -> tuple[float, ...]:
    """Shares of the parts, in so many steps, by log-loss on rows left out."""
    n, tried = len(left_out), _tried(len(left_out), steps)
    pull = _PULL + _PULL_ROWS / len(codes)
    best: tuple[float, tuple[float, ...]] = (np.inf, ())
    mixed = (_mixture(left_out, shares) for shares in tried)
    if steps < _STEPS and left_out[0].shape[1] == 1:
        losses = slope_losses(np.hstack(list(mixed)), codes, weights)
    else:
        losses = [fit_slope(one, codes, weights)[1] for one in mixed]
    for shares, loss in zip(tried, losses):
        apart = sum((share - 1 / n) ** 2 for share in shares)
        best = min(best, (loss * (1 + pull * apart), shares))
    return best[1]


def _tried(n: int, steps: int = _STEPS) -> list[tuple[float, ...]]:
    """All shares of two or three parts in steps.

    >>> len(_tried(2)), len(_tried(3))
    (7, 28)
    """
    whole = (parts for parts in product(range(steps + 1), repeat=n) if sum(parts) == steps)
    return [tuple(part / steps for part in parts) for parts in whole]
