"""Models of several tasks on one table: a forest that they share, cards and lines of their own.

The forest is grown for all tasks at once (:mod:`.forest_for_all`); what it says is mixed with each
task's own card and line, in shares that rows left out ask for. The shares are found from all tasks
together, since a few hundred rows of one say little: on digits and yeast the forest alone is best,
on support2 half of it, and half of it was chosen on yeast too where it could be (-.010 at 5 and
20 %, three splits).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from thrifty.array_types import Bools, Floats, Ints
from thrifty.models.fits.folds import shuffled_folds
from thrifty.models.fits.forest_for_all import ForestForAll
from thrifty.models.fits.kernel_ridge import Near, columns_of, fit_kernels
from thrifty.models.fits.line import LineDesign, line_left_out
from thrifty.models.fits.logistic import fit_intercepts, fit_slope, shrink_slope, softmax
from thrifty.models.fits.mixture import Mixture
from thrifty.models.fits.points import Design, oof_scores
from thrifty.models.fits.quality import quality_of
from thrifty.models.fits.target import Target
from thrifty.models.fits.tree_sums import TreeSum

__all__ = ["OnOneTable", "fit_for_all", "how_many_tell"]

#: parts of the rows
_FOLDS = 3
#: trees of the forests that judge; set by hand
_TREES_LEFT_OUT = 60
#: what is left of the features at each step of leaving some out, and how many steps there are
_STEP, _STEPS = 0.75, 3
#: (fewer than two fifths lost on yeast what no loss foretold); losses within so much of the least
#: are alike, and the fewest features are taken
_AS_GOOD = 1.01
#: rows without which all features are kept: on 17 and 35 rows of emotions the loss told nothing
_ROWS_TO_CHOOSE = 60
#: bins of a number in the card
_BINS = 12
#: shares of the forest that are tried; the rest is card and line alike
_SHARES = (0.75, 1.0)
#: the share that the others have to be better than, and by how much: see :mod:`.mixture`
_USUAL = 0.75
_PULL, _PULL_ROWS = 0.02, 4.0
#: rows of every class that a task needs to have a say in the shares
_FEW = 6
#: the share of kernel ridge, whatever rows left out say: they ask for more of it than serves
_KERNEL = 1 / 3
#: what a kernel says of a share, as log-odds, before rows left out stretch it further: those of one
#: half rise four times as fast. Without it what it says is too flat where labels are told well
#: (digits, chosen on, +.003 to +.006; tmc2007_500 +.002 +.002 +.010 +.009, bibtex .000 +.001 -.002
#: -.006, others within .003 at 5 / 10 / 20 / 40 %). Tasks on their own do without: thyroid0387_cost
#: -.010 at 10 %, others within .001
_AS_LOG_ODDS = 4.0


@dataclass(frozen=True, eq=False)
class _Task:
    """One task on the rows of the table that have its label; ``at``: which those are."""

    target: Target
    at: Ints
    codes: Ints
    classes: Ints
    weights: Floats

    @property
    def n_classes(self) -> int:
        return len(self.classes)

    @property
    def judges(self) -> bool:
        """Whether it has rows enough for those left out to tell something."""
        return self.n_classes > 1 and int(np.bincount(self.codes).min()) >= _FEW


@dataclass(frozen=True, eq=False)
class OnOneTable:
    """A model, and what it would say of its rows had it not seen them."""

    model: Mixture
    rows: Ints
    left_out: Floats


def fit_for_all(
    filled: Floats,
    targets: Sequence[Target],
    weights: Sequence[Floats],
    sizes: tuple[int, ...],
    seed: int,
) -> list[OnOneTable]:
    """A model of each target on the same rows, those that have its label.

    Parameters
    ----------
    filled : array of float
        (rows, features), NaN for gaps
    targets : sequence of Target
        of these rows
    weights : sequence of array
        (rows,) for each target: how many rows of its task a row stands for
    sizes : tuple of int
        categories of each feature, 0 for numbers

    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(120, 3))
    >>> two = [Target((X[:, f] > 0).astype(int), 2) for f in (0, 1)]
    >>> models = fit_for_all(X, two, [np.ones(120)] * 2, (0, 0, 0), 0)
    >>> [bool((m.model.predict(X) == t.codes).mean() > 0.9) for m, t in zip(models, two)]
    [True, True]
    """
    named = np.array(sizes, dtype=np.int64) > 0
    tasks = [_task(target, w) for target, w in zip(targets, weights)]
    dense = [_dense(task, len(filled)) for task in tasks]
    ones = np.ones(len(filled))
    folds = shuffled_folds(len(filled), _FOLDS, seed)
    left_out: list[Floats] = [np.zeros((len(filled), _columns(task))) for task in tasks]
    for fold in range(_FOLDS):
        rest, out = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        some = [one.of_rows(rest) for one in dense]
        grown = ForestForAll(filled[rest], some, ones[rest], named, seed, _TREES_LEFT_OUT)
        for scores, found in zip(left_out, grown.scores(filled[out])):
            scores[out] = found
    forest = ForestForAll(filled, dense, ones, named, seed)
    design, lines = Design.of(filled, ones, named, _BINS), LineDesign.of(filled, named)
    beside = [_beside(design, lines, task, folds) for task in tasks]
    asked = [
        (task.at, _AS_LOG_ODDS * columns_of(task.codes, task.n_classes)) if task.judges else None
        for task in tasks
    ]
    near = fit_kernels(lines, forest.importances, asked)
    own = [_Parts(*each) for each in zip(tasks, left_out, beside, near)]
    share = _share([part for part in own if part.judges])
    return [
        _of_classes(filled, design, lines, part, forest.tree_sum(t), share, named, seed)
        for t, part in enumerate(own)
    ]


def how_many_tell(
    filled: Floats,
    targets: Sequence[Target],
    weights: Sequence[Floats],
    sizes: tuple[int, ...],
    seed: int,
) -> int:
    """How many features the models need, of those that tell most.

    A quarter of them is left out, and again, three times, as long as a forest for all tasks says as
    much of rows left out; each fold ranks the features anew, without its rows. What is not needed
    is not asked of new rows. (docs/models.md, Labels at once, has what this takes and keeps.)

    Parameters are those of :func:`fit_for_all`.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 20))
    >>> y = Target((X[:, 0] > 0).astype(int), 2)
    >>> how_many_tell(X, [y], [np.ones(200)], (0,) * 20, 0) < 12
    True
    """
    named = np.array(sizes, dtype=np.int64) > 0
    tasks = [_task(target, w) for target, w in zip(targets, weights)]
    tasks = [task for task in tasks if task.judges]
    dense, n = [_dense(task, len(filled)) for task in tasks], int(filled.shape[1])
    if not tasks or n < 2 or len(filled) < _ROWS_TO_CHOOSE:
        return n
    folds, ones = shuffled_folds(len(filled), _FOLDS, seed), np.ones(len(filled))
    parts = [(np.flatnonzero(folds != i), np.flatnonzero(folds == i)) for i in range(_FOLDS)]
    ranks = [np.arange(n)] * _FOLDS

    def loss(k: int) -> float:
        said: list[Floats] = [np.zeros((len(filled), _columns(task))) for task in tasks]
        for i, (rest, out) in enumerate(parts):
            some, at = [one.of_rows(rest) for one in dense], ranks[i][:k]
            values = filled[:, at]
            grown = ForestForAll(values[rest], some, ones[rest], named[at], seed, _TREES_LEFT_OUT)
            for scores, found in zip(said, grown.scores(values[out])):
                scores[out] = found
            if k == n:
                ranks[i] = np.argsort(-grown.importances, kind="stable")
        return sum(
            fit_slope(scores[task.at], task.codes, task.weights)[1]
            for task, scores in zip(tasks, said)
        )

    sizes_tried = sorted({max(1, int(_STEP**i * n)) for i in range(_STEPS + 1)}, reverse=True)
    tried = {k: loss(k) for k in sizes_tried}
    return min(k for k, lost in tried.items() if lost <= _AS_GOOD * min(tried.values()))


def _task(target: Target, weights: Floats) -> _Task:
    at = np.flatnonzero(target.known)
    classes, codes = np.unique(target.codes[at], return_inverse=True)
    w = weights[at]
    return _Task(target, at, codes.reshape(-1).astype(np.int64), classes, w / max(w.mean(), 1e-300))


def _dense(task: _Task, n: int) -> Target:
    """The target with codes of those classes alone that are there."""
    codes = np.full(n, -1, dtype=np.int64)
    codes[task.at] = task.codes
    return Target(codes, max(task.n_classes, 2))


def _columns(task: _Task) -> int:
    return 1 if task.n_classes <= 2 else task.n_classes


def _beside(design: Design, lines: LineDesign, task: _Task, folds: Ints) -> Floats:
    """What card and line say of rows left out, on average; (rows of the task, columns)."""
    if not task.judges:
        return np.zeros((len(task.at), _columns(task)))
    ours, soft, apart = _Rows(design, lines, task.at), np.sqrt(task.weights), folds[task.at]
    card = oof_scores(ours.design, task.codes, task.n_classes, soft, 1.0, apart)
    line = line_left_out(ours.lines, task.codes, task.n_classes, soft, apart)
    return np.asarray((card + line) / 2)


class _Rows:
    """Some rows of the designs that all tasks share."""

    def __init__(self, design: Design, lines: LineDesign, at: Ints) -> None:
        whole = len(at) == len(design.codes)
        self.design = design if whole else Design(design.bins, design.codes[at], design.bases)
        self.lines = lines if whole else LineDesign(lines.columns, lines.made[at])


class _Parts:
    """What each part says of a task's rows left out, stretched as they ask.

    Forest; card and line; a kernel, where there is one.
    """

    def __init__(self, task: _Task, left_out: Floats, beside: Floats, near: Near | None) -> None:
        self.task, self.judges = task, task.judges
        self.kernel = None if near is None else near[0]
        self.said = [left_out[task.at], beside, *([] if near is None else [near[1]])]
        self.slopes = [1.0] * len(self.said)
        if task.judges:
            self.slopes = [fit_slope(one, task.codes, task.weights)[0] for one in self.said]
        if near is not None:  # on the forest's scale, so that its share is what it is
            factor = self.slopes[2] / self.slopes[0]
            self.kernel, self.said[2] = near[0].times(factor), factor * near[1]
            self.slopes[2] = self.slopes[0]

    def stretched(self, share: float) -> list[float]:
        """What each part is multiplied by, with so much of the forest beside card and line."""
        near = 0.0 if self.kernel is None else _KERNEL
        shares = ((1 - near) * share, (1 - near) * (1 - share), near)
        return [part * slope for part, slope in zip(shares, self.slopes)]

    def mixed(self, share: float) -> Floats:
        """With so much of the forest."""
        found = sum(times * said for times, said in zip(self.stretched(share), self.said))
        return np.asarray(found)


def _share(judges: Sequence[_Parts]) -> float:
    """The forest's share, by the log-loss on rows left out, over all tasks of classes."""
    if not judges:
        return 1.0
    pull = _PULL + _PULL_ROWS / sum(len(part.task.at) for part in judges)
    best = (np.inf, 1.0)
    for share in _SHARES:
        loss = sum(
            fit_slope(part.mixed(share), part.task.codes, part.task.weights)[1] for part in judges
        )
        best = min(best, (loss * (1 + pull * (share - _USUAL) ** 2), share))
    return best[1]


def _of_classes(
    filled: Floats,
    design: Design,
    lines: LineDesign,
    part: _Parts,
    trees: TreeSum,
    share: float,
    named: Bools,
    seed: int,
) -> OnOneTable:
    task = part.task
    soft, rows = np.sqrt(task.weights), _Rows(design, lines, task.at)
    every, values = np.arange(len(task.at)), filled[task.at]
    card = rows.design.fit(every, task.codes, task.n_classes, soft, 1.0)
    line = rows.lines.fit(every, task.codes, task.n_classes, soft).as_points(values, named)
    share, slope = (share, 1.0) if part.judges else (1.0, 1.0)
    outside = part.mixed(share)
    if part.judges:
        slope = fit_slope(outside, task.codes, task.weights)[0]
        slope = shrink_slope(slope, outside, task.codes, task.weights)
    shift = fit_intercepts(slope * outside, task.codes, task.weights)
    left_out = softmax(slope * outside + shift)
    quality = quality_of(left_out, task.codes, task.weights, seed)
    of_forest, rest, near = (*part.stretched(share), 0.0)[:3]
    whole = max(of_forest + rest + near, 1e-9)
    made = Mixture(
        task.classes,
        card,
        line,
        trees,
        (rest / 2 / whole, rest / 2 / whole, of_forest / whole, near / whole),
        slope * whole,
        shift,
        quality,
        part.kernel,
    )
    return OnOneTable(made, task.at, left_out)
